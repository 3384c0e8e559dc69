"""Scorers and claim units by short name, for the command line and for settings files.

Each name stands for a dotted path that is imported at first use, so that naming a scorer loads nothing. The module of
each scorer describes it.
"""

import importlib
import inspect
import warnings
from operator import attrgetter
from pathlib import Path
from typing import Any

from groundrail.entailment.base import EntailmentModel
from groundrail.errors import InputError
from groundrail.papers.units.base import Aggregate, SentenceUnits, Units, UnitScorer, WholeClaim
from groundrail.scoring.base import Scorer

SCORERS: dict[str, str] = {
    "scale": "groundrail.scoring.scale.scale:ScaleScorer",
    "nearest": "groundrail.scoring.nearest:NearestScorer",
    "pairs": "groundrail.papers.decomposed:SentencePairScorer",
    "topk": "groundrail.papers.decomposed:TopKScorer",
    "full": "groundrail.papers.decomposed:FullDocumentScorer",
    "sentli": "groundrail.papers.decomposed:SentliScorer",
    "infuse": "groundrail.papers.infuse:InfuseScorer",
    "q2": "groundrail.papers.q2.q2:Q2Scorer",
    "gain": "groundrail.papers.gain:GainScorer",
    "overlap": "groundrail.papers.overlap:OverlapScorer",
}

SPLITTERS: dict[str, str] = {
    "subsentences": "groundrail.papers.units.clauses:ClauseSplitter",
    "parsed": "groundrail.papers.units.parsed:ParsedSplitter",
    "seq2seq": "groundrail.papers.units.subsentences:Seq2SeqSplitter.from_pretrained",
}
"""Splitters of sentences into sub-sentences: by rule, by a spaCy pipeline, or by a tuned encoder-decoder."""

UNITS: tuple[str, ...] = ("sentences", *SPLITTERS, "whole")
"""Names of the units into which a claim can be cut."""


def _find(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return attrgetter(attribute)(importlib.import_module(module))


def _factory(name: str) -> Any:
    try:
        path = SCORERS[name]
    except KeyError:
        raise InputError(f"no scorer is called {name!r}; there are {', '.join(SCORERS)}") from None
    return _find(path)


def needs_entailment(name: str) -> bool:
    """Whether the scorer asks a judge.

    Raises: InputError for an unknown name.
    """
    return "entailment" in settings_of(name)


def settings_of(name: str) -> frozenset[str]:
    """Names of the parameters of the scorer's constructor. Raises: InputError for an unknown name."""
    return frozenset(inspect.signature(_factory(name)).parameters)


def load_scorer(name: str, entailment: EntailmentModel | str | None = None, **settings: Any) -> Scorer:
    """Build the scorer called `name`; `settings` go to its constructor.

        load_scorer("scale", chunk_tokens=256)

    Raises: InputError for an unknown name, or for a setting that the scorer does not have.
    """
    factory = _factory(name)
    known = inspect.signature(factory).parameters
    for setting in settings:
        if setting not in known:
            raise InputError(f"scorer {name!r} has no setting {setting!r}; it has {', '.join(known)}")
    needed = [name for name, each in known.items() if each.default is each.empty and name not in settings]
    if needed:
        raise InputError(f"scorer {name!r} needs {' and '.join(needed)}: --set {needed[0]}=...")
    if "entailment" in known:
        settings["entailment"] = entailment
    elif entailment is not None:
        raise InputError(f"scorer {name!r} asks no judge; leave it out")
    scorer: Scorer = factory(**settings)
    return scorer


def load_units(name: str, splitter: str | None = None) -> Units:
    """Build the units called `name`; `splitter` is the model that cuts claims, for "parsed" and "seq2seq".

    Raises: InputError for an unknown name, for a missing splitter, or for a splitter that the units do not use; also
        the errors of loading the splitter.
    """
    if name not in UNITS:
        raise InputError(f"no units are called {name!r}; there are {', '.join(UNITS)}")
    if name == "seq2seq" and splitter is None:
        raise InputError("the units 'seq2seq' are written by a model: name one with --splitter")
    if splitter is not None and name not in ("parsed", "seq2seq"):
        raise InputError(f"the units {name!r} take no splitter, only 'parsed' and 'seq2seq' do, not {splitter!r}")
    if name in SPLITTERS:
        from groundrail.papers.units.subsentences import SubSentenceUnits

        return SubSentenceUnits(_find(SPLITTERS[name])(*filter(None, [splitter])))
    return WholeClaim() if name == "whole" else SentenceUnits()


def in_units(scorer: Scorer, name: str, aggregate: Aggregate = "mean", splitter: str | None = None) -> UnitScorer:
    """Wrap `scorer`: cut claims into the units called `name` and join the scores of the units by `aggregate`.

    For sub-sentences the score of a sentence is the minimum over its sub-sentences, and `aggregate` joins the sentences
    (InFusE, sections 3 and 4).

    Raises: the errors of `load_units`.
    """
    units = load_units(name, splitter)
    if name in SPLITTERS:
        scorer, units = UnitScorer(scorer, units, "minimum"), SentenceUnits()
    return UnitScorer(scorer, units, aggregate)


DEFAULT = "nearest"
"""Name of the scorer that a guard, `groundrail check`, `eval` and `calibrate` use by default."""


def as_meant(
    scorer: Scorer | EntailmentModel | str | None, judge: EntailmentModel | str | None = None, stacklevel: int = 3
) -> tuple[Scorer | str | None, EntailmentModel | str | None]:
    """Return scorer and judge as given; a model in the scorer's place (the former form) becomes SCALE around the model.

    Raises: InputError for a name that is no scorer's and does not look like a model's.
    """
    if scorer is None or isinstance(scorer, Scorer) or (isinstance(scorer, str) and scorer in SCORERS):
        return scorer, judge
    is_model = isinstance(scorer, EntailmentModel) or scorer == "self" or "/" in scorer or Path(scorer).exists()
    if not is_model or judge is not None:
        raise InputError(
            f"no scorer is called {scorer!r}; there are {', '.join(SCORERS)}. A model is passed as the judge"
        )
    warnings.warn(
        'a model is passed as the judge now: judge=MODEL (--judge), with scorer="scale" for SCALE around it, as before',
        DeprecationWarning,
        stacklevel=stacklevel,
    )
    return "scale", scorer


def as_scorer(scorer: Scorer | str | None = None, judge: EntailmentModel | str | None = None) -> Scorer:
    """Return a scorer object unchanged, or build the scorer called `scorer` (None: the default) around the judge.

    Raises: InputError for a judge beside a scorer object, which has a judge already; the errors of `load_scorer`.
    """
    if not isinstance(scorer, Scorer):
        return load_scorer(DEFAULT if scorer is None else scorer, judge)
    if judge is not None:
        raise InputError("a scorer object has its judge already: build it around the judge, or pass its name")
    return scorer


def as_second(second: Scorer | EntailmentModel | str) -> Scorer:
    """Return a scorer object unchanged, or build SCALE around a judge, which may be an object, hub id or folder."""
    return second if isinstance(second, Scorer) else load_scorer("scale", second)

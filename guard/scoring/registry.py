"""Scorers and claim units by short name, for the command line and for settings files.

A dotted path each, imported when asked for, so that naming a scorer loads nothing. What a scorer does
is written in its own module.
"""

import importlib
import inspect
from typing import Any

from groundrail.entailment.base import EntailmentModel
from groundrail.errors import InputError
from groundrail.papers.units.base import Aggregate, Units, UnitScorer
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

UNITS: dict[str, str] = {
    "sentences": "groundrail.papers.units.base:SentenceUnits",
    "subsentences": "groundrail.papers.units.subsentences:SubSentenceUnits",
    "whole": "groundrail.papers.units.base:WholeClaim",
}


def _find(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _factory(name: str) -> Any:
    try:
        path = SCORERS[name]
    except KeyError:
        raise InputError(f"no scorer is called {name!r}; there are {', '.join(SCORERS)}") from None
    return _find(path)


def needs_entailment(name: str) -> bool:
    """Whether the scorer asks an entailment model at all.

    Raises: InputError for an unknown name.
    """
    return "entailment" in settings_of(name)


def settings_of(name: str) -> frozenset[str]:
    """What the scorer's constructor takes. Raises: InputError for an unknown name."""
    return frozenset(inspect.signature(_factory(name)).parameters)


def load_scorer(name: str, entailment: EntailmentModel | str | None = None, **settings: Any) -> Scorer:
    """Build the scorer called `name`; `settings` go to its constructor.

    Raises: InputError for an unknown name, or a setting the scorer does not know.
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
    scorer: Scorer = factory(**settings)
    return scorer


def load_units(name: str) -> Units:
    """Build the claim splitter called `name`. Raises: InputError for an unknown name."""
    if name not in UNITS:
        raise InputError(f"no units are called {name!r}; there are {', '.join(UNITS)}")
    units: Units = _find(UNITS[name])()
    return units


def in_units(scorer: Scorer, name: str, aggregate: Aggregate = "mean") -> UnitScorer:
    """`scorer` on claims cut into the units called `name`, their scores joined by `aggregate`.

    Sub-sentences are nested: the minimum over those of a sentence, then `aggregate` over sentences (InFusE,
    sections 3 and 4). Raises: InputError for an unknown name.
    """
    if name == "subsentences":
        scorer, name = UnitScorer(scorer, load_units(name), "minimum"), "sentences"
    return UnitScorer(scorer, load_units(name), aggregate)


DEFAULT = "nearest"
"""The scorer that a guard, `groundrail check`, `eval` and `calibrate` use where none is named."""


def as_scorer(given: Scorer | EntailmentModel | str | None, judge: EntailmentModel | None = None) -> Scorer:
    """A scorer as it is, the default one for None, SCALE around an entailment model or the id of one. `judge` is the
    model to put in its place, where it was wrapped."""
    if isinstance(given, Scorer):
        return given
    return load_scorer(DEFAULT if given is None else "scale", given if judge is None else judge)

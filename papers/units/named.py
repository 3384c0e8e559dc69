"""Units of a claim by short name, for the command line."""

from importlib.metadata import EntryPoint

from groundrail.errors import InputError
from groundrail.papers.units.base import Aggregate, SentenceUnits, Units, UnitScorer, WholeClaim
from groundrail.papers.units.subsentences import SubSentenceUnits
from groundrail.scoring.base import Scorer

SPLITTERS: dict[str, str] = {
    "subsentences": "groundrail.papers.units.clauses:ClauseSplitter",
    "parsed": "groundrail.papers.units.parsed:ParsedSplitter",
    "seq2seq": "groundrail.papers.units.subsentences:Seq2SeqSplitter.from_pretrained",
}
"""Splitters of sentences into sub-sentences: by rule, by a spaCy pipeline, or by a tuned encoder-decoder."""

UNITS: tuple[str, ...] = ("sentences", *SPLITTERS, "whole")
"""Names of the units into which a claim can be cut."""


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
        build = EntryPoint(name, SPLITTERS[name], "units").load()
        return SubSentenceUnits(build(*filter(None, [splitter])))
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

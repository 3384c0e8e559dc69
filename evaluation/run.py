"""Score the claims of a benchmark and write each result at once, so that a second run continues.

Claims are read as the guard reads them (`groundrail.text.claims`). A result is found again by a hash of everything that
it depends on: the scorer with its settings, the code of the package, the scorer's scores of two fixed probes (which
detect other weights under the same name), the claim and its source. `groundrail.evaluation.summary` computes the
measures.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from groundrail.errors import InputError, ScoringError, UncheckableError
from groundrail.evaluation.counting import CountingEntailment
from groundrail.evaluation.examples import Example
from groundrail.evaluation.kept import Keyed, keep, key_of, read_kept
from groundrail.evaluation.units import Aggregate, UnitScorer, in_units
from groundrail.scoring.base import Score, Scorer, ScorerMetadata
from groundrail.text.claims import PART_OF_BLOCK, Claim, NoClaim, Refused, read_claim
from groundrail.text.form import SourceText
from groundrail.text.rendering.rendered import RenderedAnswer
from groundrail.text.sentences import split
from groundrail.types import Span

_PROBE_SOURCE = "The museum opens at nine on weekdays. Children under twelve enter free of charge."
_PROBE_CLAIMS = ("Children under twelve pay nothing.", "The museum opens at seven on weekdays.")

_Keyed: TypeAlias = tuple[str, Example]
"""An example with the key of its result."""


class Result(Keyed):
    """The score of one example.

    value: the score. None if the text claims nothing or the scorer gave no number; 0 if the guard refuses the claim
        without asking a scorer.
    citations: the best citation first.
    seconds, calls, pairs: time, calls of the judge, and pairs of premise and claim; each is the claim's share of its
        batch.
    error: the message of a scorer that failed; the next run tries the claim again.
    """

    dataset: str
    id: str
    value: float | None
    citations: tuple[Span, ...] = ()
    seconds: float = 0.0
    calls: float = 0.0
    pairs: float = 0.0
    error: str | None = None


def describe(thing: object, depth: int = 4) -> Any:
    """Describe a scorer and the objects inside it by class names and plain settings, for hashing."""
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, CountingEntailment):
        return describe(thing.model, depth)
    described: dict[str, Any] = {"class": f"{type(thing).__module__}.{type(thing).__qualname__}"}
    if depth and hasattr(thing, "__dict__") and not type(thing).__module__.startswith(("torch", "transf")):
        asked = getattr(getattr(type(thing).__init__, "__code__", None), "co_varnames", ())
        for name, value in sorted(vars(thing).items()):
            if isinstance(value, Mapping | Set | list | tuple):
                if name in asked:  # other collections are memory of the object and no settings
                    described[name] = repr(sorted(value, key=str) if isinstance(value, Set) else value)
            elif not callable(value):
                described[name] = describe(value, depth - 1)
    return described


@cache
def code() -> str:
    """Hash of all files in the package that a score can depend on: modules and built-in weights."""
    import groundrail
    from groundrail import decoding

    digest = hashlib.sha256()
    for package in (groundrail, decoding):
        root = Path(str(package.__file__)).parent
        for file in sorted([*root.rglob("*.py"), *root.rglob("*.json"), *root.rglob("*.safetensors")]):
            digest.update(f"{package.__name__}/{file.relative_to(root)}".encode())
            with file.open("rb") as opened:
                digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()


def fingerprint(scorer: Scorer, settings: Mapping[str, Any] | None = None) -> str:
    """Hash that changes with the scorer's class, settings or weights, or with groundrail's code."""
    described = describe(scorer)
    probes = scorer.score(_PROBE_CLAIMS, _PROBE_SOURCE)
    facts = {
        "code": code(),
        "scorer": described,
        "settings": dict(settings or {}),
        "probes": [None if math.isnan(probe.value) else round(probe.value, 4) for probe in probes],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def _key(print_: str, example: Example) -> str:
    source = [(document.id, document.text) for document in example.source]
    return key_of(print_, example.dataset, example.id, source, example.claim, example.question)


def evaluate(
    scorer: Scorer,
    examples: Sequence[Example],
    *,
    results: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    units: str | None = None,
    aggregate: Aggregate = "mean",
    splitter: str | None = None,
    counter: CountingEntailment | None = None,
    batch: int = 32,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Score every example whose claim is not blank, in order.

    Args:
        units: name of the units into which a claim is cut before scoring; None takes `Scorer.claim_units`.
        aggregate: joins the scores of the units (`groundrail.evaluation.units.in_units`).
        splitter: the model that cuts the units.
        results: a JSON-lines file to continue.
        settings: other settings that the scores depend on.
        counter: the counting wrapper inside the scorer, if there is one.
        progress: gets the number of claims done and the number of all claims.
    """
    claims = [example for example in examples if example.claim.strip()]
    whole = in_units(scorer, units or scorer.claim_units, aggregate, splitter)
    print_ = fingerprint(whole, settings)
    keys = [_key(print_, example) for example in claims]
    found = {key: result for key, result in read_kept(results, Result).items() if result.error is None}
    waiting = [(key, example) for key, example in zip(keys, claims, strict=True) if key not in found]
    done = len(claims) - len(waiting)
    for some in _batches(waiting, batch):
        new = _judged(whole, some, counter)
        found.update((result.key, result) for result in new)
        keep(results, new)
        done += len(new)
        if progress is not None:
            progress(done, len(claims))
    return [found[key] for key in keys]


def _batches(waiting: Sequence[_Keyed], size: int) -> Iterator[list[_Keyed]]:
    """Batches of at most `size` neighbouring examples with the same source."""
    for _, neighbours in groupby(waiting, key=lambda keyed: keyed[1].source):
        same = list(neighbours)
        yield from (same[start : start + size] for start in range(0, len(same), size))


def _judged(scorer: UnitScorer, batch: Sequence[_Keyed], counter: CountingEntailment | None) -> list[Result]:
    """Score claims about one source together; if that fails each alone, so that only failing claims are lost."""
    calls, pairs, started = *_counted(counter), time.perf_counter()
    try:
        scores = _scores(scorer, [example for _, example in batch])
    except (InputError, ScoringError) as error:
        if len(batch) > 1:
            return [result for one in batch for result in _judged(scorer, [one], counter)]
        ((key, example),) = batch
        return [Result(key=key, dataset=example.dataset, id=example.id, value=None, error=str(error))]
    seconds, (calls_now, pairs_now) = time.perf_counter() - started, _counted(counter)
    return [
        Result(
            key=key,
            dataset=example.dataset,
            id=example.id,
            value=None if math.isnan(score.value) else score.value,
            citations=tuple(Span(document_id=c.document_id, start=c.start, end=c.end) for c in score.citations),
            seconds=seconds / len(batch),
            calls=(calls_now - calls) / len(batch),
            pairs=(pairs_now - pairs) / len(batch),
        )
        for (key, example), score in zip(batch, scores, strict=True)
    ]


def _counted(counter: CountingEntailment | None) -> tuple[int, int]:
    return (counter.calls, counter.pairs) if counter else (0, 0)


def _scores(scorer: UnitScorer, examples: Sequence[Example]) -> list[Score]:
    """Score each text: read the claims of its sentences as the guard does, and score them in the scorer's units.

    A text with a refused sentence has the value 0, a text that claims nothing has NaN; the scorer is not asked about
    either.
    """
    source, compared = examples[0].source, SourceText(examples[0].source)
    read = [(e.claim, read_claims(e.claim, compared, scorer.metadata, question=e.question)) for e in examples]
    known = [_unasked(claims) for _, claims in read]
    units = [scorer.units_of(_claimed(*text)) for text, score in zip(read, known, strict=True) if score is None]
    asked = iter(scorer.score_units(units, scorer.scorer.read(source)) if units else ())
    return [next(asked) if score is None else score for score in known]


def read_claims(
    text: str, source: SourceText, metadata: ScorerMetadata, *, question: str = ""
) -> list[Claim | NoClaim | Refused]:
    """Read the claim of every sentence of a text that answers `question`, each after the sentences before it."""
    rendered, previous = RenderedAnswer(), ""
    found: list[Claim | NoClaim | Refused] = []
    for sentence in split(text):
        claim = read_claim(
            sentence.text,
            previous,
            question,
            source,
            lead=sentence.lead,
            heading=sentence.heading,
            unread=metadata.unread,
            reads_context=metadata.reads_context,
        )
        if sentence.of_block:
            claim = PART_OF_BLOCK
        if not isinstance(claim, Refused):
            try:
                rendered.refuse_difference(sentence.text)
            except UncheckableError as error:
                claim = Refused(str(error))
        rendered.add(sentence.text)
        found.append(claim)
        previous = sentence.text
    return found


def _claimed(text: str, claims: Sequence[Claim | NoClaim | Refused]) -> list[str]:
    """The claims of a text; the first keeps the blanks at the start of the text, which a language model reads."""
    found = [each for claim in claims if isinstance(claim, Claim) for each in claim.judged]
    return [text[: len(text) - len(text.lstrip())] + found[0], *found[1:]]


def _unasked(claims: Sequence[Claim | NoClaim | Refused]) -> Score | None:
    """The score of a text that needs no scorer, None for other texts."""
    refused = next((claim for claim in claims if isinstance(claim, Refused)), None)
    if refused is not None:
        return Score(0.0, note=refused.reason)
    return None if any(isinstance(claim, Claim) for claim in claims) else Score(math.nan)

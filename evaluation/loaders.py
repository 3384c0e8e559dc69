"""Read benchmark files of single claims into `Example`s: the rows of each format.

Benchmarks of summaries are in `groundrail.evaluation.summaries`. Rows with an empty claim are kept, and
`groundrail.evaluation.run` counts them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from groundrail.evaluation import summaries
from groundrail.evaluation.examples import Example
from groundrail.evaluation.places import Label, Place, lines, one, read_text
from groundrail.evaluation.rows import Format, read_file
from groundrail.types import Document, Span


class _WiceMeta(BaseModel):
    id: str


class _WiceRow(BaseModel):
    claim: str
    label: Label
    evidence: list[str]
    supporting_sentences: list[list[int]] = []
    meta: _WiceMeta | None = None


class _LongClaim(BaseModel):
    text: str
    label: Label = None
    prompt: str | int | None = None
    evidence: list[tuple[int, int]] = []
    kind: str | None = None


class _LongRow(BaseModel):
    id: str
    text: str
    claims: list[_LongClaim]


class _ChallengeRow(BaseModel):
    document: str
    claim: str
    label: Label
    id: str | int | None = None
    evidence: str | None = None
    also: list[str] = []
    pair: str | None = None
    kind: str | None = None
    split: str | None = None


class _Turn(BaseModel):
    speaker: str
    content: str


class _Query(BaseModel):
    query: str
    answer: str
    relevant_text_span: list[tuple[int, int]] = []


class _QmsumRow(BaseModel):
    meeting_transcripts: list[_Turn]
    specific_query_list: list[_Query] = []
    general_query_list: list[_Query] = []


class _AblationRow(BaseModel):
    context: str
    target: str
    new_target: str
    source: str
    new_source: str


class _AttributionRow(BaseModel):
    claim: str
    references: list[str]
    attribution_label: Literal["attributable", "not attributable"]
    src_dataset: str = ""
    id: str | None = None


def _flat(
    source: str,
    claim: str,
    *,
    id: str | None = None,
    sets: Sequence[str] = (),
    kind: str = "kind",
    system: str = "system",
) -> Callable[[Place, Mapping[str, Any], str], Iterator[Example]]:
    """Read rows of one source and one claim; the arguments are the columns.

    sets: columns whose values name the data set; "" stands for the name of the file.
    """

    def read(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
        number = None if id is None else row.get(id)
        parts = [row.get(column) if column else name for column in sets or ("",)]
        yield Example(
            str(place.line if number in (None, "") else number),
            "-".join(str(part) for part in parts if part),
            one(place.text(row, source)),
            place.text(row, claim),
            place.label(row, "label"),
            kind=row.get(kind),
            system=row.get(system),
        )

    return read


def _q2(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
    """Read Q²'s two layouts: one response in a row with the label in the file's name, or one for each system.

    In the second layout 1 marks a response that is not consistent with the knowledge; a comparison of the authors'
    files shows this.
    """
    source = one(str(row["knowledge"] or ""))
    number = row.get("") or str(place.line)
    if "response" in row:
        label = 0.0 if "inconsistent" in name else 1.0 if "consistent" in name else None
        yield Example(str(number), name, source, str(row["response"] or ""), label)
        return
    if not any(column.endswith("_response") for column in row):
        raise place.error("response", "missing; format 'q2' has response, or columns that end in _response")
    for column in row:
        system, found, rest = column.rpartition("_response")
        if found and not rest:
            wrong = place.label(row, f"{system}_label")
            label = None if wrong is None else 1 - wrong
            yield Example(
                f"{number}-{system}", name, source, str(row[column] or ""), label, group=str(number), system=system
            )


def _wice(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
    parsed = place.parse(_WiceRow, row)
    document, spans = lines(parsed.evidence)
    sets = [place.numbered("supporting_sentences", spans, chosen) for chosen in parsed.supporting_sentences if chosen]
    id = parsed.meta.id if parsed.meta else str(place.line)
    yield Example(id, name, (document,), parsed.claim, parsed.label, tuple(sets) or None)


def _long(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
    parsed = place.parse(_LongRow, row)
    source = one(parsed.text, parsed.id)
    for number, claim in enumerate(parsed.claims):
        for start, end in claim.evidence:
            if not 0 <= start <= end <= len(parsed.text):
                raise place.error(
                    f"claims.{number}.evidence",
                    f"expected [start, end] offsets into the text of {len(parsed.text)} characters, not {[start, end]}",
                )
        sets = tuple((Span(document_id=parsed.id, start=start, end=end),) for start, end in claim.evidence)
        group = None if claim.prompt is None else f"{parsed.id}/{claim.prompt}"
        prompt = claim.prompt if isinstance(claim.prompt, str) else ""
        id, evidence = f"{parsed.id}/{number}", sets or None
        yield Example(id, name, source, claim.text, claim.label, evidence, group, claim.kind, question=prompt)


def _qmsum(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
    """Read QMSum: each reference answer is a claim that the meeting supports, with the named turns as evidence."""
    parsed = place.parse(_QmsumRow, row)
    document, spans = lines([f"{turn.speaker}: {turn.content}" for turn in parsed.meeting_transcripts])
    for number, query in enumerate(parsed.specific_query_list + parsed.general_query_list):
        for first, last in query.relevant_text_span:
            if not 0 <= first <= last < len(spans):
                raise place.error("relevant_text_span", f"expected turns 0 to {len(spans) - 1}, not {first}-{last}")
        turns = [span for first, last in query.relevant_text_span for span in spans[first : last + 1]]
        evidence = (tuple(turns),) if turns else None
        yield Example(f"{place.line}/{number}", name, (document,), query.answer, 1.0, evidence)


def _challenge(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
    """Read pairs of a true and a wrong claim about documents in a folder; each split is a data set."""
    parsed = place.parse(_ChallengeRow, row)
    path = place.documents / parsed.document
    if not path.is_file():
        raise place.error("document", f"expected a file in {place.documents}, not {parsed.document!r}")
    text = read_text(path)
    spans = []
    for passage in [parsed.evidence, *parsed.also]:
        if passage:
            start = text.find(passage)
            if start < 0:
                raise place.error("evidence", f"expected words of {path}, not {passage[:80]!r}")
            spans.append(Span(document_id=parsed.document, start=start, end=start + len(passage)))
    yield Example(
        str(place.line if parsed.id is None else parsed.id),
        f"{name}-{parsed.split}" if parsed.split else name,
        one(text, parsed.document),
        parsed.claim,
        parsed.label,
        (tuple(spans),) if spans else None,
        parsed.pair,
        parsed.kind,
    )


def _ablation(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
    """Read West et al.'s factual ablation: each target is a claim about two sources; one of them supports it.

    The context stays separate, because a judge does not read it (section 4.2.2) and a language model does.
    """
    for number, (context, target, own, other) in enumerate(ablation_targets(place, row)):
        group = f"{place.line}/{number}"
        for role, source, label in (("own", own, 1.0), ("other", other, 0.0)):
            yield Example(f"{group}/{role}", name, one(source), target, label, group=group, context=context)


def ablation_targets(place: Place, row: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Context, target, the source that supports it, and the other source, for both targets of a record."""
    parsed = place.parse(_AblationRow, row)
    yield parsed.context, parsed.target, parsed.source, parsed.new_source
    yield parsed.context, parsed.new_target, parsed.new_source, parsed.source


def _attributionbench(place: Place, row: Mapping[str, Any], name: str) -> Iterator[Example]:
    """Read Li et al.'s claims with the passages cited for them; each original data set stays a data set."""
    parsed = place.parse(_AttributionRow, row)
    source = tuple(Document(text=text, id=f"reference {n}") for n, text in enumerate(parsed.references, start=1))
    if not source:
        raise place.error("references", "expected at least one passage")
    label = float(parsed.attribution_label == "attributable")
    dataset = f"{name}-{parsed.src_dataset}" if parsed.src_dataset else name
    yield Example(parsed.id or str(place.line), dataset, source, parsed.claim, label)


FORMATS: dict[str, Format[Example]] = {
    "true": Format(
        frozenset({"grounding", "generated_text", "label"}), _flat("grounding", "generated_text", id=""), csv=True
    ),
    "q2": Format(frozenset({"knowledge", "gold"}), _q2, csv=True),
    "wice": Format(frozenset({"claim", "evidence", "supporting_sentences"}), _wice),
    "long": Format(frozenset({"text", "claims"}), _long),
    "qmsum": Format(frozenset({"meeting_transcripts"}), _qmsum),
    "frank": Format(frozenset({"hash", "model_name", "article", "summary"}), summaries.frank),
    "summac": Format(
        frozenset({"document", "claim", "label", "dataset"}),
        _flat("document", "claim", sets=("dataset", "cut"), kind="error_type", system="model_name"),
    ),
    "aggrefact": Format(
        frozenset({"doc", "summary", "label", "origin"}),
        _flat("doc", "summary", sets=("origin", "dataset", "cut"), system="model_name"),
        csv=True,
    ),
    "challenge": Format(frozenset({"document", "claim"}), _challenge),
    "attributionbench": Format(frozenset({"claim", "references", "attribution_label"}), _attributionbench),
    "llm-aggrefact": Format(frozenset({"dataset", "doc", "claim", "label"}), _flat("doc", "claim", sets=("", "dataset"))),
    "screeneval": Format(frozenset({"convo", "inferred_summary", "agg_label"}), summaries.screeneval),
    "screeneval-utterances": Format(frozenset({"original_convo", "inferred_summary", "agg_label"}), summaries.utterances),
    "ablation": Format(frozenset({"target", "new_target", "new_source"}), _ablation),
    "pairs": Format(frozenset({"premise", "hypothesis"}), _flat("premise", "hypothesis", id="id")),
}


def load(path: str | Path, format: str | None = None, documents: str | Path | None = None) -> list[Example]:
    """Read a benchmark file.

        examples = load("claims.jsonl")

    Args:
        format: Name of the format; None guesses it from the first row.
        documents: The folder of the documents that a challenge file names; by default the folder of the file.

    Raises: InputError for a file in no known format, and for a bad row, with line and field.
    """
    return read_file(Path(path), FORMATS, format, None if documents is None else Path(documents), "claims")

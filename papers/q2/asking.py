"""Ask questions that a given span of the claim answers: Q²'s first step (section 2, "Question Generation").

Questions come from templates (a baseline without a model) or from an encoder-decoder trained to ask.
`groundrail.papers.q2.q2` checks each question by answering it from the claim.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from groundrail.errors import ClaimTooLongError, InputError
from groundrail.papers.q2.candidates import Candidate, Kind
from groundrail.runtime.locks import one_at_a_time
from groundrail.text.english import words
from groundrail.types import Span

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PAPER_GENERATOR = "mrm8488/t5-base-finetuned-question-generation-ap"
"""Hub id of the paper's question generator."""

_WORD = re.compile(r"\w+(?:['’.\-/]\w+)*|\S")


@runtime_checkable
class QuestionGenerator(Protocol):
    """Ask questions about spans of a claim."""

    def questions(self, claim: str, answers: Sequence[Candidate]) -> list[list[str]]:
        """For each span of `claim`, the questions that the span answers, the best first; possibly none."""
        ...


class TemplateQuestions:
    """Replace the candidate in its sentence by a question word; a baseline without a model.

    `Who wrote the first program?` if the span is the subject, `In what year was Ada born?` if an auxiliary can be moved
    to the front, else `Ada moved to Paris in what year?`. The questions are stiff and always about the span.

        TemplateQuestions().questions("Ada was born in 1815.", candidates("Ada was born in 1815."))
    """

    def questions(self, claim: str, answers: Sequence[Candidate]) -> list[list[str]]:
        """One question for each span."""
        from groundrail.text.sentences import split

        sentences = split(claim)
        return [
            [_asked(sentence.text.strip(), answer, Span.trimmed(claim, sentence.start)[0])]
            for answer in answers
            for sentence in sentences
            if sentence.start <= answer.start < sentence.end
        ]


def _asked(sentence: str, answer: Candidate, offset: int) -> str:
    before, after = sentence[: answer.start - offset], sentence[answer.end - offset :]
    after = after.rstrip(" .!?\"'")
    asking = _question_word(answer, before, after)
    fronted = (
        None if asking == "how many" else _fronted(before, asking, after)
    )  # the counted noun follows the question word
    question = (fronted or f"{before}{asking}{after}?").strip()
    return question[:1].upper() + question[1:]


def _question_word(answer: Candidate, before: str, after: str) -> str:
    if answer.kind in (Kind.AMOUNT, Kind.NUMBER):
        counted = answer.kind is Kind.NUMBER and re.match(r"\s+[a-z]", after)
        return "how many" if counted else "how much"
    if answer.kind in (Kind.YEAR, Kind.DATE, Kind.TIME):
        return f"what {answer.kind}"
    said = answer.text.lower().split()
    person = answer.kind is Kind.NAME and len(said) > 1 and not words.ORGANISATION.intersection(said)
    return "who" if person and not before.rstrip().endswith((" in", " at", " near")) else "what"


def _fronted(before: str, asking: str, after: str) -> str | None:
    """The question with the auxiliary first; None if the sentence is not simple enough."""
    tokens = list(_WORD.finditer(before))
    verbs = [i for i, token in enumerate(tokens) if token[0].lower() in words.AUXILIARIES]
    if not verbs or not 1 <= verbs[0] <= 8:
        return None
    place = verbs[0]
    subject, between = tokens[:place], [token[0].lower() for token in tokens[place + 1 :]]
    simple = not any(word in words.CONJUNCTIONS or not word[0].isalnum() for word in between)
    plain = all(token[0][0].isalnum() for token in subject)
    clause = any(token[0].lower() in ("who", "which", "that", "if", "when") for token in subject)
    if not simple or not plain or clause or any(map(words.is_finite, between[1:])):
        return None
    preposition = between[-1] if between and between[-1] in words.PREPOSITIONS else ""
    kept = before[tokens[place].end() : tokens[-1].start() if preposition else len(before)]
    opening = before[: tokens[place].start()].strip()
    if opening.split()[0].lower() in words.FUNCTION:
        opening = opening[0].lower() + opening[1:]
    parts = (preposition, asking, tokens[place][0], opening, kept.strip(), after.strip())
    return " ".join(part for part in parts if part) + "?"


class Seq2SeqQuestions:
    """Questions written by an encoder-decoder, by default the paper's T5.

    beams: 1 is greedy decoding, the paper's main setting (section 6.1); appendix B uses 5.
    template: the prompt, with `{answer}` and `{context}`.
    prefix: text that is removed from the start of each question.
    max_new_tokens: maximum length of a question; a question that does not end within it is dropped.
    """

    def __init__(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerBase",
        *,
        template: str = "answer: {answer}  context: {context}",
        prefix: str = "question:",
        beams: int = 1,
        max_new_tokens: int = 128,
        batch_size: int = 8,
    ) -> None:
        self._parts = re.split(r"\{(answer|context)\}", template)
        if sorted(self._parts[1::2]) != ["answer", "context"]:
            raise InputError(f"a template holds {{answer}} and {{context}} once each, unlike {template!r}")
        if min(beams, max_new_tokens, batch_size) < 1:
            raise InputError("beams, max_new_tokens and batch_size are at least 1")
        self.model = model.eval()  # type: ignore[no-untyped-call]
        self.tokenizer = tokenizer
        self.prefix = prefix
        self.beams = beams
        self.max_new_tokens = max_new_tokens
        self.batch_size = batch_size

    @classmethod
    @one_at_a_time
    def from_pretrained(
        cls,
        name_or_path: str = PAPER_GENERATOR,
        *,
        device: "str | torch.device | None" = None,
        dtype: "str | torch.dtype | None" = None,
        hub: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Self:
        """Load by hub id or folder; `hub` goes to transformers, `settings` to the constructor.

        Raises: ModelError if the model cannot be loaded.
        """
        from transformers import AutoModelForSeq2SeqLM

        from groundrail.runtime.hub import load_pretrained

        model, tokenizer = load_pretrained(
            AutoModelForSeq2SeqLM, name_or_path, device=device, dtype=dtype, hub=hub or {}
        )
        return cls(model, tokenizer, **settings)

    def questions(self, claim: str, answers: Sequence[Candidate]) -> list[list[str]]:
        """Up to `beams` questions for each span. Raises: ClaimTooLongError if the model cannot read the claim."""
        found: list[list[str]] = []
        for start in range(0, len(answers), self.batch_size):
            found += self._asked([self._prompt(a.text, claim) for a in answers[start : start + self.batch_size]])
        return found

    def _prompt(self, answer: str, context: str) -> str:
        filling = {"answer": answer, "context": context}
        return "".join(filling[part] if i % 2 else part for i, part in enumerate(self._parts))

    def _asked(self, prompts: list[str]) -> list[list[str]]:
        import torch

        from groundrail.entailment.pretrained import longest_input

        inputs = self.tokenizer(prompts, return_tensors="pt", padding=True, truncation=False, verbose=False)
        tokens, limit = inputs["input_ids"].shape[1], longest_input(self.model, self.tokenizer)
        if limit is not None and tokens > limit:
            raise ClaimTooLongError(
                f"a claim of {tokens} tokens with its prompt does not fit a question generator that reads "
                f"{limit}; split it into sentences"
            )
        with torch.inference_mode():
            rows = self.model.generate(
                **inputs.to(self.model.device),
                do_sample=False,
                num_beams=self.beams,
                num_return_sequences=self.beams,
                no_repeat_ngram_size=3 if self.beams > 1 else 0,
                early_stopping=self.beams > 1,
                max_new_tokens=self.max_new_tokens,
            ).tolist()
        written = [self._question(row) for row in rows]
        return [
            list(dict.fromkeys(filter(None, written[start : start + self.beams])))
            for start in range(0, len(written), self.beams)
        ]

    def _question(self, ids: list[int]) -> str:
        if self.tokenizer.eos_token_id not in ids[1:]:
            return ""
        return str(self.tokenizer.decode(ids, skip_special_tokens=True)).removeprefix(self.prefix).strip()

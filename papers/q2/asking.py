"""Ask questions that a given span of the claim answers: Q²'s first step (section 2, "Question Generation").

Questions come from templates (a baseline without a model) or from an encoder-decoder trained to ask.
`groundrail.papers.q2.q2` checks each question by answering it from the claim.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from groundrail.errors import InputError
from groundrail.papers.pretrained import Writer
from groundrail.papers.q2.candidates import Candidate, Kind
from groundrail.text.english import words
from groundrail.types import Span

if TYPE_CHECKING:
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
    fronted = None if asking == "how many" else _fronted(before, asking, after)  # the counted noun follows the question word
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


class Seq2SeqQuestions(Writer):
    """Questions written by an encoder-decoder; `PAPER_GENERATOR` is the paper's T5.

        Seq2SeqQuestions.from_pretrained(PAPER_GENERATOR, beams=5)

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
        super().__init__(model, tokenizer)
        self._parts = re.split(r"\{(answer|context)\}", template)
        if sorted(self._parts[1::2]) != ["answer", "context"]:
            raise InputError(f"a template holds {{answer}} and {{context}} once each, unlike {template!r}")
        if min(beams, max_new_tokens, batch_size) < 1:
            raise InputError("beams, max_new_tokens and batch_size are at least 1")
        self.prefix, self.beams, self.max_new_tokens, self.batch_size = prefix, beams, max_new_tokens, batch_size

    def questions(self, claim: str, answers: Sequence[Candidate]) -> list[list[str]]:
        """Up to `beams` questions for each span. Raises: ClaimTooLongError if the model cannot read the claim."""
        prompts = [self._prompt(answer.text, claim) for answer in answers]
        batches = (prompts[start : start + self.batch_size] for start in range(0, len(prompts), self.batch_size))
        written = [texts for batch in batches for texts in self.write(batch, self.max_new_tokens, self.beams)]
        return [
            list(dict.fromkeys(filter(None, (text.removeprefix(self.prefix).strip() for text in texts))))
            for texts in written
        ]

    def _prompt(self, answer: str, context: str) -> str:
        filling = {"answer": answer, "context": context}
        return "".join(filling[part] if i % 2 else part for i, part in enumerate(self._parts))

"""Fakes for testing code that uses groundrail, public and stable.

`FakeEntailment` judges by a function, `ScriptedGenerator` writes a script.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from groundrail.entailment.base import BinaryEntailment, FloatArray, JudgeMetadata, Pair
from groundrail.errors import GenerationError, InputError
from groundrail.generators import Generator, Session
from groundrail.types import Document

_WORD = re.compile(r"\w+")


def shares_all_words(premise: str, claim: str) -> float:
    """1.0 if every word of the claim is in the premise, else 0.0."""
    return float(set(_WORD.findall(claim.lower())) <= set(_WORD.findall(premise.lower())))


class FakeEntailment(BinaryEntailment):
    """An entailment model that judges by a function of (premise, claim) and counts its calls.

    Further keywords go to `JudgeMetadata`, such as `threshold=0.7`.
    """

    def __init__(self, judge: Callable[[str, str], float] = shares_all_words, max_tokens: int = 512, **facts: Any) -> None:
        self.judge, self.max_tokens, self._facts = judge, max_tokens, facts
        self.calls: list[list[Pair]] = []

    @property
    def metadata(self) -> JudgeMetadata:
        """The class's name with what it was given."""
        return JudgeMetadata(type(self).__name__, self.max_tokens, **self._facts)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Words count as tokens."""
        return [match.span() for match in _WORD.finditer(text)]

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """`judge` of each pair, shape (n,); the call is noted in `calls`."""
        self.calls.append(list(pairs))
        return np.array([self.judge(premise, claim) for premise, claim in pairs], dtype=np.float64)


class ScriptedGenerator(Generator):
    """Writes a script, and the next text of a sentence after the guard refused one.

        ScriptedGenerator(["The rent is due. ", ["Pets are allowed.", "Pets are not allowed."]])

    Behind the last entry the generator has nothing to write and nothing to retry. A sentence whose texts are used up
    has `Session.can_retry` False, and a caller that asks for another text all the same gets a GenerationError.

    Args:
        script: one entry a sentence: its text, or the texts of successive attempts at it.
        piece: the number of characters that come at once.

    Raises: InputError for an entry without a text.
    """

    def __init__(self, script: Sequence[str | Sequence[str]], piece: int = 7) -> None:
        self.script = [[entry] if isinstance(entry, str) else list(entry) for entry in script]
        if not all(self.script):
            raise InputError(f"sentence {self.script.index([]) + 1} of the script has no text; give it at least one")
        self.piece = piece

    def start(self, question: str, documents: Sequence[Document]) -> "_ScriptedSession":
        """A session that begins the script anew, whatever is asked."""
        return _ScriptedSession(self)


class _ScriptedSession(Session):
    def __init__(self, generator: ScriptedGenerator) -> None:
        self._script, self._piece = generator.script, generator.piece
        self._sentence, self._attempt = 0, 0

    @property
    def can_retry(self) -> bool:
        return self._attempt + 1 < len(self._texts)

    @property
    def _texts(self) -> Sequence[str]:
        """The texts of the sentence that is written next; none behind the script's end."""
        return self._script[self._sentence] if self._sentence < len(self._script) else ()

    def propose(self) -> Iterator[str]:
        texts = self._texts
        if texts and self._attempt >= len(texts):
            raise GenerationError(
                f"sentence {self._sentence + 1} of the script has {len(texts)} texts, and another was asked for; add "
                f"one, or ask `can_retry` first"
            )
        written = [texts[self._attempt]] if texts else []
        for text in [*written, *(later[0] for later in self._script[self._sentence + 1 :])]:
            for start in range(0, len(text), self._piece):
                yield text[start : start + self._piece]

    def accept(self, n_chars: int) -> None:
        self._sentence, self._attempt = self._sentence + 1, 0

    def reject(self, n_chars: int) -> None:
        self._attempt += 1

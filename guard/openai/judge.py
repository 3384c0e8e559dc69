"""`RemoteEntailment`: a language model on an OpenAI-compatible server as a judge, read from its logprobs.

SCALE's prompt (section 3.1), answered by the first token. Chunking and maxima belong to
`groundrail.scoring`, requests to `groundrail.openai.client`.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Unpack

import numpy as np

from groundrail.entailment.base import TEMPLATE, BinaryEntailment, FloatArray, JudgeMetadata, Pair, Template, room
from groundrail.errors import InputError, ModelError, ScoringError
from groundrail.openai.client import ChatCompletions, Connection

_PIECE = re.compile(r"[A-Za-z]{1,4}|\S")
_WORD_MARKS = " \t\n▁Ġ\"'*.,"
_TOP = 20


class RemoteEntailment(BinaryEntailment):
    """P(premise entails claim) = P(Yes) / (P(Yes) + P(No)) at the first token of the model's answer.

    Yes and No count in every casing and with whatever space the server returns, among its 20 likeliest tokens.
    Where only Yes is among them, No counts as much as the least of them, the most it can be; where only No is,
    Yes counts 0. The server must return `top_logprobs`: nothing is read from text.

    template: holds `{premise}` and `{claim}` once each.
    max_tokens: premise and claim together. Without the server's tokenizer, four letters, or any other
        character, count as a token, which is more than real tokenizers make of most text.
    parameters: further fields of the request, or other values for `max_tokens` and the like.

    The other arguments go to `ChatCompletions`. Raises: ModelError where logprobs, or both answers, are missing;
    ScoringError where the server fails.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        template: str = TEMPLATE,
        threshold: float = 0.5,
        max_tokens: int = 2048,
        parameters: Mapping[str, Any] | None = None,
        **connection: Unpack[Connection],
    ) -> None:
        self._template, self.threshold, self.max_tokens = Template(template), threshold, max_tokens
        self.client = ChatCompletions(base_url, model, failure=ScoringError, **connection)
        self._parameters = {"max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": _TOP}
        self._parameters |= parameters or {}

    def __repr__(self) -> str:
        return f"RemoteEntailment({self.client.server!r}, {self.client.model!r})"

    @property
    def metadata(self) -> JudgeMetadata:
        """The model's name on its server, its limit and threshold."""
        return JudgeMetadata(self.client.model, self.max_tokens, self.threshold)

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Spans of up to four letters, or one other character."""
        return [match.span() for match in _PIECE.finditer(text)]

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        """P(premise entails claim) for each pair, shape (n,); equal pairs are asked once.

        Raises: InputError for a pair that does not fit, ClaimTooLongError if the claim alone is too long.
        """
        for premise, claim in pairs:
            total = len(self.offsets(premise)) + self.max_tokens - room(claim, self)
            if total > self.max_tokens:
                raise InputError(f"premise and claim have {total} tokens together, more than {self.max_tokens}")
        distinct = list(dict.fromkeys(pairs))
        if not distinct:
            return np.empty(0)
        with ThreadPoolExecutor(min(self.client.max_concurrency, len(distinct))) as pool:
            answers = [pool.submit(self._ask, *pair) for pair in distinct]
            try:
                values = dict(zip(distinct, (answer.result() for answer in answers), strict=True))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return np.array([values[pair] for pair in pairs], dtype=np.float64)

    def _ask(self, premise: str, claim: str) -> float:
        prompt = {"role": "user", "content": self._template.fill(premise, claim)}
        answer = self.client.complete({"messages": [prompt], **self._parameters})
        return _probability(_first_token(answer, self.client.server), self.client.server)


def _first_token(answer: Mapping[str, Any], server: str) -> Collection[tuple[str, float]]:
    """(token, logprob) of the candidates for the answer's first token."""
    try:
        first = answer["choices"][0]["logprobs"]["content"][0]
        found = {str(c["token"]): float(c["logprob"]) for c in (*first["top_logprobs"], first)}
        if not first["top_logprobs"]:
            raise KeyError("top_logprobs")
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelError(
            f"{server} returned no logprobs for its first token; judging needs a server and a model that do"
        ) from error
    return found.items()


def _probability(candidates: Collection[tuple[str, float]], server: str) -> float:
    mass = {"yes": 0.0, "no": 0.0}
    for token, logprob in candidates:
        word = token.strip(_WORD_MARKS).lower()
        if word in mass:
            mass[word] += math.exp(logprob)
    if mass["yes"] > 0 and mass["no"] == 0:
        mass["no"] = min(math.exp(logprob) for _, logprob in candidates)
    total = mass["yes"] + mass["no"]
    if total <= 0 or not math.isfinite(total):
        raise ModelError(
            f"neither Yes nor No is among the likeliest first tokens {[token for token, _ in candidates]} of {server}; "
            f"pass a template that makes the model answer with one of them"
        )
    return mass["yes"] / total

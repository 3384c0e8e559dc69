"""`HFSession` writes an answer with a Hugging Face model: it proposes sentences and rewrites refused sentences.

A refused sentence costs only its own tokens: the caches go back to the last accepted character, and the refused tokens
are ruled out. `groundrail.decoding.generator` has the models and settings.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from transformers.generation.logits_process import RepetitionPenaltyLogitsProcessor, TopKLogitsWarper, TopPLogitsWarper

from groundrail.decoding.prompt_cache import PromptCache
from groundrail.decoding.steering import combine
from groundrail.errors import GenerationError
from groundrail.generators import Session
from groundrail.text.sentences import STOPS

if TYPE_CHECKING:
    from groundrail.decoding.generator import HFGenerator

_LONGEST_TOKEN = 32
"""Maximum number of characters of a token that can complete a refused sentence."""


@dataclass(slots=True)
class _Token:
    """A token of the answer: `end` is the end of its text, `margin` the lead over the second token, in nats."""

    id: int
    margin: float
    gain: float | None
    end: int = 0


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A refused sentence: its tokens, the index of the token with the lowest margin (where the retry differs), and its
    text without the full stop."""

    ids: tuple[int, ...]
    turn: int
    text: str


class HFSession(Session):
    """One answer; see `groundrail.generators.Session` for the rules.

    `caches`: the prompt with the source, then, if it steers, the prompt without it. `gains`: the mean s_pmi of every
    accepted sentence when steering, in nats.

        session = generator.start("When does the lease end?", [Document(text=lease)])
        pieces = session.propose()
        first = next(pieces)
        session.accept(len(first))  # stays; `pieces` goes on after it
        rest = "".join(pieces)
        session.reject(len(rest))  # text, tokens and caches are those of `first` again
        other = "".join(session.propose())  # other words than `rest`
        session.close()
    """

    def __init__(self, generator: HFGenerator, caches: Sequence[PromptCache]) -> None:
        self._generator, self._caches = generator, caches
        self._tokens: list[_Token] = []
        self._text = ""
        self._accepted = 0
        self._refusals: list[_Refusal] = []
        self._random = torch.Generator().manual_seed(generator.sampling.seed)
        self._started = time.monotonic()
        self._generated = 0
        self._first_accepted: float | None = None
        self.gains: list[float] = []

    @property
    def cut_off(self) -> str:
        """A message if the answer stopped at `max_new_tokens`, possibly within a sentence; else empty."""
        limit = self._generator.sampling.max_new_tokens
        return f"the answer was cut off at max_new_tokens={limit}" if len(self._tokens) >= limit else ""

    @property
    def writes_ahead(self) -> bool:
        """Whether to write ahead: allowed, greedy (discarded tokens would use random numbers), and nothing is refused."""
        return self._generator.writes_ahead and self._generator.sampling.temperature == 0 and not self._refusals

    @property
    def stats(self) -> dict[str, float]:
        """Tokens generated, kept, and fed (once for each prompt), and seconds to the first accepted sentence."""
        return {
            "tokens_generated": self._generated,
            "tokens_kept": sum(token.end <= self._accepted for token in self._tokens),
            "tokens_fed": sum(cache.tokens_fed for cache in self._caches),
            **({} if self._first_accepted is None else {"seconds_to_first_sentence": self._first_accepted}),
        }

    def propose(self) -> Iterator[str]:
        """Write on after the accepted text, in pieces of whole characters, up to the model's end of answer.

        Raises: GenerationError where refusals and processors leave no token to go on with.
        """
        owed = self._rewind()
        start = clean = len(self._tokens)  # `clean` tokens have their whole text; a character may take several
        while len(self._tokens) < self._generator.sampling.max_new_tokens:
            token = self._draw(start, owed)
            self._generated += 1
            if token.id in self._generator.stop_ids:
                break
            self._tokens.append(token)
            added = self._added_text(clean)
            token.end = len(self._text) + len(added) + 1
            if added.endswith("\ufffd"):
                continue
            common = min(len(owed), len(added))
            owed, added = owed[common:], added[common:]
            self._text += added
            for waiting in self._tokens[clean:]:
                waiting.end = len(self._text) - len(owed)
            clean = len(self._tokens)
            if added:
                yield added
        if clean < len(self._tokens):
            self._text += self._added_text(clean)
            yield self._added_text(clean)

    def accept(self, n_chars: int) -> None:
        """Keep the next `n_chars` characters, also if they end within a token, and forget refused sentences."""
        before, self._accepted = self._accepted, self._accepted + n_chars
        gains = [t.gain for t in self._tokens if before < t.end <= self._accepted and t.gain is not None]
        if gains:
            self.gains.append(sum(gains) / len(gains))
        self._first_accepted = self._first_accepted or time.monotonic() - self._started
        self._refusals = []

    def reject(self, n_chars: int) -> None:
        """Refuse the next `n_chars` characters as a sentence, which is then not written again in this place.

        The next proposal differs where the model was least certain, is steered harder, and from the second refusal on
        is drawn at `retry_temperature`; see `Sampling`.
        """
        refused = [t for t in self._tokens if t.end > self._accepted]
        ends = [t.end for t in refused if t.end < self._accepted + n_chars]
        refused = refused[: len(ends) + 1]
        if refused:
            turn = min(range(len(refused)), key=lambda i: refused[i].margin)
            text = self._text[self._accepted : self._accepted + n_chars].strip().rstrip(STOPS)
            self._refusals.append(_Refusal(tuple(t.id for t in refused), turn, text))
        self._rewind()

    def close(self) -> None:
        """Free the caches. If the session is used again, it reads its prompts again."""
        for cache in self._caches:
            cache.reset()

    def _rewind(self) -> str:
        """Remove tokens that were not accepted; return accepted characters that no remaining token covers.

        A token may hold the end of a sentence and letters of the next; the next tokens then begin with the accepted part.
        """
        self._tokens = [token for token in self._tokens if token.end <= self._accepted]
        self._text = self._text[: self._accepted]
        return self._text[self._tokens[-1].end if self._tokens else 0 :]

    def _added_text(self, clean: int) -> str:
        """The text that the tokens from `clean` on add, decoded after a few tokens of context."""
        context = max(0, clean - 4)
        ids = [token.id for token in self._tokens[context:]]
        decode = self._generator.tokenizer.decode
        options = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
        known = decode(ids[: clean - context], **options)
        return str(decode(ids, **options)[len(known) :])

    def _draw(self, start: int, owed: str) -> _Token:
        ids = [token.id for token in self._tokens]
        log_p, *without = self._log_probs(ids)
        steering = self._generator.steering
        if steering is not None and self._refusals:
            steering = steering.harder(self._generator.sampling.retry_alpha)
        scores = log_p if steering is None else combine(log_p, without[0], steering)
        scores = self._allowed(self._processed(scores, ids), ids[start:], owed)
        if torch.isneginf(scores).all():
            raise GenerationError("no token is left to continue with; allow more, or loosen the logits_processor")
        chosen = self._pick(scores)
        others = scores.clone()
        others[chosen] = -torch.inf
        margin = float(scores[chosen] - others.max())
        gain = float(log_p[chosen] - without[0][chosen]) if without else None
        return _Token(chosen, margin, gain)

    def _log_probs(self, ids: list[int]) -> Tensor:
        """log P of the token after `ids`, by prompt: (prompts, vocabulary)."""
        written = torch.tensor([ids], dtype=torch.long)
        logits = [cache.next_logits(written)[:, 0] for cache in self._caches]
        return torch.log_softmax(torch.cat([each.to(logits[0].device) for each in logits]), dim=-1)

    def _processed(self, scores: Tensor, ids: list[int]) -> Tensor:
        penalty, processors = self._generator.sampling.repetition_penalty, self._generator.logits_processor
        written = torch.tensor([ids], dtype=torch.long, device=scores.device)
        row = scores[None]
        if penalty != 1.0 and ids:
            row = RepetitionPenaltyLogitsProcessor(penalty)(written, row)
        if processors is not None:
            row = processors(written, row)  # type: ignore[arg-type]
        return row[0]

    def _allowed(self, scores: Tensor, written: list[int], owed: str) -> Tensor:
        """Rule out tokens that would finish a refused sentence, or change text that was accepted."""
        scores = scores.clone()
        for refusal in self._refusals:
            at = len(written)
            if at in (refusal.turn, len(refusal.ids) - 1) and tuple(written) == refusal.ids[:at]:
                scores[refusal.ids[at]] = -torch.inf
            scores[self._completing(refusal.text)] = -torch.inf
        if owed:
            stops, texts = self._generator.stop_ids, self._generator.vocabulary()
            begins = [text != "" and (text.startswith(owed) or owed.startswith(text)) for text in texts]
            fits = [begin or token in stops for token, begin in enumerate(begins)]
            scores[~torch.tensor(fits, device=scores.device)] = -torch.inf
        return scores

    def _completing(self, refused: str) -> list[int]:
        """Tokens that would complete the present sentence to the refused words, in any tokenization."""
        written = self._text[self._accepted :].lstrip()
        missing = refused[len(written) :]
        if not refused.startswith(written) or len(missing) > _LONGEST_TOKEN:
            return []
        ending = re.compile(r"\s*" * (not written) + re.escape(missing) + rf" *(?:[^\S ]|[{re.escape(STOPS)}])")
        ends = [i for i, text in enumerate(self._generator.vocabulary()) if ending.match(text)]
        return ends if missing else [*ends, *self._generator.stop_ids]

    def _pick(self, scores: Tensor) -> int:
        sampling = self._generator.sampling
        temperature = max(sampling.temperature, sampling.retry_temperature if len(self._refusals) > 1 else 0.0)
        if temperature == 0:
            return int(scores.argmax())
        row = scores[None] / temperature
        none = torch.empty(0, dtype=torch.long)
        if sampling.top_k:
            row = TopKLogitsWarper(sampling.top_k)(none, row)
        if sampling.top_p < 1:
            row = TopPLogitsWarper(sampling.top_p)(none, row)
        return int(torch.multinomial(torch.softmax(row[0], dim=-1).cpu(), 1, generator=self._random))

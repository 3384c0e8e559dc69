"""Prometheus metrics, a log without text, and spans (`groundrail.serve.tracing`) of the server's work."""

import logging
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from groundrail.entailment.shared import Batch
from groundrail.serve.tracing import Tracing
from groundrail.types import CheckedSentence

_log = logging.getLogger("groundrail.serve")

_Seconds = partial(Histogram, buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0))
_Pairs = partial(Histogram, buckets=(1, 2, 4, 8, 16, 32, 64, 128))

M = TypeVar("M")
See: TypeAlias = Callable[[CheckedSentence], None]
"""Takes note of a sentence that is decided on."""


class Observer:
    """Metrics of one app, in a registry of their own. `log_text` writes sentences to the log, at DEBUG."""

    def __init__(self, tracing: Tracing | None = None, *, log_text: bool = False) -> None:
        self._tracing, self._log_text = tracing or Tracing(), log_text
        self.registry = CollectorRegistry()
        self._requests = self._metric(Counter, "requests", "Requests answered", "endpoint", "status")
        self._request_seconds = self._metric(_Seconds, "request_seconds", "Time to the last byte", "endpoint")
        self._sentences = self._metric(Counter, "sentences", "Sentences decided on", "verdict", "released")
        self._sentence_seconds = self._metric(_Seconds, "sentence_seconds", "Time to a sentence's verdict")
        self._attempts = self._metric(Counter, "attempts", "Sentences written, refused ones included")
        self.open = self._metric(Gauge, "requests_open", "Requests being answered")
        self._pairs = self._metric(_Pairs, "batch_pairs", "Pairs judged in one model call")
        self._model_seconds = self._metric(_Seconds, "model_seconds", "Time of a model call")

    def _metric(self, kind: Callable[..., M], name: str, help_text: str, *labels: str) -> M:
        return kind(f"groundrail_{name}", help_text, labels, registry=self.registry)

    def metrics(self) -> bytes:
        """All metrics in Prometheus's text form."""
        return generate_latest(self.registry)

    def request(self, endpoint: str, status: int, seconds: float) -> None:
        """A request has been answered; 499 where the client left before."""
        self._requests.labels(endpoint, str(status)).inc()
        self._request_seconds.labels(endpoint).observe(seconds)
        _log.info("%s %d in %.3f s", endpoint, status, seconds)

    def batch(self, batch: Batch) -> None:
        """A model call has been made."""
        self._pairs.observe(batch.pairs)
        self._model_seconds.observe(batch.seconds)
        self._tracing.model_call(batch)

    def unexpected(self, error: BaseException) -> None:
        """A fault of this program: its kind and place, not its message, which may quote text."""
        frame = traceback.extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
        place = f"{frame.filename}:{frame.lineno}" if frame else "an unknown place"
        _log.error("unexpected %s at %s", type(error).__name__, place)

    @contextmanager
    def answer(self, endpoint: str) -> Iterator[See]:
        """One answer, from its start to its end."""
        released: list[bool] = []

        def see(sentence: CheckedSentence) -> None:
            released.append(sentence.released)
            self.sentence(sentence)

        with self._tracing.answer(endpoint) as span:
            started = time.monotonic()
            try:
                yield see
            finally:
                count, out = len(released), sum(released)
                if span is not None:
                    span.set_attributes({"groundrail.sentences": count, "groundrail.released": out})
                seconds = time.monotonic() - started
                _log.info("%s: %d sentences, %d released, %.3f s", endpoint, count, out, seconds)

    def sentence(self, sentence: CheckedSentence) -> None:
        """Count a sentence: its verdict, its seconds and its attempts. Its text is logged only if that was asked for."""
        self._sentences.labels(str(sentence.verdict), str(sentence.released).lower()).inc()
        self._sentence_seconds.observe(sentence.seconds)
        self._attempts.inc(len(sentence.attempts))
        self._tracing.sentence(sentence)
        if self._log_text:
            _log.debug("%s: %r", sentence.verdict, sentence.text)

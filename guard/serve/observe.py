"""Prometheus metrics, a log without text, and spans (`groundrail.serve.tracing`) of the server's work."""

import logging
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from groundrail.entailment.shared import Batch
from groundrail.serve.tracing import Tracing
from groundrail.types import CheckedSentence

_log = logging.getLogger("groundrail.serve")

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Observer:
    """Metrics of one app, in a registry of their own. `log_text` writes sentences to the log, at DEBUG."""

    def __init__(self, tracing: Tracing | None = None, *, log_text: bool = False) -> None:
        self._tracing, self._log_text = tracing or Tracing(), log_text
        self.registry = registry = CollectorRegistry()
        self._requests = Counter("groundrail_requests", "Requests answered", ["endpoint", "status"], registry=registry)
        self._request_seconds = Histogram(
            "groundrail_request_seconds", "Time to the last byte", ["endpoint"], registry=registry, buckets=_SECONDS
        )
        self._sentences = Counter(
            "groundrail_sentences", "Sentences decided on", ["verdict", "released"], registry=registry
        )
        self._sentence_seconds = Histogram(
            "groundrail_sentence_seconds", "Time to a sentence's verdict", registry=registry, buckets=_SECONDS
        )
        self._attempts = Counter("groundrail_attempts", "Sentences written, refused ones included", registry=registry)
        self.open = Gauge("groundrail_requests_open", "Requests being answered", registry=registry)
        self._pairs = Histogram(
            "groundrail_batch_pairs",
            "Pairs judged in one model call",
            registry=registry,
            buckets=(1, 2, 4, 8, 16, 32, 64, 128),
        )
        self._model_seconds = Histogram(
            "groundrail_model_seconds", "Time of a model call", registry=registry, buckets=_SECONDS
        )

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
    def answer(self, endpoint: str) -> Iterator["AnswerSeen"]:
        """One answer, from its start to its end."""
        with self._tracing.answer(endpoint) as span:
            seen, started = AnswerSeen(self), time.monotonic()
            try:
                yield seen
            finally:
                released = seen.count - seen.withheld
                if span is not None:
                    span.set_attributes({"groundrail.sentences": seen.count, "groundrail.released": released})
                seconds = time.monotonic() - started
                _log.info("%s: %d sentences, %d released, %.3f s", endpoint, seen.count, released, seconds)

    def sentence(self, sentence: CheckedSentence) -> None:
        """Count a sentence: its verdict, its seconds and its attempts. Its text is logged only if that was asked for."""
        self._sentences.labels(str(sentence.verdict), str(sentence.released).lower()).inc()
        self._sentence_seconds.observe(sentence.seconds)
        self._attempts.inc(len(sentence.attempts))
        self._tracing.sentence(sentence)
        if self._log_text:
            _log.debug("%s: %r", sentence.verdict, sentence.text)


class AnswerSeen:
    """The record of one answer."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.count = self.withheld = 0

    def sentence(self, sentence: CheckedSentence) -> None:
        """A sentence is decided on."""
        self.count += 1
        self.withheld += not sentence.released
        self._observer.sentence(sentence)

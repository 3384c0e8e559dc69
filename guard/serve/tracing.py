"""OpenTelemetry spans of answers, sentences and model calls (extra `otel`): counts and durations, no content.

Spans go to whatever provider the process has set up; without the extra there are none.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from groundrail.entailment.shared import Batch
from groundrail.errors import MissingExtraError
from groundrail.types import CheckedSentence

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider


class Tracing:
    """Makes spans: `groundrail.generation.verdicts`, under it `groundrail.sentence`, and `groundrail.model_call`.

    A model call judges several answers' pairs, so it links to their spans and is a child of none.
    """

    def __init__(self, provider: "TracerProvider | None" = None, *, content: bool = False) -> None:
        self._content = content
        self._tracer: Tracer | None = None
        try:
            from opentelemetry import trace
        except ImportError:
            if provider is not None:
                raise
        else:
            self._tracer = trace.get_tracer("groundrail", tracer_provider=provider)

    @contextmanager
    def answer(self, endpoint: str) -> Iterator["Span | None"]:
        """The span of one answer, current inside the block."""
        if self._tracer is None:
            yield None
            return
        from opentelemetry.trace import StatusCode

        attributes = {"groundrail.endpoint": endpoint}
        with self._tracer.start_as_current_span(
            "groundrail.generation.verdicts",
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException:
                span.set_status(StatusCode.ERROR)  # without the error's message, which may quote text
                raise

    def sentence(self, sentence: CheckedSentence) -> None:
        """A span that ends now and took as long as the verdict did."""
        if self._tracer is None:
            return
        attributes: dict[str, Any] = {
            "groundrail.verdict": str(sentence.verdict),
            "groundrail.released": sentence.released,
            "groundrail.attempts": len(sentence.attempts),
            "groundrail.characters": len(sentence.text),
        }
        if sentence.score is not None:
            attributes["groundrail.score"] = sentence.score
        if self._content:
            attributes["groundrail.text"] = sentence.text
        self._span("groundrail.sentence", sentence.seconds, attributes)

    def model_call(self, batch: Batch) -> None:
        """A span that ends now, linked to the answers whose pairs were judged."""
        if self._tracer is None:
            return
        from opentelemetry import trace

        spans = {
            context.run(trace.get_current_span).get_span_context().span_id: context.run(trace.get_current_span)
            for context in batch.contexts
        }
        links = [trace.Link(span.get_span_context()) for span in spans.values() if span.get_span_context().is_valid]
        attributes = {"groundrail.pairs": batch.pairs, "groundrail.calls": batch.calls}
        self._span("groundrail.model_call", batch.seconds, attributes, links=links)

    def _span(self, name: str, seconds: float, attributes: dict[str, Any], **options: Any) -> None:
        if self._tracer is not None:
            now = time.time_ns()
            started = now - int(seconds * 1e9)
            self._tracer.start_span(name, start_time=started, attributes=attributes, **options).end(now)


def export_spans() -> None:
    """Send this process's spans to a collector, as the standard `OTEL_*` variables say (OTLP over HTTP).

    Raises: MissingExtraError without the extra `otel`.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtraError("Exporting spans", "otel") from error
    provider = TracerProvider(resource=Resource.create({"service.name": "groundrail"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)

"""OpenTelemetry for answers, sentences and model calls (extra `otel`): spans, and an evaluation event a sentence.

They hold counts, scores and durations, and no text unless it is asked for. They go to the providers that the process
has set up; without the extra there are none.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from groundrail.entailment.shared import Batch
from groundrail.errors import MissingExtraError
from groundrail.report import telling
from groundrail.types import CheckedSentence, Verdict

try:
    from opentelemetry import trace
except ImportError:
    trace = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.trace import Span, TracerProvider

EVALUATION = "gen_ai.evaluation.result"
"""The event of OpenTelemetry's generative-AI conventions (`semantic-conventions-genai`, status "development")."""
_ERRORS = {Verdict.TIMEOUT: "timeout", Verdict.ERROR: "_OTHER"}
"""`error.type` of a sentence that was not judged, in the convention's words."""


class Tracing:
    """Makes spans: `groundrail.answer`, under it `groundrail.sentence`, and `groundrail.model_call`.

    A model call judges pairs of several answers, so it links to their spans and is a child of none. Each sentence is an
    event `gen_ai.evaluation.result`, too, which belongs to the current span: the answer's in the server, in an app of
    your own the span of the model call that you opened.

        with tracer.start_as_current_span("chat my-model"):
            for sentence in guard.stream(question, source).sentences():
                tracing.sentence(sentence)

    Args:
        provider: makes the spans; None is the provider of the process.
        logs: takes the events as log records, as the convention says. None makes them events of the span, which
            backends that take only traces show.
        content: put the text of the sentence in its span, and the reason, which may quote the source, in its event.
    """

    def __init__(
        self, provider: "TracerProvider | None" = None, logs: "LoggerProvider | None" = None, *, content: bool = False
    ) -> None:
        self._content = content
        self._tracer = None if trace is None else trace.get_tracer("groundrail", tracer_provider=provider)
        self._logger = None if logs is None else logs.get_logger("groundrail")

    @contextmanager
    def answer(self, endpoint: str) -> Iterator["Span | None"]:
        """The span of one answer, current inside the block."""
        if self._tracer is None:
            yield None
            return
        options: dict[str, Any] = {"record_exception": False, "set_status_on_exception": False}
        attributes = {"groundrail.endpoint": endpoint}
        with self._tracer.start_as_current_span("groundrail.answer", attributes=attributes, **options) as span:
            try:
                yield span
            except BaseException:
                span.set_status(trace.StatusCode.ERROR)  # without the error's message, which may quote text
                raise

    def sentence(self, sentence: CheckedSentence) -> None:
        """A span that ends now and took as long as the verdict did, and an evaluation event of the current span."""
        attributes = {
            "groundrail.verdict": str(sentence.verdict),
            "groundrail.released": sentence.released,
            "groundrail.attempts": len(sentence.attempts),
            "groundrail.characters": len(sentence.text),
            "groundrail.score": sentence.score,
            "groundrail.text": sentence.text if self._content else None,
        }
        self._span("groundrail.sentence", sentence.seconds, attributes)
        evaluation = _known(_evaluation(sentence, content=self._content))
        if self._logger is not None:
            self._logger.emit(event_name=EVALUATION, timestamp=time.time_ns(), attributes=evaluation)
        elif self._tracer is not None:
            trace.get_current_span().add_event(EVALUATION, evaluation)

    def model_call(self, batch: Batch) -> None:
        """A span that ends now, linked to the answers whose pairs were judged."""
        if self._tracer is None:
            return
        found = [context.run(trace.get_current_span).get_span_context() for context in batch.contexts]
        links = [trace.Link(span) for span in {span.span_id: span for span in found}.values() if span.is_valid]
        attributes = {"groundrail.pairs": batch.pairs, "groundrail.calls": batch.calls}
        self._span("groundrail.model_call", batch.seconds, attributes, links=links)

    def _span(self, name: str, seconds: float, attributes: dict[str, Any], **options: Any) -> None:
        if self._tracer is not None:
            now = time.time_ns()
            started = now - int(seconds * 1e9)
            self._tracer.start_span(name, start_time=started, attributes=_known(attributes), **options).end(now)


def _known(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _evaluation(sentence: CheckedSentence, *, content: bool) -> dict[str, Any]:
    """The attributes of the event. Without content the explanation quotes neither the sentence nor the source."""
    explanation = telling.label(sentence.verdict)
    if sentence.conflict is not None:
        explanation += ": the source says otherwise"
    if content and sentence.reason:
        explanation = sentence.reason
    return {
        "gen_ai.evaluation.name": "groundedness",
        "gen_ai.evaluation.score.label": str(sentence.verdict),
        "gen_ai.evaluation.score.value": sentence.score,
        "gen_ai.evaluation.explanation": explanation,
        "error.type": _ERRORS.get(sentence.verdict),
    }


def exported(*, content: bool = False) -> Tracing:
    """Tracing that sends to a collector, as the standard `OTEL_*` variables say (OTLP over HTTP).

    The providers become the process's own. `OTEL_LOGS_EXPORTER=none` is for a collector that takes only
    traces: the evaluation events are then events of the spans.

    Raises: MissingExtraError without the extra `otel`.
    """
    try:
        from opentelemetry import _logs
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtraError("Exporting spans", "otel") from error
    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME") or "groundrail"})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    logs = None
    if os.environ.get("OTEL_LOGS_EXPORTER", "otlp").strip().lower() != "none":
        logs = LoggerProvider(resource=resource)
        logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
        _logs.set_logger_provider(logs)
    return Tracing(provider, logs, content=content)

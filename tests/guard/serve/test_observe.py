"""The server tells of its work: metrics, spans and a log, none of them with text unless asked."""

import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families
from tests.guard.serve.conftest import CHAT, FALSE, KEY, ONCE, SOURCE, TRUE, Broken, asking, writing
from tests.http_servers import QuietHandler, serving

from groundrail.serve.observe import Observer
from groundrail.serve.tracing import EVALUATION, Tracing


def metrics(http: httpx.Client, address: str) -> dict[tuple[str, ...], float]:
    text = http.get(address + "/metrics").text
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_count_what_happened(serve, upstream, http) -> None:
    address = serve(policy=ONCE)
    http.post(address + CHAT, json=asking())
    http.post(address + CHAT, json=asking(stream=True))
    http.post(address + CHAT, json=asking(n=2))
    http.post(address + "/v1/check", json={"answer": TRUE, "source": SOURCE})
    counted = metrics(http, address)
    assert counted["groundrail_requests_total", "chat", "200"] == 2
    assert counted["groundrail_requests_total", "chat", "400"] == 1
    assert counted["groundrail_requests_total", "check", "200"] == 1
    assert counted["groundrail_sentences_total", "true", "supported"] == 3
    assert counted["groundrail_sentences_total", "false", "unsupported"] == 2
    assert counted["groundrail_attempts_total",] == 5
    assert counted["groundrail_sentence_seconds_count",] == 5
    assert counted["groundrail_requests_open",] == 0
    assert counted["groundrail_batch_pairs_count",] == 2  # one a sentence of the first answer; later ones say the same
    assert counted["groundrail_model_seconds_sum",] > 0


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    yield exporter
    exporter.shutdown()


def observer_into(exporter: InMemorySpanExporter, **options: Any) -> Observer:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Observer(Tracing(provider, **options))


BOTH = {"answer": TRUE + FALSE, "source": SOURCE}


def by_name(exporter: InMemorySpanExporter) -> dict[str, list[ReadableSpan]]:
    found: dict[str, list[ReadableSpan]] = {}
    for span in exporter.get_finished_spans():
        found.setdefault(span.name, []).append(span)
    return found


@pytest.mark.parametrize(("path", "body"), [(CHAT, asking(stream=True)), ("/v1/check", BOTH)])
def test_spans_of_answer_sentences_and_model_calls(serve, http, spans, path, body) -> None:
    http.post(serve(policy=ONCE, observer=observer_into(spans)) + path, json=body)
    found = by_name(spans)
    (answer,) = found["groundrail.answer"]
    sentences = found["groundrail.sentence"]
    assert answer.context is not None
    assert [s.parent.span_id if s.parent else None for s in sentences] == [answer.context.span_id] * 2
    assert [(s.attributes or {})["groundrail.verdict"] for s in sentences] == LABELS
    assert (answer.attributes or {})["groundrail.sentences"] == 2
    assert (answer.attributes or {})["groundrail.released"] == 1
    calls = found["groundrail.model_call"]
    assert {link.context.span_id for call in calls for link in call.links} == {answer.context.span_id}
    assert all((call.attributes or {})["groundrail.pairs"] >= 1 for call in calls)  # type: ignore[operator]
    for span in spans.get_finished_spans():
        assert (span.end_time or 0) >= (span.start_time or 0)
        assert "euros" not in span.to_json()


LABELS = ["supported", "unsupported"]


def evaluations_of(span: ReadableSpan) -> list[dict[str, Any]]:
    """The attributes of the convention's events, without its prefix."""
    told = [event.attributes or {} for event in span.events if event.name == EVALUATION]
    return [{name.removeprefix("gen_ai.evaluation."): value for name, value in each.items()} for each in told]


def test_each_sentence_is_an_evaluation_event_of_the_answers_span(serve, http, spans) -> None:
    address = serve(policy=ONCE, observer=observer_into(spans)) + "/v1/check"
    sentences = http.post(address, json=BOTH).json()["sentences"]
    (answer,) = by_name(spans)["groundrail.answer"]
    found = evaluations_of(answer)
    assert [each.pop("explanation").partition(":")[0] for each in found] == ["Supported", "Not supported"]
    assert [each["verdict"] for each in sentences] == LABELS
    assert found == [
        {"name": "groundedness", "score.label": each["verdict"], "score.value": each["score"]} for each in sentences
    ]
    assert not any("euros" in span.to_json() for span in spans.get_finished_spans())
    assert not any(span.events for span in spans.get_finished_spans() if span is not answer)


def test_evaluation_events_are_log_records_of_the_answers_span_where_logs_are_taken(serve, http, spans) -> None:
    logged = InMemoryLogRecordExporter()
    logs = LoggerProvider()
    logs.add_log_record_processor(SimpleLogRecordProcessor(logged))
    address = serve(policy=ONCE, observer=observer_into(spans, logs=logs))
    http.post(address + CHAT, json=asking(stream=True))
    http.post(address + "/v1/check", json={"answer": TRUE, "source": SOURCE})
    records = [each.log_record for each in logged.get_finished_logs()]
    assert [record.event_name for record in records] == [EVALUATION] * 3
    labels = [(record.attributes or {})["gen_ai.evaluation.score.label"] for record in records]
    assert labels == [*LABELS, "supported"]
    answers = by_name(spans)["groundrail.answer"]
    ids = [(each.context.trace_id, each.context.span_id) for each in answers if each.context is not None]
    assert [(record.trace_id, record.span_id) for record in records] == [ids[0], ids[0], ids[1]]
    assert not any("euros" in record.to_json() for record in logged.get_finished_logs())
    assert not any(span.events for span in spans.get_finished_spans())


def test_spans_have_text_and_events_quote_the_source_if_asked(serve, http, spans) -> None:
    address = serve(policy=ONCE, observer=observer_into(spans, content=True)) + "/v1/check"
    checked = http.post(address, json=BOTH).json()
    found = by_name(spans)
    assert [(span.attributes or {})["groundrail.text"] for span in found["groundrail.sentence"]] == [TRUE, FALSE]
    explanation = evaluations_of(found["groundrail.answer"][0])[1]["explanation"]
    assert explanation == checked["sentences"][1]["reason"]
    assert "950 euros" in explanation


def test_a_sentence_that_could_not_be_judged_has_an_error_type_and_no_score(serve, http, spans) -> None:
    address = serve(policy=ONCE, scorer=Broken(), observer=observer_into(spans))
    http.post(address + "/v1/check", json={"answer": TRUE, "source": SOURCE})
    (answer,) = by_name(spans)["groundrail.answer"]
    (found,) = evaluations_of(answer)
    assert (found["score.label"], found["error.type"]) == ("error", "_OTHER")
    assert "score.value" not in found
    assert "euros" not in answer.to_json()


def test_the_log_has_no_text_and_no_key(serve, upstream, http, caplog) -> None:
    caplog.set_level(logging.DEBUG, logger="groundrail")
    address = serve(policy=ONCE)
    headers = {"authorization": f"Bearer {KEY}"}
    http.post(address + CHAT, json=asking(stream=True), headers=headers)
    http.post(address + CHAT, json=asking(messages="wrong"), headers=headers)
    http.post(serve(scorer=Broken()) + CHAT, json=asking(), headers=headers)
    upstream.usual = lambda handler, body: handler.send(500, '{"error": {"message": "The rent is 990 euros."}}')
    http.post(address + CHAT, json=asking(), headers=headers)
    said = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("groundrail"))
    assert "chat 200" in said
    assert "chat: 2 sentences, 1 released" in said
    assert not re.search(r"The rent|euros|The lease", said)
    assert KEY not in said
    assert not any(record.exc_info for record in caplog.records if record.name.startswith("groundrail"))


def test_the_log_has_text_if_asked(serve, upstream, http, caplog) -> None:
    caplog.set_level(logging.DEBUG, logger="groundrail")
    upstream.usual = writing(TRUE)
    http.post(serve(observer=Observer(log_text=True)) + CHAT, json=asking())
    told = [record for record in caplog.records if "950 euros" in record.getMessage()]
    assert [record.levelno for record in told] == [logging.DEBUG]


def test_a_fault_of_the_server_is_a_500_without_its_message(serve, http, caplog, monkeypatch) -> None:
    def failing(*arguments: object, **named: object) -> None:
        raise KeyError("The rent is 990 euros.")

    monkeypatch.setattr("groundrail.serve.endpoint.find_source", failing)
    response = http.post(serve() + CHAT, json=asking())
    assert response.status_code == 500
    assert response.json()["error"]["type"] == "api_error"
    assert "990 euros" not in response.text
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "unexpected KeyError at" in said
    assert "990 euros" not in said


ONE_ANSWER = f"""
from groundrail import Guard
from groundrail.serve.tracing import exported
from groundrail.testing import FakeEntailment

tracing = exported()
with tracing.answer("check"):
    for sentence in Guard(scorer="scale", judge=FakeEntailment()).check({TRUE!r}, {SOURCE!r}).sentences:
        tracing.sentence(sentence)
"""


@pytest.mark.parametrize(("logs", "paths"), [("", {"/v1/traces", "/v1/logs"}), ("none", {"/v1/traces"})])
def test_telemetry_is_exported_as_the_standard_variables_say(logs: str, paths: set[str]) -> None:
    received: dict[str, bytes] = {}

    class Collector(QuietHandler):
        def do_POST(self) -> None:
            received[self.path] = received.get(self.path, b"") + self.body()
            self.send(200)

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Collector)) as server:
        told = {"OTEL_SERVICE_NAME": "leases", "OTEL_LOGS_EXPORTER": logs or "otlp"}
        told["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"
        subprocess.run([sys.executable, "-c", ONE_ANSWER], env=os.environ | told, check=True)
    assert set(received) == paths
    assert b"groundrail.answer" in received["/v1/traces"]
    assert all(b"leases" in body and b"950 euros" not in body for body in received.values())
    assert [path for path, body in received.items() if EVALUATION.encode() in body] == [sorted(paths)[0]]

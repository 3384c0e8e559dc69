"""`/v1/check`, health, and the answer's forms."""

import json

import pytest
from tests.guard.serve.conftest import FALSE, SOURCE, TRUE

from groundrail import Document, Guard, GuardResult, Policy
from groundrail.scoring import NearestScorer
from groundrail.serve.details import of_sentence
from groundrail.testing import FakeEntailment


def without_times(result: GuardResult) -> dict[str, object]:
    return {
        "text": result.text,
        "threshold": result.threshold,
        "sentences": [(s.text, s.start, s.end, s.verdict, s.score, s.citations, s.released) for s in result.sentences],
    }


@pytest.mark.parametrize("source", [SOURCE, [SOURCE], {"text": SOURCE, "id": "lease"}, [{"content": SOURCE, "id": "lease"}]])
def test_a_check_is_the_guards(serve, http, source) -> None:
    response = http.post(serve() + "/v1/check", json={"answer": TRUE + FALSE, "source": source})
    assert response.status_code == 200
    result = GuardResult.model_validate_json(response.text)
    name = "lease" if "'id'" in str(source) else "source"
    expected = Guard(scorer=NearestScorer(FakeEntailment())).check(TRUE + FALSE, Document(text=SOURCE, id=name))
    assert without_times(result) == without_times(expected)


def test_a_streamed_check_tells_of_every_sentence_and_of_the_whole(serve, http) -> None:
    body = {"answer": TRUE + FALSE + "Pets are not allowed.", "source": SOURCE, "stream": True}
    response = http.post(serve() + "/v1/check", json=body)
    assert response.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: {")]
    assert [e["sentence"]["verdict"] for e in events[:-1]] == ["supported", "unsupported", "supported"]
    assert [len(e["sentence"]["attempts"]) for e in events[:-1]] == [1, 1, 1]
    assert events[-1]["result"]["text"] == TRUE + "Pets are not allowed."
    assert response.text.rstrip().endswith("data: [DONE]")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("answer", ["", "\ud800", "\x00", "Hello!", "\u202e" + TRUE])
def test_any_text_can_be_checked(serve, http, answer, stream) -> None:
    body = json.dumps({"answer": answer, "source": SOURCE, "stream": stream})
    response = http.post(serve() + "/v1/check", content=body, headers={"content-type": "application/json"})
    assert response.status_code == (400 if answer == "\ud800" else 200)


@pytest.mark.parametrize("body", [{}, {"answer": "x"}, {"answer": 3, "source": "x"}, {"answer": "x", "source": "y", "z": 1}])
def test_a_check_with_wrong_fields_names_them(serve, http, body) -> None:
    response = http.post(serve() + "/v1/check", json=body)
    assert response.status_code == 400
    assert response.json()["error"]["param"]


def test_health_needs_nothing(serve, http) -> None:
    assert http.get(serve() + "/healthz").json()["status"] == "ok"


def test_a_server_without_an_upstream_checks_only(serve, http) -> None:
    address = serve(upstream=None)
    assert http.post(address + "/v1/check", json={"answer": TRUE, "source": SOURCE}).json()["text"] == TRUE
    assert http.get(address + "/v1/models").json()["data"] == []


@pytest.mark.parametrize("stream", [False, True])
def test_a_bare_answer_is_checked_with_the_question_that_comes_with_it(serve, http, judge, stream) -> None:
    judge.judge = lambda premise, claim: float(claim == "Pets are not allowed.")
    address = serve() + "/v1/check"

    def released(**question: str) -> bool:
        body = {"answer": "No.", "source": SOURCE, "stream": stream, **question}
        lines = http.post(address, json=body).text.replace("data: [DONE]", "").split("data: ")
        last = json.loads(lines[-1])
        return bool(last.get("result", last)["text"])

    assert released(question="Are pets allowed?")
    assert not released()
    assert not released(question="Is smoking allowed?")


@pytest.mark.parametrize("stream", [False, True])
def test_an_event_has_what_was_and_what_is(serve, http, stream) -> None:
    address = serve(policy=Policy(fallback="correct"))
    wrong = TRUE.replace("950", "990")
    response = http.post(address + "/v1/check", json={"answer": wrong, "source": SOURCE, "stream": stream})
    line = response.text.splitlines()[0].removeprefix("data: ")
    sentence = json.loads(line)["sentence"] if stream else json.loads(line)["sentences"][0]
    assert sentence["replacement"] == TRUE
    assert (sentence["corrected"]["was"], sentence["corrected"]["now"]) == ("990 euros", "950 euros")


def test_details_without_refused_text_have_no_refused_detail() -> None:
    guard = Guard(scorer=NearestScorer(FakeEntailment()), policy=Policy(fallback="correct"))
    (sentence,) = guard.check(TRUE.replace("950", "990"), SOURCE).sentences
    assert "990 euros" not in json.dumps(of_sentence(sentence, "on"))
    assert "990 euros" in json.dumps(of_sentence(sentence, "full"))

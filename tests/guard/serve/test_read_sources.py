"""Sources that come again in other requests: read once, within bounds, and never another request's."""

from typing import Any

import pytest
from tests.guard.parts import Scoring
from tests.guard.serve.conftest import FALSE, SOURCE, TRUE

from groundrail import Document
from groundrail.serve.read_sources import MOST, ReadSources

CHECK, CHAT = "/v1/check", "/v1/chat/completions"
LITELLM = "/beta/litellm_basic_guardrail_api"


def body(path: str, source: str, stream: bool) -> dict[str, object]:
    if path == CHECK:
        return {"answer": TRUE + FALSE, "source": source, "stream": stream}
    if path == LITELLM:
        given = {"additional_provider_specific_params": {"documents": [source]}}
        return {"texts": [TRUE], "input_type": "response", **given}
    return {"model": "any", "messages": [{"role": "user", "content": "?"}], "documents": [source], "stream": stream}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHECK, CHAT, LITELLM])
def test_a_source_that_comes_again_is_read_once(serve, http, path: str, stream: bool) -> None:
    scorer = Scoring()
    address = serve(scorer=scorer)
    first, again = (http.post(address + path, json=body(path, SOURCE, stream)) for _ in range(2))
    assert first.status_code == again.status_code == 200
    assert scorer.reads == 1
    http.post(address + path, json=body(path, SOURCE + " Cats are welcome.", stream))
    assert scorer.reads == 2


def test_a_source_is_read_again_where_none_is_kept(serve, http) -> None:
    scorer = Scoring()
    address = serve(scorer=scorer, max_kept=0)
    for _ in range(2):
        http.post(address + CHECK, json=body(CHECK, SOURCE, False))
    assert scorer.reads == 2


def test_documents_are_the_same_with_the_same_id_text_and_metadata_only() -> None:
    sources = ReadSources(1_000)
    plain = Document(text="Pets are allowed.", id="a")
    changed: list[dict[str, Any]] = [{"text": "Pets are banned."}, {"id": "b"}, {"metadata": {"title": "The lease"}}]
    others = [sources.of([plain.model_copy(update=change)]) for change in changed]
    read = sources.of([plain])
    assert read.documents == (plain,)
    assert all(other is not read for other in others)
    assert sources.of((plain.model_copy(),)) is read
    assert sources.of([plain, plain.model_copy(update={"id": "b"})]) is not read


@pytest.mark.parametrize(("length", "kept"), [(300, 3), (1_001, 0), (1, MOST)])
def test_the_last_used_sources_are_kept_within_bounds(length: int, kept: int) -> None:
    sources = ReadSources(1_000)
    documents = [[Document(text="x" * length, id=str(number))] for number in range(50)]
    first = sources.of(documents[0])
    made = [first]
    for each in documents[1:]:
        made.append(sources.of(each))
        if kept > 1:
            assert sources.of(documents[0]) is first  # which stays, since it is used all the time
    last = [0, *range(51 - kept, 50)] if kept else []
    for number in (*last, *(number for number in range(50) if number not in last)):
        assert (sources.of(documents[number]) is made[number]) == (number in last)

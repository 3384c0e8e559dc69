"""An answer in a task of its own: whoever waits for it is told how it ends, whatever goes wrong."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from tests.guard.serve.conftest import CHAT, SOURCE, TRUE, asking

from groundrail import Guard
from groundrail.generators import as_generator
from groundrail.papers import OverlapScorer
from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.guarded import GuardedAnswer
from groundrail.serve.observe import Observer, See
from groundrail.serve.writers import LocalWriter


class Falling(Observer):
    """An observer whose own work fails when an answer ends."""

    @contextmanager
    def answer(self, endpoint: str) -> Iterator[See]:
        with super().answer(endpoint) as see:
            yield see
        raise OSError("the collector is gone")


def test_an_answer_that_nobody_could_end_ends_with_an_error() -> None:
    guard = Guard(lambda prompt, documents: TRUE, scorer=OverlapScorer())

    async def read() -> None:
        deadline = asyncio.get_running_loop().time() + 20
        written = GuardedAnswer(lambda: guard.astream("?", SOURCE), Falling(), "chat", deadline)
        try:
            await asyncio.wait_for(written.result(), 20)
        finally:
            await written.aclose()

    with pytest.raises(ProtocolError) as failed:
        asyncio.run(read())
    assert failed.value.status == 500


def test_a_generator_in_the_servers_process_writes_one_answer_at_a_time(serve, http) -> None:
    prompts, at_once = list[str](), list[int]()

    def write(prompt: str) -> Iterator[str]:
        prompts.append(prompt)
        at_once.append(1)
        yield TRUE
        assert sum(at_once) == 1
        at_once.pop()

    address = serve(writer=LocalWriter(as_generator(write), "tiny"))
    with ThreadPoolExecutor(3) as pool:
        told = list(pool.map(lambda n: http.post(address + CHAT, json=asking(stream=n == 1)).text, range(3)))
    assert all(TRUE in each for each in told)
    assert prompts == ["How much is the rent?"] * 3
    assert [model["id"] for model in http.get(address + "/v1/models").json()["data"]] == ["tiny"]

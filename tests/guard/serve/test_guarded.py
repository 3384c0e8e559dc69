"""An answer in a task of its own: whoever waits for it is told how it ends, whatever goes wrong."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.guard.serve.conftest import SOURCE, TRUE

from groundrail import Guard
from groundrail.papers import OverlapScorer
from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.guarded import GuardedAnswer
from groundrail.serve.observe import Observer, See


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

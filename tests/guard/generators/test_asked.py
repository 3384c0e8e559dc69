"""Sessions over models that can only be asked again: what a call holds is free once its text is left."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from groundrail.errors import InputError
from groundrail.generators.asked import AskedSession, Refusal


@pytest.mark.parametrize("opened", [False, True])
def test_text_left_early_has_freed_its_call(opened: bool) -> None:
    freed = []

    async def write(accepted: str, refused: Sequence[Refusal]) -> AsyncIterator[str]:
        try:
            yield "One. "
            yield "Two. "
        finally:
            await asyncio.sleep(0.01)  # as a connection takes to close
            freed.append(accepted)

    async def leave() -> list[str]:
        session = AskedSession(write)
        if opened:
            await session.aopen()
        pieces = session.propose()
        assert isinstance(pieces, AsyncIterator)
        assert await anext(pieces) == "One. "
        await pieces.aclose()  # type: ignore[attr-defined]
        return list(freed)

    assert asyncio.run(leave()) == [""]


def test_a_session_writes_one_answer() -> None:
    session = AskedSession(lambda accepted, refused: iter(["Yes."]))
    assert session.start("?", []) is session
    with pytest.raises(InputError, match="one answer"):
        session.start("?", [])

"""A connection that is kept for the next call may be dead by then; that is nobody's failure."""

from __future__ import annotations

from aiohttp import web

from engine.cancel import CancelToken
from engine.llm import Llm
from tests.engine.llm.server import DONE, adapter, ask, part, reason_of, replies, serve, text_of

answer = replies(part("Yes."), part(finish="stop"), DONE)


class Moody:
    """Answers, or closes the connection without a word, as it is told for each request."""

    def __init__(self, *answers: bool) -> None:
        self._answers = iter(answers)
        self.connections: list[object] = []

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.connections.append(request.transport)
        if not next(self._answers):
            assert request.transport is not None
            request.transport.close()
        return await answer(request)


async def outcomes(moody: Moody, calls: int) -> list[tuple[str, str]]:
    """The text and how it ended, for so many calls of one adapter."""
    async with serve(moody) as server:
        llm = Llm()
        llm.register(adapter(server.url))
        results = []
        for _ in range(calls):
            call = llm.prepare_call(ask().config)
            chunks = [chunk async for chunk in call.stream(ask(), CancelToken())]
            reason = reason_of(chunks)
            results.append((text_of(chunks), reason.get("failure", {}).get("code", reason["kind"])))
        await llm.aclose()
    return results


async def test_a_kept_connection_that_is_closed_without_a_word_is_replaced_by_a_new_one() -> None:
    moody = Moody(True, False, True)
    assert await outcomes(moody, calls=2) == [("Yes.", "stop"), ("Yes.", "stop")]
    first, second, third = moody.connections
    assert first is second is not third


async def test_a_new_connection_that_is_closed_without_a_word_is_a_failure() -> None:
    moody = Moody(False)
    assert await outcomes(moody, calls=1) == [("", "TRANSPORT")]
    assert len(moody.connections) == 1


async def test_a_server_that_is_silent_on_the_new_connection_too_is_not_asked_a_third_time() -> None:
    moody = Moody(True, False, False)
    assert await outcomes(moody, calls=2) == [("Yes.", "stop"), ("", "TRANSPORT")]
    assert len(moody.connections) == 3

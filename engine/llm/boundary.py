"""The runtime boundary: whatever an adapter does, its caller sees one well-formed stream.

An adapter that raises, stops without an end, or breaks the grammar of spec agent-loop 5.2
becomes a stream that ends in an error; a cancelled token becomes one that ends aborted.
Only the consumer's own exceptions stay exceptions.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import structlog

from engine.cancel import Cancelled, CancelToken
from engine.llm.adapter import Chunk
from engine.llm.chunks import DELTA_OF, aborted, failed
from engine.llm.failure import Failure, LlmFailure

__all__ = ["GrammarError", "StreamGrammar", "guarded"]

log = structlog.get_logger(__name__)

_SUCCESS = frozenset({"stop", "tool-calls", "max-tokens"})


class GrammarError(Exception):
    """An adapter yielded a chunk that cannot stand where it stands."""


class StreamGrammar:
    """Watches one stream. `check` raises GrammarError at the first chunk out of place."""

    def __init__(self) -> None:
        self._blocks: dict[int, str] = {}
        self._open: set[int] = set()
        self._usage = False
        self.finished = False

    def check(self, chunk: Chunk) -> None:
        kind = chunk.get("type")
        if self.finished:
            raise GrammarError(f"{kind} after the finish")
        if kind == "block-start":
            self._start(chunk)
        elif kind in DELTA_OF:
            self._inside(chunk, DELTA_OF[kind])
        elif kind == "block-end":
            self._inside(chunk, chunk["block"]["type"])
            self._open.discard(chunk["index"])
        elif kind == "usage":
            if self._usage:
                raise GrammarError("a second usage")
            self._usage = True
        elif kind == "finish":
            self._finish(chunk["reason"]["kind"])
        else:
            raise GrammarError(f"unknown chunk type {kind!r}")

    def _start(self, chunk: Chunk) -> None:
        index = chunk["index"]
        if index in self._blocks:
            raise GrammarError(f"block {index} starts twice")
        self._blocks[index] = chunk["blockType"]
        self._open.add(index)

    def _inside(self, chunk: Chunk, block_type: str) -> None:
        index = chunk["index"]
        if index not in self._open:
            raise GrammarError(f"{chunk['type']} for block {index}, which is not open")
        if self._blocks[index] != block_type:
            raise GrammarError(f"{chunk['type']} for block {index}, which is a {self._blocks[index]} block")

    def _finish(self, kind: str) -> None:
        if kind in _SUCCESS and self._open:
            raise GrammarError(f"{kind} with open blocks {sorted(self._open)}")
        self.finished = True


async def guarded(
    stream: AsyncIterator[Chunk], token: CancelToken, *, provider: str
) -> AsyncGenerator[Chunk, None]:
    """`stream`, made to end with exactly one finish; it is closed when this one is.

    Nothing after the finish is asked for, so nothing can follow it.
    """
    grammar = StreamGrammar()
    ending: Chunk | None = None
    try:
        async for chunk in stream:
            if token.cancelled and chunk.get("type") != "finish":
                break
            grammar.check(chunk)
            if grammar.finished:
                ending = chunk
                break
            yield chunk
    except (Exception, Cancelled) as error:
        ending = _ending_of(error, token, provider)
    finally:
        await _close(stream, provider)
    if ending is None and token.cancelled:
        ending = aborted()
    if ending is None:
        # Decision 7: a stream without its end is a transport failure, worth another try.
        ending = failed(Failure("The model's answer broke off.", "TRANSPORT"))
    yield ending


def _ending_of(error: BaseException, token: CancelToken, provider: str) -> Chunk:
    if token.cancelled or isinstance(error, Cancelled):
        return aborted()
    if isinstance(error, LlmFailure):
        return failed(error.failure)
    # An adapter's bug. Its text may hold anything, so people get the class and we get the trace.
    log.error("llm.adapter_failed", provider=provider, exc_info=error)
    return failed(Failure(f"The connection to {provider} failed inside ({type(error).__name__}).", "UNKNOWN"))


async def _close(stream: AsyncIterator[Chunk], provider: str) -> None:
    close: Any = getattr(stream, "aclose", None)
    if close is None:
        return
    try:
        await close()
    except Exception as error:
        # The answer is complete or lost by now; a failing clean-up changes nothing of it.
        log.warning("llm.close_failed", provider=provider, exc_info=error)

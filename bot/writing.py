"""One answer on its way: the engine's live frames become a streaming reply in the channel.

Frames arrive synchronously while the place and the face are still being looked up, so
they are kept until the reply is open. Nothing here can hold up or fail the turn: Discord
is a projection of the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from bot.outbox import Reply
from bot.veil import Veil

__all__ = ["LabelFilter", "Writing"]

log = structlog.get_logger(__name__)


class LabelFilter:
    """Takes a reply's own speaker label off its beginning, if it begins with one (decision 35).

    The log keeps the reply as it came; only what people see is without the label. A reply that
    is nothing but the label keeps it: an answer without a message would have no buttons.
    """

    def __init__(self, name: str) -> None:
        # A Chinese model writes the wide colon.
        self._labels = tuple(
            label
            for colon in ":："
            for label in (f"{name}{colon}", f"**{name}{colon}**", f"**{name}**{colon}")
        )
        self._held: str | None = ""
        self._bare: str | None = None  # the label, while nothing has followed it

    def feed(self, text: str) -> str:
        """The part of the text so far that can be shown now."""
        if self._held is None:
            if self._bare is not None and text.strip():
                self._bare = None
            return text
        self._held += text
        start = self._held.lstrip()
        for label in self._labels:
            if start.startswith(label):
                shown = start[len(label) :].lstrip()
                self._bare = None if shown else label
                return self._release(shown)
        if any(label.startswith(start) for label in self._labels):
            return ""
        return self._release(self._held)

    def rest(self) -> str:
        """What was held back when the reply ended."""
        held, self._bare = self._bare or self._held or "", None
        return self._release(held)

    def _release(self, text: str) -> str:
        self._held = None
        return text

    @classmethod
    def strip(cls, name: str, text: str) -> str:
        """A whole reply without its label."""
        filtered = cls(name)
        return filtered.feed(text) + filtered.rest()


class Writing:
    """Feeds one turn's frames into the reply that `open_reply` gives.

    With `veiled` what is written in tags is not shown while it comes. Both are asked once the reply is open.
    """

    def __init__(
        self,
        speaker: Callable[[], str],
        open_reply: Callable[[], Awaitable[Reply | None]],
        veiled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._speaker = speaker
        self._veiled = veiled
        self._veil: Veil | None = None
        self._reply: Reply | None = None
        self._early: list[Any] = []
        self._step: tuple[int, int] | None = None
        self._written = ""
        self._before = ""  # what earlier steps of the turn said: a retry does not take it back
        self._remarked = False  # whether a remark is the last that was written
        self._filter: LabelFilter | None = None
        self.over = asyncio.Event()
        """Set by whoever ends it, when all that there is to show is shown."""
        self.opened = asyncio.ensure_future(self._open(open_reply))

    async def _open(self, open_reply: Callable[[], Awaitable[Reply | None]]) -> None:
        try:
            self._reply = await open_reply()
        except Exception:
            log.exception("writing.open_failed")
            return
        early, self._early = self._early, []
        for frame in early:
            self.frame(frame)

    def remark(self, text: str) -> None:
        """A small line between the steps of the turn, on a line of its own."""
        self.frame({"kind": "remark", "text": text})

    def frame(self, frame: Any) -> None:
        """Take one live frame of the engine."""
        if self._reply is None:
            if not self.opened.done():
                self._early.append(frame)
            return
        if frame["kind"] == "start":
            self._start(self._reply, (frame["turn"], frame["step"]))
        elif frame["kind"] == "remark":
            self._remark(self._reply, frame["text"])
        elif frame["kind"] == "chunk" and frame["chunk"]["type"] == "text-delta" and self._filter:
            self._show(self._reply, self._unveiled(self._filter.feed(frame["chunk"]["text"])))

    async def reply(self) -> Reply | None:
        """The open reply, with everything that came so far written; None when the channel is gone."""
        await asyncio.wait({self.opened})
        if self._reply is not None:
            self._let_go(self._reply)
        return self._reply

    def _start(self, reply: Reply, step: tuple[int, int]) -> None:
        """A new attempt: in the same step it replaces what the last one showed, in another it goes on."""
        if step == self._step:
            self._written = ""
            reply.restart()
            self._show(reply, self._before)
        elif self._step is not None:
            self._let_go(reply)
            if self._written.strip():
                self._show(reply, "\n\n")
            self._before = self._written
            self._remarked = False
        self._step = step
        self._filter = LabelFilter(self._speaker())
        self._veil = Veil() if self._veiled() else None

    def _remark(self, reply: Reply, text: str) -> None:
        self._let_go(reply)
        if self._written.strip():
            self._show(reply, "\n" if self._remarked else "\n\n")
        self._show(reply, text)
        self._remarked = True

    def _let_go(self, reply: Reply) -> None:
        if self._filter is not None:
            self._show(reply, self._unveiled(self._filter.rest()))

    def _unveiled(self, text: str) -> str:
        return text if self._veil is None else self._veil.feed(text)

    def _show(self, reply: Reply, text: str) -> None:
        if text:
            self._written += text
            reply.write(text)

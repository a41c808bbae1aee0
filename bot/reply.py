"""One answer on its way into a channel: typing, the first post, edits as text comes, the end.

Spec discord B6. One writer task per reply; what it shows is always the newest text, two requests
are never in flight, and the end goes before everything else. Nothing in here raises into a story.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog

from bot.canvas import Buttons, Canvas, Look, Row, Step
from bot.courier import Courier
from bot.delivery import Delivery, converge, final_looks
from bot.markdown import is_blank
from bot.pacing import Cadence, Pace, Priority
from bot.personas import Face
from bot.posts import Place, Posts
from bot.splitter import Splitter
from bot.spots import Claim, Spots
from bot.trouble import Trouble, Undelivered

__all__ = ["Desk", "Reply"]

log = structlog.get_logger(__name__)

_CURSOR = " ▌"
_WAITING = "◌"  # stands where an answer is being written again
_TYPING_EVERY = 8.0  # seconds; Discord shows it for about ten
_GRACE = 2.0  # seconds that the end waits for a request on its way, before it gives that one up
_SENTENCE = re.compile(r"[.!?…]+[\"'”’»)*_~|]*\s|[。！？…]|\n")


@dataclass(frozen=True, slots=True)
class Desk:
    """What every reply of one outbox works with."""

    courier: Courier
    posts: Posts
    spots: Spots
    pace: Pace

    def splitter(self) -> Splitter:
        """The one splitter, as the streaming mode wants it."""
        return Splitter(paragraphs=self.pace.mode == "sentence")


@dataclass(frozen=True, slots=True)
class _Finish:
    text: str | None
    buttons: Buttons | None
    footer: str | None
    node_id: str | None
    variant_id: str | None


@dataclass(frozen=True, slots=True)
class _Fail:
    line: str
    buttons: Buttons | None


@dataclass(frozen=True, slots=True)
class _Abandon:
    pass


class Reply:
    """One streaming answer. Made by `Outbox.reply`; needs a running loop."""

    def __init__(self, desk: Desk, place: Place, face: Face, stop: Buttons | None) -> None:
        self._desk = desk
        self._place = place
        self._face = face
        self._rows: dict[Row, Buttons] = {} if stop is None else {Row.STOP: stop}
        self._splitter = desk.splitter()
        self._opened = time.monotonic()
        self._text_since: float | None = None
        self._ending: _Finish | _Fail | _Abandon | None = None
        self._wake = asyncio.Event()
        self._over = asyncio.Event()  # the end was asked for, or something newer took the spot
        self._cadence = Cadence(desk.pace)
        self._not_before = 0.0  # the next edit of the growing message
        self._retry_at = 0.0  # any request, after one that failed
        self.task = asyncio.create_task(self._run(), name=f"reply {place.session_id}/{place.turn}")

    # -- what the controller calls -----------------------------------------------------------------

    @property
    def text(self) -> str:
        """What was written so far, since the last restart."""
        return self._splitter.text

    def write(self, delta: str) -> None:
        """More of the answer. Cheap; does nothing once the end was asked for."""
        if delta and self._ending is None:
            self._splitter.feed(delta)
            if self._text_since is None and not is_blank(delta):
                self._text_since = time.monotonic()
            self._wake.set()

    def restart(self) -> None:
        """The attempt is void; another one begins. What stands shows ◌ until new text comes."""
        if self._ending is None:
            self._splitter = self._desk.splitter()
            self._text_since = None
            self._wake.set()

    async def finish(
        self,
        text: str | None = None,
        *,
        buttons: Buttons | None = None,
        footer: str | None = None,
        node_id: str | None = None,
        variant_id: str | None = None,
    ) -> Delivery:
        """The answer is complete: show all of it, `buttons` under its last message.

        `text` replaces what was written, if it differs. With `footer` (a small last line, for an
        answer that was cut off) open emphasis is closed. Safe to call twice: the first counts.
        """
        return await self._end(_Finish(text, buttons, footer, node_id, variant_id))

    async def fail(self, line: str, *, buttons: Buttons | None = None) -> Delivery:
        """There is no answer. What stands stays with `line` as its footer; with nothing to keep,
        the bot says `line` alone. Both go away when the story's next reply in the channel opens."""
        return await self._end(_Fail(line, buttons))

    async def abandon(self) -> Delivery:
        """Let go: what stands stays as it is until something is rendered there."""
        return await self._end(_Abandon())

    def on_done(self, call: Callable[[], None]) -> None:
        """Call it when the writer has ended."""
        self.task.add_done_callback(lambda _: call())

    async def _end(self, ending: _Finish | _Fail | _Abandon) -> Delivery:
        if self._ending is None:
            self._ending = ending
            self._over.set()
            self._wake.set()
        return await asyncio.shield(self.task)

    # -- the writer --------------------------------------------------------------------------------

    async def _run(self) -> Delivery:
        canvas: Canvas | None = None
        try:
            posts = self._desk.posts
            spot = await posts.spot_of(self._place) or posts.new_spot(self._place)
            async with self._desk.spots.claim(spot, self._stale) as claim:
                canvas = Canvas(self._desk.courier, posts, self._place, self._face, spot)
                await canvas.load()
                if canvas.touched:
                    await canvas.reopen()
                await self._stream(canvas, claim)
                return await self._conclude(canvas, claim)
        except Undelivered as error:
            log.warning("reply.undelivered", channel=self._place.channel_id, trouble=error.trouble)
            return self._delivery(canvas, trouble=error.trouble, detail=error.detail)
        except Exception as error:
            log.exception("reply.failed", channel=self._place.channel_id)
            return self._delivery(canvas, trouble=Trouble.REFUSED, detail=repr(error))

    def _stale(self) -> None:
        self._over.set()
        self._wake.set()

    async def _stream(self, canvas: Canvas, claim: Claim) -> None:
        typing = asyncio.create_task(self._type(canvas))
        try:
            while not self._over.is_set():
                self._wake.clear()
                wait = self._wait(canvas)
                if wait is None or wait > 0:
                    await self._pause(wait)
                else:
                    await self._advance(canvas)
        finally:
            typing.cancel()
            await asyncio.wait({typing})

    async def _pause(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    def _wait(self, canvas: Canvas) -> float | None:
        """Seconds until the next request is due; None while there is nothing to show."""
        now = time.monotonic()
        looks = self._looks(canvas)
        step = canvas.next_step(looks)
        if step is None:
            return None
        pace = self._desk.pace
        if not canvas.posts and self._text_since is not None:
            due = self._opened + pace.first_after
            if not _SENTENCE.search(self._splitter.text):
                due = max(due, self._text_since + pace.patience)
            return max(due, self._retry_at) - now
        return (self._not_before if self._is_growth(step, looks) else self._retry_at) - now

    def _looks(self, canvas: Canvas) -> list[Look]:
        """How the messages shall look at this moment."""
        mode = self._desk.pace.mode
        looks: list[Look] = []
        if mode != "off":
            looks = [Look(chunk.text) for chunk in self._splitter.frozen]
            live = self._splitter.live(_CURSOR) if mode == "edit" else ""
            if live:
                looks.append(Look(live))
        if not looks and canvas.posts:
            looks = [Look(_WAITING)]
        if looks and Row.STOP in self._rows:
            looks[-1] = Look(looks[-1].text, Row.STOP)
        return looks

    @staticmethod
    def _is_growth(step: Step, looks: list[Look]) -> bool:
        return step.kind == "edit" and step.part == len(looks) - 1

    async def _advance(self, canvas: Canvas) -> None:
        """One request with the newest text, unless the end comes first."""
        looks = self._looks(canvas)
        step = canvas.next_step(looks)
        growth = step is not None and self._is_growth(step, looks)
        courier, channel_id = self._desk.courier, self._place.channel_id
        if not await self._race(
            courier.turn(channel_id, Priority.INTERMEDIATE if growth else Priority.FIRST)
        ):
            return
        looks = self._looks(canvas)
        step = canvas.next_step(looks)
        if step is None:
            return
        started = time.monotonic()
        limited = False
        try:
            await self._race(canvas.perform(step, looks, self._rows), grace=_GRACE)
        except Undelivered as error:
            if error.trouble is not Trouble.UNREACHABLE:
                raise
            limited = True
        now = time.monotonic()
        self._cadence.note(now - started, limited=limited)
        period = self._cadence.period(started - self._opened)
        self._not_before = started + period
        if limited:
            self._retry_at = self._not_before = now + period

    async def _race(self, work: Coroutine[Any, Any, None], *, grace: float = 0.0) -> bool:
        """Do `work` unless the end comes before it is done (and `grace` seconds later it still is not)."""
        task = asyncio.ensure_future(work)
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and grace:
                await asyncio.wait({task}, timeout=grace)
            if not task.done():
                return False
            task.result()
            return True
        finally:
            over.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
                if not task.cancelled():
                    task.exception()

    async def _type(self, canvas: Canvas) -> None:
        try:
            while not canvas.posts:
                await self._desk.courier.typing(self._place.channel_id)
                await asyncio.sleep(_TYPING_EVERY)
        except Exception as error:
            log.debug("reply.no_typing", channel=self._place.channel_id, error=repr(error))

    # -- the end -----------------------------------------------------------------------------------

    async def _conclude(self, canvas: Canvas, claim: Claim) -> Delivery:
        ending = self._ending
        if not claim.current or ending is None or isinstance(ending, _Abandon):
            return self._delivery(canvas, superseded=not claim.current)
        if isinstance(ending, _Fail):
            return await self._conclude_failed(canvas, claim, ending)
        if ending.text is not None and ending.text != self._splitter.text:
            self._splitter = self._desk.splitter()
            self._splitter.feed(ending.text)
        # Before the last edit: whoever presses a button must find what it belongs to.
        await self._desk.posts.label(canvas.spot, ending.node_id, ending.variant_id)
        self._place = replace(
            self._place,
            node_id=ending.node_id or self._place.node_id,
            variant_id=ending.variant_id or self._place.variant_id,
        )
        canvas.place = self._place
        texts = [chunk.text for chunk in self._splitter.finish(close=ending.footer is not None)]
        await self._show(canvas, claim, texts, ending.footer, ending.buttons)
        return self._delivery(canvas, superseded=not claim.current)

    async def _conclude_failed(self, canvas: Canvas, claim: Claim, ending: _Fail) -> Delivery:
        if canvas.posts and not is_blank(self._splitter.text):
            await self._desk.posts.rename(canvas.spot, "failure")
            canvas.place = replace(self._place, kind="failure")
            texts = [chunk.text for chunk in self._splitter.finish(close=True)]
            await self._show(canvas, claim, texts, ending.line, ending.buttons)
            return self._delivery(canvas, superseded=not claim.current)
        await self._show(canvas, claim, [], None, None)
        place = replace(self._place, kind="failure", node_id=None)
        spot = self._desk.posts.new_spot(place)
        async with self._desk.spots.claim(spot) as own:
            notice = Canvas(self._desk.courier, self._desk.posts, place, None, spot)
            await notice.load()
            await self._show(notice, own, [ending.line], None, ending.buttons)
            return Delivery(notice.posts)

    async def _show(
        self, canvas: Canvas, claim: Claim, texts: list[str], footer: str | None, buttons: Buttons | None
    ) -> None:
        rows: Mapping[Row, Buttons] = {} if buttons is None else {Row.FINAL: buttons}
        looks = final_looks(texts, footer, buttons=buttons is not None and buttons() is not None)
        channel_id = self._place.channel_id
        await converge(canvas, self._desk.courier, channel_id, looks, rows, lambda: claim.current)

    def _delivery(
        self,
        canvas: Canvas | None,
        *,
        trouble: Trouble | None = None,
        detail: str = "",
        superseded: bool = False,
    ) -> Delivery:
        posts = canvas.posts if canvas is not None else ()
        plain = any(post.webhook_id is None for post in posts)
        return Delivery(posts, trouble, detail, plain, superseded)

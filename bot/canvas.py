"""The messages that show one answer, brought step by step to how they shall look.

A canvas holds what stands at a spot. `next_step` compares it with the wanted looks and names
the one request that comes next; `perform` makes it and keeps the ledger. A message that
somebody deleted, or that cannot be edited any more, is posted anew together with those that
follow it, so that the parts of an answer never change their order.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

import discord
import structlog

from bot.courier import KEEP, Courier, Letter, Sent, search_start
from bot.personas import Face
from bot.posts import Place, Post, Posts, body_hash
from bot.trouble import MessageLost, Trouble, Undelivered

__all__ = ["Buttons", "Canvas", "Look", "Row", "Step"]

log = structlog.get_logger(__name__)
T = TypeVar("T")

Buttons: TypeAlias = Callable[[], discord.ui.View | None]
"""Builds the buttons anew for every use: a view belongs to one message."""

_REPEATED_AFTER = 0.9  # seconds; discord.py waits one before it repeats a request
_MOST_REPOSTS = 4  # somebody who deletes faster than we post has the last word


class Row(StrEnum):
    """Which buttons stand under a message."""

    NONE = "none"
    STOP = "stop"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class Look:
    """How one message shall look."""

    text: str
    row: Row = Row.NONE


@dataclass(frozen=True, slots=True)
class Step:
    """The next request: `kind` is edit, post or delete; `part` is the message's place in the answer."""

    kind: str
    part: int


@dataclass(slots=True)
class _Slot:
    post: Post
    look: Look | None  # None: not known, nobody looked since the start or the last request failed

    def shows(self, look: Look) -> bool:
        if self.look is not None:
            return self.look == look
        # The ledger knows the final text by its hash. Buttons carry counters: they are always set anew.
        bare = look.row is Row.NONE and not self.post.buttons
        return bare and self.post.body_hash == body_hash(look.text)


class Canvas:
    """The messages at one spot. One writer at a time: the caller holds the spot's lock."""

    def __init__(self, courier: Courier, posts: Posts, place: Place, face: Face | None, spot: str) -> None:
        self._courier = courier
        self._posts = posts
        self.place = place
        self._face = face
        self.spot = spot
        self._slots: list[_Slot] = []
        self._planned: dict[int, Post] = {}
        self._stray: list[Post] = []
        self._reposts = 0
        self.reply_to: int | None = None

    async def load(self) -> None:
        """Read from the ledger what stands here. Rows that were planned are looked for when needed."""
        for post in await self._posts.at_spot(self.spot):
            if post.state == "planned":
                self._planned[post.part] = post
            elif post.part == len(self._slots):
                self._slots.append(_Slot(post, None))
            else:
                self._stray.append(post)  # a part before it was deleted: it has to come after that one
        await self._clear_stray()

    def recognize(self, looks: Sequence[Look]) -> None:
        """Remember which messages look right already, before `reopen` forgets their hashes."""
        for slot, look in zip(self._slots, looks, strict=False):
            if slot.shows(look):
                slot.look = look

    async def reopen(self) -> None:
        """Everything here is about to show something else; unfinished until `settle`."""
        await self._posts.reopen(self.spot, self.place)
        posts = await self._posts.at_spot(self.spot)
        fresh = {post.nonce: post for post in posts}
        for slot in self._slots:
            slot.post = fresh.get(slot.post.nonce, slot.post)
        self._planned = {part: fresh.get(post.nonce, post) for part, post in self._planned.items()}

    @property
    def posts(self) -> tuple[Post, ...]:
        """What stands, in order."""
        return tuple(slot.post for slot in self._slots)

    @property
    def touched(self) -> bool:
        """True when something stands here, or may have been sent."""
        return bool(self._slots or self._planned)

    def next_step(self, looks: Sequence[Look]) -> Step | None:
        """The next request on the way to `looks`; None when all looks as it shall."""
        for part, look in enumerate(looks):
            if part == len(self._slots):
                return Step("post", part)
            if not self._slots[part].shows(look):
                return Step("edit", part)
        if len(self._slots) > len(looks):
            return Step("delete", len(self._slots) - 1)
        return None

    async def perform(self, step: Step, looks: Sequence[Look], rows: Mapping[Row, Buttons]) -> None:
        """Make the request. May be cancelled: what became of it is then found out by the next one.

        Raises Undelivered.
        """
        if step.kind == "delete":
            slot = self._slots[step.part]
            slot.look = None
            await self._courier.delete(slot.post)
            self._slots.remove(slot)
            await _surely(self._posts.deleted(slot.post))
        elif step.kind == "edit":
            await self._edit(step.part, looks[step.part], rows)
        else:
            await self._post(step.part, looks[step.part], rows)

    async def settle(self, looks: Sequence[Look]) -> None:
        """Record that these are the final looks."""
        for slot, look in zip(self._slots, looks, strict=True):
            slot.post = await self._posts.shown(slot.post, look.text, buttons=look.row is not Row.NONE)
        for part in list(self._planned):  # parts that are not wanted, and may have been sent
            sent = await self._find(self._planned[part], "")
            if sent is not None:
                await self._courier.delete_any(self.place.channel_id, sent.message_id)
            await self._posts.deleted(self._planned.pop(part))

    async def _edit(self, part: int, look: Look, rows: Mapping[Row, Buttons]) -> None:
        slot = self._slots[part]
        before, slot.look = slot.look, None
        view = KEEP if before is not None and before.row is look.row else _view(look, rows)
        text = None if before is not None and before.text == look.text else look.text
        try:
            await self._courier.edit(slot.post, self._face, text, view)
        except MessageLost as lost:
            await self._drop(part, remains=lost.remains)
            return
        slot.look = look

    async def _post(self, part: int, look: Look, rows: Mapping[Row, Buttons]) -> None:
        post = self._planned.get(part)
        if post is not None and await self._adopted(post, look.text):
            return
        if post is None:
            post = await _surely(self._plan(part))
        letter = Letter(
            self.place.channel_id,
            self._face,
            look.text,
            post.nonce,
            part,
            _view(look, rows),
            self.reply_to if part == 0 else None,
        )
        started = time.monotonic()
        try:
            sent = await self._courier.send(letter)
        except MessageLost:
            # Sent before with this nonce and deleted since: Discord remembers it for a while.
            self._count_repost()
            await _surely(self._posts.deleted(self._planned.pop(part)))
        except Undelivered as error:
            if error.trouble is not Trouble.UNREACHABLE:
                await _surely(self._posts.deleted(self._planned.pop(part)))  # it certainly does not stand
            raise
        else:
            await _surely(self._record(post, sent, look))
            if sent.webhook_id is not None and time.monotonic() - started >= _REPEATED_AFTER:
                await self._drop_twin(post, sent, look.text)

    async def _drop_twin(self, post: Post, sent: Sent, text: str) -> None:
        known = await self._posts.known(post.channel_id, search_start(post))
        twin = await self._courier.twin(post, sent, known, text)
        if twin is not None:
            log.info("canvas.twin_removed", channel=post.channel_id, message=twin)
            await self._courier.delete(replace(post, message_id=twin, webhook_id=sent.webhook_id))

    async def _plan(self, part: int) -> Post:
        post = self._planned[part] = await self._posts.plan(self.place, self.spot, part)
        return post

    async def _record(self, post: Post, sent: Sent, look: Look | None) -> None:
        post = await self._posts.sent(post, sent.message_id, sent.webhook_id)
        del self._planned[post.part]
        self._slots.append(_Slot(post, look))

    async def _adopted(self, post: Post, text: str) -> bool:
        """A message that was planned before may have been sent: by a process that died, or by a
        request whose answer never came. True when it was found and taken over."""
        sent = await self._find(post, text)
        if sent is None:
            return False
        log.info("canvas.adopted", channel=post.channel_id, message=sent.message_id, part=post.part)
        await _surely(self._record(post, sent, None))
        return True

    async def _find(self, post: Post, text: str) -> Sent | None:
        known = await self._posts.known(post.channel_id, search_start(post))
        return await self._courier.find(post, self._face, known, text)

    async def _drop(self, part: int, *, remains: bool) -> None:
        """The message of a part is lost: it and those after it have to be posted anew."""
        self._count_repost()
        lost = [slot.post for slot in self._slots[part:]]
        del self._slots[part:]
        if not remains:
            await _surely(self._posts.deleted(lost.pop(0)))
        self._stray += lost
        await self._clear_stray()

    async def _clear_stray(self) -> None:
        while self._stray:
            post = self._stray[-1]
            try:
                await self._courier.delete(post)
            except Undelivered as error:
                if error.trouble is not Trouble.FORBIDDEN:
                    raise
                log.info("canvas.stray_left", channel=post.channel_id, message=post.message_id)
            self._stray.pop()
            await _surely(self._posts.deleted(post))

    def _count_repost(self) -> None:
        self._reposts += 1
        if self._reposts > _MOST_REPOSTS:
            raise Undelivered(Trouble.REFUSED, "the messages keep being deleted")


def _view(look: Look, rows: Mapping[Row, Buttons]) -> discord.ui.View | None:
    build = rows.get(look.row)
    return build() if build is not None else None


async def _surely(work: Coroutine[Any, Any, T]) -> T:
    """Do it to its end even if the caller is cancelled: the ledger must know what was done."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise

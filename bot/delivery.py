"""The last word on an answer: makes its messages look as they shall, and says what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.canvas import Buttons, Canvas, Look, Row
from bot.courier import Courier
from bot.pacing import Priority
from bot.posts import Post
from bot.trouble import Trouble, Undelivered

__all__ = ["Delivery", "converge", "final_looks"]

_RETRY_AFTER = (1.0, 3.0, 9.0)  # seconds, on top of discord.py's own five tries
_MESSAGE_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of it. `posts` is what stands, in order; `trouble` says why something does not.

    `plain`: a character spoke through the bot itself, because it has no webhook there.
    `superseded`: something newer is shown at the same spot instead.
    """

    posts: tuple[Post, ...] = ()
    trouble: Trouble | None = None
    detail: str = ""
    plain: bool = False
    superseded: bool = False

    @property
    def last_message_id(self) -> int | None:
        return self.posts[-1].message_id if self.posts else None


def final_looks(texts: Sequence[str], footer: str | None, *, buttons: bool) -> list[Look]:
    """The looks of a finished answer: buttons under the last message, the footer as its small last
    line, or as a message of its own where it does not fit any more."""
    texts = list(texts)
    if footer is not None:
        line = f"-# {footer}"
        if texts and len(texts[-1]) + 1 + len(line) <= _MESSAGE_LIMIT:
            texts[-1] += "\n" + line
        else:
            texts.append(line[:_MESSAGE_LIMIT])
    looks = [Look(text) for text in texts]
    if looks and buttons:
        looks[-1] = Look(looks[-1].text, Row.FINAL)
    return looks


async def converge(
    canvas: Canvas,
    courier: Courier,
    channel_id: int,
    looks: Sequence[Look],
    rows: Mapping[Row, Buttons],
    current: Callable[[], bool],
) -> None:
    """Request by request until all messages look as they shall; then record it.

    Stops early when `current` says that something newer is wanted. Raises Undelivered, for
    UNREACHABLE only after several tries.
    """
    delays = iter(_RETRY_AFTER)
    while current() and (step := canvas.next_step(looks)) is not None:
        await courier.turn(channel_id, Priority.FINAL)
        try:
            await canvas.perform(step, looks, rows)
        except Undelivered as error:
            delay = next(delays, None)
            if error.trouble is not Trouble.UNREACHABLE or delay is None:
                raise
            await asyncio.sleep(delay)
    if current():
        await canvas.settle(looks)

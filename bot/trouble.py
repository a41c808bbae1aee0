"""What can go wrong between us and Discord, and what Discord's codes mean for that."""

from __future__ import annotations

from enum import StrEnum

import discord

__all__ = ["HookGone", "MessageLost", "Trouble", "Undelivered", "meaning"]


class Trouble(StrEnum):
    """Why a message could not be shown."""

    GONE = "gone"
    """The channel or thread does not exist any more."""
    FORBIDDEN = "forbidden"
    """The bot may not see it or write in it."""
    LOCKED = "locked"
    """The thread is closed and the bot may not open it."""
    REFUSED = "refused"
    """Discord does not take the message as it is."""
    UNREACHABLE = "unreachable"
    """Discord does not answer, or asks to wait for too long. It may work later."""


class Undelivered(Exception):
    """It could not be carried. `limited` when the reason is our rate."""

    def __init__(self, trouble: Trouble, detail: str, *, limited: bool = False) -> None:
        super().__init__(f"{trouble}: {detail}")
        self.trouble = trouble
        self.detail = detail
        self.limited = limited


class MessageLost(Exception):
    """The message cannot be edited any more. `remains`: it still stands in the channel."""

    def __init__(self, *, remains: bool) -> None:
        super().__init__("remains" if remains else "gone")
        self.remains = remains


class HookGone(Exception):
    """The webhook does not exist any more or belongs to another channel."""


def meaning(error: discord.HTTPException) -> Exception:
    """Discord's codes, spec discord A3 and B4 to B8."""
    detail = f"{error.status} {error.code}: {error.text}"[:300]
    if error.code == 10015:
        return HookGone()
    if error.code == 10008:
        return MessageLost(remains=False)
    if error.code in (30046, 50005):  # too many edits of an old message; a message of somebody else
        return MessageLost(remains=True)
    if error.code in (50083, 160005):
        return Undelivered(Trouble.LOCKED, detail)
    if error.status == 429 or error.status >= 500:
        return Undelivered(Trouble.UNREACHABLE, detail, limited=error.status == 429)
    if error.status == 404:
        return Undelivered(Trouble.GONE, detail)
    if error.status in (401, 403):
        return Undelivered(Trouble.FORBIDDEN, detail)
    return Undelivered(Trouble.REFUSED, detail)

"""In whose name and face a message stands: one webhook per parent channel, a name per message.

Spec discord B4. The hook is ours (made by this application, so it may carry buttons, and taken
from Discord with its state, so discord.py lets it). Names that Discord refuses are mended so
that they look the same.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import discord
import structlog

from bot.markdown import is_blank, is_grapheme_border

__all__ = ["HOOK_NAME", "Face", "Hooks", "hook_parent", "webhook_name"]

log = structlog.get_logger(__name__)

HOOK_NAME = "Inglenook"
_NAME_LIMIT = 80
_HAIR = "\u200a"  # hair space: the narrowest one that Discord does not strip inside a name
_FILLER = "\u17b5"  # a Khmer vowel that shows nothing; makes a one-character name two
_FORBIDDEN_PARTS = re.compile(r"clyde|discord|`{3,}", re.IGNORECASE)
_FORBIDDEN_WHOLE = {"everyone", "here"}
Parent: TypeAlias = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.ForumChannel
# How long a channel without a hook is not asked again: refusals in a loop end in a ban (spec B5).
_REFUSED_FOR = 300.0


@dataclass(frozen=True, slots=True)
class Face:
    """Who speaks: the name as the card or the person has it, and a picture that Discord can fetch."""

    name: str
    avatar_url: str | None = None


def webhook_name(name: str) -> str:
    """The name as Discord takes it for a webhook message: 2 to 80 characters, none of its forbidden
    words. It looks as before: what breaks a word up cannot be seen."""
    name = _FORBIDDEN_PARTS.sub(_broken_up, " ".join(name.split()))
    if name.lower() in _FORBIDDEN_WHOLE:
        name = name[0] + _HAIR + name[1:]
    cut = _NAME_LIMIT
    while not is_grapheme_border(name, cut):
        cut -= 1
    name = name[:cut].rstrip()
    if is_blank(name):
        return "…" + _FILLER
    return name if len(name) > 1 else name + _FILLER


def hook_parent(channel: object) -> Parent | None:
    """The channel whose webhook speaks in `channel`: a thread's parent, or the channel itself.
    None where there are no webhooks (direct messages)."""
    if isinstance(channel, discord.Thread):
        channel = channel.parent
    return channel if isinstance(channel, Parent) else None


def _broken_up(match: re.Match[str]) -> str:
    word = match.group()
    return _HAIR.join(word) if word[0] == "`" else word[0] + _HAIR + word[1:]


class Hooks:
    """Our webhook in each channel. One look-up or creation at a time per channel; a failed one is
    forgotten, a refused one remembered for five minutes."""

    def __init__(self, client: discord.Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._hooks: dict[int, asyncio.Task[discord.Webhook | None]] = {}
        self._refused: dict[int, float] = {}
        self._ours: set[int] = set()

    def owns(self, webhook_id: int) -> bool:
        """True for a hook that was seen to be ours since the start."""
        return webhook_id in self._ours

    async def of(self, channel: object) -> discord.Webhook | None:
        """The hook that speaks in `channel`; None when the bot has to speak itself: no webhooks
        there, no right to manage them, or no room for one more.

        Raises discord.HTTPException for what may pass, such as Discord being down.
        """
        parent = hook_parent(channel)
        if parent is None or self._refused.get(parent.id, 0.0) > self._clock():
            return None
        task = self._hooks.get(parent.id)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = asyncio.ensure_future(self._find_or_make(parent))
            self._hooks[parent.id] = task
        # A caller that gives up must not take the look-up away from the others.
        return await asyncio.shield(task)

    async def by_id(self, channel: object, webhook_id: int) -> discord.Webhook | None:
        """The hook with this id, to edit what it said; None when it is gone or not ours any more."""
        hook = await self.of(channel)
        return hook if hook is not None and hook.id == webhook_id else None

    def forget(self, channel: object) -> None:
        """The hook of `channel` is gone or was moved: look again next time."""
        parent = hook_parent(channel)
        if parent is not None:
            self._hooks.pop(parent.id, None)
            self._refused.pop(parent.id, None)

    async def _find_or_make(self, parent: Parent) -> discord.Webhook | None:
        if not parent.permissions_for(parent.guild.me).manage_webhooks:
            # Costs nothing to find out, so it is looked at again next time.
            self._hooks.pop(parent.id, None)
            return None
        try:
            hook = await self._found(parent) or await parent.create_webhook(
                name=HOOK_NAME, reason="Characters speak through it"
            )
        except discord.HTTPException as error:
            # No right after all; fifteen in the channel; a thousand in the server.
            if not isinstance(error, discord.Forbidden) and error.code not in (30007, 30058):
                raise
            log.warning("personas.no_webhook", channel=parent.id, code=error.code)
            self._refused[parent.id] = self._clock() + _REFUSED_FOR
            self._hooks.pop(parent.id, None)
            return None
        self._ours.add(hook.id)
        return hook

    async def _found(self, parent: Parent) -> discord.Webhook | None:
        assert self._client.user is not None  # logged in: there are channels
        me = self._client.user.id
        ours = [h for h in await parent.webhooks() if h.token and h.user is not None and h.user.id == me]
        # The oldest: two processes that raced must agree on one.
        return min(ours, key=lambda hook: hook.id, default=None)

"""Which Discord permissions the bot needs in a channel, and what for. Pure: nothing is asked of Discord."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import discord

__all__ = ["NEEDS", "Need", "Place", "invite_url", "missing", "requested"]

Place: TypeAlias = Literal["story", "parent"]
"""`parent`: a channel or forum where stories are opened. `story`: where one is played."""


@dataclass(frozen=True, slots=True)
class Need:
    """One permission: its name in discord.py, and for what in which places.

    `vital` ones are those without which a story cannot be played; without the others something
    smaller is missing, and the bot does without.
    """

    name: str
    places: frozenset[Place]
    vital: bool

    @property
    def text_key(self) -> str:
        """The text that names it as Discord's own settings do."""
        return f"permission.name.{self.name}"

    @property
    def purpose_key(self) -> str:
        """The text that says what it is for."""
        return f"permission.purpose.{self.name}"


def _need(name: str, *places: Place, vital: bool) -> Need:
    return Need(name, frozenset(places), vital)


NEEDS = (
    _need("view_channel", "parent", "story", vital=True),
    _need("send_messages", "parent", vital=True),
    _need("send_messages_in_threads", "parent", "story", vital=True),
    _need("create_public_threads", "parent", vital=True),
    _need("manage_webhooks", "parent", "story", vital=True),
    _need("read_message_history", "parent", "story", vital=True),
    _need("embed_links", "parent", "story", vital=False),
    _need("attach_files", "parent", "story", vital=False),
    _need("add_reactions", "parent", "story", vital=False),
    _need("manage_messages", "parent", "story", vital=False),
    _need("manage_threads", "parent", "story", vital=False),
)


def missing(granted: discord.Permissions, place: Place, *, vital_only: bool = False) -> tuple[Need, ...]:
    """What is needed in `place` and not granted, the vital ones first.

    For a thread, `granted` are the permissions in the thread, which Discord derives from its parent.
    """
    lacking = [need for need in NEEDS if place in need.places and not getattr(granted, need.name)]
    if vital_only:
        lacking = [need for need in lacking if need.vital]
    return tuple(sorted(lacking, key=lambda need: not need.vital))


def requested() -> discord.Permissions:
    """Everything that the bot asks for when it is invited."""
    return discord.Permissions(**{need.name: True for need in NEEDS})


def invite_url(application_id: int) -> str:
    """The address where a server's administrator adds the bot."""
    return discord.utils.oauth_url(
        application_id, permissions=requested(), scopes=("bot", "applications.commands")
    )

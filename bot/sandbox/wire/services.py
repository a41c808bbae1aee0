"""What the doors of one server share: REST, the gateway and the CDN act with these and know no more."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.sandbox.wire.buckets import Buckets
from bot.sandbox.world import World
from bot.sandbox.world.interactions import Interactions
from bot.sandbox.world.pictures import Pictures

__all__ = ["Services", "Urls"]


@dataclass(frozen=True, slots=True)
class Urls:
    """Where a started server listens."""

    base: str
    api: str
    gateway: str
    cdn: str


@dataclass(slots=True)
class Services:
    """The world of one server and what serves it."""

    world: World
    interactions: Interactions
    pictures: Pictures
    buckets: Buckets
    old_edits: dict[str, list[int]] = field(default_factory=dict)
    """Channel id → times (ms) of its latest edits of messages older than one hour."""
    urls: Urls = Urls("", "", "", "")
    """Empty until the server listens."""

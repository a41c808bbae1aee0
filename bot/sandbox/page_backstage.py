"""What stands behind the page: the Discord that it shows, who writes the answers, and the bot's process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.sandbox.store import Record
from bot.sandbox.wire import WireDiscord

__all__ = ["Backstage", "BotControl", "ModelInUse"]


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """Who writes the answers, for the bar at the top."""

    name: str = "offline narrator"
    offline: bool = True


class BotControl(Protocol):
    """The bot's process, as far as the page may touch it."""

    def state(self) -> Record:
        """`{"pid": int | None, "state": "starting"|"running"|"stopped"|"crashed", "note": str}`."""

    def log(self) -> tuple[int, Sequence[str]]:
        """How many lines were ever written, and the latest of them."""

    async def start(self) -> None:
        """Start it unless it runs."""

    async def restart(self) -> None:
        """Ask it to stop, then start it again."""

    async def kill(self) -> None:
        """End it at once, with no chance to tidy up."""


@dataclass(frozen=True, slots=True)
class Backstage:
    """All that a window and its operations may reach. `control` is None when the bot is not ours."""

    wire: WireDiscord
    model: ModelInUse = field(default_factory=ModelInUse)
    control: BotControl | None = None

    def bot_state(self) -> Record:
        """Whether a bot is connected, and what is known of its process."""
        online = self.wire.gateway.online
        if self.control is None:
            return {"online": online, "pid": None, "state": "external", "note": ""}
        return {"online": online, **self.control.state()}

    def bot_log(self) -> tuple[int, Sequence[str]]:
        """As `BotControl.log`; nothing when the bot is not ours."""
        return (0, ()) if self.control is None else self.control.log()

"""Points discord.py at Discord, or at another server that speaks its protocol."""

from __future__ import annotations

from collections.abc import Callable

import discord
from discord.gateway import DiscordWebSocket
from discord.http import Route
from yarl import URL

from bot.settings import DiscordSettings

__all__ = ["aim"]


def aim(settings: DiscordSettings) -> Callable[[], None]:
    """Use the addresses of the settings for everything that this process sends from now on.

    They are class attributes of discord.py (spec discord C1), so one process talks to one server.
    Returns what undoes it.
    """
    before = (Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY, discord.Asset.BASE)
    if settings.api_base is not None:
        Route.BASE = settings.api_base
    if settings.gateway_url is not None:
        DiscordWebSocket.DEFAULT_GATEWAY = URL(settings.gateway_url)
    if settings.cdn_base is not None:
        discord.Asset.BASE = settings.cdn_base

    def undo() -> None:
        Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY, discord.Asset.BASE = before

    return undo

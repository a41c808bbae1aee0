"""The REST side as plain HTTP, for what discord.py would never send."""

from __future__ import annotations

from typing import Any

import aiohttp

from bot.sandbox.wire import WireDiscord
from engine.codec import dumps, loads

__all__ = ["Api"]

Answer = tuple[int, Any]


class Api:
    """Calls the REST side as the bot."""

    def __init__(self, wire: WireDiscord, http: aiohttp.ClientSession) -> None:
        self.wire = wire
        self.http = http

    async def __call__(self, method: str, path: str, body: Any = None, **query: str) -> Answer:
        data = None if body is None else dumps(body)
        headers = {"Content-Type": "application/json"}
        url = self.wire.urls.api + path
        async with self.http.request(method, url, data=data, headers=headers, params=query) as answer:
            raw = await answer.read()
            return answer.status, loads(raw) if raw else None

    def at(self, name: str) -> str:
        return f"/channels/{self.wire.world.channel(name)['id']}"

    async def send(self, body: Any, channel: str = "general") -> Answer:
        return await self("POST", self.at(channel) + "/messages", body)

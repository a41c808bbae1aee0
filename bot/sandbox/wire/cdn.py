"""What Discord's CDN serves: attachments by signed links, and avatars."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

from aiohttp import web

from bot.sandbox.wire.faults import Faults
from bot.sandbox.world import State
from bot.sandbox.world.attachments import content_type
from bot.sandbox.world.pictures import Pictures, draw, media_type

__all__ = ["Cdn"]

_INLINE = ("image/png", "image/jpeg", "image/gif", "image/webp", "text/plain; charset=utf-8")


class Cdn:
    """The file side of the server, under `/cdn`. `faults` go wrong for attachments, by their whole path."""

    def __init__(self, state: State, pictures: Pictures, faults: Faults) -> None:
        self._state = state
        self._pictures = pictures
        self._faults = faults

    def install(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get("/cdn/attachments/{channel}/{attachment}/{name}", self._attachment)
        app.router.add_get("/cdn/avatars/{owner}/{name}", self._avatar)
        app.router.add_get("/cdn/embed/avatars/{name}", self._default)

    async def _attachment(self, request: web.Request) -> web.Response:
        if (wrong := await self._go_wrong(request)) is not None:
            return wrong
        path = "attachments/{channel}/{attachment}/{name}".format(**request.match_info)
        try:
            good = self._state.link_is_good(path, request.query.get("ex", "0"), request.query.get("hm", ""))
        except ValueError:
            good = False
        body = self._state.store.get_file(path) if good else None
        if body is None:
            return web.Response(status=404, text="This content is no longer available.")
        kind = content_type(request.match_info["name"])
        where = "inline" if kind in _INLINE else "attachment"
        name = quote(request.match_info["name"])
        headers = {
            "Content-Disposition": f"{where}; filename*=UTF-8''{name}",
            # A page of the same origin must never run what somebody uploaded.
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
            "Content-Type": kind,
        }
        return web.Response(body=body, headers=headers)

    async def _go_wrong(self, request: web.Request) -> web.Response | None:
        """What a planned fault answers; None to go on."""
        fault = self._faults.take(request.method, request.path)
        if fault is None:
            return None
        if fault.kind == "status":
            return web.Response(status=fault.status)
        if fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
            return None
        if fault.kind == "hang":
            await self._faults.until_cleared()
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=499)  # nobody reads it

    async def _avatar(self, request: web.Request) -> web.StreamResponse:
        owner = request.match_info["owner"]
        name = request.match_info["name"].partition(".")[0]
        kept = self._pictures.get(name)
        if kept is not None:
            return _picture(kept)
        elsewhere = self._pictures.remote(name)
        if elsewhere is not None:
            raise web.HTTPFound(elsewhere)
        user = self._state.users.get(owner)
        return _picture(draw(name, (user["global_name"] or user["username"]) if user else ""))

    async def _default(self, request: web.Request) -> web.Response:
        return _picture(draw("default" + request.match_info["name"], ""))


def _picture(body: bytes) -> web.Response:
    headers = {"Cache-Control": "public, max-age=3600", "X-Content-Type-Options": "nosniff"}
    return web.Response(body=body, content_type=media_type(body), headers=headers)

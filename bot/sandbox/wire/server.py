"""The loopback server: Discord's REST API v10, gateway and CDN for one world."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from types import TracebackType

from aiohttp import web

from bot.sandbox.loopback import loopback_only
from bot.sandbox.wire.buckets import Buckets
from bot.sandbox.wire.cdn import Cdn
from bot.sandbox.wire.faults import Faults
from bot.sandbox.wire.gateway import Gateway
from bot.sandbox.wire.requestlog import RequestLog
from bot.sandbox.wire.rest import LARGEST, PREFIX, Rest
from bot.sandbox.wire.services import Services, Urls
from bot.sandbox.world import World
from bot.sandbox.world.interactions import Interactions
from bot.sandbox.world.pictures import Pictures

__all__ = ["WireDiscord"]


class WireDiscord:
    """A Discord of one's own. In a test: `async with WireDiscord(world) as wire`.

    `rate_limits` False switches 429s and rate headers off; `deadline` is the seconds
    that the bot has to answer an interaction; `compress` honours zlib-stream.
    """

    def __init__(
        self, world: World, *, rate_limits: bool = True, deadline: float = 3.0, compress: bool = False
    ) -> None:
        self.world = world
        self.buckets = Buckets(on=rate_limits)
        self.faults = Faults()
        self.log = RequestLog()
        self.interactions = Interactions(world, deadline=deadline)
        self._services = Services(world, self.interactions, Pictures(world), self.buckets)
        self.gateway = Gateway(self._services, compress=compress)
        rest = Rest(self._services, self.faults, self.log)
        self.crashes, self.unknown = rest.crashes, rest.unknown  # a test should end with none
        self.app = web.Application(client_max_size=LARGEST, middlewares=[loopback_only])
        """Others may add routes (the page) before `start`."""
        self._runner: web.AppRunner | None = None
        Cdn(world, self._services.pictures, self.faults).install(self.app)
        self.app.router.add_get("/gateway", self.gateway.handle)
        rest.install(self.app)

    @property
    def urls(self) -> Urls:
        """Where it listens; empty before `start`."""
        return self._services.urls

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> Urls:
        """Listen on a loopback address (any other is refused with ValueError); port 0 takes a free one."""
        if not ip_address(host).is_loopback:
            raise ValueError(f"the sandbox listens on loopback only, not on {host}")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
        port = listener.getsockname()[1]
        name = f"[{host}]" if ":" in host else host
        base = f"http://{name}:{port}"
        self._services.urls = Urls(base, base + PREFIX, f"ws://{name}:{port}/gateway", base + "/cdn")
        self.world.cdn = self.urls.cdn
        self._runner = web.AppRunner(self.app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.SockSite(self._runner, listener).start()
        return self.urls

    async def stop(self) -> None:
        """Close everything. The world stays open."""
        self.faults.clear()
        self.interactions.close()
        await self.gateway.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> WireDiscord:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

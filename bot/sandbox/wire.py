"""The loopback server: Discord's REST API v10, gateway and CDN for one world."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import ip_address
from types import TracebackType
from typing import Any

import structlog
from aiohttp import BodyPartReader, hdrs, web

from bot.sandbox import (
    rest_channels,
    rest_commands,
    rest_guilds,
    rest_interactions,
    rest_messages,
    rest_webhooks,
)
from bot.sandbox.buckets import Buckets, Limited
from bot.sandbox.cdn import Cdn
from bot.sandbox.faults import Fault, Faults
from bot.sandbox.gateway import Gateway
from bot.sandbox.interactions import Interactions
from bot.sandbox.limits import REQUEST_BYTES, Upload
from bot.sandbox.loopback import loopback_only
from bot.sandbox.pictures import Pictures
from bot.sandbox.refusal import Form, Refusal, refuse
from bot.sandbox.requestlog import Request, RequestLog
from bot.sandbox.rest import Call, Endpoint, Reply
from bot.sandbox.store import Record
from bot.sandbox.world import World
from engine.codec import dumps, loads

__all__ = ["Urls", "WireDiscord"]

log = structlog.get_logger(__name__)

PREFIX = "/api/v10"
_SLACK = 256 * 1024  # of a multipart body around its files
_DRAIN = 256 * 1024 * 1024  # an oversized body is read up to here, so that its sender sees the 413
_IDS = (
    "channel",
    "message",
    "guild",
    "webhook",
    "user",
    "interaction",
    "application",
    "command",
    "role",
    "target",
)
_TABLES = (rest_guilds, rest_messages, rest_channels, rest_webhooks, rest_interactions, rest_commands)


@dataclass(frozen=True, slots=True)
class Urls:
    """Where a started server listens."""

    base: str
    api: str
    gateway: str
    cdn: str


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
        self.gateway = Gateway(self, compress=compress)
        self.pictures = Pictures(world)
        self.old_edits: dict[str, list[int]] = {}
        self.crashes: list[str] = []
        """Handlers that broke: "METHOD path: error". A test should end with none."""
        self.unknown: list[str] = []
        """Requests for endpoints that do not exist here."""
        self.urls = Urls("", "", "", "")
        self.app = web.Application(client_max_size=REQUEST_BYTES + _SLACK, middlewares=[loopback_only])
        """Others may add routes (the page) before `start`."""
        self._runner: web.AppRunner | None = None
        Cdn(self).install(self.app)
        self.app.router.add_get("/gateway", self.gateway.handle)
        for table in _TABLES:
            for endpoint in table.ROUTES.endpoints:
                self.app.router.add_route(
                    endpoint.method, PREFIX + endpoint.template, self._handler(endpoint)
                )
        self.app.router.add_route("*", PREFIX + "/{tail:.*}", self._nowhere)

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> Urls:
        """Listen on a loopback address (any other is refused with ValueError); port 0 takes a free one."""
        if not ip_address(host).is_loopback:
            raise ValueError(f"the sandbox listens on loopback only, not on {host}")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
        port = listener.getsockname()[1]
        name = f"[{host}]" if ":" in host else host
        base = f"http://{name}:{port}"
        self.urls = Urls(base, base + PREFIX, f"ws://{name}:{port}/gateway", base + "/cdn")
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

    # --- one request ---------------------------------------------------------------

    def _handler(self, endpoint: Endpoint) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            return await self._serve(endpoint, request)

        return handle

    async def _nowhere(self, request: web.Request) -> web.Response:
        self.unknown.append(f"{request.method} {request.path}")
        log.warning("no such endpoint", method=request.method, path=request.path)
        return _respond(404, {"message": "404: Not Found", "code": 0}, {})

    async def _serve(self, endpoint: Endpoint, request: web.Request) -> web.StreamResponse:
        begun = time.perf_counter()
        path = request.path.removeprefix(PREFIX)
        if self.faults.latency_ms:
            await asyncio.sleep(self.faults.latency_ms / 1000)
        fault = self.faults.take(request.method, path)
        if fault is not None and not fault.after:
            response = await self._break(fault, request)
            if response is not None:
                self._note(endpoint, request, begun, response.status, None)
                return response
        status, body, headers = await self._answer(endpoint, request)
        response = _respond(status, body, headers)
        if fault is not None and fault.after:
            response = await self._break(fault, request) or response
        self._note(endpoint, request, begun, response.status, body)
        return response

    async def _break(self, fault: Fault, request: web.Request) -> web.Response | None:
        # None: go on as if nothing had happened.
        if fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
            return None
        if fault.kind == "hang":
            await self.faults.until_cleared()
        if fault.kind in ("hang", "drop"):
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=499)  # nobody reads it; nginx's number for a client that is gone
        if fault.status == 429:
            limited = Limited(0.3, {})
            return _respond(429, {**limited.body(), **(fault.body or {})}, limited.headers)
        text = f"{fault.status}: {web.Response(status=fault.status).reason}"
        return _respond(fault.status, fault.body or {"message": text, "code": 0}, {})

    async def _answer(self, endpoint: Endpoint, request: web.Request) -> tuple[int, Any, dict[str, str]]:
        headers: dict[str, str] = {}
        try:
            params = dict(request.match_info)
            _check_ids(params)
            if not endpoint.free:
                self.buckets.spend_global()
            if endpoint.limit is not None:
                major = params[endpoint.limit.major] + params.get("token", "")
                headers = self.buckets.spend(endpoint.limit, major)
            body, files = await _read(request)
            if not endpoint.open and request.headers.get("Authorization") != f"Bot {self.world.token}":
                raise Refusal(401, 0, "401: Unauthorized")
            reply = self._call(endpoint, Call(self, params, request.query, body, files))
            return reply.status, reply.body, headers
        except Refusal as refusal:
            return refusal.status, refusal.body(), headers
        except Limited as limited:
            return 429, limited.body(), limited.headers

    def _call(self, endpoint: Endpoint, call: Call) -> Reply:
        try:
            return endpoint.handler(call)
        except (Refusal, Limited):
            raise
        except Exception as error:
            # Not 500: discord.py would retry it for 25 seconds.
            self.crashes.append(f"{endpoint.method} {endpoint.template}: {error!r}")
            log.exception("sandbox endpoint failed", method=endpoint.method, route=endpoint.template)
            raise Refusal(400, 0, f"sandbox endpoint failed: {error!r}") from error

    def _note(self, endpoint: Endpoint, request: web.Request, begun: float, status: int, body: Any) -> None:
        shown: Record = body if isinstance(body, dict) else {}
        message_id = request.match_info.get("message")
        if endpoint.method in ("POST", "PATCH") and "author" in shown:
            message_id = shown["id"]
        self.log.add(
            Request(
                at=time.time(),
                method=endpoint.method,
                path=request.path.removeprefix(PREFIX),
                route=endpoint.template,
                status=0 if status == 499 else status,
                ms=(time.perf_counter() - begun) * 1000,
                channel_id=shown.get("channel_id") or request.match_info.get("channel"),
                message_id=message_id,
            )
        )


def _check_ids(params: dict[str, str]) -> None:
    form = Form()
    for name in _IDS:
        value = params.get(name)
        if value is not None and not value.isdecimal() and not value.startswith("@"):
            form.flag(f"{name}_id", "NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.')
    form.close()


async def _read(request: web.Request) -> tuple[Any, list[Upload]]:
    if not request.can_read_body:
        return None, []
    if (request.content_length or 0) > REQUEST_BYTES + _SLACK:
        await _drain(request)
        raise refuse(40005)
    if request.content_type == "multipart/form-data":
        return await _read_parts(request)
    raw = bytearray()
    async for chunk in request.content.iter_any():
        raw += chunk
        if len(raw) > REQUEST_BYTES + _SLACK:  # a chunked body tells its length only now
            raise refuse(40005)
    if not raw:
        return None, []
    try:
        return loads(bytes(raw)), []
    except ValueError:
        raise refuse(50109) from None


async def _drain(request: web.Request) -> None:
    seen = 0
    async for chunk in request.content.iter_any():
        seen += len(chunk)
        if seen > _DRAIN:
            return


async def _read_parts(request: web.Request) -> tuple[Any, list[Upload]]:
    body: Any = None
    files: dict[int, Upload] = {}
    reader = await request.multipart()
    total = 0
    while (part := await reader.next()) is not None:
        if not isinstance(part, BodyPartReader) or part.name is None:
            continue
        name = part.name
        raw = bytearray()
        while chunk := await part.read_chunk(1 << 16):
            total += len(chunk)
            if total <= REQUEST_BYTES + _SLACK:
                raw += chunk
        if name == "payload_json":
            try:
                body = loads(bytes(raw))
            except ValueError:
                raise refuse(50109) from None
        elif name.startswith("files[") and name[6:-1].isdecimal():
            kind = part.headers.get(hdrs.CONTENT_TYPE)
            files[int(name[6:-1])] = Upload(part.filename or "file", bytes(raw), kind)
    if total > REQUEST_BYTES + _SLACK:
        raise refuse(40005)
    return body, [files[index] for index in sorted(files)]


def _respond(status: int, body: Any, headers: dict[str, str]) -> web.Response:
    if body is None:
        return web.Response(status=status, headers=headers)
    # Exactly this content type: with a charset discord.py takes the body for plain text.
    return web.Response(
        status=status, body=dumps(body), headers={**headers, "Content-Type": "application/json"}
    )

"""REST: every endpoint at its place, and the way of one request through faults, limits and refusals."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from aiohttp import web

from bot.sandbox.limits import Form, Refusal
from bot.sandbox.store import Record
from bot.sandbox.wire.buckets import Limited
from bot.sandbox.wire.faults import Fault, Faults
from bot.sandbox.wire.requestlog import Request, RequestLog
from bot.sandbox.wire.rest import channels, commands, guilds, interactions, messages, webhooks
from bot.sandbox.wire.rest.body import read_body
from bot.sandbox.wire.rest.call import Call, Endpoint, Reply
from bot.sandbox.wire.services import Services
from engine.codec import dumps

__all__ = ["PREFIX", "Rest"]

log = structlog.get_logger(__name__)

PREFIX = "/api/v10"
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
_TABLES = (guilds, messages, channels, webhooks, interactions, commands)


class Rest:
    """The REST side of a server, under `PREFIX`. `faults` are what goes wrong, `requests` is told of all."""

    def __init__(self, services: Services, faults: Faults, requests: RequestLog) -> None:
        self.crashes: list[str] = []
        """Handlers that broke: "METHOD path: error". A test should end with none."""
        self.unknown: list[str] = []
        """Requests for endpoints that do not exist here."""
        self._services = services
        self._faults = faults
        self._log = requests

    def install(self, app: web.Application) -> None:
        """Add the routes."""
        for table in _TABLES:
            for endpoint in table.ROUTES.endpoints:
                app.router.add_route(endpoint.method, PREFIX + endpoint.template, self._handler(endpoint))
        app.router.add_route("*", PREFIX + "/{tail:.*}", self._nowhere)

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
        if self._faults.latency_ms:
            await asyncio.sleep(self._faults.latency_ms / 1000)
        fault = self._faults.take(request.method, path)
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
            await self._faults.until_cleared()
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
                self._services.buckets.spend_global()
            if endpoint.limit is not None:
                major = params[endpoint.limit.major] + params.get("token", "")
                headers = self._services.buckets.spend(endpoint.limit, major)
            body, files = await read_body(request)
            if (
                not endpoint.open
                and request.headers.get("Authorization") != f"Bot {self._services.world.token}"
            ):
                raise Refusal(401, 0, "401: Unauthorized")
            reply = self._call(endpoint, Call(self._services, params, request.query, body, files))
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
        self._log.add(
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


def _respond(status: int, body: Any, headers: dict[str, str]) -> web.Response:
    if body is None:
        return web.Response(status=status, headers=headers)
    # Exactly this content type: with a charset discord.py takes the body for plain text.
    return web.Response(
        status=status, body=dumps(body), headers={**headers, "Content-Type": "application/json"}
    )

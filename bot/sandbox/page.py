"""The sandbox's web page: its files, one websocket per window, and the doors a person acts through.

Routes are added to the wire-level Discord's own application, so that the page, its pictures and
the API share one loopback address. (design 6)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from importlib import resources

import structlog
from aiohttp import BodyPartReader, WSCloseCode, WSMsgType, web

from bot.sandbox.human import NotPossible
from bot.sandbox.limits import Refusal, Upload
from bot.sandbox.loopback import loopback_only, require_own_page
from bot.sandbox.page_backstage import Backstage, BotControl, ModelInUse
from bot.sandbox.page_feed import Viewer
from bot.sandbox.page_ops import OPS, Ask, Trouble
from bot.sandbox.store import Record
from bot.sandbox.wire import WireDiscord
from engine.codec import dumps, loads

__all__ = ["BotControl", "ModelInUse", "Page"]

log = structlog.get_logger(__name__)

_TICK_S = 1.0  # "edits per second" wants a second
_BODY = 64 * 1024 * 1024  # more than Discord takes, so that its own refusal can be shown; below what hurts
_TOO_LARGE = "That is too large: Discord takes files up to 10 MB."
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Page:
    """The page of one wire-level Discord. Call `install` before the server starts."""

    def __init__(
        self, wire: WireDiscord, *, model: ModelInUse | None = None, control: BotControl | None = None
    ) -> None:
        self._backstage = Backstage(wire, model or ModelInUse(), control)
        self._viewers: set[Viewer] = set()
        self._sockets: set[web.WebSocketResponse] = set()
        self._files = _read_static()

    def install(self) -> None:
        """Add the routes, and the guard that keeps other sites out of all routes."""
        app = self._backstage.wire.app
        app.middlewares.append(loopback_only)
        app.router.add_get("/", self._index)
        app.router.add_get("/static/{path:.+}", self._static)
        app.router.add_get("/page/ws", self._socket)
        app.router.add_post("/page/api/{op}", self._api)
        app.cleanup_ctx.append(self._ticking)
        app.on_shutdown.append(self._leave)

    async def _ticking(self, app: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(self._tick(), name="sandbox-page-tick")
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            for viewer in tuple(self._viewers):
                viewer.tick()

    async def _leave(self, app: web.Application) -> None:
        for socket in tuple(self._sockets):
            await socket.close(code=WSCloseCode.GOING_AWAY)

    # --- files -----------------------------------------------------------------------

    async def _index(self, request: web.Request) -> web.Response:
        return self._file("index.html", request)

    async def _static(self, request: web.Request) -> web.Response:
        return self._file(request.match_info["path"], request)

    def _file(self, path: str, request: web.Request) -> web.Response:
        body = self._files.get(path)
        if body is None:
            raise web.HTTPNotFound
        kind = _TYPES.get("." + path.rpartition(".")[2], "application/octet-stream")
        return web.Response(body=body, headers={**_headers(request), "Content-Type": kind})

    # --- the websocket -----------------------------------------------------------------

    def _person(self, request: web.Request) -> tuple[Record, Record]:
        """Who acts, and in which guild: the asked one, or the first person of the first guild."""
        world = self._backstage.wire.world
        guild = next(iter(world.guilds.values()), None)
        if guild is None:
            raise web.HTTPConflict(text="This world has no server yet.")
        people = [world.users[m["user_id"]] for m in world.members.where(guild_id=guild["id"])]
        people = [u for u in people if not u["bot"]]
        if not people:
            raise web.HTTPConflict(text="Nobody lives on this server.")
        asked = request.query.get("user")
        return next((u for u in people if u["id"] == asked), people[0]), guild

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        require_own_page(request)
        user, guild = self._person(request)
        socket = web.WebSocketResponse(heartbeat=30)
        await socket.prepare(request)
        viewer = Viewer(self._backstage, user, guild)
        viewer.open()
        self._viewers.add(viewer)
        self._sockets.add(socket)
        writer = asyncio.create_task(_write(socket, viewer), name="sandbox-page-writer")
        try:
            async for message in socket:  # a page says nothing here; this waits for its end
                if message.type in (WSMsgType.ERROR, WSMsgType.CLOSE):
                    break
        finally:
            viewer.close()
            self._viewers.discard(viewer)
            self._sockets.discard(socket)
            writer.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await writer
        return socket

    # --- acting ------------------------------------------------------------------------

    async def _api(self, request: web.Request) -> web.Response:
        require_own_page(request)
        run = OPS.get(request.match_info["op"])
        if run is None:
            return _answer({"ok": False, "error": "There is no such operation."}, 404)
        try:
            user, guild = self._person(request)
            body, files = await _read(request)
            return _answer({"ok": True, **await run(Ask(self._backstage, user, guild, body, files))})
        except KeyError as missing:
            return _answer({"ok": False, "error": f"The request lacks {missing}."}, 400)
        except Refusal as refusal:
            return _answer(
                {"ok": False, "error": refusal_text(refusal), "code": refusal.code}, refusal.status
            )
        except (Trouble, NotPossible, LookupError, ValueError) as trouble:
            return _answer({"ok": False, "error": str(trouble)}, 400)
        except Exception as error:
            log.exception("the page's request failed", op=request.match_info["op"])
            self._backstage.wire.crashes.append(f"page {request.match_info['op']}: {error!r}")
            return _answer({"ok": False, "error": f"The sandbox made a mistake: {error!r}"}, 500)


async def _write(socket: web.WebSocketResponse, viewer: Viewer) -> None:
    while (frame := await viewer.frames.get()) is not None:
        await socket.send_str(dumps(frame).decode())
    # The window lagged too far behind: it comes back and loads everything again.
    await socket.close(code=WSCloseCode.TRY_AGAIN_LATER)


async def _read(request: web.Request) -> tuple[Record, list[Upload]]:
    if (request.content_length or 0) > _BODY:
        raise Trouble(_TOO_LARGE)
    if request.content_type == "application/json":
        raw = await request.read()
        return _object(raw), []
    if request.content_type != "multipart/form-data":
        raise Trouble("The request is neither JSON nor a form.")
    body: Record = {}
    files: list[Upload] = []
    left = _BODY
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):  # a nested multipart: nothing of ours
            continue
        content = bytearray()
        while chunk := await part.read_chunk(1 << 16):
            left -= len(chunk)
            if left < 0:
                raise Trouble(_TOO_LARGE)
            content += chunk
        if part.name == "payload_json":
            body = _object(bytes(content))
        else:
            files.append(Upload(part.filename or "file", bytes(content), part.headers.get("Content-Type")))
    return body, files


def _object(raw: bytes) -> Record:
    try:
        value = loads(raw)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Trouble("The request's JSON cannot be read.")
    return value


def refusal_text(refusal: Refusal) -> str:
    """What Discord's own client would say: the first field error, else the message."""
    place: Record = refusal.errors or {}
    while place:
        if "_errors" in place:
            return str(place["_errors"][0]["message"])
        place = next((v for v in place.values() if isinstance(v, dict)), {})
    return refusal.message


def _answer(body: Record, status: int = 200) -> web.Response:
    return web.Response(body=dumps(body), status=status, content_type="application/json")


def _headers(request: web.Request) -> dict[str, str]:
    # Pictures and files come from the same port under either name of this machine.
    port = request.host.rpartition(":")[2]
    own = f"'self' http://127.0.0.1:{port} http://localhost:{port}"
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        f"img-src {own} data: blob:; media-src {own}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-cache",  # the page of another version would speak another protocol
    }


def _read_static() -> dict[str, bytes]:
    """All files of the page by their path: a fixed table cannot be walked out of."""
    root = resources.files("bot.sandbox") / "static"
    found: dict[str, bytes] = {}

    def walk(folder: object, prefix: str) -> None:
        for entry in folder.iterdir():  # type: ignore[attr-defined]
            if entry.is_dir():
                walk(entry, f"{prefix}{entry.name}/")
            else:
                found[prefix + entry.name] = entry.read_bytes()

    walk(root, "")
    return found

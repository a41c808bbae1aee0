"""The gateway: sessions that identify, hear events, lose their line and resume (spec discord B7, C4)."""

from __future__ import annotations

import asyncio
import secrets
import time
import zlib
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from bot.sandbox.store import Record
from bot.sandbox.wire.gateway_events import ALL_INTENTS, for_bot
from bot.sandbox.wire.services import Services
from bot.sandbox.world import payloads
from engine.codec import dumps, loads

__all__ = ["Gateway", "Session"]

_DISPATCH, _HEARTBEAT, _IDENTIFY, _PRESENCE, _VOICE, _RESUME = 0, 1, 2, 3, 4, 6
_RECONNECT, _MEMBERS, _INVALID, _HELLO, _ACK = 7, 8, 9, 10, 11
_REPLAY = 5000  # events kept for a resume
_LARGEST = 4096  # bytes of a frame that a client sends
_SENDS, _SENDS_PER_S = 120, 60.0


class Session:
    """One identified session; it outlives its connections."""

    def __init__(self, intents: int) -> None:
        self.id = secrets.token_hex(16)
        self.intents = intents
        self.seq = 0
        self.line: Line | None = None
        self._replay: deque[tuple[int, bytes]] = deque(maxlen=_REPLAY)

    def dispatch(self, name: str, data: Any) -> None:
        """Number an event, keep it for a resume, and send it when there is a line."""
        self.seq += 1
        frame = dumps({"op": _DISPATCH, "t": name, "s": self.seq, "d": data})
        self._replay.append((self.seq, frame))
        if self.line is not None:
            self.line.send(frame)

    def missed(self, seq: int) -> list[bytes] | None:
        """The events after `seq`; None when they are no longer kept."""
        if seq > self.seq or (self._replay and seq < self._replay[0][0] - 1):
            return None
        return [frame for number, frame in self._replay if number > seq]


class Line:
    """One WebSocket connection. Sending never waits: a writer task empties the queue."""

    def __init__(
        self, socket: web.WebSocketResponse, transport: asyncio.Transport | None, *, compress: bool
    ) -> None:
        self.socket = socket
        self.session: Session | None = None
        self._transport = transport
        self._deflate = zlib.compressobj() if compress else None
        self._queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._sent: deque[float] = deque()

    def send(self, frame: bytes) -> None:
        """Queue a frame."""
        self._queue.put_nowait(frame)

    def cut(self) -> None:
        """End the connection without a close frame, as when a cable is pulled."""
        if self._transport is not None:
            self._transport.abort()

    async def write(self) -> None:
        """The writer task."""
        while True:
            frame = await self._queue.get()
            try:
                if self._deflate is None:
                    await self.socket.send_str(frame.decode())
                else:
                    packed = self._deflate.compress(frame) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
                    await self.socket.send_bytes(packed)
            except (ConnectionError, RuntimeError):
                return

    def too_fast(self) -> bool:
        """Count a received frame; True beyond 120 a minute."""
        now = time.monotonic()
        self._sent.append(now)
        while self._sent[0] < now - _SENDS_PER_S:
            self._sent.popleft()
        return len(self._sent) > _SENDS


class Gateway:
    """All sessions and lines of a server."""

    def __init__(self, services: Services, *, compress: bool = False, heartbeat_ms: int = 41_250) -> None:
        self.sessions: dict[str, Session] = {}
        self.identifies = 0
        self.resumes = 0
        self.allowed_intents = ALL_INTENTS
        """Without a privileged bit, identifying with it closes the line with 4014."""
        self._services = services
        self._world = services.world
        self._compress = compress
        self._heartbeat_ms = heartbeat_ms
        self._lines: set[Line] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._news = asyncio.Condition()
        self._end = services.world.subscribe_bot(self._tell)

    # --- controls --------------------------------------------------------------------

    @property
    def online(self) -> bool:
        """Whether a session has a line now."""
        return any(s.line is not None for s in self.sessions.values())

    async def wait_online(self, timeout: float = 10.0) -> None:
        """Wait until a bot is identified or resumed. Raises TimeoutError."""
        async with asyncio.timeout(timeout), self._news:
            await self._news.wait_for(lambda: self.online)

    async def wait_until(self, *, identifies: int = 0, resumes: int = 0, timeout: float = 10.0) -> None:
        """Wait until so many identifies and resumes have happened in all. Raises TimeoutError."""
        async with asyncio.timeout(timeout), self._news:
            await self._news.wait_for(
                lambda: self.online and self.identifies >= identifies and self.resumes >= resumes
            )

    async def drop(self, code: int | None = None) -> None:
        """Cut all lines: with a close code, or (None) without a word. Sessions stay resumable."""
        for line in tuple(self._lines):
            self._detach(line)
            if code is None:
                line.cut()
            else:
                await line.socket.close(code=code)

    async def reconnect(self) -> None:
        """Ask the bot to reconnect (op 7); it resumes."""
        for line in tuple(self._lines):
            line.send(dumps({"op": _RECONNECT, "d": None}))

    async def invalidate_session(self, *, resumable: bool = False) -> None:
        """Tell the bot that its session is over (op 9); not resumable ones are forgotten."""
        lines = tuple(self._lines)
        if not resumable:
            self.forget_sessions()
        for line in lines:
            line.send(dumps({"op": _INVALID, "d": resumable}))

    def forget_sessions(self) -> None:
        """Forget all sessions: what happens from now on is missed, and a resume is refused with op 9."""
        for session in self.sessions.values():
            session.line = None
        self.sessions.clear()

    @asynccontextmanager
    async def outage(self, *, lose_sessions: bool = False) -> AsyncIterator[None]:
        """Cut the lines and keep new ones waiting until the block ends; with `lose_sessions` the bot misses
        everything that happens inside."""
        self._open.clear()
        try:
            await self.drop()
            if lose_sessions:
                self.forget_sessions()
            yield
        finally:
            self._open.set()

    async def close(self) -> None:
        """Close all lines for good."""
        self._end()
        self._open.set()
        self.forget_sessions()
        for line in tuple(self._lines):
            await line.socket.close(code=WSCloseCode.GOING_AWAY)

    # --- the feed --------------------------------------------------------------------

    def _tell(self, name: str, data: Record, only_for: str | None) -> None:
        del only_for  # what is for one person only never comes here
        for session in self.sessions.values():
            shown = for_bot(self._world, session.intents, name, data)
            if shown is not None:
                session.dispatch(name, shown)

    # --- one connection --------------------------------------------------------------

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        """The WebSocket endpoint."""
        await self._open.wait()
        socket = web.WebSocketResponse(max_msg_size=1 << 20)
        await socket.prepare(request)
        compress = self._compress and request.query.get("compress") == "zlib-stream"
        line = Line(socket, request.transport, compress=compress)
        self._lines.add(line)
        writer = asyncio.create_task(line.write())
        try:
            line.send(dumps({"op": _HELLO, "d": {"heartbeat_interval": self._heartbeat_ms}}))
            await self._listen(line)
        finally:
            self._lines.discard(line)
            self._detach(line)
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            await self._announce()
        return socket

    async def _listen(self, line: Line) -> None:
        # A client that misses its heartbeats is gone; half an interval is grace for a slow network.
        patience = self._heartbeat_ms * 1.5 / 1000
        while True:
            try:
                message = await line.socket.receive(timeout=patience)
            except TimeoutError:
                code: int | None = 4009
            else:
                if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                    return
                code = await self._hear(line, message.data)
            if code is not None:
                await line.socket.close(code=code)
                return

    def _detach(self, line: Line) -> None:
        if line.session is not None and line.session.line is line:
            line.session.line = None

    async def _hear(self, line: Line, raw: str | bytes) -> int | None:
        # Returns the close code for what must not be.
        if line.too_fast():
            return 4008
        if len(raw) > _LARGEST:
            return 4002
        try:
            frame = loads(raw)
            op, data = frame["op"], frame.get("d")
        except (ValueError, TypeError, KeyError):
            return 4002
        if op == _HEARTBEAT:
            line.send(dumps({"op": _ACK, "d": None}))
            return None
        if op in (_IDENTIFY, _RESUME, _MEMBERS) and not isinstance(data, dict):
            return 4002
        if op == _IDENTIFY:
            return await self._identify(line, data)
        if op == _RESUME:
            return await self._resume(line, data)
        if line.session is None:
            return 4003
        if op == _MEMBERS:
            self._chunk(line.session, data)
            return None
        return None if op in (_PRESENCE, _VOICE) else 4001

    async def _identify(self, line: Line, data: Record) -> int | None:
        if line.session is not None:
            return 4005
        if data.get("token") != self._world.token:
            return 4004
        intents = data.get("intents")
        if not isinstance(intents, int) or intents & ~ALL_INTENTS:
            return 4013
        if intents & ~self.allowed_intents:
            return 4014
        session = Session(intents)
        session.line, line.session = line, session
        self.sessions[session.id] = session
        self._greet(session)
        self.identifies += 1
        await self._announce()
        return None

    def _greet(self, session: Session) -> None:
        world = self._world
        me = world.bot["id"]
        guilds = [world.guilds[m["guild_id"]] for m in world.members.where(user_id=me)]
        ready: Record = {
            "v": 10,
            "user": {**payloads.user(world.bot), "verified": True, "mfa_enabled": False},
            "session_type": "normal",
            "session_id": session.id,
            "resume_gateway_url": self._services.urls.gateway,
            "guilds": [{"id": g["id"], "unavailable": True} for g in guilds],
            "application": {"id": me, "flags": payloads.application(world)["flags"]},
            "private_channels": [],
            "shard": [0, 1],
            "_trace": [],
        }
        session.dispatch("READY", ready)
        for guild in guilds:
            shown = for_bot(world, session.intents, "GUILD_CREATE", payloads.guild(world, guild, full=True))
            if shown is not None:
                session.dispatch("GUILD_CREATE", shown)

    async def _resume(self, line: Line, data: Record) -> int | None:
        if data.get("token") != self._world.token:
            return 4004
        session = self.sessions.get(str(data.get("session_id")))
        missed = None if session is None else session.missed(int(data.get("seq") or 0))
        if session is None or missed is None:
            line.send(dumps({"op": _INVALID, "d": False}))
            return None
        session.line, line.session = line, session
        for frame in missed:
            line.send(frame)
        session.dispatch("RESUMED", {"_trace": []})
        self.resumes += 1
        await self._announce()
        return None

    async def _announce(self) -> None:
        async with self._news:
            self._news.notify_all()
        self._world.to_view("BOT_ONLINE", {"online": self.online})

    def _chunk(self, session: Session, data: Record) -> None:
        world = self._world
        guild_id = str(data.get("guild_id"))
        members = world.members.where(guild_id=guild_id)
        wanted = data.get("user_ids")
        if wanted is not None:
            ids = {str(u) for u in (wanted if isinstance(wanted, list) else [wanted])}
            members = [m for m in members if m["user_id"] in ids]
        else:
            query = str(data.get("query") or "").lower()
            members = [m for m in members if world.users[m["user_id"]]["username"].startswith(query)]
        chunk: Record = {
            "guild_id": guild_id,
            "members": [payloads.member(world, m) for m in members],
            "chunk_index": 0,
            "chunk_count": 1,
            "not_found": [],
        }
        if data.get("nonce") is not None:
            chunk["nonce"] = data["nonce"]
        session.dispatch("GUILD_MEMBERS_CHUNK", chunk)

"""The bot's process as the sandbox runs it: started, watched, restarted, killed, never left behind."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal, TypeAlias

import structlog

from bot.sandbox.store import Record

__all__ = ["COMMAND", "BotProcess"]

log = structlog.get_logger(__name__)

State: TypeAlias = Literal["starting", "running", "stopped", "crashed"]

COMMAND = (sys.executable, "-m", "bot.sandbox.leash", "run")
_STOP_S = 10.0  # the bot has open stories to close before it is ended
_LINES = 500
_LINE_BYTES = 1 << 20  # a traceback's longest line is far below
# Waits before a crashed bot is started again; one that crashes more often in a minute stays down.
_AGAIN_S = (1.0, 3.0, 10.0)
_CALM_S = 60.0


class BotProcess:
    """One child process at a time. `env` is its whole environment; `echo` gets each line that it prints."""

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        command: Sequence[str] = COMMAND,
        echo: Callable[[str], None] = lambda line: None,
        again_s: Sequence[float] = _AGAIN_S,
    ) -> None:
        self._env = dict(env)
        self._command = tuple(command)
        self._echo = echo
        self._again_s = tuple(again_s)
        self._process: asyncio.subprocess.Process | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._state: State = "stopped"
        self._note = ""
        self._written = 0
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._wanted = False
        self._crashes = 0
        self._lock = asyncio.Lock()

    def environment(self, env: Mapping[str, str]) -> None:
        """The environment of the next start."""
        self._env = dict(env)

    # --- what the page sees (`BotControl`) -----------------------------------------------

    def state(self) -> Record:
        """Process id and state; `note` says why it is down."""
        pid = self._process.pid if self._process is not None else None
        return {"pid": pid, "state": self._state, "note": self._note}

    def log(self) -> tuple[int, Sequence[str]]:
        """How many lines it ever printed, and the latest of them."""
        return self._written, list(self._lines)

    async def start(self) -> None:
        """Start it unless it runs."""
        async with self._lock:
            self._crashes = 0
            self._wanted = True
            await self._spawn()

    async def restart(self) -> None:
        """Ask it to stop, then start it again."""
        async with self._lock:
            await self._end()
            self._crashes = 0
            self._wanted = True
            await self._spawn()

    async def kill(self) -> None:
        """SIGKILL. It stays down until `start`."""
        async with self._lock:
            self._wanted = False
            if self._process is not None:
                with suppress(ProcessLookupError):
                    self._process.kill()
                await self._settled()
            self._note = "It was killed. Start it: nothing that was said may be lost."

    async def aclose(self) -> None:
        """Ask it to stop; end it when it does not listen."""
        async with self._lock:
            await self._end()

    # --- the process -----------------------------------------------------------------------

    async def _spawn(self) -> None:
        if self._process is not None:
            return
        self._state, self._note = "starting", ""
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,  # the leash: its end tells the child that we are gone
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._env,
            limit=_LINE_BYTES,
            # Ctrl-C in the terminal is ours; the child is stopped by us, in order.
            start_new_session=os.name != "nt",
        )
        self._watcher = asyncio.create_task(self._watch(self._process), name="sandbox-bot")

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        begun = asyncio.get_running_loop().time()
        assert process.stdout is not None
        while True:
            try:
                raw = await process.stdout.readline()
            except ValueError:  # a line beyond the limit: its rest follows
                continue
            if not raw:
                break
            self._state = "running"
            self._say(raw.decode(errors="replace").rstrip())
        code = await process.wait()
        self._process = None
        if not self._wanted:
            self._state = "stopped"
            return
        if asyncio.get_running_loop().time() - begun > _CALM_S:
            self._crashes = 0
        await self._crashed(code)

    async def _crashed(self, code: int) -> None:
        last = next((line for line in reversed(self._lines) if line.strip()), "")
        self._state = "crashed"
        self._note = f"It ended by itself (code {code}). {last[:300]}".strip()
        log.warning("the bot ended by itself", code=code)
        if self._crashes >= len(self._again_s):
            self._note += " It crashed too often and is left down; the log says more."
            return
        wait = self._again_s[self._crashes]
        self._crashes += 1
        await asyncio.sleep(wait)
        async with self._lock:
            if self._wanted:
                await self._spawn()

    def _say(self, line: str) -> None:
        self._written += 1
        self._lines.append(line)
        self._echo(line)

    async def _end(self) -> None:
        self._wanted = False
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.terminate()
            try:
                async with asyncio.timeout(_STOP_S):
                    await self._settled()
            except TimeoutError:
                log.warning(
                    "the bot did not stop in time and is ended", pid=self._process and self._process.pid
                )
                if self._process is not None:
                    with suppress(ProcessLookupError):
                        self._process.kill()
                await self._settled()
        elif self._watcher is not None:
            self._watcher.cancel()  # it waits to start a crashed bot again
        self._state = "stopped"

    async def _settled(self) -> None:
        if self._watcher is not None:
            await asyncio.shield(self._watcher)

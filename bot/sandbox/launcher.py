"""`python -m bot sandbox`: a Discord of one's own, its page, and the unmodified bot in a child process.

The parent keeps the world and serves wire and page on loopback; the child is pointed at it by
environment variables alone. The child can be restarted and killed from the page, and ends with us.
(design 6)
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import structlog
from pydantic import SecretStr

from bot.sandbox.botprocess import BotProcess
from bot.sandbox.page import ModelInUse, Page
from bot.sandbox.seed import FIRST_STORY, seed_world
from bot.sandbox.wire import Urls, WireDiscord
from bot.sandbox.world import World
from bot.settings import ENV_PREFIX, Settings, keys

__all__ = ["child_environment", "run"]

log = structlog.get_logger(__name__)

DONE, FAILED = 0, 1
_NOTHING = "no-settings.toml"


async def run(settings: Settings) -> int:
    """Serve until cancelled; returns the exit code."""
    folder = settings.sandbox.data_dir
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _claimed(folder):
            return await _serve(settings, folder)
    except _Taken as taken:
        _tell(str(taken), sys.stderr)
        return FAILED


async def _serve(settings: Settings, folder: Path) -> int:
    (folder / _NOTHING).write_text("# The bot of this sandbox gets its settings from its environment.\n")
    world = World(folder / "discord.db")
    try:
        if seed_world(world):
            log.info("a new server was made", folder=str(folder))
        wire = WireDiscord(world)
        process = BotProcess({}, echo=lambda line: _tell(line, sys.stderr))
        Page(wire, model=model_in_use(settings), control=process).install()
        try:
            urls = await wire.start(port=settings.sandbox.port)
        except OSError as error:
            raise _Taken(_port_trouble(settings.sandbox.port, error)) from None
        try:
            process.environment(child_environment(settings, urls, world.token, os.environ))
            await process.start()
            _tell(
                f"\n  The Lantern Inn is open: {urls.base}/\n  Ctrl-C closes it; everything is kept.\n",
                sys.stdout,
            )
            await asyncio.Event().wait()
        finally:
            await process.aclose()
            await wire.stop()
    finally:
        world.close()
    return DONE


def model_in_use(settings: Settings) -> ModelInUse:
    """What the page says about who writes the answers."""
    model = settings.model
    if model.provider == "narrator" or model.base_url is None:
        return ModelInUse()
    return ModelInUse(f"{model.model} · {urlsplit(model.base_url).netloc}", offline=False)


def child_environment(
    settings: Settings, urls: Urls, token: str, inherited: Mapping[str, str]
) -> dict[str, str]:
    """The bot's environment: ours, with every setting spelled out and Discord being this sandbox.

    Spelled out, because the child must not read another file than we did: it is given an empty one.
    """
    env = {name: value for name, value in inherited.items() if not name.upper().startswith(ENV_PREFIX)}
    for (section, key), _ in keys():
        value = getattr(getattr(settings, section), key)
        if value is not None and section != "sandbox":
            env[f"{ENV_PREFIX}{section}__{key}".upper()] = _spelled(value)
    prefix = f"{ENV_PREFIX}DISCORD__"
    env |= {
        f"{prefix}TOKEN": token,
        f"{prefix}API_BASE": urls.api,
        f"{prefix}GATEWAY_URL": urls.gateway,
        f"{prefix}CDN_BASE": urls.cdn,
        f"{ENV_PREFIX}STORAGE__PATH": str((settings.sandbox.data_dir / "inglenook.db").absolute()),
        # A newcomer finds the samples, and a story that waits.
        f"{ENV_PREFIX}PLAY__SAMPLES": "true",
        f"{ENV_PREFIX}PLAY__FIRST_STORY": settings.play.first_story or FIRST_STORY,
        # Here everything can be tried; what it costs on the disk matters to no one.
        f"{ENV_PREFIX}ASSEMBLY__ADVANCED": "true",
        f"{ENV_PREFIX}CONFIG": str((settings.sandbox.data_dir / _NOTHING).absolute()),
        "PYTHONUNBUFFERED": "1",
    }
    if settings.logs.format == "auto":
        env[f"{ENV_PREFIX}LOGS__FORMAT"] = "console"  # people read it, here and on the page
    return env


def _spelled(value: object) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or ","  # an empty variable would count as none at all
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Taken(Exception):
    """Somebody else has what we need; the text says who and what to do."""


def _port_trouble(port: int, error: OSError) -> str:
    return (
        f"inglenook: port {port} cannot be used ({error.strerror or error}). Is a sandbox open already? "
        f"Another port: python -m bot sandbox --port {port + 1}"
    )


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Hold the folder: two sandboxes in one would overwrite each other's world."""
    try:
        import fcntl
    except ImportError:  # Windows: the port is the only guard there
        yield
        return
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise _Taken(
                f"inglenook: another sandbox is open in {folder}. Close it, or name another folder: "
                f"{ENV_PREFIX}SANDBOX__DATA_DIR=elsewhere python -m bot sandbox"
            ) from None
        yield


def _tell(text: str, where: IO[str]) -> None:
    print(text, file=where, flush=True)

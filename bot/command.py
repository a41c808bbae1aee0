"""What the command line says and which part of the bot it calls.

Exit codes: 0 done, 1 the work failed, 2 wrong usage or settings.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import signal
import sys
from collections.abc import Coroutine, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from bot import logs
from bot.garbage import settle
from bot.settings import Settings, SettingsError, load

__all__ = ["main", "until_stopped"]

DONE, FAILED, WRONG = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code of the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a console that lacks a sign must not end the command
            stream.reconfigure(errors="replace")
    arguments = _parser().parse_args(argv)
    try:
        settings = load(arguments.config, _overrides(arguments))
    except SettingsError as error:
        _complain(str(error))
        return WRONG
    logs.configure(settings.logs, secrets=[settings.discord.token, settings.model.api_key])
    return until_stopped(_work(arguments, settings))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bot", description="Inglenook: group role-play in Discord."
    )
    parser.add_argument("--version", action="version", version=f"inglenook {metadata.version('inglenook')}")
    # Understood before and after the command.
    shared = argparse.ArgumentParser(add_help=False)
    for place, missing in ((parser, None), (shared, argparse.SUPPRESS)):
        place.add_argument(
            "--config", type=Path, metavar="FILE", default=missing, help="your own settings (TOML)"
        )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("run", parents=[shared], help="play in Discord; needs a bot token")
    sandbox = commands.add_parser(
        "sandbox", parents=[shared], help="play on this machine, without Discord, token or network"
    )
    sandbox.add_argument("--port", type=int, help="where the page is served (default: settings, 8700)")
    commands.add_parser("doctor", parents=[shared], help="look for what is wrong and say how to mend it")
    log = commands.add_parser("log", parents=[shared], help="print what a story's session recorded")
    log.add_argument("session", metavar="SESSION", help="a session's id, as /play info shows it")
    log.add_argument(
        "--json", action="store_true", help="the events as they are stored, one JSON object a line"
    )
    return parser


def _overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    port = getattr(arguments, "port", None)
    return {} if port is None else {"sandbox": {"port": port}}


def _work(arguments: argparse.Namespace, settings: Settings) -> Coroutine[Any, Any, int]:
    # Imported here, so that each command starts as fast as its own part loads.
    match arguments.command:
        case "run":
            from bot import client

            settle()
            return client.run(settings)
        case "sandbox":
            from bot.sandbox import launcher

            return launcher.run(settings)
        case "doctor":
            from bot import doctor

            return doctor.run(settings)
        case "log":
            from bot import logview

            return logview.run(settings, arguments.session, as_json=arguments.json)
    raise AssertionError(arguments.command)


def until_stopped(work: Coroutine[Any, Any, int]) -> int:
    """Run to the end, or to the first SIGTERM or Ctrl-C, which cancels the work once and lets it tidy up."""
    with asyncio.Runner() as runner:
        try:
            return runner.run(_stoppable(work))
        except (asyncio.CancelledError, KeyboardInterrupt):
            return DONE


async def _stoppable(work: Coroutine[Any, Any, int]) -> int:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    if sys.platform != "win32":  # there SIGTERM kills, and Ctrl-C comes as KeyboardInterrupt
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, _stop_once, loop, task)
    return await task


def _stop_once(loop: asyncio.AbstractEventLoop, task: asyncio.Task[int]) -> None:
    task.cancel()
    # The second signal finds the default handler: somebody in a hurry is not held up.
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(number)


def _complain(text: str) -> None:
    for line in text.splitlines():
        print(f"inglenook: {line}", file=sys.stderr)  # noqa: T201 - this is the command line talking

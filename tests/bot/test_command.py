"""The command line, as a process and as a person sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def bot(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bot", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    )


def test_it_knows_its_version(tmp_path: Path) -> None:
    done = bot("--version", folder=tmp_path)

    assert (done.returncode, done.stdout) == (0, "inglenook 0.1.0\n")


def test_without_a_command_it_names_the_commands(tmp_path: Path) -> None:
    done = bot(folder=tmp_path)

    assert done.returncode == 2
    assert "COMMAND" in done.stderr


def test_help_names_every_command(tmp_path: Path) -> None:
    done = bot("--help", folder=tmp_path)

    assert done.returncode == 0
    for command in ("run", "sandbox", "doctor", "log"):
        assert f"\n    {command}" in done.stdout


def test_a_wrong_setting_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    done = bot("run", folder=tmp_path, INGLENOOK_SANDBOX__PORT="http")

    assert done.returncode == 2
    assert done.stderr == "inglenook: sandbox.port: must be a whole number (from INGLENOOK_SANDBOX__PORT)\n"


@pytest.mark.parametrize("order", [["--config", "none.toml", "run"], ["run", "--config", "none.toml"]])
def test_the_settings_file_can_be_named_before_and_after_the_command(
    tmp_path: Path, order: list[str]
) -> None:
    done = bot(*order, folder=tmp_path)

    assert done.returncode == 2
    assert done.stderr == "inglenook: the settings file none.toml does not exist\n"


def test_a_wrong_port_on_the_command_line_says_so(tmp_path: Path) -> None:
    done = bot("sandbox", "--port", "70000", folder=tmp_path)

    assert done.returncode == 2
    assert done.stderr == (
        "inglenook: sandbox.port: must be a number of at most 65535 (from the command line)\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to handle")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_work_tidy_up(tmp_path: Path, number: signal.Signals) -> None:
    worker = textwrap.dedent(
        """
        import asyncio
        from bot import command

        async def work():
            print("working", flush=True)
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0)
                print("tidied up", flush=True)
            return 1

        raise SystemExit(command.until_stopped(work()))
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", worker],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"

        process.send_signal(number)

        assert process.stdout.read() == "tidied up\n"
        assert process.wait(timeout=30) == 0

"""From a clone with nothing but Python to a running command."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot import bootstrap

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A Python that has nothing installed, not even pip."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    yield folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def clone(folder: Path, dependencies: str = "") -> Path:
    """A project with our bootstrap whose one command says which Python it runs in."""
    (folder / "bot").mkdir(parents=True)
    (folder / "bot/__init__.py").touch()
    (folder / "bot/bootstrap.py").write_text((ROOT / "bot/bootstrap.py").read_text())
    (folder / "bot/__main__.py").write_text(
        textwrap.dedent(
            """
            import sys
            from bot.bootstrap import ensure
            ensure("bot")
            print("running in", sys.prefix, "with", sys.argv[1:])
            """
        )
    )
    (folder / "pyproject.toml").write_text(
        textwrap.dedent(
            f"""
            [project]
            name = "probe"
            version = "1"
            dependencies = [{dependencies}]
            [project.optional-dependencies]
            dev = ["definitely-not-there>=1"]
            """
        )
    )
    return folder


def run(python: str | Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(python), "-m", "bot", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        # A child is not under the tests' switch: PIP_NO_INDEX keeps its pip on this machine.
        env={key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
        | {"PIP_NO_INDEX": "1"},
    )


def test_with_everything_there_the_command_just_runs(tmp_path: Path) -> None:
    done = run(sys.executable, clone(tmp_path, '"structlog>=25.1"'), "sandbox")

    assert done.returncode == 0
    assert done.stdout.strip() == f"running in {sys.prefix} with ['sandbox']"
    assert done.stderr == ""


def test_outside_an_environment_the_command_goes_on_in_its_own(tmp_path: Path, bare: Path) -> None:
    # The environment is there from an earlier start; the system's Python lacks what is in it.
    folder = clone(tmp_path, '"probe-of-inglenook"')
    venv.create(folder / ".venv", with_pip=False, symlinks=os.name != "nt")
    site = next((folder / ".venv").rglob("site-packages"))
    (site / "probe_of_inglenook-1.dist-info").mkdir()
    (site / "probe_of_inglenook-1.dist-info/METADATA").write_text("Name: probe-of-inglenook\nVersion: 1\n")

    done = run(system_python(), folder, "sandbox", "--port", "1")

    assert done.stdout.strip() == f"running in {folder / '.venv'} with ['sandbox', '--port', '1']"


def test_what_cannot_be_installed_ends_in_one_clear_line(tmp_path: Path, bare: Path) -> None:
    folder = clone(tmp_path, '"probe-of-inglenook @ file:///nowhere/at/all"')

    done = run(bare, folder)

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == (
        "inglenook: the installation failed; pip's last words stand above."
    )


def test_a_python_without_ensurepip_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap.util, "find_spec", lambda name: None)

    with pytest.raises(SystemExit) as end:
        bootstrap.virtual_environment(tmp_path / ".venv")

    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"sudo apt install python{version}-venv" in str(end.value)
    assert not (tmp_path / ".venv").exists()


def test_an_old_python_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "OLDEST", (99, 0))

    with pytest.raises(SystemExit, match=r"this needs Python 99\.0 or newer"):
        bootstrap.ensure("bot")


def test_the_bootstrap_needs_nothing_but_python(bare: Path) -> None:
    done = subprocess.run(
        [str(bare), "-c", "import bot.bootstrap"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_missing_requirements_are_named_with_those_of_the_extra(tmp_path: Path) -> None:
    folder = clone(tmp_path, '"structlog>=25.1,<99", "not-there-either[extra]>=2"')

    assert bootstrap.missing(folder, ()) == ["not-there-either"]
    assert bootstrap.missing(folder, ("dev",)) == ["not-there-either", "definitely-not-there"]


def system_python() -> str:
    """The Python that this environment was made from, outside of any environment."""
    return str(getattr(sys, "_base_executable", sys.executable))

"""Makes `python -m bot …` work from a fresh clone that has nothing but Python.

When the project's dependencies are missing, a virtual environment `.venv` is made beside
`pyproject.toml`, the project is installed into it once, and the command goes on in there.
Only the standard library may be imported here, and only syntax that an old Python can read:
it must live long enough to say that it is too old.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata, util
from pathlib import Path

__all__ = ["ensure"]

OLDEST = (3, 11)
_ROOT = Path(__file__).resolve().parent.parent


def ensure(module: str, *extras: str) -> None:
    """Return when everything that `python -m module` needs can be imported.

    Otherwise install it, in the active virtual environment or in `.venv`, and start the command
    again there. Ends the process with one clear line when that cannot be done.
    """
    if sys.version_info < OLDEST:
        _give_up(f"this needs Python {OLDEST[0]}.{OLDEST[1]} or newer, and this is {sys.version.split()[0]}.")
    if not (_ROOT / "pyproject.toml").is_file():
        return  # installed as a package: its installer brought the dependencies
    if not missing(_ROOT, extras):
        return
    if sys.prefix == sys.base_prefix:
        _again(virtual_environment(_ROOT / ".venv"), module)
    else:
        _install(_ROOT, extras)
        if still := missing(_ROOT, extras):
            _give_up(f"{', '.join(still)} could not be installed.")
        _again(Path(sys.executable), module)


def missing(root: Path, extras: tuple[str, ...]) -> list[str]:
    """The project's requirements that are not installed, by name; versions are pip's business."""
    import tomllib  # here, because an old Python has none

    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    names = [re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in wanted]
    return [name for name in names if not _installed(name)]


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def virtual_environment(folder: Path) -> Path:
    """The Python of the virtual environment in `folder`, which is made when it is not there."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        if util.find_spec("ensurepip") is None:
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            _give_up(
                "this Python cannot make virtual environments. On Debian and Ubuntu:\n"
                f"    sudo apt install python{version}-venv"
            )
        _say(f"Making a virtual environment in {folder}")
        made = subprocess.run([sys.executable, "-m", "venv", str(folder)], check=False)
        if made.returncode != 0:
            _give_up(f"the virtual environment {folder} could not be made.")
    return python


def _install(root: Path, extras: tuple[str, ...]) -> None:
    if util.find_spec("pip") is None:  # an environment made by a tool that leaves it out, or half made
        subprocess.run([sys.executable, "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)
    target = str(root) + (f"[{','.join(extras)}]" if extras else "")
    _say("Installing what this needs, once: it takes about a minute")
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-e", target]
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            lines.append(line)
            if found := re.match(r"\s*(Collecting|Installing collected|Building)\s+([\w.-]+)", line):
                _progress(f"{found[1].split()[0].lower()} {found[2]}")
    _progress(None)
    if pip.returncode != 0:
        sys.stderr.writelines(lines[-15:])
        _give_up("the installation failed; pip's last words stand above.")


def _again(python: Path, module: str) -> None:
    """Go on with the same command line in `python`."""
    command = [str(python), "-m", module, *sys.argv[1:]]
    sys.stderr.flush()
    if os.name == "nt":  # exec leaves the console to the shell there, so stay and wait
        sys.exit(subprocess.run(command, check=False).returncode)
    os.execv(command[0], command)


def _say(text: str) -> None:
    print(text, "…", file=sys.stderr, flush=True)  # noqa: T201 - this talks to the person who started it


def _progress(text: str | None) -> None:
    """Show one line that is written over by the next; None ends it. Silent when nobody watches."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K  {text}" if text else "\r\033[K")
        sys.stderr.flush()


def _give_up(why: str) -> None:
    sys.exit(f"inglenook: {why}")

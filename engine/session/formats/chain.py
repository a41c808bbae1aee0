"""The migration chain: a log of any format up to the current one is read as the current one.

Each step goes from one version to the next and is pure: what is stored is never touched. A format that
nobody here can read is *unsupported*; a log that breaks the rules of its own format is *corrupt*.
Source: session spec 5.2; seed 002, 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeGuard

from engine.errors import FormatUnsupported, SessionCorrupt, SessionError
from engine.session.formats import v0, v1, v2, v3
from engine.session.formats.log import Log
from engine.session.formats.physical import read_physical
from engine.session.vocabulary import FORMAT_VERSION

__all__ = ["Log", "is_older", "migrate"]

STEPS: Final[Mapping[int, Callable[[Log], Log]]] = {
    0: v0.upgrade,
    1: v1.upgrade,
    2: v2.upgrade,
    3: v3.upgrade,
}
"""By the version that a step starts from."""

_MALFORMED: Final = (KeyError, TypeError, AttributeError, IndexError, ValueError)
"""What reading a field raises when the data is not shaped as its format has it."""


def is_older(header: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether the stored header is of a format that the chain starts from."""
    version = header.get("version") if isinstance(header, Mapping) else None
    return type(version) is int and version in STEPS


def _version(header: Mapping[str, Any]) -> int:
    version = header.get("version")
    if type(version) is not int:
        raise SessionCorrupt("the session header names no format", category="header")
    if version != FORMAT_VERSION and version not in STEPS:
        age = "newer than" if version > FORMAT_VERSION else "not one that leads to"
        raise FormatUnsupported(
            f"the log has format {version}, {age} {FORMAT_VERSION}",
            category="format-version",
            version=version,
        )
    return version


def migrate(header: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Log:
    """The log of a stored header and its rows, in the current format.

    `header` and `rows` are JSON as it was stored: a header may name its record `type`, rows may be packed.
    The result is not validated beyond what the steps needed to see. Raises FormatUnsupported, SessionCorrupt.
    """
    version = _version(header)
    try:
        log = read_physical(header, rows)
        for source in range(version, FORMAT_VERSION):
            log = STEPS[source](log)
    except SessionError:
        raise
    except _MALFORMED as error:
        raise SessionCorrupt(
            f"a log of format {version} is malformed: {error!r}", category="migration"
        ) from error
    return log

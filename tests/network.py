"""The one switch that keeps the tests on this machine.

`forbid()` makes every connection and every name look-up beyond loopback fail in this process, in
whatever library it starts, and closes the engine's own door to model servers as well.
"""

from __future__ import annotations

import sys
from typing import Any

import engine.llm

__all__ = ["RealNetworkForbidden", "forbid"]

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_OUTGOING = {"socket.connect", "socket.sendto", "socket.sendmsg"}

_forbidden = False


class RealNetworkForbidden(RuntimeError):
    """A test tried to reach something beyond this machine."""


def forbid() -> None:
    """Forbid the real network until the process ends. Calling it again changes nothing."""
    global _forbidden
    engine.llm.ALLOW_REMOTE_HOSTS = False
    if not _forbidden:
        _forbidden = True
        sys.addaudithook(_refuse)  # below every library, unlike patched functions


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _OUTGOING:
        address = arguments[-1]
        # A string is a Unix socket's path; None is a socket that is connected already.
        host = address[0] if isinstance(address, tuple) else None
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if isinstance(host, bytes):
        host = host.decode()
    if host and host not in _LOOPBACK and not host.startswith("127."):
        raise RealNetworkForbidden(f"the tests may not reach {host}")

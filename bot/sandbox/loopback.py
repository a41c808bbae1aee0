"""Keeps other sites out: a page of the internet can reach loopback addresses through its visitor's browser.

Two doors are shut. A name that an attacker lets resolve to 127.0.0.1 (DNS rebinding) comes with its own
`Host`; a form or script of another site comes with its own `Origin`. The bot sends no `Origin` at all.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

__all__ = ["loopback_only", "require_own_page"]

_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})


@web.middleware
async def loopback_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer 403 to what names a host that is not this machine, or comes from another origin."""
    try:
        host = urlsplit(f"//{request.headers.get(hdrs.HOST, '')}").hostname
    except ValueError:
        host = None
    origin = request.headers.get(hdrs.ORIGIN)
    if host not in _NAMES or (origin is not None and not _is_own(request, origin)):
        raise web.HTTPForbidden(text="The sandbox talks to this machine only.")
    return await handler(request)


def require_own_page(request: web.Request) -> None:
    """Raise 403 unless the request says that it comes from this sandbox's own page.

    For what changes something or reads as a person: browsers send `Origin` with every POST and websocket.
    """
    origin = request.headers.get(hdrs.ORIGIN)
    if origin is None or not _is_own(request, origin):
        raise web.HTTPForbidden(text="Only the sandbox's own page may ask for this.")


def _is_own(request: web.Request, origin: str) -> bool:
    return origin == f"http://{request.headers.get(hdrs.HOST, '')}"

"""The one door to the network: an httpx transport that can be closed to everything but loopback."""

from __future__ import annotations

import ipaddress

import httpx

import engine.llm as package
from engine.llm.failure import Failure, LlmFailure

__all__ = ["GuardedTransport", "is_loopback"]


def is_loopback(host: str) -> bool:
    """Whether a connection to `host` cannot leave this machine."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class GuardedTransport(httpx.AsyncBaseTransport):
    """Passes requests on to `inner`, unless `engine.llm.ALLOW_REMOTE_HOSTS` forbids their host.

    `proxy_host` is whom we would really connect to. A forbidden request raises LlmFailure
    REMOTE_FORBIDDEN before any name is looked up.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, *, proxy_host: str | None = None) -> None:
        self._inner = inner
        self._proxy_host = proxy_host

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not package.ALLOW_REMOTE_HOSTS:
            for host in (request.url.host, self._proxy_host):
                if host is not None and not is_loopback(host):
                    text = f"Only this machine may be connected to here, and {host} is another one."
                    raise LlmFailure(Failure(text, "REMOTE_FORBIDDEN"))
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()

"""Fetching a file from an address that somebody gave, without letting them reach anything else.

Only https, only hosts that the settings name, and only public addresses: a name is looked up once,
every address is checked, and the connection goes to exactly what was checked, so that a name that
points elsewhere a moment later changes nothing. Redirects are followed by hand, each checked as the
first address was. Size, kind and time are limited while the file comes (spec tavern 11).
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Sequence
from urllib.parse import unquote

import aiohttp
import structlog
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from bot.excerpts import one_line, plain
from bot.settings import ImportSettings
from bot.uploads import Upload, check_size
from engine.errors import InputError

__all__ = ["Fetcher", "is_public"]

log = structlog.get_logger(__name__)

_AT_ONCE = 2  # each may hold a file of 32 MiB in memory
_CONNECT = 5.0  # seconds
_HOPS = 3  # redirects; the card hosts need one
_PIECE = 64 * 1024
_SHOWN = 100  # characters of an address or name in a message
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# A page about a card is what people paste most often instead of the card's own address.
_PAGES = ("text/html", "application/xhtml+xml")
_FILES = re.compile(
    r"image/(png|apng|x-png|jpeg|webp)|text/(plain|yaml|x-yaml|json)"
    r"|application/(json|yaml|x-yaml|zip|x-zip-compressed|octet-stream|vnd\..*)|binary/octet-stream"
)


def is_public(address: str) -> bool:
    """Whether an IP address is one of the open internet: not this machine, nobody's house, nothing reserved.

    An IPv6 address that carries an IPv4 one counts as both.
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = [found.ipv4_mapped, found.sixtofour, *(found.teredo or ())]
        if found in _NAT64:
            inner.append(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF))
        if any(each is not None and not is_public(str(each)) for each in inner):
            return False
        if found.ipv4_mapped is not None:
            return True
    return found.is_global and not found.is_multicast and not found.is_reserved


class _Pinned(AbstractResolver):
    """Looks a name up once and gives only addresses that may be asked; without any, nothing is connected."""

    def __init__(self, loopback: bool) -> None:
        self._loopback = loopback

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, family=socket.AF_UNSPEC)
        addresses = [(kind, str(place[0])) for kind, _, _, _, place in found]
        # One bad address spoils the name: whoever mixes them is up to something.
        if not addresses or not all(self._allowed(address) for _, address in addresses):
            log.warning("fetch.private_address", host=host)
            raise _Refused("IMPORT_URL_PRIVATE")
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=kind, proto=0, flags=socket.AI_NUMERICHOST
            )
            for kind, address in addresses
        ]

    async def close(self) -> None:
        """Nothing is held."""

    def _allowed(self, address: str) -> bool:
        return is_public(address) or (self._loopback and ipaddress.ip_address(address).is_loopback)


class _Refused(OSError):
    """Why an address is not asked. An OSError, so that the connector passes it on."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Fetcher:
    """Fetches files. `aclose` it."""

    def __init__(self, settings: ImportSettings) -> None:
        self._settings = settings
        self._session: aiohttp.ClientSession | None = None
        self._slots = asyncio.Semaphore(_AT_ONCE)

    @property
    def hosts(self) -> Sequence[str]:
        """The hosts that may be asked."""
        return self._settings.hosts

    async def fetch(self, address: str, limit: int) -> Upload:
        """The file at an address, of at most `limit` bytes.

        Raises InputError IMPORT_URL_INVALID, IMPORT_URL_HOST (data: host, hosts), IMPORT_URL_PRIVATE,
        IMPORT_URL_STATUS (status), IMPORT_URL_PAGE, IMPORT_URL_TYPE (type), IMPORT_URL_FAILED,
        IMPORT_TOO_LARGE (file, size, limit); all with `host`.
        """
        url = self._checked(address.strip())
        async with self._slots:
            try:
                async with asyncio.timeout(self._settings.seconds):
                    return await self._follow(url, limit)
            except TimeoutError:
                raise _refusal("IMPORT_URL_TIMEOUT", url) from None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    # -- inside ------------------------------------------------------------------------------------

    def _checked(self, address: str) -> URL:
        try:
            url = URL(address)
            port = url.port
        except ValueError:
            raise InputError("This is no address of a file.", code="IMPORT_URL_INVALID") from None
        schemes = ("https", "http") if self._settings.loopback else ("https",)
        if url.scheme not in schemes or not url.host or url.user is not None:
            raise InputError("This is no https address of a file.", code="IMPORT_URL_INVALID")
        if url.host.lower().rstrip(".") not in self._settings.hosts:
            hosts = ", ".join(self._settings.hosts)
            raise InputError(
                "Files are not fetched from there.",
                code="IMPORT_URL_HOST" if hosts else "IMPORT_URL_OFF",
                host=plain(url.host, _SHOWN),
                hosts=hosts,
            )
        if self._settings.loopback:
            return url
        if port != 443:
            raise _refusal("IMPORT_URL_INVALID", url)
        if _is_literal(url.host) and not is_public(url.host):
            raise _refusal("IMPORT_URL_PRIVATE", url)  # such a host is never looked up
        return url

    async def _follow(self, url: URL, limit: int) -> Upload:
        for _ in range(_HOPS + 1):
            try:
                async with self._connection().get(url, allow_redirects=False) as response:
                    if response.status in (301, 302, 303, 307, 308):
                        there = response.headers.get("Location", "")
                        url = self._checked(str(url.join(URL(there))))
                        continue
                    return await self._received(url, response, limit)
            except aiohttp.ClientConnectorError as error:
                reason = error.os_error
                code = reason.code if isinstance(reason, _Refused) else "IMPORT_URL_FAILED"
                raise _refusal(code, url) from None
            except (aiohttp.ClientError, OSError, ValueError) as error:
                if isinstance(error, TimeoutError):
                    raise
                log.info("fetch.failed", host=url.host, error=type(error).__name__)
                raise _refusal("IMPORT_URL_FAILED", url) from None
        raise _refusal("IMPORT_URL_FAILED", url)

    async def _received(self, url: URL, response: aiohttp.ClientResponse, limit: int) -> Upload:
        if response.status != 200:
            raise _refusal("IMPORT_URL_STATUS", url, status=response.status)
        kind = response.content_type.lower()
        if kind in _PAGES:
            raise _refusal("IMPORT_URL_PAGE", url)
        if not _FILES.fullmatch(kind):
            raise _refusal("IMPORT_URL_TYPE", url, type=plain(kind, 60))
        name = _filename(url)
        check_size(name, response.content_length or 0, limit)
        body = bytearray()
        async for piece in response.content.iter_chunked(_PIECE):
            body += piece
            check_size(name, len(body), limit)
        return Upload(name, bytes(body))

    def _connection(self) -> aiohttp.ClientSession:
        if self._session is None:
            # Nothing is unpacked on the way: what comes is counted as it comes. No proxy of the
            # environment: it would look names up by itself.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    resolver=_Pinned(self._settings.loopback), use_dns_cache=False, limit=_AT_ONCE
                ),
                auto_decompress=False,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(connect=_CONNECT),
                headers={"Accept-Encoding": "identity", "User-Agent": "Inglenook"},
            )
        return self._session


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _filename(url: URL) -> str:
    """The last part of the path. It names the file for people, and never a place on a disk."""
    return one_line(unquote(url.name), _SHOWN) or "file"


def _refusal(code: str, url: URL, **data: object) -> InputError:
    return InputError("The file could not be fetched.", code=code, host=plain(url.host or "", _SHOWN), **data)

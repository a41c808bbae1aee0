"""A model server that is asked over HTTP and answers with server-sent events, whatever its protocol."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import httpx

from engine.cancel import CancelToken
from engine.codec import Json, dumps, loads
from engine.errors import InputError
from engine.llm.adapter import Chunk
from engine.llm.exchange import Exchange
from engine.llm.failure import Failure, LlmFailure
from engine.llm.sse import EVENT_LIMIT, EventTooLong, SseParser
from engine.llm.transport import GuardedTransport

__all__ = ["AnswerReader", "ModelServer", "ServerSettings"]

# After the finish reason only usage and the end marker may follow; some servers then
# forget to close. The answer is complete, so nobody waits longer for its statistics.
AFTER_FINISH_SECONDS = 5.0
# After the end marker the body's own end lets the connection be used again (a TLS
# handshake saved); it mostly came in the same packet.
AFTER_DONE_SECONDS = 0.1
# Idle connections are kept while people write their next line.
KEEPALIVE_SECONDS = 90.0
# Header values shorter than this are words like "Inglenook", not secrets.
SECRET_LENGTH = 8

_HOST = re.compile(r"[\w.:-]+")
_TOKEN = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)  # RFC 9110, 5.6.2


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where a server is and how patient we are with it. Secrets are never in the repr.

    - `base_url`: up to and including `/v1`; the full address of the call works too.
    - `connect_timeout_s`: until a connection stands.
    - `idle_timeout_s`: without any byte, comments included (300 s: slow models think that long).
    - `progress_timeout_s`: without any event, however many keep-alives and pings come; DeepSeek itself
      gives up on a queued request after 600 s.
    - `include_usage`: ask for token counts; a few old servers refuse the question.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 300.0
    progress_timeout_s: float = 900.0
    include_usage: bool = True
    proxy: str | None = field(default=None, repr=False)


class AnswerReader(Protocol):
    """Makes chunks of one answer's payloads, in one protocol.

    `feed` and `feed_whole` raise LlmFailure for a payload that cannot be used. When `done`, or when
    the stream ends, `close` returns the rest: open blocks are ended, then usage, then the finish,
    which may be an error.
    """

    @property
    def done(self) -> bool:
        """Nothing that follows can change the answer."""
        ...

    @property
    def finish_seen(self) -> bool:
        """The model has ended its answer; only usage and the end marker may follow."""
        ...

    def feed(self, data: str, event: str = "") -> list[Chunk]: ...

    def feed_whole(self, payload: Mapping[str, Any]) -> list[Chunk] | None:
        """The answer of a server that does not stream; None when there is no answer in the payload."""
        ...

    def close(self) -> list[Chunk]: ...


class ModelServer:
    """One server and one call of it: `path` is `/messages` or the like.

    `authorization` are the headers that hold the key. Settings are taken at construction and
    never change. Raises InputError (LLM_BASE_URL, INVALID_CREDENTIAL) for those that cannot work.
    """

    def __init__(
        self,
        settings: ServerSettings,
        path: str,
        authorization: Mapping[str, str],
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = _endpoint(settings.base_url, path)
        self._patience_s = settings.progress_timeout_s
        self._secrets = _secrets(settings)
        proxy = httpx.Proxy(settings.proxy) if settings.proxy else None
        # The pool has no bound of its own: how many calls run at once is the engine's decision.
        limits = httpx.Limits(max_connections=None, keepalive_expiry=KEEPALIVE_SECONDS)
        inner = transport or httpx.AsyncHTTPTransport(limits=limits, proxy=proxy)
        self._client = httpx.AsyncClient(
            transport=GuardedTransport(inner, proxy_host=proxy.url.host if proxy else None),
            timeout=httpx.Timeout(settings.idle_timeout_s, connect=settings.connect_timeout_s),
            headers=_headers({**authorization, **settings.headers}),
            trust_env=False,  # a .netrc entry must not replace the key
        )

    async def ask(self, body: Json, reader: AnswerReader, token: CancelToken) -> AsyncGenerator[Chunk, None]:
        """Send `body`; the chunks that `reader` makes of the answer, to the finish.

        Raises LlmFailure and Cancelled; the connection is closed in every case.
        """
        request = self._client.build_request("POST", self.url, content=dumps(body))
        exchange = Exchange(self._client, request, token)
        try:
            response = await exchange.open(self._patience_s)
            patience = _Patience(self._patience_s)
            first = await _first_bytes(exchange, patience)
            if _is_page(response, first):
                raise _not_a_model("a web page")
            if first.startswith(b"{"):
                for chunk in await _whole(exchange, first, reader):
                    yield chunk
                return
            parser = SseParser()
            data: bytes | None = first
            while data is not None and not reader.done:
                events = parser.feed(data)
                patience.spend(heard=any(event.event != "ping" for event in events))
                for event in events:
                    for chunk in reader.feed(event.data, event.event):
                        yield chunk
                data = await _next_bytes(exchange, reader)
            for chunk in reader.close():
                yield chunk
        except EventTooLong as error:
            raise LlmFailure(Failure(f"The model server sent {error}.", "TRANSPORT")) from None
        except LlmFailure as error:
            raise LlmFailure(self._redacted(error.failure)) from None
        finally:
            await exchange.aclose()

    async def aclose(self) -> None:
        await self._client.aclose()

    def _redacted(self, failure: Failure) -> Failure:
        """Servers like to repeat the key that they refuse."""
        message = failure.message
        for secret in self._secrets:
            message = message.replace(secret, "[secret]")
        return replace(failure, message=message)


class _Patience:
    """Ends the wait for a server that keeps the line busy and says nothing."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._clock = asyncio.get_running_loop().time
        self._heard = self._clock()

    def spend(self, *, heard: bool) -> None:
        """Note that bytes came. Raises LlmFailure TIMEOUT when they have meant nothing for too long."""
        now = self._clock()
        if heard:
            self._heard = now
        elif now - self._heard > self._limit_s:
            raise LlmFailure(Failure("The model server keeps us waiting without an answer.", "TIMEOUT"))


async def _first_bytes(exchange: Exchange, patience: _Patience) -> bytes:
    """The bytes that tell what the body is; blank ones before it are dropped. Empty for an empty body."""
    while (data := await exchange.read()) is not None:
        if first := data.lstrip():
            return first
        patience.spend(heard=False)
    return b""


async def _next_bytes(exchange: Exchange, reader: AnswerReader) -> bytes | None:
    patience = AFTER_DONE_SECONDS if reader.done else AFTER_FINISH_SECONDS if reader.finish_seen else None
    try:
        return await exchange.read(patience)
    except LlmFailure:
        # A connection that breaks after the finish reason or the end marker has delivered the whole answer.
        if reader.finish_seen or reader.done:
            return None
        raise


async def _whole(exchange: Exchange, first: bytes, reader: AnswerReader) -> list[Chunk]:
    """The chunks of a server that answers with one JSON object, asked to stream or not."""
    body = first + await exchange.read_all(EVENT_LIMIT)
    try:
        payload = loads(body)
    except ValueError:
        raise LlmFailure(Failure("The model server's answer is not whole JSON.", "TRANSPORT")) from None
    chunks = reader.feed_whole(payload)
    if chunks is None:
        raise _not_a_model("JSON without an answer in it")
    return chunks + reader.close()


def _is_page(response: httpx.Response, first: bytes) -> bool:
    labelled = response.headers.get("content-type", "").lower().startswith("text/html")
    return labelled or first.startswith(b"<")


def _not_a_model(what: str) -> LlmFailure:
    # Not a passing trouble, so not TRANSPORT: the address is wrong, and trying again does not mend it.
    text = f"The model server answered with {what}. Is the address right? It mostly ends in /v1."
    return LlmFailure(Failure(text, "MALFORMED_RESPONSE"))


def _endpoint(base_url: str, call: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL:
        raise InputError("The model server's address cannot be read.", code="LLM_BASE_URL") from None
    if url.scheme not in ("http", "https") or not _HOST.fullmatch(url.raw_host.decode("ascii")):
        raise InputError(
            "The model server's address must begin with http:// or https://.", code="LLM_BASE_URL"
        )
    if url.userinfo:
        raise InputError(
            "The model server's address holds a user name or password; put the secret in the key setting.",
            code="LLM_BASE_URL",
        )
    path = url.path.rstrip("/")
    return url.copy_with(path=path if path.endswith(call) else path + call)


def _headers(own: Mapping[str, str]) -> dict[str, str]:
    headers = {
        "accept": "text/event-stream, application/json",
        # Compressed streams are held back by proxies until a block is full.
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": "Inglenook",
    }
    headers |= {name.lower(): value for name, value in own.items()}
    if not all(
        _TOKEN.fullmatch(name) and value.isascii() and value.isprintable() for name, value in headers.items()
    ):
        raise InputError(
            "The key or a header for the model server holds characters that no header can carry.",
            code="INVALID_CREDENTIAL",
        )
    return headers


def _secrets(settings: ServerSettings) -> tuple[str, ...]:
    values = [settings.api_key or "", *settings.headers.values()]
    return tuple(value.strip() for value in values if len(value.strip()) >= SECRET_LENGTH)

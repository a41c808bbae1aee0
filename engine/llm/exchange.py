"""One HTTP exchange with a model server: sent, read piece by piece, and closed whatever happens.

httpx errors come out as `LlmFailure`, a stop as `Cancelled`. A stop closes the socket at
once: the server is never asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx

from engine.cancel import CancelToken
from engine.codec import loads
from engine.llm.failure import Failure, LlmFailure, classify, clip, error_details, retry_after_ms

__all__ = ["Exchange"]

# An error page is read up to here, and no longer than that: its text is for one chat line.
ERROR_BODY_LIMIT = 64 * 1024
ERROR_BODY_SECONDS = 10.0

_REQUEST_ID_HEADERS = ("x-request-id", "request-id", "x-amzn-requestid", "cf-ray")


class _Sent:
    """What httpcore tells of a request on its way (its `trace` extension): by which kind of connection."""

    def __init__(self) -> None:
        self._connected = self._begun = False

    @property
    def on_a_kept_connection(self) -> bool:
        return self._begun and not self._connected

    async def trace(self, name: str, _info: object) -> None:
        self._connected |= name == "connection.connect_tcp.started"
        self._begun |= name == "http11.send_request_headers.started"


class Exchange:
    """`open`, then `read` until None, then always `aclose`. For one task."""

    def __init__(self, client: httpx.AsyncClient, request: httpx.Request, token: CancelToken) -> None:
        self._client = client
        self._request = request
        self._token = token
        self._response: httpx.Response | None = None
        self._bytes: AsyncIterator[bytes] | None = None
        self._watch: asyncio.Task[None] | None = None

    async def open(self, within_s: float) -> httpx.Response:
        """Send the request and wait for the head of a successful answer.

        Raises LlmFailure (with status, retry-after and request id if the server refused) or
        Cancelled. `within_s` bounds the whole head, however slowly it drips.
        """
        self._token.check()
        try:
            await self._token.race(self._send(within_s))
        except TimeoutError:
            raise self._failure("TIMEOUT", "did not begin to answer") from None
        except httpx.HTTPError as error:
            raise self._http_failure(error) from None
        response = self._response
        assert response is not None  # _send ended without an exception
        self._watch = asyncio.ensure_future(self._close_on_cancel(response))
        self._bytes = response.aiter_bytes()
        if not response.is_success:
            raise LlmFailure(await self._refusal(response))
        return response

    async def read(self, within_s: float | None = None) -> bytes | None:
        """The next bytes as they come, None at the end of the body or after `within_s`.

        Raises LlmFailure TIMEOUT (nothing came for the client's idle time) or TRANSPORT, or Cancelled.
        """
        assert self._bytes is not None  # open() returned
        self._token.check()
        try:
            async with asyncio.timeout(within_s):
                data = await anext(self._bytes, None)
        except TimeoutError:
            data = None
        except (httpx.HTTPError, httpx.StreamError) as error:
            self._token.check()  # our own closing of the socket looks like a broken connection
            raise self._http_failure(error) from None
        self._token.check()
        return data

    async def read_all(self, limit: int, within_s: float | None = None) -> bytes:
        """The rest of the body, cut at `limit` bytes. Raises as `read`."""
        parts: list[bytes] = []
        size = 0
        while size < limit and (data := await self.read(within_s)) is not None:
            parts.append(data)
            size += len(data)
        return b"".join(parts)[:limit]

    async def aclose(self) -> None:
        """Give the connection back, or close it if the answer was not read to its end."""
        try:
            if self._watch is not None:
                # After a stop it is closing the socket, and must not be interrupted in that.
                if not self._token.cancelled:
                    self._watch.cancel()
                await asyncio.wait({self._watch})
                if not self._watch.cancelled():
                    self._watch.exception()  # a failing close is no news: the socket is gone
        finally:
            if self._response is not None:
                with suppress(httpx.HTTPError):
                    await self._response.aclose()

    async def _send(self, within_s: float) -> None:
        async with asyncio.timeout(within_s):
            sent = _Sent()
            self._request.extensions["trace"] = sent.trace
            # Kept here and not returned: a response that arrives together with a stop must be closed too.
            try:
                self._response = await self._client.send(self._request, stream=True)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                if not sent.on_a_kept_connection:
                    raise
                # Between two calls a server may close a connection that we still hold for open (llama.cpp
                # does so after each stream, whatever its headers promise). It is no failure of this call.
                self._response = await self._client.send(self._request, stream=True)

    async def _close_on_cancel(self, response: httpx.Response) -> None:
        await self._token.wait()
        await response.aclose()

    async def _refusal(self, response: httpx.Response) -> Failure:
        body = b""
        with suppress(LlmFailure):
            body = await self.read_all(ERROR_BODY_LIMIT, ERROR_BODY_SECONDS)
        text = body.decode("utf-8", "replace").strip()
        try:
            message, words, _ = error_details(loads(text))
        except ValueError:
            # An HTML page says nothing that belongs in a chat line.
            message, words = ("" if text.startswith("<") else text), ""
        status = response.status_code
        said = f": {clip(message)}" if message else "."
        return Failure(
            f"The model server answered with {status} {response.reason_phrase}".rstrip() + said,
            classify(status, f"{words} {message}"),
            status,
            retry_after_ms(response.headers),
            next((response.headers[name] for name in _REQUEST_ID_HEADERS if name in response.headers), None),
        )

    def _http_failure(self, error: Exception) -> LlmFailure:
        if isinstance(error, httpx.ReadTimeout):
            return self._failure("TIMEOUT", "stopped answering")
        if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
            return self._failure("TRANSPORT", "cannot be reached in time")
        if isinstance(error, httpx.ConnectError | httpx.ProxyError):
            why = clip(str(error)) or "the connection failed"
            return self._failure("TRANSPORT", f"cannot be reached ({why})")
        return self._failure("TRANSPORT", "broke off the connection")

    def _failure(self, code: str, what: str) -> LlmFailure:
        url = self._request.url
        # Scheme, host and port only: the rest of an address may carry a secret.
        origin = f"{url.scheme}://{url.netloc.decode('ascii')}"
        return LlmFailure(Failure(f"The model server {origin} {what}.", code))

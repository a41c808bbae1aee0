"""The adapter for servers that speak Anthropic's messages API: its own, llama.cpp and others."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

import httpx

from engine.cancel import CancelToken
from engine.llm.adapter import Chunk, LlmRequest
from engine.llm.anthropic.events import MessageReader
from engine.llm.anthropic.request import request_body
from engine.llm.catalogue import Catalogue
from engine.llm.model import ModelInfo
from engine.llm.server import ModelServer, ServerSettings

__all__ = ["AnthropicAdapter"]

API_VERSION = "2023-06-01"
# The API has no default of its own and refuses a call without one. Every model takes this many.
DEFAULT_MAX_TOKENS = 4096


class AnthropicAdapter:
    """One server under one provider name; settings never change. Raises InputError as `ModelServer`."""

    def __init__(
        self,
        provider: str,
        settings: ServerSettings,
        catalogue: Catalogue | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._provider = provider
        self._catalogue = Catalogue() if catalogue is None else catalogue
        headers = {"anthropic-version": API_VERSION}
        if key := (settings.api_key or "").strip():
            headers["x-api-key"] = key
        self._server = ModelServer(settings, "/messages", headers, transport=transport)

    def __repr__(self) -> str:
        return f"AnthropicAdapter({self._provider!r}, {str(self._server.url)!r})"

    @property
    def provider(self) -> str:
        return self._provider

    def model_info(self, model: str) -> ModelInfo:
        info = self._catalogue.find(self._provider, model)
        if info.default_max_tokens is None:
            info = replace(
                info, default_max_tokens=min(DEFAULT_MAX_TOKENS, info.max_output or DEFAULT_MAX_TOKENS)
            )
        return info

    async def stream(self, request: LlmRequest, token: CancelToken) -> AsyncGenerator[Chunk, None]:
        """See `Adapter.stream`. Raises LlmFailure and Cancelled; the connection is closed in every case."""
        body = request_body(request, self.model_info(request.config.model))
        async with aclosing(self._server.ask(body, MessageReader(), token)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        await self._server.aclose()

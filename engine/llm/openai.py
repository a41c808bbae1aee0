"""The adapter for servers that speak OpenAI's chat completions: OpenAI, DeepSeek, OpenRouter, and
llama.cpp, KoboldCpp, vLLM, Ollama and others at home (spec agent-loop 5.8, 5.9).

Where they differ stands in the catalogue, as the dialect of their models.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx

from engine.cancel import CancelToken
from engine.llm.adapter import Chunk, LlmRequest
from engine.llm.catalogue import Catalogue
from engine.llm.completion import CompletionReader
from engine.llm.model import ModelInfo
from engine.llm.server import ModelServer, ServerSettings
from engine.llm.wire import request_body

__all__ = ["OpenAiAdapter"]


class OpenAiAdapter:
    """One server under one provider name.

    Settings are taken at construction and never change: a new configuration is a new
    adapter, so that no call mixes two. Raises InputError (LLM_BASE_URL, INVALID_CREDENTIAL)
    for settings that cannot work.
    """

    def __init__(
        self,
        provider: str,
        settings: ServerSettings,
        catalogue: Catalogue | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._provider = provider
        # An empty catalogue is false and still the one that was meant.
        self._catalogue = Catalogue() if catalogue is None else catalogue
        self._include_usage = settings.include_usage
        key = (settings.api_key or "").strip()
        authorization = {"authorization": f"Bearer {key}"} if key else {}
        self._server = ModelServer(settings, "/chat/completions", authorization, transport=transport)

    def __repr__(self) -> str:
        return f"OpenAiAdapter({self._provider!r}, {str(self._server.url)!r})"

    @property
    def provider(self) -> str:
        return self._provider

    def model_info(self, model: str) -> ModelInfo:
        return self._catalogue.find(self._provider, model)

    async def stream(self, request: LlmRequest, token: CancelToken) -> AsyncGenerator[Chunk, None]:
        """See `Adapter.stream`. Raises LlmFailure and Cancelled; the connection is closed in every case."""
        info = self.model_info(request.config.model)
        body = request_body(request, info, include_usage=self._include_usage)
        async with aclosing(self._server.ask(body, CompletionReader(), token)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        await self._server.aclose()

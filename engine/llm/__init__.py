"""The model layer: how a call is configured, prepared, sent and read, whoever serves the model.

Everything above it sees one chunk vocabulary (spec agent-loop 5.2) and one record of
what went wrong (`Failure`), never a provider's own shapes.
"""

from __future__ import annotations

from engine.llm.adapter import Adapter, Chunk, LlmRequest, Message
from engine.llm.anthropic import AnthropicAdapter
from engine.llm.boundary import guarded
from engine.llm.catalogue import Catalogue
from engine.llm.config import CallConfig
from engine.llm.failure import Failure, LlmFailure
from engine.llm.images import has_pictures, wanted_pictures
from engine.llm.model import Dialect, ImageLimits, ModelInfo, Price
from engine.llm.narrator import Narrator
from engine.llm.openai import OpenAiAdapter
from engine.llm.registry import Llm, PreparedCall
from engine.llm.rejection import rejected_parameter
from engine.llm.retry import RetryPolicy
from engine.llm.server import ServerSettings

__all__ = [
    "ALLOW_REMOTE_HOSTS",
    "Adapter",
    "AnthropicAdapter",
    "CallConfig",
    "Catalogue",
    "Chunk",
    "Dialect",
    "Failure",
    "ImageLimits",
    "Llm",
    "LlmFailure",
    "LlmRequest",
    "Message",
    "ModelInfo",
    "Narrator",
    "OpenAiAdapter",
    "PreparedCall",
    "Price",
    "RetryPolicy",
    "ServerSettings",
    "guarded",
    "has_pictures",
    "rejected_parameter",
    "wanted_pictures",
]

ALLOW_REMOTE_HOSTS = True
"""The one switch that forbids real calls: while it is False only loopback hosts are connected to.

Set it on this module (`engine.llm.ALLOW_REMOTE_HOSTS = False`); it is read at each request.
"""

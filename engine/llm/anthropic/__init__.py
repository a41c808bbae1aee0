"""Anthropic's messages API (spec agent-loop 5.10): the request, the stream, and the adapter over both."""

from __future__ import annotations

from engine.llm.anthropic.adapter import AnthropicAdapter

__all__ = ["AnthropicAdapter"]

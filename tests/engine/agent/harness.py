"""An agent on a real journal and a provider that says what the test tells it to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ConfigDict

from engine.agent import Agents, Section, Services, SystemPrompt
from engine.agent.tools import Tool, ToolArguments, ToolCall, ToolOutcome
from engine.cancel import CancelToken
from engine.hooks import Hooks, Next, Scope
from engine.llm import CallConfig, Llm, LlmRequest, ModelInfo, RetryPolicy
from engine.session import (
    Journal,
    MemoryEventStore,
    Message,
    Session,
    Sessions,
    StrictValidator,
    message_text,
    user_message,
)

USAGE = {"type": "usage", "usage": {"inputTokens": 10, "outputTokens": 3}}


def says(*parts: str, finish: str = "stop") -> list[dict[str, Any]]:
    """A whole answer in the given deltas."""
    return [
        {"type": "block-start", "index": 0, "blockType": "text"},
        *({"type": "text-delta", "index": 0, "text": part} for part in parts),
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": "".join(parts)}},
        USAGE,
        {"type": "finish", "reason": {"kind": finish}},
    ]


def calls(name: str, arguments: str, call_id: str = "c1") -> list[dict[str, Any]]:
    """An answer that is nothing but one tool call."""
    block = {"type": "tool-call", "id": call_id, "name": name, "arguments": arguments}
    return [
        {"type": "block-start", "index": 0, "blockType": "tool-call"},
        {"type": "tool-call-delta", "index": 0, "id": call_id, "name": name, "argumentsDelta": arguments},
        {"type": "block-end", "index": 0, "block": block},
        {"type": "finish", "reason": {"kind": "tool-calls"}},
    ]


def fails(code: str, *before: str) -> list[dict[str, Any]]:
    """A failure, after the given deltas of text."""
    opening = says(*before)[: 1 + len(before)] if before else []
    failure = {"message": code.lower(), "code": code}
    return [*opening, {"type": "finish", "reason": {"kind": "error", "failure": failure}}]


@dataclass
class Pause:
    """A script entry: the stream waits here until the test opens it, or until it is stopped."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)


class ScriptedAdapter:
    """One scripted answer per request, in order; the last one repeats."""

    provider = "scripted"

    def __init__(self, *answers: Iterable[Any]) -> None:
        self.answers = [list(answer) for answer in answers]
        self.requests: list[list[str]] = []
        self.window: int | None = None

    def model_info(self, model: str) -> ModelInfo:
        return ModelInfo("scripted", model, context_window=self.window)

    async def stream(self, request: LlmRequest, token: CancelToken) -> AsyncIterator[Any]:
        self.requests.append([f"{m['role']}:{message_text(m)}" for m in request.messages])
        script = self.answers[min(len(self.requests), len(self.answers)) - 1]
        for entry in script:
            if isinstance(entry, Pause):
                entry.reached.set()
                await token.race(entry.opened.wait())
            else:
                yield entry

    async def aclose(self) -> None:
        pass


class Anything(ToolArguments):
    """Takes whatever comes: for tests that are about something else."""

    model_config = ConfigDict(extra="allow")


class World:
    """Everything that one test needs, over a store that outlives a "crash"."""

    def __init__(
        self, *answers: Iterable[Any], store: MemoryEventStore | None = None, prompt: str = ""
    ) -> None:
        self.store = store or MemoryEventStore()
        self.hooks = Hooks()
        self.owner = Scope("test")
        self.adapter = ScriptedAdapter(*answers)
        self.prompt_text = prompt or "You are Ada."
        llm = Llm()
        llm.register(self.adapter, retry_policy=RetryPolicy(base_ms=1, cap_ms=2))
        prompt_registry = SystemPrompt(self.hooks)
        prompt_registry.section(Section("persona", 0, lambda _: self.prompt_text), owner=self.owner)
        self.services = Services(
            hooks=self.hooks,
            journal=Journal(Sessions(validators=[StrictValidator]), self.store),
            llm=llm,
            prompt=prompt_registry,
            defaults=CallConfig("scripted", "m1"),
        )
        self.agents = Agents(self.services)
        self.frames: list[Any] = []
        self.on_for_all: set[str] = set()
        self.on("agent/assistant-stream", lambda _, frame: self.frames.append(frame))

    def tool(self, name: str, body: Callable[..., Awaitable[str]], **details: Any) -> None:
        """A tool whose body is `body(raw arguments, token) -> text`; every session has it on."""

        async def run(arguments: Any, call: ToolCall) -> ToolOutcome:
            return ToolOutcome(await body(call.raw, call.token))

        self.add_tool(Tool(name, f"{name}.", run, details.pop("arguments", Anything), **details))

    def add_tool(self, tool: Tool) -> None:
        """A tool that every session has on."""
        self.services.tools.register(tool, owner=self.owner)
        if not self.on_for_all:
            self.on("tools/available", self._with_ours)
        self.on_for_all.add(tool.name)

    async def _with_ours(self, session: Session, proceed: Next) -> set[str]:
        return {*await proceed(), *self.on_for_all}

    def on(self, hook: str, fn: Callable[..., Any]) -> None:
        self.hooks.on(hook, fn, owner=self.owner)

    async def crash(self, *answers: Iterable[Any]) -> World:
        """The process is gone; a new one comes up over what was on disk."""
        return World(*(answers or self.adapter.answers), store=self.store, prompt=self.prompt_text)


def u(text: str, message_id: str | None = None) -> Message:
    return user_message(message_id or text, text)


def order(session: Session) -> list[str]:
    """The log in words: types, with the facts that tell two events of a type apart."""
    return [_word(event.type, event.data) for event in session.events()]


def _word(event_type: str, data: Any) -> str:
    if event_type == "agent/inbox/spliced":
        if data.get("outcome"):
            return "cancel" if not data["inserted"] else "edit"
        return "insert" if data["inserted"] else "claim"
    if event_type == "turn/end":
        return f"turn/end {data['reason']['kind']}"
    if event_type == "request/header":
        return f"header {data['reason']}"
    if event_type == "user/message":
        return f"user {message_text(data)}"
    if event_type == "assistant/message":
        return ("interrupted " if data.get("interrupted") else "assistant ") + message_text(data["message"])
    return event_type


def derived(session: Session) -> Sequence[str]:
    return [f"{m['role']}:{message_text(m)}" for m in session.derive()]

"""Tools that a test leads by the hand, and what the log says of their calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from engine.agent import Agent
from engine.agent.tools import Tool, ToolCall, ToolOutcome
from engine.cancel import CancelCause
from engine.session import Session, message_text
from tests.engine.agent.harness import USAGE, Anything, World, says, u

__all__ = ["USER", "Bench", "answers", "asks", "begin", "logged", "results"]

USER = CancelCause("user")


def asks(*named: tuple[str, str] | tuple[str, str, str], text: str = "") -> list[dict[str, Any]]:
    """An answer that calls tools: (call id, tool) or (call id, tool, raw arguments) each."""
    chunks: list[dict[str, Any]] = says(text)[:-2] if text else []
    for index, (call_id, name, *rest) in enumerate(named, start=1 if text else 0):
        raw = rest[0] if rest else "{}"
        block = {"type": "tool-call", "id": call_id, "name": name, "arguments": raw}
        chunks += [
            {"type": "block-start", "index": index, "blockType": "tool-call"},
            {"type": "tool-call-delta", "index": index, "id": call_id, "name": name, "argumentsDelta": raw},
            {"type": "block-end", "index": index, "block": block},
        ]
    return [*chunks, USAGE, {"type": "finish", "reason": {"kind": "tool-calls"}}]


def logged(session: Session) -> list[str]:
    """The calls and results in the log's order, as `call c1` and `result c1`."""
    lines = []
    for event in session.events():
        if event.type == "tool/call":
            lines.append(f"call {event.data['callId']}")
        elif event.type == "tool/result":
            lines.append(f"result {event.data['message']['toolCallId']}")
    return lines


def results(session: Session) -> dict[str, str]:
    """What the model reads, by call."""
    return {
        event.data["message"]["toolCallId"]: message_text(event.data["message"])
        for event in session.events()
        if event.type == "tool/result"
    }


def answers(session: Session) -> dict[str, str | None]:
    """The error code of each call, None for a success."""
    return {
        event.data["message"]["toolCallId"]: event.data["error"]["code"] if "error" in event.data else None
        for event in session.events()
        if event.type == "tool/result"
    }


class Bench:
    """Tools whose bodies wait until the test lets them go."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.running: list[str] = []
        self.ran: list[str] = []
        self.most = 0
        self._gates: dict[str, asyncio.Event] = {}
        self._news = asyncio.Event()

    def tool(
        self,
        name: str = "wait",
        *,
        parallel: bool | Callable[[Any], bool] = True,
        outcome: Callable[[ToolCall], ToolOutcome] = lambda call: ToolOutcome(f"{call.call_id} is done"),
        arguments: type[BaseModel] = Anything,
        heeds: bool = False,
    ) -> None:
        """One whose calls wait for `let_go(call id)`; with `heeds` a stop ends the waiting as well."""

        async def body(arguments: Any, call: ToolCall) -> ToolOutcome:
            self.ran.append(call.call_id)
            self.running.append(call.call_id)
            self.most = max(self.most, len(self.running))
            self._news.set()
            try:
                gate = self._gate(call.call_id)
                if heeds:
                    stop = asyncio.ensure_future(call.token.wait())
                    opened = asyncio.ensure_future(gate.wait())
                    await asyncio.wait({stop, opened}, return_when=asyncio.FIRST_COMPLETED)
                    stop.cancel()
                    opened.cancel()
                else:
                    await gate.wait()
                return outcome(call)
            finally:
                self.running.remove(call.call_id)
                self._news.set()

        self.world.add_tool(Tool(name, name, body, arguments, parallel))

    def quick(
        self,
        name: str,
        outcome: Callable[[ToolCall], ToolOutcome] = lambda call: ToolOutcome("done"),
        **details: Any,
    ) -> None:
        """One that answers at once."""

        async def body(arguments: Any, call: ToolCall) -> ToolOutcome:
            self.ran.append(call.call_id)
            return outcome(call)

        self.world.add_tool(Tool(name, name, body, details.pop("arguments", Anything), **details))

    def let_go(self, *call_ids: str) -> None:
        for call_id in call_ids:
            self._gate(call_id).set()

    async def runs(self, *call_ids: str) -> None:
        """Wait until exactly these bodies run."""
        async with asyncio.timeout(5):
            while sorted(self.running) != sorted(call_ids):
                self._news.clear()
                await self._news.wait()

    def _gate(self, call_id: str) -> asyncio.Event:
        return self._gates.setdefault(call_id, asyncio.Event())


async def begin(world: World, *texts: str) -> Agent:
    """An agent that has been spoken to."""
    agent = await world.agents.create("s")
    for text in texts or ("hi",):
        agent.followup(u(text))
    return agent

"""The calls of one assistant message: started in the model's order, answered in it, run side by side.

Consecutive parallel calls share a rolling pool; an exclusive call waits until nothing else runs and
nothing starts beside it. A result is logged when those of all earlier calls are. After a stop nothing
starts; what started is drained. Source: spec agent-loop 3.7 and 11.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.agent.inbox import QUIET
from engine.agent.tools.arguments import parse_arguments, validate
from engine.agent.tools.patience import PATIENCE
from engine.agent.tools.pipeline import Pipeline, Prepared, not_begun
from engine.agent.tools.tool import Tool, ToolCall, ToolOutcome
from engine.cancel import Cancelled, CancelToken
from engine.ids import new_id
from engine.session import Event, Message, Session, tool_message, user_message

__all__ = ["CONTEXT", "ToolPool", "ToolResult"]

CONTEXT = "tool-context"
"""The source kind of a message that a tool added to the next step."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The payload of `tools/result`: a call and its outcome, a moment before that is logged."""

    call: ToolCall
    outcome: ToolOutcome


@dataclass(slots=True)
class _Running:
    """A call that was recorded as `event`, and its body on the way."""

    event: Event
    prepared: Prepared
    task: asyncio.Task[ToolOutcome]
    parallel: bool


@dataclass(slots=True)
class ToolPool:
    """Answers the calls of one step. `push` queues a message for the next step; `limit` bodies overlap."""

    session: Session
    pipeline: Pipeline
    turn: int
    step: int
    token: CancelToken
    push: Callable[[Message], None]
    limit: int = 10
    _running: list[_Running] = field(default_factory=list)
    _concluded: bool = False

    async def run(self, blocks: Sequence[Any]) -> bool:
        """Answer every call; whether a result concluded the turn. Raises Cancelled when all are answered
        and the turn was stopped.

        What goes wrong in here and in the log itself stops the starting; what runs is drained, and the
        first failure raised. The calls that it leaves unanswered are the step's to answer.
        """
        waiting = list(blocks)
        try:
            while waiting or self._running:
                while waiting and self._has_room(waiting[0]):
                    await self._start(waiting.pop(0))
                await self._commit()
            self.token.check()
            return self._concluded
        except BaseException as failure:
            await self._drain(failure)
            raise

    # -- starting --------------------------------------------------------------------------------

    def _has_room(self, block: Any) -> bool:
        """Whether this call, looked at again just now, may start beside what runs."""
        if self.token.cancelled or not self._running:
            return not self._running
        return (
            sum(not running.task.done() for running in self._running) < self.limit
            and all(running.parallel for running in self._running)
            and self._is_parallel(block)
        )

    def _is_parallel(self, block: Any) -> bool:
        tool = self._tool(block)
        if tool is None:
            return False
        if not callable(tool.parallel):
            return tool.parallel is True
        arguments = validate(tool, parse_arguments(block["arguments"]))
        if isinstance(arguments, ToolOutcome):
            return False
        try:
            return tool.parallel(arguments) is True
        except Exception:  # a predicate that fails has not said that it is safe
            return False

    def _tool(self, block: Any) -> Tool | None:
        return self.pipeline.registry.get(self.session, block["name"])

    async def _start(self, block: Any) -> None:
        call = ToolCall(
            session_id=self.session.id,
            turn=self.turn,
            step=self.step,
            call_id=block["id"],
            name=block["name"],
            raw=block["arguments"],
            arguments=parse_arguments(block["arguments"]),
            token=self.token,
            events=self.session.events,
        )
        parallel = self._is_parallel(block)
        event = self.session.append(
            "tool/call",
            {
                "turn": self.turn,
                "step": self.step,
                "callId": call.call_id,
                "name": call.name,
                "arguments": call.raw,
            },
        )
        prepared = await self._prepared(call, self._tool(block))
        task = asyncio.ensure_future(self.pipeline.dispatch(prepared))
        self._running.append(_Running(event, prepared, task, parallel))

    async def _prepared(self, call: ToolCall, tool: Tool | None) -> Prepared:
        if not self.token.cancelled:
            try:
                return await self.pipeline.prepare(call, tool)
            except Cancelled:
                pass
        return Prepared(call, tool, None, not_begun())

    # -- answering -------------------------------------------------------------------------------

    async def _commit(self) -> None:
        """Wait until something has ended, and log the results whose turn it is."""
        going = {running.task for running in self._running if not running.task.done()}
        if self._running and not self._running[0].task.done():
            await asyncio.wait(going, return_when=asyncio.FIRST_COMPLETED)
        while self._running and self._running[0].task.done():
            first = self._running[0]
            outcome = await self.pipeline.finish(first.prepared, first.task.result())
            self._log(first, outcome)
            self._running.pop(0)

    def _log(self, answered: _Running, outcome: ToolOutcome) -> None:
        call, error = answered.prepared.call, outcome.error
        self.pipeline.hooks.emit("tools/result", ToolResult(call, outcome), scope=self.pipeline.scope)
        text = f"Error: {outcome.text}" if error is not None else outcome.text
        message = tool_message(new_id("tool"), call.call_id, text, is_error=error is not None)
        data: dict[str, Any] = {"turn": self.turn, "step": self.step, "message": message}
        if error is not None:
            data["error"] = error.to_wire()
        self.session.append("tool/result", data, surface_op="append", source_event_seqs=[answered.event.seq])
        self._concluded = self._concluded or outcome.concludes_turn
        for context in outcome.contexts:
            # Quiet: by itself it is no reason for a step, nor, after a stop, for a turn.
            source = {"kind": CONTEXT, "tool": call.name, "callId": call.call_id, QUIET: True}
            self.push(user_message(new_id("ctx"), context, source))

    async def _drain(self, failure: BaseException) -> None:
        """Let what runs come to its end: by itself after a failure, at once when the process ends."""
        tasks = {running.task for running in self._running}
        if not tasks:
            return
        if isinstance(failure, Exception):
            await asyncio.wait(tasks)
            return
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=PATIENCE)

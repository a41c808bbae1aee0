"""loop: the order of a turn's events.

The recordings hold no input, so the run is told from what was recorded: what was put in
before each turn and inside a tool, what the provider streamed, which prompt stood. The
loop then has to write the very same events.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

from engine.agent import Agent, Decision, RequestFailure
from engine.hooks import Next
from engine.session import Event, message_text
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector
from tests.engine.agent.harness import World, u


def run(vector: Vector) -> None:
    asyncio.run(_Replay(vector.body["expect"]).run())


class _Replay:
    def __init__(self, expect: dict[str, Any]) -> None:
        self.expect = expect
        self.events: list[dict[str, Any]] = expect["events"]
        self.world = World([])
        self.streams = _streams(self.events)
        self.texts = _texts_in_queue_order(self.events)
        self.requests: list[list[str]] = []
        self.errors: list[str] = []
        self.ids = itertools.count()

    async def run(self) -> None:
        world = self.world
        world.on("llm/stream", self._stream)
        world.on("agent/error", lambda _, error: self.errors.append(str(error)))
        world.on("agent/request-error", self._recover)
        if any(e["type"] == "turn/end" and e["reason"]["kind"] == "blocked" for e in self.events):
            world.on("agent/pre-step", lambda payload, proceed: Decision("reject"))
        agent = await world.agents.create("s")
        self._register_tool(agent)
        for before in self._inputs_before_turns():
            world.prompt_text = self._prompt_of_turn(before["turn"])
            for target in before["targets"]:
                self._put(agent, target)
            await agent.when_idle()
        agree("events", self.events, [self._compact(e) for e in agent.session.events()])
        agree("requests", self.expect["requests"], self.requests)
        agree("liveFrames", self.expect["liveFrames"], list(_frames(world.frames)))
        agree("errors", self.expect["errors"], self.errors)
        agree("derived", self.expect["derived"], [_said(m) for m in agent.session.derive()])

    # -- what went in ----------------------------------------------------------------------------

    def _inputs_before_turns(self) -> Iterator[dict[str, Any]]:
        """Per turn that starts idle: its number, and the queues that were filled before it."""
        targets: list[str] = []
        open_turn = False
        for event in self.events:
            if event["type"] == "agent/inbox/spliced" and event["inserted"] and not open_turn:
                targets.append(event["target"])
            elif event["type"] == "turn/start":
                yield {"turn": event["turn"], "targets": targets}
                targets, open_turn = [], True
            elif event["type"] == "turn/end":
                open_turn = False

    def _put(self, agent: Agent, target: str) -> None:
        message = u(next(self.texts[target], "unanswered"), f"m{next(self.ids)}")
        if target == "next-turn":
            agent.followup(message)
        else:
            agent.inject(message)

    def _prompt_of_turn(self, turn: int) -> str:
        said = [e["text"] for e in self.events if e["type"] == "system/message" and e["turn"] == turn]
        return said[-1] if said else self.world.prompt_text

    def _register_tool(self, agent: Agent) -> None:
        """The tool of the recording: it says what was recorded, and steers where that was recorded."""
        results = [e for e in self.events if e["type"] == "tool/result" and "error" not in e]
        if not results:
            return

        async def body(arguments: str, token: object) -> str:
            call = next(i for i, e in enumerate(self.events) if e["type"] == "tool/call")
            for event in itertools.takewhile(lambda e: e["type"] != "tool/result", self.events[call + 1 :]):
                agent.steer(u(next(self.texts[event["target"]]), f"m{next(self.ids)}"))
            return str(results[0]["text"])

        self.world.tool("known", body)
        # The recorded header does not name its tools; what the model is told is not the subject here.
        self.world.services.tools.schemas = lambda session: ()  # type: ignore[method-assign]

    # -- what the provider said ----------------------------------------------------------------------

    async def _stream(self, request: Any, proceed: Next) -> AsyncIterator[Any]:
        self.requests.append([_said(message) for message in request.messages])
        for chunk in next(self.streams):
            yield chunk

    def _recover(self, failed: RequestFailure, proceed: Next) -> str | None:
        """The recording's own recovery: again where another settlement follows in the same step."""
        at = failed.outcome.event.seq
        return "retry" if self.events[at + 1]["type"].startswith("assistant/") else None

    def _compact(self, event: Event) -> dict[str, Any]:
        return _compact(event)


def _said(message: Any) -> str:
    text = message_text(message)
    if not text and any(block["type"] == "tool-call" for block in message["content"]):
        text = "<tool-call>"
    return f"{message['role']}:{text}"


def _texts_in_queue_order(events: list[dict[str, Any]]) -> dict[str, Iterator[str]]:
    """The admitted texts by the queue they waited in: a claim of n from a queue admits n texts of it."""
    texts: dict[str, list[str]] = {"next-turn": [], "next-step": []}
    claimed: list[str] = []
    for event in events:
        if event["type"] == "agent/inbox/spliced" and event.get("removedCount"):
            claimed += [event["target"]] * event["removedCount"]
        elif event["type"] == "user/message":
            texts[claimed.pop(0)].append(event["text"])
    return {target: iter(found) for target, found in texts.items()}


def _streams(events: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for index, event in enumerate(events):
        if event["type"] in ("assistant/message", "assistant/attempt"):
            yield list(_chunks(event, events[index + 1 :]))


def _chunks(event: dict[str, Any], later: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    text = event.get("text", "x")
    for record in event["streamRecords"]:
        kind, _, count = record.rpartition("x") if "chunks" in record else (record, "", "1")
        if kind == "chunk:block-start":
            yield {"type": "block-start", "index": 0, "blockType": "text"}
        elif kind == "text-chunks":
            for part in _split(text, int(count)):
                yield {"type": "text-delta", "index": 0, "text": part}
        elif kind == "tool-call-chunks":
            yield _call(later)
        elif kind == "chunk:block-end":
            yield {"type": "block-end", "index": 0, "block": {"type": "text", "text": text}}
        elif kind == "chunk:usage":
            yield {"type": "usage", "usage": event["usage"]}
        else:
            yield {"type": "finish", "reason": _finish(event, later)}


def _call(later: list[dict[str, Any]]) -> dict[str, Any]:
    call = next(e for e in later if e["type"] == "tool/call")
    result = next(e for e in later if e["type"] == "tool/result")
    name = result["text"].split('"')[1] if "error" in result else "known"
    return {"type": "tool-call-delta", "index": 0, "id": call["callId"], "name": name, "argumentsDelta": "{}"}


def _finish(event: dict[str, Any], later: list[dict[str, Any]]) -> dict[str, Any]:
    end = next(e["reason"] for e in later if e["type"] == "turn/end")
    if event["type"] == "assistant/attempt":
        return {"kind": "error", "failure": end.get("error", {"message": "again", "code": "SERVER"})}
    if "tool-call-chunksx1" in event["streamRecords"]:
        return {"kind": "tool-calls"}
    return {"kind": "max-tokens" if end["kind"] == "max-tokens" else "stop"}


def _split(text: str, count: int) -> list[str]:
    """`text` in `count` parts: single characters, and the rest in the last one."""
    return [*text[: count - 1], text[count - 1 :]]


def _frames(frames: list[Any]) -> Iterator[str]:
    for kind, group in itertools.groupby(frames, key=lambda frame: frame["kind"]):
        for frame in group:
            if kind == "chunk":
                yield "chunk*"
                break
            outcome = frame.get("outcome", {})
            yield "start" if kind == "start" else f"end:{outcome['kind']}:{outcome['eventType']}"


def _compact(event: Event) -> dict[str, Any]:
    """The recorded form of an event: ids, times and bodies left out."""
    wire, data = event.to_wire(), event.data
    compact: dict[str, Any] = {"seq": event.seq, "type": event.type}
    for key in ("surfaceOp", "sourceEventSeqs"):
        if key in wire:
            compact[key] = wire[key]
    if event.type == "agent/inbox/spliced":
        compact["target"] = data["target"]
        if "removedCount" in data:
            compact["removedCount"] = data["removedCount"]
        compact["inserted"] = len(data["inserted"])
        return compact
    message = data if event.type == "user/message" else data.get("message")
    if message is not None:
        compact["text"] = _said(message).partition(":")[2]
        compact["source"] = message["source"]["kind"]
    for key in ("turn", "step", "callId", "usage", "reason", "error"):
        if key in data:
            compact[key] = wire["data"][key]
    if "stream" in data:
        compact["streamRecords"] = [_record(record) for record in data["stream"]]
    return compact


def _record(record: Any) -> str:
    if record["type"] == "chunk":
        return f"chunk:{record['chunk']['type']}"
    return f"{record['type']}x{len(record.get('texts', record.get('args', ())))}"

"""Scripted vectors: steps on named sessions in one store, each with what was observed."""

import asyncio
import copy
import re
from collections.abc import Callable, Mapping
from typing import Any

from structlog.testing import capture_logs

from engine.errors import EngineError
from engine.session import (
    NULL,
    Companion,
    Event,
    FrozenDict,
    Header,
    Message,
    Session,
    Sessions,
    Surface,
    balance,
    closers,
    fork_seed,
    freeze,
    is_append_event,
    is_replacement_event,
    is_surface_event,
)
from tests.conformance.compare import Mismatch, agree, category_of
from tests.conformance.session.interpreters import INTERPRETERS
from tests.conformance.session.recovery import worded
from tests.conformance.vectors import Vector, decoded


def run(vector: Vector) -> None:
    asyncio.run(_Script(vector).play())


class _Script:
    """The store of one vector, its named sessions, and the clock that its steps move."""

    def __init__(self, vector: Vector) -> None:
        self._vector = vector
        self._time = 0
        self._minted = 0
        validators = [Companion] if vector.body.get("invariants") else []
        self._sessions = Sessions(validators=validators, clock=lambda: self._time, mint=self._mint)
        self._named: dict[str, Session] = {}
        self._inputs: dict[str, Any] = {}
        self._held: dict[str, Any] = {}
        self._seen: dict[str, list[int]] = {}
        self._disposers: dict[str, Callable[[], None]] = {}

    def _mint(self) -> str:
        self._minted += 1
        return f"session-{self._minted}"

    async def play(self) -> None:
        start, pace = self._vector.document["clockStart"], self._vector.document["clockStepMs"]
        for number, step in enumerate(self._vector.body["steps"]):
            self._time = start + number * pace
            where = f"step {number} ({step['op']})"
            with capture_logs() as logs:
                outcome = self._perform(decoded(worded(step)))
                for _ in range(3):  # a rejected observer is reported once its task has run
                    await asyncio.sleep(0)
            warned = [entry for entry in logs if entry["event"] == "session.observer_failed"]
            outcome["warnings"] = warned
            self._compare(where, worded(step["expect"]), outcome, step.get("session"))

    def _perform(self, step: dict[str, Any]) -> dict[str, Any]:
        operation = getattr(self, "_op_" + re.sub("([A-Z])", lambda m: "_" + m[1].lower(), step["op"]))
        try:
            return {"ok": True, **operation(step)}
        except (EngineError, TypeError, AttributeError) as error:
            return {"ok": False, "error": error}

    def _compare(self, where: str, expect: dict[str, Any], outcome: dict[str, Any], name: str | None) -> None:
        error = outcome.pop("error", None)
        if expect["ok"] is not outcome["ok"]:
            raise Mismatch(where, expect, error or outcome)
        for key, expected in expect.items():
            if key == "error":
                self._compare_error(where, expected, error)
            elif key == "state":
                assert name is not None
                _compare_state(f"{where} state", expected, self._named[name])
            elif key == "warnings":
                agree(f"{where} warnings", len(expected), len(outcome["warnings"]))
            elif isinstance(outcome[key], Exception):
                agree(f"{where} {key}", expected["category"], category_of(outcome[key]))
            else:
                agree(f"{where} {key}", expected, outcome[key])

    def _compare_error(self, where: str, expected: dict[str, Any], error: Exception) -> None:
        agree(f"{where} category ({error})", expected["category"], category_of(error))
        if expected["name"] == "SessionForkError":
            assert isinstance(error, EngineError)
            agree(f"{where} code", expected["code"], error.error_code)

    # -- making sessions --------------------------------------------------------------------------

    def _op_create(self, step: dict[str, Any]) -> dict[str, Any]:
        session = self._sessions.create(
            step["id"],
            seed=step.get("seed"),
            inherited_event_count=step.get("inheritedEventCount"),
            **{_snake(key): value for key, value in step.get("meta", {}).items()},
        )
        return self._name(step, session)

    def _op_create_detached(self, step: dict[str, Any]) -> dict[str, Any]:
        wire = step.get(
            "header", {"version": 4, "id": step["id"], "createdAt": self._time, "isSeeded": False}
        )
        session = self._sessions.detached(
            Header.from_wire(wire, step["id"]),
            _events(step["seed"]) if "seed" in step else None,
            inherited_event_count=step.get("inheritedEventCount"),
        )
        return self._name(step, session)

    def _op_restore(self, step: dict[str, Any]) -> dict[str, Any]:
        session = self._sessions.detached(
            Header.from_wire(step["header"], step["id"]),
            _events(step["seed"]),
            inherited_event_count=step["inheritedEventCount"],
            restored=True,
        )
        return self._name(step, session)

    def _op_fork(self, step: dict[str, Any]) -> dict[str, Any]:
        source = self._named[step["source"]] if "source" in step else step["sourceId"]
        session = self._sessions.fork(source, step.get("boundary"), step.get("childId"))
        return self._name(step, session)

    def _name(self, step: dict[str, Any], session: Session) -> dict[str, Any]:
        self._named[step["session"]] = session
        return {
            "id": session.id,
            "header": session.header.to_wire(),
            "inheritedEventCount": session.inherited_event_count,
            "firstLiveSeq": session.first_live_seq,
            "firstLifecycleSeq": session.first_lifecycle_seq,
            "events": [event.to_wire() for event in session.events()],
        }

    # -- writing ----------------------------------------------------------------------------------

    def _op_append(self, step: dict[str, Any]) -> dict[str, Any]:
        data = step["data"]
        if "dataRef" in step:
            self._inputs[step["dataRef"]] = data
        event = self._named[step["session"]].append(
            step["type"],
            data,
            surface_op=_present(step, "surfaceOp"),
            source_event_seqs=_present(step, "sourceEventSeqs"),
            ignorable=step.get("ignorable", False),
        )
        return {"seq": event.seq, "event": event.to_wire(), "deepFrozen": _is_frozen(event.data)}

    def _op_append_plugin_record(self, step: dict[str, Any]) -> dict[str, Any]:
        event = self._named[step["session"]].append_plugin_record(step["type"], step["data"])
        return {"seq": event.seq, "event": event.to_wire(), "deepFrozen": _is_frozen(event.data)}

    def _op_mutate_input(self, step: dict[str, Any]) -> dict[str, Any]:
        _assign(self._inputs[step["ref"]], step["path"], step["value"])
        return {}

    def _op_mutate_event(self, step: dict[str, Any]) -> dict[str, Any]:
        _assign(self._named[step["session"]].event(step["seq"]), step["path"], step["value"])
        return {}

    # -- reading ----------------------------------------------------------------------------------

    def _op_derive(self, step: dict[str, Any]) -> dict[str, Any]:
        return {"messages": list(self._named[step["session"]].derive())}

    def _op_derive_event(self, step: dict[str, Any]) -> dict[str, Any]:
        return {"message": self._named[step["session"]].derive_event(step["seq"])}

    def _op_events(self, step: dict[str, Any]) -> dict[str, Any]:
        events = self._named[step["session"]].events(step.get("from", 0), step.get("to"))
        return {"events": [event.to_wire() for event in events]}

    def _op_own_events(self, step: dict[str, Any]) -> dict[str, Any]:
        session = self._named[step["session"]]
        return {
            "seqs": [event.seq for event in session.own_events()],
            "isOwn": {str(seq): session.is_own(seq) for seq in step["probe"]},
        }

    def _op_classify(self, step: dict[str, Any]) -> dict[str, Any]:
        events = self._named[step["session"]].events()
        tests = {
            "appendOrigin": is_append_event,
            "replacement": is_replacement_event,
            "surface": is_surface_event,
        }
        return {name: [event.seq for event in events if test(event)] for name, test in tests.items()}

    def _op_request_header(self, step: dict[str, Any]) -> dict[str, Any]:
        data = self._named[step["session"]].request_header()
        return {"header": None if data is None else data["header"]}

    def _op_request_context(self, step: dict[str, Any]) -> dict[str, Any]:
        return {"context": self._named[step["session"]].request_context()}

    def _op_balanced(self, step: dict[str, Any]) -> dict[str, Any]:
        try:
            found = balance(self._named[step["session"]], step["seq"])
        except EngineError as error:
            return {"before": error, "after": error}  # recorded for each side by itself
        return {"before": found.before, "after": found.after}

    def _op_list(self, step: dict[str, Any]) -> dict[str, Any]:
        return {"ids": [session.id for session in self._sessions.list()]}

    def _op_get(self, step: dict[str, Any]) -> dict[str, Any]:
        found = self._sessions.get(step["id"])
        named = next((name for name, session in self._named.items() if session is found), None)
        return {"id": None if found is None else found.id, "found": found is not None, "session": named}

    def _op_fold(self, step: dict[str, Any]) -> dict[str, Any]:
        """The state of a log from scratch, next to which every cache of a session must stand."""
        events = _events(step["events"]) if "events" in step else self._named[step["session"]].events()
        log: list[Event] = []
        surface = Surface(log, self._sessions.projections)
        for event in events:
            plan = surface.plan(event)
            log.append(event)
            if plan is not None:
                plan()
        said = [message for message in surface.node_messages() if message is not None]
        return {
            "seq": len(log),
            "nodes": list(surface.nodes),
            "replaceGeneration": surface.replace_generation,
            "contentGeneration": surface.content_generation,
            "messages": said,
        }

    def _op_tool_history(self, step: dict[str, Any]) -> dict[str, Any]:
        """Each call of a log with where it was dispatched and where it was answered."""
        history: dict[str, dict[str, Any]] = {}
        for event in self._named[step["session"]].events():
            if event.type == "tool/call":
                history[event.data["callId"]] = {"call": event.seq, "results": []}
            elif event.type == "tool/result":
                call_id = event.data["message"]["toolCallId"]
                history.setdefault(call_id, {"call": None, "results": []})["results"].append(event.seq)
        return {"history": history}

    def _op_hold(self, step: dict[str, Any]) -> dict[str, Any]:
        self._held[step["as"]] = self._named[step["session"]].derive()
        return {"length": len(self._held[step["as"]])}

    def _op_held(self, step: dict[str, Any]) -> dict[str, Any]:
        held = self._held[step["as"]]
        current = self._named[step["session"]].derive()
        by_id = {message["id"]: message for message in current}
        return {
            "length": len(held),
            "ids": [message["id"] for message in held],
            "sharedWithCurrentById": {m["id"]: by_id.get(m["id"]) is m for m in held},
            "sameArrayAsCurrent": held is current,
        }

    def _op_hold_events(self, step: dict[str, Any]) -> dict[str, Any]:
        self._held[step["as"]] = self._named[step["session"]].events()
        return {"length": len(self._held[step["as"]])}

    def _op_held_events(self, step: dict[str, Any]) -> dict[str, Any]:
        return {"length": len(self._held[step["as"]])}

    # -- pure functions ---------------------------------------------------------------------------

    def _op_closers(self, step: dict[str, Any]) -> dict[str, Any]:
        found = closers(_events(step["events"]), step.get("cause", "interrupted"))
        return {"closers": [event.to_wire() for event in found]}

    def _op_fork_seed(self, step: dict[str, Any]) -> dict[str, Any]:
        seed = fork_seed(_events(step["events"]), step["boundary"])
        return {"seed": [event.to_wire() for event in seed]}

    # -- projections and observers ----------------------------------------------------------------

    def _op_register_projection(self, step: dict[str, Any]) -> dict[str, Any]:
        self._disposers[step["type"]] = self._sessions.register_projection(
            step["type"], INTERPRETERS[step["type"]]
        )
        return {}

    _op_register_projection_again = _op_register_projection

    def _op_unregister_projection(self, step: dict[str, Any]) -> dict[str, Any]:
        self._disposers.pop(step["type"])()
        return {}

    def _op_listen(self, step: dict[str, Any]) -> dict[str, Any]:
        session = self._named[step["session"]]
        seen = self._seen.setdefault(step["name"], [])

        def observer(event: Event) -> Any:
            seen.append(event.seq)
            match step["behaviour"]:
                case "throw":
                    raise RuntimeError("listener failed")
                case "reject":
                    return _rejected()
                case "reenter":
                    session.append("turn/start", {"turn": 1})
                case "append-other":
                    self._named[step["other"]].append("turn/start", {"turn": 1})
            return None

        session.observe(observer)
        return {}

    def _op_observed(self, step: dict[str, Any]) -> dict[str, Any]:
        return {"seen": self._seen[step["name"]]}


async def _rejected() -> None:
    raise RuntimeError("listener rejected")


def _compare_state(where: str, expected: dict[str, Any], session: Session) -> None:
    agree(f"{where} seq", expected["seq"], session.seq)
    if "readError" in expected:
        for read in (
            session.derive,
            lambda: session.surface.nodes,
            lambda: session.surface.content_generation,
        ):
            try:
                read()
            except EngineError as error:
                agree(f"{where} readError", expected["readError"]["category"], category_of(error))
            else:
                raise Mismatch(f"{where} readError", expected["readError"], "readable")
        return
    agree(f"{where} nodes", expected["nodes"], list(session.surface.nodes))
    agree(f"{where} replaceGeneration", expected["replaceGeneration"], session.surface.replace_generation)
    agree(f"{where} contentGeneration", expected["contentGeneration"], session.surface.content_generation)
    derived = [{"id": m["id"], "role": m["role"], "text": _rendered(m)} for m in session.derive()]
    agree(f"{where} derived", expected["derived"], derived)


def _rendered(message: Message) -> str:
    """The recordings' one-line form of a content: texts as they are, other blocks by their type."""
    return "|".join(map(_rendered_block, message["content"]))


def _rendered_block(block: Mapping[str, Any]) -> str:
    if block["type"] == "text":
        return str(block["text"])
    return f"<{block['type']}:offloaded>" if block.get("offloaded") else f"<{block['type']}>"


def _events(wires: list[Any]) -> list[Event]:
    return [Event.from_wire(freeze(copy.deepcopy(wire))) for wire in wires]


def _present(step: dict[str, Any], key: str) -> Any:
    value = step.get(key)
    return NULL if value is None and key in step else value


def _snake(name: str) -> str:
    return re.sub("([A-Z])", lambda match: "_" + match[1].lower(), name)


def _is_frozen(value: Any) -> bool:
    if isinstance(value, dict):
        return type(value) is FrozenDict and all(map(_is_frozen, value.values()))
    if isinstance(value, tuple):
        return all(map(_is_frozen, value))
    return value is None or isinstance(value, (str, int, float))


def _assign(target: Any, path: list[str], value: Any) -> None:
    *parents, last = path
    for part in parents:
        if isinstance(target, Event):
            target = getattr(target, _snake(part))
        else:
            target = target[int(part) if isinstance(target, (list, tuple)) else part]
    if isinstance(target, Event):
        setattr(target, _snake(last), value)
    else:
        target[int(last) if isinstance(target, (list, tuple)) else last] = value

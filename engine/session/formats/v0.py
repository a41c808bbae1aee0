"""Format 0 to 1: early spellings become the ones that stayed. No event is added or dropped.

Source: session spec 5.2 (payload admission).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from engine.session.formats.log import Log, Wire, check_types, unsupported

__all__ = ["upgrade"]


def upgrade(log: Log) -> Log:
    """Raises FormatUnsupported for retired event types, which nothing later can stand for."""
    spelling = _Spelling(str(log.header["id"]))
    renamed = Log({**log.header, "version": 1}, log.inherited, [spelling.current(e) for e in log.events])
    check_types(renamed, ignorable_pass=False)
    return renamed


_RENAMED: Final = {
    "compact/start": "compaction/start",
    "compact/summary": "compaction/summary",
    "compact/end": "compaction/end",
    "compact/prune": "compaction/prune",
}
_RETIRED: Final = frozenset({"request/header-delta", "mode/set"})


class _Spelling:
    """Rewrites one log's events in order; remembers the ids that it had to give."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._message_ids: dict[int, str] = {}
        self._retry_ids: dict[tuple[Any, ...], str] = {}
        self._compaction_id: str | None = None
        self._rules: Mapping[str, Callable[[Wire], Wire]] = {
            "turn/start": _without_trigger,
            "turn/end": _with_current_reason,
            "request/header": _without_prefix,
            "steering/message": self._steering,
            "llm/retry": self._retry,
            "compaction/start": self._compaction_start,
            "compaction/summary": self._in_compaction,
            "compaction/end": self._compaction_end,
            "session/end-seed": self._end_seed,
            "user/message": self._user_message,
            "assistant/message": self._assistant_message,
            "tool/result": self._tool_result,
        }

    def current(self, event: Wire) -> Wire:
        if event["type"] in _RETIRED:
            unsupported(f"{event['type']} at {event['seq']} has no counterpart")
        event = {**event, "type": _RENAMED.get(event["type"], event["type"])}
        rule = self._rules.get(event["type"])
        event = event if rule is None else rule(event)
        message_id = _message(event).get("id")
        if isinstance(message_id, str):
            self._message_ids[event["seq"]] = message_id
        return event

    def _minted(self, what: str, event: Wire) -> str:
        return f"legacy-{what}:{self._session_id}:{event['seq']}"

    def _steering(self, event: Wire) -> Wire:
        data = event["data"]
        if "message" in data:
            return {**event, "type": "user/message", "data": data["message"]}
        message = {key: value for key, value in data.items() if key != "turn"}
        message |= {"id": self._minted("message", event), "role": "user"}
        return {**event, "type": "user/message", "data": message}

    def _retry(self, event: Wire) -> Wire:
        data = event["data"]
        chain = tuple(data[key] for key in ("turn", "step", "provider", "policyKey"))
        known = self._retry_ids.get(chain, self._minted("retry", event))
        self._retry_ids[chain] = data.get("retryId", known)
        return _with(event, retryId=self._retry_ids[chain])

    def _compaction_start(self, event: Wire) -> Wire:
        self._compaction_id = event["data"].get("compactionId", self._minted("compaction", event))
        return _with(event, compactionId=self._compaction_id)

    def _in_compaction(self, event: Wire) -> Wire:
        if self._compaction_id is None or "compactionId" in event["data"]:
            return event
        return _with(event, compactionId=self._compaction_id)

    def _compaction_end(self, event: Wire) -> Wire:
        ended = self._in_compaction(event)
        self._compaction_id = None
        return ended

    def _end_seed(self, event: Wire) -> Wire:
        self._compaction_id = None
        return event

    def _user_message(self, event: Wire) -> Wire:
        data = event["data"]
        if "id" not in data and "role" not in data and "message" not in data:
            event = _with(event, id=self._minted("message", event), role="user")
        source = data["source"]
        if source.get("plugin") == "compact" and "compactionId" not in source and self._compaction_id:
            event = _with(event, source={**source, "compactionId": self._compaction_id})
        return event

    def _assistant_message(self, event: Wire) -> Wire:
        data = event["data"]
        if "message" in data or "provenance" not in data:
            return event
        rest = {key: value for key, value in data.items() if key not in ("content", "provenance")}
        message = {
            "id": self._minted("message", event),
            "role": "assistant",
            "content": data["content"],
            "source": {**data["provenance"], "kind": "model"},
        }
        return {**event, "data": {**rest, "message": message}}

    def _tool_result(self, event: Wire) -> Wire:
        data = event["data"]
        if "message" in data or "callId" not in data:
            return event
        rest = {key: value for key, value in data.items() if key not in ("callId", "content", "isError")}
        op = event.get("surfaceOp")
        rewritten = op["start"] if isinstance(op, Mapping) else None
        message_id = self._minted("message", event) if rewritten is None else self._message_ids[rewritten]
        block = {"type": "tool-result", "toolCallId": data["callId"]}
        block |= {"content": data["content"], "isError": data["isError"]}
        source = {"kind": "tool", "callId": data["callId"]}
        message = {"id": message_id, "role": "user", "content": [block], "source": source}
        return {**event, "data": {**rest, "message": message}}


def _message(event: Wire) -> Wire:
    if event["type"] == "user/message":
        found = event["data"]
    else:
        found = event["data"].get("message") if isinstance(event["data"], Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _with(event: Wire, **fields: Any) -> Wire:
    return {**event, "data": {**event["data"], **fields}}


def _without_trigger(event: Wire) -> Wire:
    return {**event, "data": {key: value for key, value in event["data"].items() if key != "trigger"}}


def _without_prefix(event: Wire) -> Wire:
    """The prefix repeated messages that the log has anyway."""
    if event["data"].get("reason") == "fallback":
        unsupported(f"the request/header at {event['seq']} has a retired reason", category="retired-shape")
    header = {key: value for key, value in event["data"]["header"].items() if key != "messagePrefix"}
    return _with(event, header=header)


def _with_current_reason(event: Wire) -> Wire:
    reason = event["data"]["reason"]
    if reason["kind"] == "aborted" and "reason" not in reason:
        return _with(event, reason={"kind": "aborted", "reason": {"kind": "legacy"}})
    if reason["kind"] == "disposed":
        return _with(event, reason={"kind": "aborted", "reason": {"kind": "disposed"}})
    if reason["kind"] == "error" and "error" not in reason:
        plain = {"message": reason.get("message"), "code": reason.get("code", "UNKNOWN")}
        return _with(event, reason={"kind": "error", "error": reason.get("failure", plain)})
    return event

"""The advanced history filter and the policy's document."""

from collections.abc import Mapping
from typing import Any

from engine.assembler import filter_history, read_policy
from tests.conformance.assembler.documents import normalize_policy, settle
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    if vector.body["op"] == "normalizeHistoryPolicy":
        normalize_policy(vector)
        return
    settle(vector, lambda: _filter(vector.body["input"]))


def _filter(given: Mapping[str, Any]) -> dict[str, Any]:
    seqs = {}
    for event in given["events"]:
        data = event.get("data") or {}
        message = data.get("message", data)
        if "id" in message:
            seqs[message["id"]] = event["seq"]
    safety = given.get("reasoningSafety", {})
    filtered = filter_history(
        given["messages"],
        seqs,
        read_policy(given["policy"]),
        step_seq=_step(given),
        omit_reasoning=bool(safety.get("canOmit") and safety.get("contract")),
    )
    return {
        "messages": [
            {"id": it["id"], "role": it["role"], "content": list(it["content"])} for it in filtered.messages
        ],
        "decisions": list(filtered.decisions),
        "warnings": list(filtered.warnings),
        "canOmitReasoning": filtered.can_omit_reasoning,
    }


def _step(given: Mapping[str, Any]) -> int | None:
    """The seq at which the current step began: given (the one number there is), or that of the last step."""
    named = next((value for value in given.values() if type(value) is int), None)
    steps = [event["seq"] for event in given["events"] if event["type"].startswith("step/")]
    return named if named is not None else max(steps, default=None)

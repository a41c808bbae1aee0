"""What came out, in the recordings' words, and where it must agree."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.assembler import Logical, Node, Projection
from engine.errors import AssemblyError
from tests.conformance.compare import Mismatch, agree

NODE = (
    "id",
    "ruleId",
    "module",
    "name",
    "field",
    "resourceId",
    "role",
    "text",
    "lifetime",
    "start",
    "count",
    "depth",
    "locked",
    "lockReason",
    "originalRole",
    "authoredRole",
    "positionId",
    "positionDecision",
    "slotId",
    "slotOwner",
    "layoutGroup",
    "nativePlacement",
    "nativeDelivery",
    "nativeDepthAnchor",
    "nativeRequestedDepth",
    "adjustedForTools",
)
"""All that is recorded of a node, but how many carriers it has and whether it changed."""

FACTS = ("id", "name", "slotId", "macro", "from", "to", "depth", "placement", "sourceId", "positionId")
"""Members of diagnostics that say the same on both sides where both have them."""


def refused(expected: Mapping[str, Any], error: Exception) -> None:
    """The recording is of a refusal, and so is this: code and status agree where it names them."""
    if not isinstance(error, AssemblyError):
        raise error
    if "code" in expected:
        agree("code", expected["code"], error.error_code)
    if "status" in expected:
        agree("status", expected["status"], error.status)


def agree_logical(
    where: str, expected: Mapping[str, Any], logical: Logical, projection: Projection | None = None
) -> None:
    recorded = expected.get("logicalMessages", expected["messages"])
    agree(f"{where}messages", recorded, [message(it.native, it.role, it.text) for it in logical.messages])
    agree_nodes(f"{where}nodes", expected["nodes"], logical.nodes, projection)
    agree_diagnostics(f"{where}diagnostics", expected["diagnostics"], logical.diagnostics)
    agree(f"{where}slots", expected["slots"], [slot.to_wire() for slot in logical.slots])
    if "placementControls" in expected:
        controls = [
            {"ruleId": it.rule_id, "control": it.control, "owned": it.owned, "independent": it.independent}
            for it in logical.controls
        ]
        agree(f"{where}placementControls", expected["placementControls"], controls)
    if "sortingStages" in expected:
        stages = [{"strategy": name, "nodeIds": list(ids)} for name, ids in logical.stages]
        agree(f"{where}sortingStages", expected["sortingStages"], stages)


def message(native: Mapping[str, Any] | None, role: str, text: str) -> dict[str, Any]:
    if native is None:
        return {"role": role, "text": text}
    blocks = native["content"]
    told: dict[str, Any] = {"role": role, "text": "\n".join(b["text"] for b in blocks if b["type"] == "text")}
    told["nativeId"] = native["id"]
    calls = [block["id"] for block in blocks if block["type"] == "tool-call"]
    if calls:
        told["toolCalls"] = calls
    if role == "tool":
        told["toolCallId"] = native["toolCallId"]
    return told


def agree_nodes(
    where: str, expected: Sequence[Mapping[str, Any]], nodes: Sequence[Node], projection: Projection | None
) -> None:
    """With a projection, places are those in the request as it is sent, with its system texts united."""
    agree(f"{where} ids", [it["id"] for it in expected], [_id(node) for node in nodes])
    for recorded, node in zip(expected, nodes, strict=True):
        ours = told(node)
        if projection is not None:
            start, carriers = projection.place(node.messages)
            ours |= {"start": start, "count": len(carriers)}
        for name in NODE:
            agree(f"{where} {recorded['id']}.{name}", recorded.get(name), ours.get(name))
        children = [
            {
                "name": it["name"],
                "lockReason": it["lockReason"],
                "text": it["text"],
                "resourceId": it["resourceId"],
            }
            for it in node.children
        ]
        agree(f"{where} {recorded['id']}.children", recorded.get("children", []), children)
        if not node.retained:
            agree(f"{where} {recorded['id']}.changed", recorded["changed"], node.changed)


def told(node: Node) -> dict[str, Any]:
    wire = node.to_wire()
    source = wire.pop("source")
    return {**wire, "id": _id(node), "field": source["field"], "resourceId": source["resourceId"]}


def _id(node: Node) -> str:
    kept, mark, _ = node.id.partition(":retained:")
    return f"{kept}{mark}<uuid>" if mark else node.id


def agree_diagnostics(
    where: str, expected: Sequence[Mapping[str, Any]], ours: Sequence[Mapping[str, Any]]
) -> None:
    """The codes; order counts only inside one code."""
    agree(where, sorted(it["code"] for it in expected), sorted(it["code"] for it in ours))
    for recorded, told in zip(_by_code(expected), _by_code(ours), strict=True):
        for fact in FACTS:
            if fact in recorded and fact in told:
                agree(f"{where} {recorded['code']}.{fact}", recorded[fact], told[fact])


def _by_code(diagnostics: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(diagnostics, key=lambda it: it["code"])


def must_refuse(where: str) -> Mismatch:
    return Mismatch(where, "a refusal", "a result")

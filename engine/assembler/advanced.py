"""The advanced back end: a projection of the request that only this request sees, and its record.

The messages are frozen and recorded as `request/assembly` before they are sent; the durable history knows
nothing of them. Source: assembler spec 4; seed 001.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from engine.assembler.algorithms import Algorithm
from engine.assembler.assembly import Logical, assemble
from engine.assembler.definition import Definition
from engine.assembler.faults import note, refuse
from engine.assembler.history_filter import Filtered, filter_history
from engine.assembler.history_policy import HistoryPolicy
from engine.assembler.node import Node
from engine.assembler.projection import CEILING, Projection, project_system
from engine.assembler.registry import PROTOCOL
from engine.assembler.request import AssemblyRequest, Retained
from engine.assembler.resolution import resolve_sources
from engine.assembler.standard import ASSEMBLER_KIND
from engine.assembler.strategy import Strategy
from engine.cancel import CancelToken
from engine.codec import JsonObject, json_hash, text_hash
from engine.session import Message, message_text

__all__ = [
    "OWNERS",
    "AdvancedOutcome",
    "Recorded",
    "apply_history_policy",
    "deliver_advanced",
    "read_metadata",
    "require_advanced",
]

OWNERS: Final = (ASSEMBLER_KIND, "pmp-dsh-tavern")
"""Who may have written the metadata of a `request/assembly` that the next request goes on from."""

_SOURCE: Final = {"kind": ASSEMBLER_KIND, "form": "projection"}

_PLAIN: Final = frozenset({"CURRENT_OR_ASSEMBLED_CONTENT"})
"""Why most messages stay: not worth a word for each of them in every record."""


@dataclass(frozen=True, slots=True)
class AdvancedOutcome:
    """`messages` are what is sent, in order. `metadata` is what `request/assembly` records beside them."""

    logical: Logical
    projection: Projection
    metadata: Mapping[str, Any]
    diagnostics: tuple[JsonObject, ...]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The request."""
        return self.projection.messages


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the next request takes from the record of the last one. Another `revision` begins a new series."""

    revision: str | None = None
    retained: tuple[Retained, ...] = ()
    previous: Mapping[str, str] | None = None


async def deliver_advanced(
    request: AssemblyRequest,
    strategy: Strategy,
    registered: Mapping[str, Definition],
    *,
    strategy_id: str | None = None,
    in_history: bool = False,
    max_projected_bytes: int = CEILING,
    algorithms: Mapping[str, Algorithm] | None = None,
    token: CancelToken | None = None,
) -> AdvancedOutcome:
    """Assemble for the advanced back end. `in_history` is the model's capability for later system texts.

    Raises AssemblyError as `assemble` and `project_system` do, and ASSEMBLY_EMPTY when nothing would be sent.
    """
    if strategy.standard:
        raise refuse("ASSEMBLY_NATIVE_UNAVAILABLE", "This strategy is for the standard back end.")
    resolution = await resolve_sources(request, strategy, registered, token)
    logical = assemble(request, resolution, algorithms)
    if not logical.messages and not request.preview:
        raise refuse("ASSEMBLY_EMPTY", "The strategy leaves nothing to send.")
    projection = project_system(
        logical.messages,
        dict(_SOURCE),
        in_history=in_history,
        preview=request.preview,
        max_bytes=max_projected_bytes,
    )
    diagnostics = (*logical.diagnostics, *projection.diagnostics)
    metadata = _metadata(strategy, strategy_id, logical, projection, diagnostics)
    return AdvancedOutcome(logical, projection, metadata, diagnostics)


def require_advanced(allowed: bool) -> None:
    """Raises AssemblyError REQUEST_ASSEMBLY_CORE_REQUIRED unless the deployment switched it on."""
    if not allowed:
        raise refuse("REQUEST_ASSEMBLY_CORE_REQUIRED", "The advanced back end is not switched on here.")


def read_metadata(metadata: Mapping[str, Any] | None) -> Recorded:
    """What a recorded request left for the next one; nothing when another program wrote it, or one of the
    owners in a shape of its own."""
    if not isinstance(metadata, Mapping) or metadata.get("owner") not in OWNERS:
        return Recorded()
    try:
        return Recorded(
            revision=metadata["strategy"]["revision"],
            retained=tuple(Retained.from_wire(wire) for wire in metadata.get("snapshots", ())),
            previous={node["id"]: node["text"] for node in metadata.get("nodes", ()) if "text" in node},
        )
    except (KeyError, TypeError, AttributeError):  # a log may come from elsewhere; nobody can mend it
        return Recorded()


def apply_history_policy(
    outcome: AdvancedOutcome, policy: HistoryPolicy, seqs: Mapping[str, int], *, step_seq: int
) -> AdvancedOutcome:
    """The request without what the policy leaves out of its old messages. `seqs` are the log positions of the
    history's messages by id; what the strategy itself says has none, and stays.

    Where each part came from was noted before: parts whose messages were cut have what is left of them, parts
    that are gone are not named. Raises AssemblyError HISTORY_POLICY_EMPTY.
    """
    found = filter_history(outcome.messages, seqs, policy, step_seq=step_seq)
    before = {message["id"]: message for message in outcome.messages}
    projection = outcome.projection.reduced(found.messages)
    metadata = {
        **outcome.metadata,
        "nodes": _nodes(outcome.logical, projection, outcome.projection),
        "systemProjection": projection.to_wire(),
        "historyPolicy": _audit(policy, found, before),
    }
    return replace(outcome, projection=projection, metadata=metadata)


def _metadata(
    strategy: Strategy,
    strategy_id: str | None,
    logical: Logical,
    projection: Projection,
    diagnostics: tuple[JsonObject, ...],
) -> Mapping[str, Any]:
    return {
        "version": 1,
        "owner": ASSEMBLER_KIND,
        "sourceProtocolVersion": PROTOCOL,
        "strategy": {"id": strategy_id, "name": strategy.name, "revision": strategy.revision},
        "nodes": _nodes(logical, projection),
        "slots": [slot.to_wire() for slot in logical.slots],
        "diagnostics": [*(note(**remark) for remark in diagnostics)],
        "snapshots": [record.to_wire() for record in logical.retained],
        "systemProjection": projection.to_wire(),
        "logicalExtraBytes": logical.extra_bytes,
        "extraBytes": projection.extra_bytes,
    }


def _nodes(logical: Logical, projection: Projection, whole: Projection | None = None) -> list[JsonObject]:
    """Each part with the messages that carry it. `whole` is the projection before some of them were left
    out: what only those carried is not named."""
    sent = {message["id"]: message for message in projection.messages}
    nodes: list[JsonObject] = []
    for node in logical.nodes:
        start, carriers = projection.place(node.messages)
        if whole is not None and not carriers and whole.place(node.messages)[1]:
            continue
        wire = _wire(node, [sent[carrier] for carrier in carriers])
        nodes.append({**wire, "start": start, "count": len(carriers), "requestMessageIds": carriers})
    return nodes


def _wire(node: Node, sent: Sequence[Message]) -> JsonObject:
    """A part as it is recorded. The conversation's words stand in the messages beside this; a second copy
    with each request would double what a story takes."""
    wire = {**node.to_wire(), "sourceId": node.source_id}
    if node.native:
        del wire["text"]
        wire["textHash"] = text_hash("\n\n".join(map(message_text, sent)))
    return wire


def _audit(policy: HistoryPolicy, found: Filtered, before: Mapping[str, Message]) -> JsonObject:
    """What the policy did, and why it did not do more. Of messages that it left alone for no reason but that
    it does not mean them, nothing is said."""
    after = {message["id"]: message for message in found.messages}
    decisions: list[JsonObject] = []
    for decision in found.decisions:
        message_id = decision["messageId"]
        if decision["action"] != "keep":
            hashes = {"hash": json_hash(before[message_id]["content"])}
            if message_id in after:
                hashes["resultHash"] = json_hash(after[message_id]["content"])
            decisions.append({**decision, **hashes})
        elif set(decision["reasons"]) - _PLAIN:
            decisions.append(decision)
    return {
        "version": 1,
        "revision": policy.revision,
        "decisions": decisions,
        "warnings": list(found.warnings),
        "canOmitReasoning": found.can_omit_reasoning,
    }

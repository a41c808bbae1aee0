"""The advanced back end: a projection of the request that only this request sees, and its record.

The messages are frozen and recorded as `request/assembly` before they are sent; the durable history knows
nothing of them. Source: assembler spec 4; seed 001.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.assembler.algorithms import Algorithm
from engine.assembler.assembly import Logical, assemble
from engine.assembler.definition import Definition
from engine.assembler.faults import note, refuse
from engine.assembler.projection import CEILING, Projection, project_system
from engine.assembler.registry import PROTOCOL
from engine.assembler.request import AssemblyRequest, Retained
from engine.assembler.resolution import resolve_sources
from engine.assembler.standard import ASSEMBLER_KIND
from engine.assembler.strategy import Strategy
from engine.cancel import CancelToken
from engine.codec import JsonObject
from engine.session import Message

__all__ = ["OWNERS", "AdvancedOutcome", "Recorded", "deliver_advanced", "read_metadata"]

OWNERS: Final = (ASSEMBLER_KIND, "pmp-dsh-tavern")
"""Who may have written the metadata of a `request/assembly` that the next request goes on from."""

_SOURCE: Final = {"kind": ASSEMBLER_KIND, "form": "projection"}


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
    """What a recorded request left for the next one; nothing when another program wrote it."""
    if metadata is None or metadata.get("owner") not in OWNERS:
        return Recorded()
    return Recorded(
        revision=metadata["strategy"]["revision"],
        retained=tuple(Retained.from_wire(wire) for wire in metadata.get("snapshots", ())),
        previous={node["id"]: node["text"] for node in metadata.get("nodes", ())},
    )


def _metadata(
    strategy: Strategy,
    strategy_id: str | None,
    logical: Logical,
    projection: Projection,
    diagnostics: tuple[JsonObject, ...],
) -> Mapping[str, Any]:
    nodes = []
    for node in logical.nodes:
        start, sent = projection.place(node.messages)
        nodes.append({**node.to_wire(), "start": start, "count": len(sent), "requestMessageIds": sent})
    return {
        "version": 1,
        "owner": ASSEMBLER_KIND,
        "sourceProtocolVersion": PROTOCOL,
        "strategy": {"id": strategy_id, "name": strategy.name, "revision": strategy.revision},
        "nodes": nodes,
        "slots": [slot.to_wire() for slot in logical.slots],
        "diagnostics": [*(note(**remark) for remark in diagnostics)],
        "snapshots": [record.to_wire() for record in logical.retained],
        "systemProjection": projection.to_wire(),
        "logicalExtraBytes": logical.extra_bytes,
        "extraBytes": projection.extra_bytes,
    }

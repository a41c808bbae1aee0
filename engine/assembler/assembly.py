"""Putting a request together: one pure function for both back ends.

What sources handed in goes in; the messages, where each came from, and remarks come out. Nothing is sent,
stored or asked for here, and what was given is not changed. Source: assembler spec 3; seed 001.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from engine.assembler.algorithms import Algorithm, Passes
from engine.assembler.arrangement import CHARACTER, GREETING, Arrangement
from engine.assembler.checks import check_result
from engine.assembler.controls import Control, controls_of
from engine.assembler.definition import Definition
from engine.assembler.delivery import delivered, region
from engine.assembler.depth import at_depths
from engine.assembler.emission import Emission, emit
from engine.assembler.faults import Remarks, document_invalid, refuse
from engine.assembler.node import Node, NodeMessage, Slot
from engine.assembler.positions import apply_overrides, dragged_nodes, overridden_nodes, place_dragged
from engine.assembler.request import AssemblyRequest, Retained
from engine.assembler.resolution import Resolution
from engine.assembler.retention import retain
from engine.assembler.strategy import Strategy
from engine.codec import JsonObject

__all__ = ["Logical", "assemble"]


@dataclass(frozen=True)
class Logical:
    """The assembled request, before a back end delivers it. `stages` tells which placement strategy claimed
    what; `retained` is for the next request; `extra_bytes` is what was added to the conversation."""

    messages: tuple[NodeMessage, ...]
    nodes: tuple[Node, ...]
    slots: tuple[Slot, ...]
    diagnostics: tuple[JsonObject, ...]
    stages: tuple[tuple[str, tuple[str, ...]], ...]
    retained: tuple[Retained, ...]
    extra_bytes: int
    strategy: Strategy
    registered: Mapping[str, Definition]

    @cached_property
    def controls(self) -> tuple[Control, ...]:
        """Who places what each rule brings. Only the adaptive placements tell; no request needs it."""
        return controls_of(self.nodes, self.strategy, self.registered) if self.strategy.adaptive else ()

    def texts(self) -> Mapping[str, str]:
        """Text by node id, as `AssemblyRequest.previous` of the next request takes it."""
        return {node.id: node.text for node in self.nodes}


def assemble(
    request: AssemblyRequest, resolution: Resolution, algorithms: Mapping[str, Algorithm] | None = None
) -> Logical:
    """Place what was resolved. Raises AssemblyError with the codes of assembler spec 8."""
    strategy = resolution.context.strategy
    if strategy.placement in ("native-roles", "native-slots") and not strategy.standard:
        raise document_invalid("This placement needs the standard back end.")
    return _Assembly(request, resolution, algorithms or {}).logical()


class _Assembly:
    def __init__(
        self, request: AssemblyRequest, resolution: Resolution, algorithms: Mapping[str, Algorithm]
    ) -> None:
        self._request = request
        self._resolution = resolution
        self._strategy = resolution.context.strategy
        self._arrangement = Arrangement(self._strategy)
        self._remarks = Remarks()
        self._stages: tuple[tuple[str, tuple[str, ...]], ...] = ()
        self._sorted = False
        self._snapshots = False
        self._passes: Passes | None = None
        if self._arrangement.priority is not None:
            self._passes = Passes(
                self._arrangement.priority,
                algorithms,
                resolution.registered,
                self._remarks,
                strict=self._strategy.strict,
            )

    def logical(self) -> Logical:
        self._first_remarks()
        emission = emit(self._resolution, self._arrangement, self._remarks)
        nodes = self._placed(emission)
        self._decide(nodes)
        nodes, messages, retained = retain(nodes, self._request.retained, self._resolution, self._remarks)
        extra = check_result(messages, emission.required, self._request, self._remarks)
        self._snapshots = bool(retained)
        self._finish(nodes, messages)
        return Logical(
            messages=tuple(messages),
            nodes=tuple(nodes),
            slots=tuple(emission.slots),
            diagnostics=tuple(self._remarks.list),
            stages=self._stages,
            retained=retained,
            extra_bytes=extra,
            strategy=self._strategy,
            registered=self._resolution.registered,
        )

    def _first_remarks(self) -> None:
        honoured = self._strategy.slots or self._strategy.adaptive
        for remark in self._request.assets.diagnostics:
            if not honoured or remark.get("code") != "WORLD_BOOK_POSITION_APPROXIMATED":
                self._remarks.list.append(remark)
        for saved in self._arrangement.saved.values():
            definition = self._resolution.registered.get(saved.source_id)
            known = definition is not None and any(
                position.id == saved.position_id for position in definition.positions
            )
            if known:
                continue
            if saved.enabled and self._strategy.strict:
                raise refuse(
                    "POSITION_SOURCE_MISSING",
                    f"There is no {saved.position_id} of {saved.source_id} any more.",
                    detail=saved.to_wire(),
                )
            self._remarks.add(
                "POSITION_SOURCE_MISSING", sourceId=saved.source_id, positionId=saved.position_id
            )
        self._remarks.list += self._resolution.diagnostics

    # Placement

    def _placed(self, emission: Emission) -> list[Node]:
        regions = region if self._strategy.adaptive else _everywhere
        if self._strategy.adaptive:
            nodes = delivered(
                emission.nodes, self._arrangement, self._remarks, partial(self._sort, regions=_everywhere)
            )
        else:
            nodes = at_depths(emission.nodes, emission.deferred)
            if self._strategy.standard:
                for node in nodes:
                    if node.role == "user":
                        node.delivery = node.rule.delivery or "context"
        nodes = apply_overrides(nodes, self._arrangement, regions, self._remarks)
        return nodes if self._sorted else self._sort(nodes, regions=regions)

    def _sort(self, nodes: list[Node], *, regions: Any) -> list[Node]:
        self._sorted = True
        layout = self._strategy.layout
        manual = dragged_nodes(nodes, self._arrangement)
        if layout is not None and layout.overrides:
            manual += overridden_nodes(nodes, layout.overrides)
        if self._passes is not None:
            held = {node for node in nodes if node.native or node.boundary is not None}.union(manual)
            nodes, stages = self._passes.run(nodes, held, regions)
            by_user = ("user", tuple(dict.fromkeys(node.id for node in manual)))
            self._stages = (by_user, *((name, tuple(claimed)) for name, claimed in stages))
        return place_dragged(nodes, self._arrangement, regions, self._remarks)

    def _decide(self, nodes: list[Node]) -> None:
        """By what each node came to stand where it does."""
        for node in nodes:
            if node.decision is not None:
                continue
            if node.native:
                node.decision = "runtime"
            else:
                deep = node.depth is not None or node.requested_depth is not None
                slotted = "preset" if node.slot_id is not None else "source"
                node.decision = "resource-depth" if deep else slotted

    # The end

    def _finish(self, nodes: list[Node], messages: list[NodeMessage]) -> None:
        previous = self._request.previous
        moved = any(node.retained for node in nodes) if self._snapshots else False
        places = {id(message): at for at, message in enumerate(messages)} if moved else {}
        at = 0
        for node in nodes:
            # what was retained may stand between the messages of one node
            node.start = places.get(id(node.messages[0]), at) if places and node.messages else at
            at = node.start + len(node.messages)
            if previous and not node.retained:
                node.changed = previous.get(node.id) != node.text
        self._late_greeting(nodes, messages)

    def _late_greeting(self, nodes: list[Node], messages: list[NodeMessage]) -> None:
        greetings = [
            node
            for node in nodes
            if node.role == "assistant" and node.field == GREETING and node.module == CHARACTER
        ]
        if not greetings:
            return
        ids = self._request.input_ids
        first = next(
            (at for at, message in enumerate(messages) if message.native and message.id in ids), None
        )
        for node in greetings:
            if first is not None and node.start > first:
                self._remarks.add("GREETING_AFTER_INPUT", id=node.id)


def _everywhere(node: Node) -> int:
    """One region: nothing is bound to a place yet."""
    return 0

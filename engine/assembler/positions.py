"""What people placed: dragged positions, and the legacy moves of single blocks. Both win over the rest.

Source: assembler spec 1.3 and 3, step 9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.assembler.arrangement import Arrangement
from engine.assembler.faults import Remarks, refuse
from engine.assembler.layout import Anchor, Override, SavedPosition
from engine.assembler.node import Node

__all__ = ["apply_overrides", "dragged_nodes", "overridden_nodes", "place_dragged"]

Region = Callable[[Node], int]


def dragged_nodes(nodes: Sequence[Node], arrangement: Arrangement) -> list[Node]:
    """The nodes whose position a person put somewhere."""
    if not arrangement.saved:
        return []
    return [
        node
        for node in nodes
        if not node.native
        and node.position_id is not None
        and arrangement.dragged(node.source_id, node.position_id)
    ]


def place_dragged(
    nodes: list[Node], arrangement: Arrangement, region: Region, remarks: Remarks
) -> list[Node]:
    """Put dragged positions where they belong; one that another is anchored to goes first.

    Raises AssemblyError POSITION_ANCHOR_CYCLE, and POSITION_ANCHOR_MISSING with a strict layout.
    """
    if not arrangement.saved:
        return nodes
    return _Dragged(nodes, arrangement, region, remarks).placed()


class _Dragged:
    def __init__(self, nodes: list[Node], arrangement: Arrangement, region: Region, remarks: Remarks) -> None:
        self._nodes = nodes
        self._saved = list(arrangement.saved.values())
        self._strict = arrangement.strategy.strict
        self._region = region
        self._remarks = remarks
        self._done: set[tuple[str, str]] = set()

    def placed(self) -> list[Node]:
        for position in self._saved:
            if position.dragged and position.enabled:
                self._place(position, ())
        return self._nodes

    def _of(self, key: tuple[str, str]) -> list[Node]:
        return [node for node in self._nodes if (node.source_id, node.position_id) == key]

    def _place(self, position: SavedPosition, around: tuple[tuple[str, str], ...]) -> None:
        if position.key in around:
            raise refuse("POSITION_ANCHOR_CYCLE", "Positions are anchored to each other in a circle.")
        if position.key in self._done:
            return
        if isinstance(position.anchor, Anchor):
            key = (position.anchor.source_id, position.anchor.position_id)
            other = next((saved for saved in self._saved if saved.key == key), None)
            if other is not None and other.dragged and other.enabled:
                self._place(other, (*around, position.key))
        self._done.add(position.key)
        group = self._of(position.key)
        if not group:
            return
        if any(node.native for node in group):
            self._conflict(position)
            return
        for node in group:
            node.decision = "user"
        self._move(position, group)

    def _move(self, position: SavedPosition, group: list[Node]) -> None:
        moving = set(map(id, group))
        others = [node for node in self._nodes if id(node) not in moving]
        at = self._target(position, group, others)
        if at is None:
            return
        nodes = [*others[:at], *group, *others[at:]]
        regions = [self._region(node) for node in nodes]
        if regions != sorted(regions):
            self._conflict(position)
        else:
            self._nodes = nodes

    def _target(self, position: SavedPosition, group: list[Node], others: list[Node]) -> int | None:
        if position.anchor == "end":
            return len(others)
        if isinstance(position.anchor, Anchor):
            key = (position.anchor.source_id, position.anchor.position_id)
            places = _places(others, key)
            if not places:
                self._missing(position, position.anchor)
                return None
            return places[0] if position.anchor.side == "before" else places[-1] + 1
        number = self._saved.index(position)
        regions = {self._region(node) for node in group}
        for follower in self._saved[number + 1 :]:
            places = [at for at in _places(others, follower.key) if self._region(others[at]) in regions]
            if places:
                return places[0]
        for leader in reversed(self._saved[:number]):
            places = [at for at in _places(others, leader.key) if self._region(others[at]) in regions]
            if places:
                return places[-1] + 1
        return None

    def _missing(self, position: SavedPosition, anchor: Anchor) -> None:
        if self._strict:
            raise refuse(
                "POSITION_ANCHOR_MISSING",
                f"There is no {anchor.position_id} of {anchor.source_id} to put anything next to.",
                detail=position.to_wire(),
            )
        self._remarks.add(
            "POSITION_ANCHOR_MISSING",
            sourceId=position.source_id,
            positionId=position.position_id,
            winner="source",
            anchor=anchor.to_wire(),
        )

    def _conflict(self, position: SavedPosition) -> None:
        self._remarks.add(
            "POSITION_CONFLICT",
            sourceId=position.source_id,
            positionId=position.position_id,
            winner="runtime",
        )


def _places(nodes: Sequence[Node], key: tuple[str, str]) -> list[int]:
    return [at for at, node in enumerate(nodes) if (node.source_id, node.position_id) == key]


# Legacy overrides


def overridden_nodes(nodes: Sequence[Node], overrides: Sequence[Override]) -> list[Node]:
    """The nodes that an override moves."""
    return [node for override in overrides for node in _named(nodes, override.target)]


def apply_overrides(
    nodes: list[Node], arrangement: Arrangement, region: Region, remarks: Remarks
) -> list[Node]:
    """Carry out the moves of single blocks.

    A name is `block:<node id>`, `slot:<slot id>` or `rule:<rule id>`. Raises AssemblyError
    LAYOUT_TARGET_MISSING with a strict layout, ASSEMBLY_LAYOUT_UNSUPPORTED for a move that cannot be.
    """
    layout = arrangement.strategy.layout
    for override in layout.overrides if layout is not None else ():
        group, anchors = _named(nodes, override.target), _named(nodes, override.anchor)
        if not group or not anchors:
            missing = "anchor" if group else "target"
            if arrangement.strategy.strict:
                raise refuse(
                    "LAYOUT_TARGET_MISSING",
                    f"There is no {getattr(override, missing)} in this request.",
                    detail={**override.to_wire(), "missing": missing},
                )
            remarks.add("LAYOUT_TARGET_MISSING", **override.to_wire(), missing=missing)
            continue
        nodes = _override(nodes, group, anchors, override, region)
    return nodes


def _override(
    nodes: list[Node], group: list[Node], anchors: list[Node], override: Override, region: Region
) -> list[Node]:
    moving = set(map(id, group))
    others = [node for node in nodes if id(node) not in moving]
    places = [at for at, node in enumerate(others) if any(node is anchor for anchor in anchors)]
    held = any(node.native or (node.lock_reason is not None and not override.detach) for node in group)
    if held or not places or any(node.depth is not None or node.boundary is not None for node in group):
        raise _cannot_move(override)
    at = places[0] if override.side == "before" else places[-1] + 1
    moved = [*others[:at], *group, *others[at:]]
    regions = [region(node) for node in moved]
    if regions != sorted(regions):
        raise _cannot_move(override)
    for node in group:
        node.decision = "user"
        if override.detach:
            node.lock_reason = node.slot_id = None
    return moved


def _cannot_move(override: Override) -> Exception:
    return refuse(
        "ASSEMBLY_LAYOUT_UNSUPPORTED",
        f"{override.target} cannot be moved {override.side} {override.anchor}.",
        detail=override.to_wire(),
    )


def _named(nodes: Sequence[Node], name: str) -> list[Node]:
    kind, _, rest = name.partition(":")
    if kind == "block":
        return [node for node in nodes if node.id == rest]
    if kind == "slot":
        return [node for node in nodes if node.slot_id == rest]
    if kind == "rule":
        return [node for node in nodes if node.rule.id == rest]
    return []

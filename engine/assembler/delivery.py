"""The standard back end's order: what the program's own interfaces can deliver, and in which roles.

Nothing can stand inside the conversation: system texts come before the history, and texts of the user's role
before or after this step's input. What the strategy wants elsewhere is adapted, and every change is remarked.
Source: assembler spec 3, step 7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from engine.assembler.arrangement import Arrangement
from engine.assembler.faults import Remarks, refuse, unsupported
from engine.assembler.layout import AUTOMATIC
from engine.assembler.node import Node

__all__ = ["delivered", "region"]

Sorting = Callable[[list[Node]], list[Node]]
"""The automatic and manual placement, while roles are still open."""

_REGIONS: Final[Mapping[str, int]] = {
    "system": 0,
    "history": 1,
    "before-input": 2,
    "input": 3,
    "context": 4,
    "after-input": 5,
}


_OURS: Final = frozenset({*AUTOMATIC, "resource-depth"})


def region(node: Node) -> int:
    """In which of the six regions a node stands, once its delivery is settled."""
    if node.native:
        return _REGIONS["history" if node.is_history else "input" if node.is_input else "system"]
    if node.placement == "after-input" and node.delivery == "context":
        return _REGIONS["context"]
    return _REGIONS[node.placement or "system"]


def delivered(nodes: list[Node], arrangement: Arrangement, remarks: Remarks, sort: Sorting) -> list[Node]:
    """The nodes in an order, and with roles, that can be delivered.

    Raises AssemblyError ASSEMBLY_NATIVE_UNSUPPORTED for what cannot be adapted.
    """
    return _Delivery(nodes, arrangement, remarks).order(sort)


class _Delivery:
    def __init__(self, nodes: list[Node], arrangement: Arrangement, remarks: Remarks) -> None:
        self._arrangement = arrangement
        self._strategy = arrangement.strategy
        self._remarks = remarks
        self._flat = nodes
        self._nodes = list(nodes)
        history = next((node for node in nodes if node.is_history), None)
        taken = next((node for node in nodes if node.is_input), None)
        if history is None or taken is None:
            raise unsupported("The standard back end keeps the history and this step's input.", why="always")
        self._history, self._input = history, taken
        wanted = self._strategy.placement == "native-slots"
        self._slots = wanted and (history.slot_owner is not None or taken.slot_owner is not None)
        if wanted and not self._slots:
            self._missing()

    def order(self, sort: Sorting) -> list[Node]:
        if self._slots:
            self._around_spine()
        self._conversation()
        self._boundaries()
        if self._strategy.positional:
            self._nodes = sort(self._nodes)
        self._roles()
        self._regions()
        return self._nodes

    def _missing(self) -> None:
        if self._strategy.strict:
            raise refuse("LAYOUT_TARGET_MISSING", "The preset has no place for the history or the input.")
        self._remarks.add("NATIVE_SLOTS_ABSENT")

    def _around_spine(self) -> None:
        """What no slot took goes before the next module that the spine has a place of."""
        spine: list[Node] = []
        first: dict[str, Node] = {}
        free: dict[str, list[Node]] = {}
        for node in self._nodes:
            owner = node.slot_owner
            if owner is None and not node.anchor:
                free.setdefault(node.plan_rule_id, []).append(node)
                continue
            spine.append(node)
            first.setdefault(node.rule.id, node)
            if owner is not None:
                first.setdefault(owner, node)
        before: dict[Node | None, list[Node]] = {}
        next_places: dict[str, Node | None] = {}
        place: Node | None = None
        for rule in reversed(self._strategy.rules):
            next_places[rule.id] = place
            place = first.get(rule.id, place)
        for rule_id, nodes in free.items():
            before.setdefault(next_places[rule_id], []).extend(nodes)
        self._nodes = []
        for node in spine:
            self._nodes += before.get(node, ())
            self._nodes.append(node)
        self._nodes += before.get(None, ())

    def _conversation(self) -> None:
        nodes = self._nodes
        if nodes.index(self._history) < nodes.index(self._input):
            return
        if self._history.slot_owner is not None and self._input.slot_owner is not None:
            raise unsupported("The preset puts this step's input before the history.", why="order")
        if self._input.slot_owner is None:
            nodes.remove(self._input)
            nodes.append(self._input)
        else:
            nodes.remove(self._history)
            nodes.insert(0, self._history)

    def _boundaries(self) -> None:
        """Entries at depth 1 and 0 stand at the edges of the history, the nearest that there is."""
        if self._strategy.placement != "native-slots":
            return
        near = [node for node in self._nodes if node.entry_roles and node.requested_depth in (0, 1)]
        for node in near:
            node.boundary = "before-history" if node.requested_depth else "after-history"
            node.lock_reason = "native-depth-boundary"
            self._remarks.add(
                "NATIVE_DEPTH_BOUNDARY",
                id=node.id,
                name=node.name,
                depth=node.requested_depth,
                placement=node.boundary,
            )
        if not near:
            return
        nodes = [node for node in self._nodes if node.boundary is None]
        at = nodes.index(self._history)
        nodes[at + 1 : at + 1] = [node for node in near if node.boundary == "after-history"]
        nodes[at:at] = [node for node in near if node.boundary == "before-history"]
        self._nodes = nodes

    # Roles

    @staticmethod
    def _placed(node: Node) -> bool:
        """Whether a person, or a placement strategy of others, wanted the node where it is."""
        return node.decision is not None and node.decision not in _OURS

    def _dragged(self, node: Node) -> bool:
        position = node.position_id
        if not self._arrangement.saved or position is None:
            return False
        return self._arrangement.dragged(node.source_id, position)

    def _roles(self) -> None:
        history, taken = self._nodes.index(self._history), self._nodes.index(self._input)
        foreign = any(name not in _OURS for name in self._arrangement.priority or ())
        touched = bool(self._arrangement.saved) or foreign
        slots, history_slotted = self._slots, self._history.slot_owner is not None
        for at, node in enumerate(self._nodes):
            if node.native:
                continue
            free = touched and (self._placed(node) or self._dragged(node))
            slotted = slots and node.slot_owner is not None
            role = node.role
            if node.boundary is not None:
                role = "system" if node.boundary == "before-history" else "user"
            elif free or (slotted and history_slotted):
                role = "system" if at < history else "user"
            elif slotted and at > taken:
                role = "user"
            if role != node.role or role == "assistant":
                self._adapt(node, role)
            if node.role == "system":
                node.placement = "system"
                continue
            node.delivery = self._delivery(node, fixed=free or slotted or node.boundary is not None)
            early = node.delivery == "pre-step" and at < taken
            node.placement = "before-input" if early else "after-input"

    def _adapt(self, node: Node, role: str) -> None:
        facts = {"ruleId": node.rule.id, "field": node.field, "name": node.name}
        if role != node.role:
            if self._strategy.layout is not None and not self._strategy.positional:
                raise unsupported(
                    f"“{node.name}” keeps its role, which cannot be delivered at its place.",
                    why="role",
                    detail=facts,
                )
            self._remarks.add(
                "NATIVE_ROLE_ADJUSTED", **{"id": node.id, "name": node.name, "from": node.role, "to": role}
            )
            node.authored_role, node.role = node.role, role
            for message in node.messages:
                message.role = role
        if node.role not in ("system", "user"):
            raise unsupported(
                f"“{node.name}” has the role {node.role}, which the standard back end cannot deliver there.",
                why="role",
                detail=facts,
            )

    def _delivery(self, node: Node, *, fixed: bool) -> str:
        if not fixed:
            return node.rule.delivery or "context"
        if node.rule.delivery == "context":
            self._remarks.add(
                "NATIVE_DELIVERY_ADJUSTED",
                **{"id": node.id, "name": node.name, "from": "context", "to": "pre-step"},
            )
        return "pre-step"

    def _regions(self) -> None:
        self._nodes.sort(key=region)
        self._remarks.list += [
            {
                "code": "NATIVE_PLACEMENT_ADJUSTED",
                "id": node.id,
                "name": node.name,
                "role": node.role,
                "placement": node.placement,
            }
            for node, before in zip(self._nodes, self._flat, strict=True)
            if node is not before and not node.native
        ]

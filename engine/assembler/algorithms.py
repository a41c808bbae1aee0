"""Placement strategies: who claims which nodes in turn, and where they want them.

`preset`, `resource` and `default` are ours; others may be registered and named in a layout's priority. What
one claimed the next does not see. Source: assembler spec 3, step 9; 1.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from engine.assembler.definition import Definition, PositionAnchor
from engine.assembler.faults import Remarks, refuse, source_invalid
from engine.assembler.layout import AUTOMATIC, SOURCE_ID
from engine.assembler.node import Node
from engine.errors import AssemblyError
from engine.hooks import Disposer, Scope

__all__ = ["Algorithm", "Algorithms", "Candidate", "Choice", "Passes"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What an algorithm is told of a node that it may claim."""

    id: str
    source_id: str
    module: str
    field: str
    position_id: str | None
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The nodes that it claims, and if it wants another order, all candidates in it."""

    claims: Sequence[str]
    order: Sequence[str] | None = None


Algorithm: TypeAlias = Callable[[Sequence[Candidate]], Choice]


class Algorithms:
    """The registered placement strategies of others."""

    def __init__(self) -> None:
        self._algorithms: dict[str, Algorithm] = {}

    def register(self, name: str, algorithm: Algorithm, *, owner: Scope | None = None) -> Disposer:
        """Take one in. Raises AssemblyError SOURCE_INVALID for a name that is no id, is ours or is taken."""
        if not SOURCE_ID.fullmatch(name) or name in (*AUTOMATIC, "user") or name in self._algorithms:
            raise source_invalid(f"{name!r} cannot name a placement strategy.", "SOURCE_INVALID", status=400)
        self._algorithms[name] = algorithm

        def dispose() -> None:
            if self._algorithms.get(name) is algorithm:
                del self._algorithms[name]

        return dispose if owner is None else owner.effect(dispose)

    def capture(self) -> Mapping[str, Algorithm]:
        """The strategies by name, as they are now."""
        return MappingProxyType(dict(self._algorithms))


class Passes:
    """The automatic placement of one assembly."""

    def __init__(
        self,
        priority: Sequence[str],
        algorithms: Mapping[str, Algorithm],
        registered: Mapping[str, Definition],
        remarks: Remarks,
        *,
        strict: bool,
    ) -> None:
        self._priority = priority
        self._algorithms = algorithms
        self._registered = registered
        self._remarks = remarks
        self._strict = strict
        for name in priority:
            if name not in AUTOMATIC and name not in algorithms:
                raise refuse(
                    "POSITION_STRATEGY_UNAVAILABLE", f"There is no placement strategy {name}.", strategy=name
                )

    def run(
        self, nodes: list[Node], held: Set[Node], region: Callable[[Node], int]
    ) -> tuple[list[Node], list[tuple[str, list[str]]]]:
        """The nodes in their new order, and what each strategy claimed. `held` ones stay where they are; no
        node leaves its region."""
        stages: list[tuple[str, list[str]]] = []
        free = set(nodes).difference(held)
        for name in self._priority:
            rest = [node for node in nodes if node in free] if free else []
            if name == "preset":
                mine = [node for node in rest if node.slot_id is not None or node.slot_owner is not None]
            elif name == "resource":
                nodes, mine = self._resource(nodes, rest, region)
            elif name == "default":
                mine = rest
            else:
                nodes, mine = self._foreign(name, nodes, rest, region)
            for node in mine:
                node.decision = "resource-depth" if name == "resource" and node.depth is not None else name
            free.difference_update(mine)
            stages.append((name, [node.id for node in mine]))
        return nodes, stages

    def _resource(
        self, nodes: list[Node], rest: list[Node], region: Callable[[Node], int]
    ) -> tuple[list[Node], list[Node]]:
        """What belongs next to a certain content goes there; what stands at a depth stays there."""
        mine: set[Node] = set()
        groups: dict[tuple[str, str, int], tuple[PositionAnchor, list[Node]]] = {}
        for node in rest:
            anchor = self._anchor(node)
            if node.depth is not None:
                mine.add(node)
            elif anchor is not None and node.position_id is not None:
                key = (node.source_id, node.position_id, region(node))
                groups.setdefault(key, (anchor, []))[1].append(node)
        for (source_id, position_id, where), (anchor, group) in groups.items():
            matching = [node for node in nodes if _matches(node, anchor)]
            beside = [node for node in matching if region(node) == where]
            if beside:
                nodes = _moved(nodes, group, beside, anchor.side)
                mine.update(group)
            elif matching:
                self._remarks.add(
                    "POSITION_CONFLICT", sourceId=source_id, positionId=position_id, winner="runtime"
                )
            else:
                self._missing(source_id, position_id, anchor)
        return nodes, [node for node in nodes if node in mine]

    def _missing(self, source_id: str, position_id: str, anchor: PositionAnchor) -> None:
        if self._strict:
            raise refuse(
                "POSITION_ANCHOR_MISSING",
                f"There is nothing next to which {position_id} of {source_id} belongs.",
                detail=anchor.to_wire(),
            )
        self._remarks.add(
            "POSITION_ANCHOR_MISSING",
            sourceId=source_id,
            positionId=position_id,
            winner="default",
            anchor=anchor.to_wire(),
        )

    def _anchor(self, node: Node) -> PositionAnchor | None:
        definition = self._registered.get(node.source_id)
        position = definition.position(node.position_id) if definition is not None else None
        return position.anchor if position is not None else None

    def _foreign(
        self, name: str, nodes: list[Node], rest: list[Node], region: Callable[[Node], int]
    ) -> tuple[list[Node], list[Node]]:
        try:
            choice = self._algorithms[name]([_candidate(node) for node in rest])
            legal = _legal(choice, rest, region)
        except Exception as error:  # anything may happen in code that is not ours
            raise _invalid(name, f"failed: {error}") from error
        if not legal:
            raise _invalid(name, "gave an order that is none of its nodes.")
        by_id = {node.id: node for node in rest}
        if choice.order is not None:
            places = iter([by_id[node_id] for node_id in choice.order])
            replaced = set(rest)
            nodes = [next(places) if node in replaced else node for node in nodes]
        return nodes, [by_id[node_id] for node_id in choice.claims]


def _legal(choice: object, rest: Sequence[Node], region: Callable[[Node], int]) -> bool:
    """Whether it claims only what it was given, and orders all of that without moving what it leaves."""
    if not isinstance(choice, Choice):
        return False
    by_id = {node.id: node for node in rest}
    claims, order = list(choice.claims), choice.order
    if len(set(claims)) != len(claims) or not set(claims) <= by_id.keys():
        return False
    if order is None:
        return True
    before = [node.id for node in rest]
    kept = [node_id for node_id in before if node_id not in claims]
    if sorted(order) != sorted(before) or [i for i in order if i not in claims] != kept:
        return False
    return [region(by_id[i]) for i in order] == [region(node) for node in rest]


def _invalid(name: str, what: str) -> AssemblyError:
    return refuse("POSITION_STRATEGY_INVALID", f"The placement strategy {name} {what}", strategy=name)


def _matches(node: Node, anchor: PositionAnchor) -> bool:
    fields = anchor.fields
    here = node.source_id == anchor.source_id and node.depth is None
    return here and (fields is None or node.field in fields)


def _moved(nodes: list[Node], group: list[Node], beside: list[Node], side: str) -> list[Node]:
    moving = set(group)
    others = [node for node in nodes if node not in moving]
    at = others.index(beside[0]) if side == "before" else others.index(beside[-1]) + 1
    return [*others[:at], *group, *others[at:]]


def _candidate(node: Node) -> Candidate:
    return Candidate(node.id, node.source_id, node.module, node.field, node.position_id, node.role, node.text)

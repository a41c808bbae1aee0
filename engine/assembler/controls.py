"""Who places what a rule brings: its own place in the list, or the preset's slots. For people, in a preview.

Source: assembler spec 3, step 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.assembler.arrangement import HISTORY, INPUT
from engine.assembler.definition import Definition
from engine.assembler.node import Node
from engine.assembler.strategy import Strategy

__all__ = ["Control", "controls_of"]


@dataclass(frozen=True, slots=True)
class Control:
    """Of a rule: how many of its nodes slots or edges of the history own, and how many stand free."""

    rule_id: str
    control: str
    owned: int
    independent: int


def controls_of(
    nodes: Iterable[Node], strategy: Strategy, registered: Mapping[str, Definition]
) -> tuple[Control, ...]:
    """One for each rule, in their order."""
    owned: dict[str, int] = {}
    free: dict[str, int] = {}
    for node in nodes:
        rule_id = node.job_rule_id if node.slot_owner is not None else node.rule.id
        if node.slot_owner is not None or node.boundary is not None:
            owned[rule_id] = owned.get(rule_id, 0) + 1
        if node.boundary is None and (node.slot_owner is None or node.slot_id is None):
            free[rule_id] = free.get(rule_id, 0) + 1
    controls = []
    for rule in strategy.rules:
        some, others = owned.get(rule.id, 0), free.get(rule.id, 0)
        definition = registered.get(rule.kind)
        if rule.kind in (HISTORY, INPUT):
            controls.append(Control(rule.id, "native", 0, 0))
        elif rule.enabled and definition is not None and definition.slot_owner:
            controls.append(Control(rule.id, "preset", some, others))
        else:
            controls.append(Control(rule.id, _control(some, others), some, others))
    return tuple(controls)


def _control(owned: int, independent: int) -> str:
    if owned and independent:
        return "mixed"
    if owned:
        return "preset"
    return "independent" if independent else "empty"

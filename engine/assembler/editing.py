"""Changing a strategy one thing at a time: each function gives another strategy, checked as a document is.

What people say of positions is in `position_edits`, of the history in `history_edits`. Source: assembler spec
1 and 3, "Module placement in standard"; seed 001.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from engine.assembler.definition import LIFETIMES, ROLES, Definition
from engine.assembler.faults import document_invalid, refuse
from engine.assembler.layout import AUTOMATIC, Layout
from engine.assembler.strategy import MAX_RULES, Lifetime, Role, Rule, Strategy, read_strategy
from engine.ids import new_id

__all__ = [
    "AUTHORED",
    "add_text",
    "change_backend",
    "change_rule",
    "change_strategy",
    "layout_of",
    "lifetimes_of",
    "remove_rule",
    "roles_of",
    "rule_of",
    "set_priority",
    "takes_depth",
]

_Value = TypeVar("_Value")

AUTHORED = ("custom", "dsh.text", "tavern.text")
"""Kinds whose text stands in the rule: people write, name and remove them."""


def rule_of(strategy: Strategy, rule_id: str) -> Rule:
    """The rule. Raises AssemblyError STRATEGY_RULE_NOT_FOUND."""
    found = next((rule for rule in strategy.rules if rule.id == rule_id), None)
    if found is None:
        raise refuse("STRATEGY_RULE_NOT_FOUND", "This module is not in the strategy any more.", status=404)
    return found


def add_text(strategy: Strategy, name: str, text: str, role: str = "user") -> tuple[Strategy, str]:
    """A text of one's own at the end, and the id of its rule. Raises AssemblyError STRATEGY_INVALID."""
    if len(strategy.rules) >= MAX_RULES:
        raise refuse("STRATEGY_RULES_FULL", "The strategy has no room for more.", limit=MAX_RULES)
    rule_id = new_id("rule")
    # as a text for its parser: only so it keeps its role where a layout lets entries keep theirs
    rule = {"id": rule_id, "kind": "custom", "inputMode": "text", "role": role, "name": name, "text": text}
    wire = strategy.to_wire()
    return read_strategy({**wire, "rules": [*wire["rules"], rule]}), rule_id


def change_rule(strategy: Strategy, rule_id: str, patch: Mapping[str, Any]) -> Strategy:
    """Members of a rule by their names in the document; None takes one away. Raises STRATEGY_INVALID."""
    rule_of(strategy, rule_id)
    wire = strategy.to_wire()
    for rule in wire["rules"]:
        if rule["id"] == rule_id:
            rule.update(patch)
    return read_strategy(wire)


def remove_rule(strategy: Strategy, rule_id: str) -> Strategy:
    """Without the rule, whose text must be a person's own; other modules are switched off instead."""
    rule = rule_of(strategy, rule_id)
    if rule.kind not in AUTHORED:
        raise refuse("STRATEGY_RULE_FIXED", "Modules are switched off, not removed.", status=400)
    return replace(strategy, rules=tuple(each for each in strategy.rules if each is not rule))


def roles_of(strategy: Strategy, rule: Rule, sources: Mapping[str, Definition]) -> Sequence[Role]:
    """The roles that a rule can be given: those of its source that the back end can deliver, and the one that
    it has. A text of one's own has none that could be preserved."""
    source = sources.get(rule.kind)
    roles = ROLES if source is None else source.roles
    if strategy.standard:
        roles = [role for role in roles if role != "assistant"]
    if rule.kind in AUTHORED:
        roles = [role for role in roles if role != "preserve"]
    return _with(cast("Sequence[Role]", roles), rule.role)


def lifetimes_of(strategy: Strategy, rule: Rule, sources: Mapping[str, Definition]) -> Sequence[Lifetime]:
    """How long a rule's texts can stay, likewise."""
    source = sources.get(rule.kind)
    lifetimes = LIFETIMES if source is None else source.lifetimes
    if strategy.standard:
        lifetimes = ("request",)
    return _with(cast("Sequence[Lifetime]", lifetimes), rule.lifetime)


def takes_depth(strategy: Strategy, rule: Rule, sources: Mapping[str, Definition]) -> bool:
    """Whether a rule can be given a depth, or has one."""
    source = sources.get(rule.kind)
    return rule.depth is not None or (not strategy.standard and (source is None or source.depth))


def _with(values: Sequence[_Value], own: _Value) -> Sequence[_Value]:
    return tuple(values) if own in values else (*values, own)


def change_strategy(
    strategy: Strategy,
    *,
    name: str | None = None,
    source: str | None = None,
    identity: str | None = None,
    fallback: str | None = None,
) -> Strategy:
    """What holds for all modules: the name, who owns placement, whether roles follow the place, and what
    happens to what has no place.

    A strategy without a layout gets one with its `source`, with the automatic priorities in their usual
    order; before that there is nothing that the last two could say.
    """
    wire = strategy.to_wire()
    if name is not None:
        wire["name"] = name
    layout = strategy.layout.to_wire() if strategy.layout is not None else None
    if layout is None and source is not None:
        layout = Layout("manual", "position", "source-order", priority=AUTOMATIC).to_wire()
    if layout is not None:
        wanted = {"source": source, "identity": identity, "fallback": fallback}
        wire["layout"] = layout | {field: value for field, value in wanted.items() if value is not None}
    return read_strategy(wire)


def set_priority(strategy: Strategy, order: Sequence[str] | None) -> Strategy:
    """The automatic priorities in another order, where those of plug-ins keep their places between them; None
    for no automatic placement at all. Raises AssemblyError STRATEGY_INVALID for what is no order of the
    three, STRATEGY_NO_LAYOUT."""
    layout = layout_of(strategy)
    if order is not None:
        if sorted(order) != sorted(AUTOMATIC):
            raise document_invalid(f"The order names {', '.join(AUTOMATIC)} once each.")
        ours = iter(order)
        known = layout.priority or AUTOMATIC
        order = tuple(next(ours) if name in AUTOMATIC else name for name in known)
    return replace(strategy, layout=replace(layout, priority=order))


def change_backend(strategy: Strategy, backend: str) -> Strategy:
    """For the other back end, "native" or "core". What only the advanced one can do stays written down; the
    standard one refuses to carry it out. With a layout, going back to the standard one undoes it."""
    if strategy.standard == (backend == "native"):
        return strategy
    placement = strategy.placement
    if backend == "core" and placement in ("native-slots", "native-roles"):
        placement = "st"
    elif backend == "native" and placement == "st":
        placement = "native-slots"
    return read_strategy({**strategy.to_wire(), "backend": backend, "placement": placement})


def layout_of(strategy: Strategy) -> Layout:
    """The layout. Raises AssemblyError STRATEGY_NO_LAYOUT."""
    if strategy.layout is None:
        raise refuse("STRATEGY_NO_LAYOUT", "This strategy has no places of its own.", status=400)
    return strategy.layout

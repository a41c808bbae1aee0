"""Changing a strategy one thing at a time: each function gives another strategy, checked as a document is.

What is dragged is kept by position of a source and not by resource (spec 1.3), so that a module which is
moved in the list takes all of its positions with it. Source: assembler spec 1 and 3, step 9; seed 001.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.assembler.definition import Definition
from engine.assembler.faults import refuse
from engine.assembler.history_policy import DEFAULT_POLICY
from engine.assembler.layout import SavedPosition
from engine.assembler.strategy import MAX_RULES, Rule, Strategy, read_strategy
from engine.ids import new_id

__all__ = [
    "AUTHORED",
    "add_text",
    "by_list",
    "change_rule",
    "change_strategy",
    "movable_positions",
    "move_rule",
    "place_by_list",
    "remove_rule",
    "rule_of",
]

AUTHORED = ("custom", "dsh.text", "tavern.text")
"""Kinds whose text stands in the rule: people write, name and remove them."""

_FIXED = ("native-system", "history", "input")
"""What everything else is placed around; it cannot be dragged itself."""


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
    rule = {"id": rule_id, "kind": "custom", "role": role, "name": name, "text": text}
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


def move_rule(strategy: Strategy, rule_id: str, place: int, sources: Mapping[str, Definition]) -> Strategy:
    """The rule at another place (0 first). What the preset would place is from now on placed by the list:
    moving it would do nothing otherwise."""
    rule = rule_of(strategy, rule_id)
    rules = [each for each in strategy.rules if each is not rule]
    rules.insert(min(max(0, place), len(rules)), rule)
    moved = replace(strategy, rules=tuple(rules))
    if movable_positions(moved, rule, sources):
        return place_by_list(moved, rule_id, sources, by_list=True)
    return moved


def movable_positions(strategy: Strategy, rule: Rule, sources: Mapping[str, Definition]) -> Sequence[str]:
    """The positions that the list can place instead of the preset; none where that makes no difference."""
    source = sources.get(rule.kind)
    if strategy.layout is None or source is None or source.multiple or source.slot_owner:
        return ()
    if rule.kind in _FIXED:
        return ()
    return [position.id for position in source.positions if position.configurable]


def by_list(strategy: Strategy, rule: Rule) -> bool:
    """Whether a person placed anything of this module."""
    saved = strategy.layout.positions if strategy.layout is not None else None
    return any(position.dragged for position in saved or () if position.source_id == rule.kind)


def place_by_list(
    strategy: Strategy, rule_id: str, sources: Mapping[str, Definition], *, by_list: bool
) -> Strategy:
    """Let the list place a module, or give it back to the preset. What was said of single positions stays."""
    rule = rule_of(strategy, rule_id)
    if strategy.layout is None:
        return strategy
    saved = {position.key: position for position in strategy.layout.positions or ()}
    for position_id in movable_positions(strategy, rule, sources):
        key = (rule.kind, position_id)
        known = saved.get(key, SavedPosition(*key))
        saved[key] = replace(known, dragged=by_list, anchor=known.anchor if by_list else None)
    # Among what is dragged the order of this list counts: that of the modules, and inside one its own.
    order = {each.kind: number for number, each in reversed(list(enumerate(strategy.rules)))}
    positions = sorted(
        (each for each in saved.values() if each != SavedPosition(*each.key)),
        key=lambda each: order.get(each.source_id, len(order)),
    )
    return replace(strategy, layout=replace(strategy.layout, positions=tuple(positions) or None))


def change_strategy(
    strategy: Strategy,
    *,
    name: str,
    source: str | None = None,
    fallback: str | None = None,
    tidy_history: bool | None = None,
) -> Strategy:
    """What holds for all modules: the name, who owns placement and what happens to what has no place (both
    only with a layout), and whether old contributions are taken out of the history."""
    wire = strategy.to_wire()
    wire["name"] = name
    if strategy.layout is not None:
        wire["layout"] |= {"source": source or strategy.layout.source}
        wire["layout"] |= {"fallback": fallback or strategy.layout.fallback}
    if tidy_history is not None:
        policy = strategy.history_policy or (DEFAULT_POLICY if tidy_history else None)
        if policy is not None:
            wire["historyPolicy"] = {**policy.to_wire(), "enabled": tidy_history}
    return read_strategy(wire)

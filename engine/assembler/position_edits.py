"""What people say of positions: where a module stands in the list, and where single parts of it do.

It is kept by position of a source and not by resource (spec 1.3), so that a module which is moved in the list
takes all of its positions with it. What was put somewhere always wins over the automatic priorities. Source:
assembler spec 1.3 and 3, step 9; seed 001.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from engine.assembler.definition import Definition, Position
from engine.assembler.editing import AUTHORED, layout_of, rule_of
from engine.assembler.faults import refuse
from engine.assembler.layout import Anchor, SavedPosition
from engine.assembler.strategy import Rule, Strategy, read_strategy

__all__ = [
    "Unplaceable",
    "anchors_of",
    "by_list",
    "follow_resource",
    "forget_position",
    "listed",
    "movable_positions",
    "move_rule",
    "place_by_list",
    "placed_apart",
    "positions_of",
    "put_position",
    "put_rightly",
    "saved_position",
    "strays_of",
    "switch_position",
    "unplaceable",
]

Key: TypeAlias = tuple[str, str]
"""(source, position)."""

Unplaceable: TypeAlias = Literal["layout", "fixed", "text", "source"]
"""Why nothing of a module can be placed: the strategy has no layout, everything else is placed around it, it
is somebody's text, or its source is not here."""

_FIXED = ("native-system", "history", "input")


# Modules


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
    if unplaceable(strategy, rule, sources) is not None or source is None or source.slot_owner:
        return ()
    return [position.id for position in source.positions if position.configurable]


def by_list(strategy: Strategy, rule: Rule) -> bool:
    """Whether a person placed anything of this module."""
    return any(position.dragged for position in _saved(strategy) if position.source_id == rule.kind)


def placed_apart(strategy: Strategy, rule: Rule) -> int:
    """How many parts of this module were put somewhere by themselves."""
    return sum(it.source_id == rule.kind and it.dragged and it.anchor is not None for it in _saved(strategy))


def listed(strategy: Strategy, rule: Rule) -> bool:
    """Whether the list places any part of this module, and not its resource or what it was put next to."""
    return any(it.source_id == rule.kind and it.dragged and it.anchor is None for it in _saved(strategy))


def place_by_list(
    strategy: Strategy, rule_id: str, sources: Mapping[str, Definition], *, by_list: bool
) -> Strategy:
    """Let the list place a module, or give it back to the preset. What is switched off stays so, and with
    `by_list` what was put somewhere stays there."""
    rule = rule_of(strategy, rule_id)
    if strategy.layout is None:
        return strategy
    saved = {position.key: position for position in _saved(strategy)}
    for position_id in movable_positions(strategy, rule, sources):
        key = (rule.kind, position_id)
        known = saved.get(key, SavedPosition(*key))
        saved[key] = replace(known, dragged=by_list, anchor=known.anchor if by_list else None)
    # Among what is dragged the order of this list counts: that of the modules, and inside one its own.
    order = _order(strategy)
    return _with(strategy, sorted(saved.values(), key=lambda each: order.get(each.source_id, len(order))))


# Positions


def unplaceable(strategy: Strategy, rule: Rule, sources: Mapping[str, Definition]) -> Unplaceable | None:
    """Why no part of this module can be placed by itself; None where it can."""
    source = sources.get(rule.kind)
    if rule.kind in AUTHORED or (source is not None and source.multiple):
        return "text"
    if rule.kind in _FIXED:
        return "fixed"
    if source is None:
        return "source"
    return "layout" if strategy.layout is None else None


def positions_of(rule: Rule, sources: Mapping[str, Definition]) -> Sequence[Position]:
    """The positions of a module that people can say something of."""
    source = sources.get(rule.kind)
    return [position for position in source.positions if position.configurable] if source is not None else ()


def saved_position(strategy: Strategy, source_id: str, position_id: str) -> SavedPosition:
    """What was said of a position; as it comes, where that is nothing."""
    known = (each for each in _saved(strategy) if each.key == (source_id, position_id))
    return next(known, SavedPosition(source_id, position_id))


def switch_position(
    strategy: Strategy, source_id: str, position_id: str, sources: Mapping[str, Definition], *, on: bool
) -> Strategy:
    """Leave a position out, or let it in again, where it was. The one undoes the other."""
    saved = saved_position(strategy, source_id, position_id)
    return _put(strategy, replace(saved, enabled=on), sources)


def put_position(
    strategy: Strategy,
    source_id: str,
    position_id: str,
    anchor: Anchor | Literal["end"],
    sources: Mapping[str, Definition],
) -> Strategy:
    """Put a position next to another one, or at the very end; `follow_resource` undoes it.

    Raises AssemblyError POSITION_ANCHOR_CYCLE where that one is this one, or stands next to it already;
    STRATEGY_NO_LAYOUT.
    """
    if isinstance(anchor, Anchor) and not put_rightly(strategy, (source_id, position_id), anchor):
        raise refuse("POSITION_ANCHOR_CYCLE", "Positions would be anchored to each other in a circle.")
    saved = saved_position(strategy, source_id, position_id)
    return _put(strategy, replace(saved, dragged=True, anchor=anchor), sources)


def follow_resource(
    strategy: Strategy, source_id: str, position_id: str, sources: Mapping[str, Definition]
) -> Strategy:
    """Give a position back to the automatic priorities; switched off it stays so."""
    saved = saved_position(strategy, source_id, position_id)
    return _put(strategy, replace(saved, dragged=False, anchor=None), sources)


def strays_of(strategy: Strategy, rule: Rule, sources: Mapping[str, Definition]) -> Sequence[SavedPosition]:
    """What was said of positions that the module does not have here."""
    known = {position.id for position in positions_of(rule, sources)}
    return [
        each for each in _saved(strategy) if each.source_id == rule.kind and each.position_id not in known
    ]


def forget_position(strategy: Strategy, source_id: str, position_id: str) -> Strategy:
    """As if nothing had ever been said of it."""
    return _with(strategy, [each for each in _saved(strategy) if each.key != (source_id, position_id)])


def anchors_of(strategy: Strategy, key: Key, sources: Mapping[str, Definition]) -> Sequence[Key]:
    """Next to what a position can be put: the positions of the modules that are on, in the list's order."""
    found: dict[Key, None] = {}
    for rule in strategy.rules:
        source = sources.get(rule.kind)
        if source is None or not rule.enabled:
            continue
        for position in source.positions:
            other = (rule.kind, position.id)
            if other != key and saved_position(strategy, *other).enabled:
                found[other] = None
    return [other for other in found if put_rightly(strategy, key, Anchor(*other, "before"))]


def put_rightly(strategy: Strategy, key: Key, anchor: Anchor) -> bool:
    """Whether what it would be put next to does not itself stand next to it, however far around."""
    anchored = {
        each.key: (each.anchor.source_id, each.anchor.position_id)
        for each in _saved(strategy)
        if each.dragged and isinstance(each.anchor, Anchor)
    }
    at: Key | None = (anchor.source_id, anchor.position_id)
    seen: set[Key] = set()
    while at is not None and at not in seen:
        if at == key:
            return False
        seen.add(at)
        at = anchored.get(at)
    return True


# Inside


def _saved(strategy: Strategy) -> Sequence[SavedPosition]:
    return (strategy.layout.positions if strategy.layout is not None else None) or ()


def _order(strategy: Strategy) -> Mapping[str, int]:
    """The places of the modules; of several of one kind the first."""
    return {rule.kind: number for number, rule in reversed(list(enumerate(strategy.rules)))}


def _put(strategy: Strategy, position: SavedPosition, sources: Mapping[str, Definition]) -> Strategy:
    """With this said. What others were told keeps its order: among what is dragged it counts."""
    layout_of(strategy)
    saved = list(_saved(strategy))
    at = next((n for n, each in enumerate(saved) if each.key == position.key), None)
    if at is not None:
        saved[at] = position
    else:
        order, places = _order(strategy), _places(position.source_id, sources)

        def place(each: SavedPosition) -> tuple[int, int]:
            inside = places.get(each.position_id, len(places)) if each.source_id == position.source_id else 0
            return order.get(each.source_id, len(order)), inside

        at = next((n for n, each in enumerate(saved) if place(each) > place(position)), len(saved))
        saved.insert(at, position)
    return _with(strategy, saved)


def _places(source_id: str, sources: Mapping[str, Definition]) -> Mapping[str, int]:
    source = sources.get(source_id)
    return {position.id: number for number, position in enumerate(source.positions if source else ())}


def _with(strategy: Strategy, saved: Sequence[SavedPosition]) -> Strategy:
    """Of what is as it comes nothing is written down."""
    positions = tuple(each for each in saved if each != SavedPosition(*each.key))
    layout = replace(layout_of(strategy), positions=positions or None)
    return read_strategy(replace(strategy, layout=layout).to_wire())

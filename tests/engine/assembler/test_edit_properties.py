"""Whatever people do to a strategy, one edit after the other: it stays one, and what undoes an edit does.

- after every edit the document reads back as the same strategy, under the same revision;
- an edit is refused with a code, or leaves everything that it does not name as it was;
- each edit that has an inverse is undone by it;
- no edit makes anchors go round in a circle, so that what is saved can be assembled.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.assembler import AUTOMATIC, Anchor, Strategy, read_strategy, strategy_from_bytes
from engine.assembler.editing import (
    add_text,
    change_backend,
    change_rule,
    change_strategy,
    remove_rule,
    set_priority,
)
from engine.assembler.history_edits import (
    add_fragment,
    leave_out_content,
    policy_of,
    remove_fragment,
    switch_tidying,
    take_out,
    without_advanced_history,
)
from engine.assembler.position_edits import (
    anchors_of,
    follow_resource,
    forget_position,
    move_rule,
    place_by_list,
    positions_of,
    put_position,
    saved_position,
    switch_position,
)
from engine.errors import AssemblyError
from tests.engine.assembler.stage import ROLES, SLOTS, ST, lore, preset, registry, request, standard, text

SOURCES = registry().capture()
KEYS = [(kind, position.id) for kind, source in SOURCES.items() for position in source.positions]
KINDS = ["dsh-prompt-assembler", "runtime-context", "example.memory", "user"]
STORY = request(preset=preset(text("main", "HEAD")), lore=(lore("LORE"),))

Edit: TypeAlias = Callable[[Strategy], Strategy]

bases = st.sampled_from([SLOTS, ROLES, ST])
keys = st.sampled_from(KEYS)
orders = st.none() | st.permutations(AUTOMATIC)


def on_a_rule(work: Callable[[Strategy, str], Strategy]) -> st.SearchStrategy[Edit]:
    """The work on one of the rules that there are by then."""
    return st.integers(0, 20).map(lambda n: lambda it: work(it, it.rules[n % len(it.rules)].id))


def put(key: tuple[str, str], to: Any) -> Edit:
    anchor = to if to == "end" else Anchor(*to[0], to[1])
    return lambda it: put_position(it, *key, anchor, SOURCES)


edits: st.SearchStrategy[Edit] = st.one_of(
    st.tuples(keys, st.just("end") | st.tuples(keys, st.sampled_from(["before", "after"]))).map(
        lambda both: put(*both)
    ),
    st.tuples(keys, st.booleans()).map(
        lambda both: lambda it: switch_position(it, *both[0], SOURCES, on=both[1])
    ),
    keys.map(lambda key: lambda it: follow_resource(it, *key, SOURCES)),
    keys.map(lambda key: lambda it: forget_position(it, *key)),
    st.integers(-1, 12).flatmap(
        lambda place: on_a_rule(lambda it, rule_id: move_rule(it, rule_id, place, SOURCES))
    ),
    st.booleans().flatmap(
        lambda listed: on_a_rule(lambda it, rule_id: place_by_list(it, rule_id, SOURCES, by_list=listed))
    ),
    st.sampled_from(
        [
            {"enabled": False},
            {"role": "user", "delivery": "pre-step"},
            {"role": "assistant"},
            {"lifetime": "snapshot", "depth": 3},
            {"depth": None},
            {"text": "Words."},
        ]
    ).flatmap(lambda patch: on_a_rule(lambda it, rule_id: change_rule(it, rule_id, patch))),
    on_a_rule(remove_rule),
    st.sampled_from(["user", "system", "assistant"]).map(
        lambda role: lambda it: add_text(it, "Own", "Words.", role)[0]
    ),
    orders.map(lambda order: lambda it: set_priority(it, order)),
    st.sampled_from(["native", "core"]).map(lambda backend: lambda it: change_backend(it, backend)),
    st.fixed_dictionaries(
        {},
        optional={
            "name": st.sampled_from(["Ours", " ", "x" * 201]),
            "source": st.sampled_from(["preset-slots", "manual", "nobody"]),
            "identity": st.sampled_from(["preserve", "position"]),
            "fallback": st.sampled_from(["source-order", "error"]),
        },
    ).map(lambda fields: lambda it: change_strategy(it, **fields)),
    st.booleans().map(lambda on: lambda it: switch_tidying(it, on=on)),
    st.dictionaries(st.sampled_from(KINDS), st.booleans()).map(lambda kinds: lambda it: take_out(it, kinds)),
    st.tuples(st.booleans(), st.booleans(), st.booleans()).map(
        lambda three: lambda it: leave_out_content(it, text=three[0], image=three[1], reasoning=three[2])
    ),
    st.sampled_from([("<a>", "</a>", "lines"), ("x", "x", "lines"), ("[", "]", "words")]).map(
        lambda it: lambda on: add_fragment(on, "model", *it)[0]
    ),
    st.just(without_advanced_history),
)


def edited(base: Strategy, work: list[Edit]) -> Strategy:
    """After all of them; those that are refused change nothing."""
    strategy = base
    for edit in work:
        try:
            strategy = edit(strategy)
        except AssemblyError as error:
            assert error.error_code.startswith(("STRATEGY_", "POSITION_", "HISTORY_")), error
            assert error.status in (400, 404, 409)
    return strategy


@given(bases, st.lists(edits, max_size=12))
@settings(max_examples=200, deadline=None)
def test_it_stays_a_document_that_reads_back_as_it_is(base: Strategy, work: list[Edit]) -> None:
    strategy = edited(base, work)
    again = read_strategy(json.loads(json.dumps(strategy.to_wire())))
    assert again == strategy
    assert again.revision == strategy.revision == strategy_from_bytes(strategy.to_bytes()).revision
    # every module that came with it is still there, once
    assert sorted(rule.id for rule in strategy.rules if rule.kind != "custom") == sorted(
        rule.id for rule in base.rules
    )
    # what is as it comes is not written down
    for position in (strategy.layout.positions if strategy.layout is not None else None) or ():
        assert position != saved_position(base, *position.key)


@given(
    st.sampled_from([SLOTS, ST]), st.lists(edits, max_size=8), keys, keys, st.sampled_from(["before", "end"])
)
@settings(max_examples=150, deadline=None)
def test_what_was_done_to_a_position_is_undone(
    base: Strategy, work: list[Edit], key: tuple[str, str], other: tuple[str, str], how: str
) -> None:
    strategy = edited(base, work)
    saved = saved_position(strategy, *key)

    # off and on, on and off
    switched = switch_position(strategy, *key, SOURCES, on=not saved.enabled)
    assert saved_position(switched, *key).enabled is not saved.enabled
    back = switch_position(switched, *key, SOURCES, on=saved.enabled)
    assert [*positions(back)] == [*positions(strategy)]

    # put somewhere, and back to what its resource says
    free = follow_resource(strategy, *key, SOURCES)
    to: Any = "end" if how == "end" else Anchor(*other, "before")
    if how == "end" or other in anchors_of(free, key, SOURCES):
        placed = put_position(free, *key, to, SOURCES)
        assert saved_position(placed, *key).anchor == to
        assert follow_resource(placed, *key, SOURCES) == free
        # saying it twice says nothing more
        assert put_position(placed, *key, to, SOURCES) == placed
    assert follow_resource(free, *key, SOURCES) == free


def positions(strategy: Strategy) -> set[Any]:
    return set((strategy.layout.positions if strategy.layout is not None else None) or ())


@given(bases, st.lists(edits, max_size=8), orders)
@settings(max_examples=150, deadline=None)
def test_what_was_done_to_the_whole_is_undone(
    base: Strategy, work: list[Edit], order: tuple[str, ...] | None
) -> None:
    strategy = edited(base, work)
    policy = policy_of(strategy)
    assert switch_tidying(switch_tidying(strategy, on=not policy.enabled), on=policy.enabled) == strategy
    added, fragment_id = add_fragment(strategy, "model", "<b>", "</b>", "literal")
    assert remove_fragment(added, fragment_id) == strategy
    own, rule_id = add_text(strategy, "Own", "Words.")
    assert remove_rule(own, rule_id) == strategy
    if strategy.layout is not None:
        assert set_priority(set_priority(strategy, order), strategy.layout.priority) == strategy
        if strategy.standard:
            assert change_backend(change_backend(strategy, "core"), "native") == strategy
    # and doing nothing does nothing
    assert change_strategy(strategy) == strategy
    assert take_out(strategy, {}) == strategy


@given(st.lists(edits, max_size=10))
@settings(max_examples=60, deadline=None)
async def test_what_is_made_so_is_assembled_or_refused_with_a_reason(work: list[Edit]) -> None:
    strategy = edited(SLOTS, work)
    try:
        outcome = await standard(STORY, strategy)
    except AssemblyError as error:
        assert error.error_code != "POSITION_ANCHOR_CYCLE"
        assert error.error_code.startswith(("ASSEMBLY_", "SOURCE_", "LAYOUT_", "POSITION_")), error
        return
    # whatever was placed where, the conversation is whole and in its order
    native = [message.id for message in outcome.logical.messages if message.native is not None]
    assert native == ["OLD", "NOW"]


@given(st.lists(st.tuples(st.sampled_from(SLOTS.rules), st.integers(-1, 9)), max_size=12))
def test_moving_never_loses_a_module_or_one_of_its_parts(moves: list[tuple[Any, int]]) -> None:
    strategy = SLOTS
    for rule, place in moves:
        strategy = move_rule(strategy, rule.id, place, SOURCES)
        known = {position.id for position in positions_of(rule, SOURCES)}
        saved = [it for it in positions(strategy) if it.source_id == rule.kind]
        assert {it.position_id for it in saved} in (set(), known)
    assert sorted(rule.kind for rule in strategy.rules) == sorted(rule.kind for rule in SLOTS.rules)

"""The panels of a strategy's editor: they always fit into one message of Discord's, in both languages,
whatever the strategy holds; and what a menu cannot hold at once comes in pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.sandbox.limits import V2, check_message
from bot.sheet import MOST_BYTES, MOST_CHARS, Layout
from bot.strategy.draft import Draft
from bot.strategy.menu import asked_for, paged
from bot.strategy.module import rule_panel
from bot.strategy.panel import StrategyView, strategy_editor, strategy_panel
from bot.strategy.parts import part_panel, side_panel, spot_name
from bot.strategy.passage import passage_panel
from bot.strategy.whole import history_panel, order_name, whole_panel
from engine.assembler import (
    Anchor,
    Definition,
    Fragment,
    HistoryPolicy,
    KeptStrategy,
    Position,
    Rule,
    SavedPosition,
    Strategy,
    built_in_strategies,
    native_sources,
    story_sources,
)

SLOTS = built_in_strategies()["builtin-native-slots"]
ROLES = built_in_strategies()["builtin-native-roles"]
ST = built_in_strategies()["builtin-st"]
SOURCES = {source.id: source for source in (*native_sources(), *story_sources())}
LONG = "界" * 200
LOCALES = ("en", "zh-CN")


def draft(strategy: Strategy, kept: Strategy = SLOTS) -> Draft:
    """As long as custom_ids get: that of a built-in strategy."""
    return Draft(KeptStrategy("builtin-native-slots", kept), strategy, kept.revision)


def view(locale: str = "en", outlook: str = "") -> StrategyView:
    return StrategyView(locale, can_apply=True, can_change=True, outlook=outlook)


def fits(layout: Layout) -> dict[str, Any]:
    """The message as it is sent; raises what Discord would."""
    payload = {"components": layout.to_components(), "flags": V2}
    check_message(payload)
    texts = [part["content"] for part in walk(payload["components"]) if part["type"] == 10]
    assert sum(map(len, texts)) <= MOST_CHARS
    assert sum(len(text.encode()) for text in texts) <= MOST_BYTES
    return payload


def walk(parts: Any) -> Iterator[dict[str, Any]]:
    for part in parts:
        yield part
        yield from walk(part.get("components", []))


def said(layout: Layout) -> str:
    return "\n".join(part["content"] for part in walk(fits(layout)["components"]) if part["type"] == 10)


def crowded() -> tuple[Strategy, dict[str, Definition]]:
    """Everything at its most: names of 200 letters of three bytes, 100 parts that stand next to each other,
    and a hundred passages."""
    many = Definition(
        id="example." + "x" * 150,
        plugin_id="example",
        name="Many",
        resolve=lambda context, rule: None,
        positions=tuple(
            Position(f"p{n}" * 20, (LONG, LONG), field=f"p{n}", note=(LONG, LONG)) for n in range(100)
        ),
    )
    own = tuple(Rule(f"own{n}", "custom", role="user", text=LONG * 20, name=LONG) for n in range(60))
    rules = (*SLOTS.rules, Rule("r" * 80, many.id, name=LONG), *own)
    ids = [position.id for position in many.positions]
    saved = [SavedPosition(many.id, ids[0], True, True, "end")]
    saved += [
        SavedPosition(many.id, after, n % 2 == 0, True, Anchor(many.id, before, "after"))
        for n, (before, after) in enumerate(pairwise(ids))
    ]
    saved += [SavedPosition(many.id, f"gone{n}" + "y" * 300, False) for n in range(20)]
    assert SLOTS.layout is not None
    policy = HistoryPolicy(
        True,
        {f"example.{LONG[:100]}{n}": False for n in range(95)},
        fragments=tuple(
            Fragment(f"f{n}", LONG[:150], "<" * 250 + str(n), "`" * 250, "lines") for n in range(100)
        ),
    )
    strategy = replace(
        SLOTS,
        name=LONG,
        rules=rules,
        layout=replace(SLOTS.layout, positions=tuple(saved)),
        history_policy=policy,
    )
    return strategy, {**SOURCES, many.id: many}


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("backend", ["native", "core"])
def test_the_fullest_strategy_fits_on_every_panel(locale: str, backend: Any) -> None:
    strategy, sources = crowded()
    strategy = replace(strategy, backend=backend)
    it, how = draft(strategy), view(locale, LONG * 9)
    many = strategy.rules[8]
    position = sources[many.kind].positions[60].id
    fits(strategy_panel(KeptStrategy("st_8f3k0m2x91az", strategy), how))
    for page in range(8):
        fits(strategy_editor(it, sources, how, page))
    for first in (0, 23, 92, 5_000):
        fits(rule_panel(it, many, sources, how, first))
        fits(part_panel(it, many, position, sources, how, first))
        fits(history_panel(it, how, first))
    fits(rule_panel(it, strategy.rules[-1], sources, how))
    fits(part_panel(it, many, "gone0" + "y" * 300, sources, how))
    fits(side_panel(it, many, position, (many.kind, sources[many.kind].positions[90].id), sources, locale))
    fits(whole_panel(it, how, advanced=False))
    assert strategy.history_policy is not None
    fits(passage_panel(it, strategy.history_policy.fragments[0], how))


@pytest.mark.parametrize("strategy", [SLOTS, ROLES, ST], ids=["slots", "roles", "st"])
@pytest.mark.parametrize("locale", LOCALES)
def test_every_part_of_what_came_with_the_program_has_a_panel(strategy: Strategy, locale: str) -> None:
    it, how = draft(strategy, strategy), view(locale)
    fits(whole_panel(it, how, advanced=True))
    fits(history_panel(it, how))
    for rule in strategy.rules:
        fits(rule_panel(it, rule, SOURCES, how))
        for position in SOURCES[rule.kind].positions:
            fits(part_panel(it, rule, position.id, SOURCES, how))
            name = spot_name((rule.kind, position.id), strategy, SOURCES, locale)
            assert name and "strategy." not in name


def test_a_part_is_named_in_the_readers_language() -> None:
    key = ("worldbook", "before")
    assert spot_name(key, SLOTS, SOURCES, "en-GB") == "World books / Before the character"
    assert spot_name(key, SLOTS, SOURCES, "zh-TW") == "世界书 / 角色前"
    # a module of one part is that part
    assert spot_name(("persona", "persona"), SLOTS, SOURCES, "en") == "Persona"


def test_the_order_is_told_in_words() -> None:
    assert order_name(("default", "example.first", "preset", "resource"), "en") == (
        "list › example.first › preset › resource"
    )


def test_what_does_not_fit_the_back_end_is_said_where_it_is_set() -> None:
    advanced = draft(replace(SLOTS, backend="core"))
    assert "It is not switched on here" in said(whole_panel(advanced, view(), advanced=False))
    assert "It is switched on here" in said(whole_panel(advanced, view(), advanced=True))
    assert "It works in every story" in said(whole_panel(draft(SLOTS), view(), advanced=True))


@given(st.integers(0, 200), st.integers(0, 300))
@settings(max_examples=100)
def test_pages_of_a_menu_show_everything_once(count: int, start: int) -> None:
    options = [(f"Thing {n}", f"t{n}") for n in range(count)]
    seen: list[str] = []
    first: int | None = 0
    while first is not None:
        shown = paged(options, first, "en")
        assert len(shown) <= 24  # one is left to whoever has an option of their own
        seen += [option.value for option in shown if asked_for(option.value) is None]
        more = [asked for option in shown if (asked := asked_for(option.value)) is not None]
        first = more[0] if more and more[0] else None
    assert seen == [value for _, value in options]
    # a page that is not there is the first one
    beyond = [option.value for option in paged(options, count + start, "en")]
    assert beyond == [option.value for option in paged(options, 0, "en")]

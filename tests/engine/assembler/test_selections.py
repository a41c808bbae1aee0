"""Which strategy a session uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.assembler import (
    DEFAULT_STRATEGY,
    Shelf,
    apply_strategy,
    inherit,
    remove_strategy,
    save_strategy,
    selection,
)
from engine.errors import AssemblyError
from tests.engine.assembler.stage import strategy

MINE = strategy("history", "input")
OTHER = strategy("history", "input", name="Other")


def applied(shelf: Shelf, session: str, **mode: Any) -> str | None:
    found = selection(shelf, session, **mode)
    return None if found is None else found.id


def test_editing_the_library_changes_nothing_that_was_applied() -> None:
    shelf = apply_strategy(save_strategy(Shelf(), "mine", MINE), "s", "mine")
    shelf = save_strategy(shelf, "mine", OTHER)
    found = selection(shelf, "s")
    assert found is not None and found.strategy == MINE


def test_a_story_has_a_default_a_plain_session_none_and_null_wins_in_both() -> None:
    shelf = Shelf()
    assert (applied(shelf, "s"), applied(shelf, "s", mode="play")) == (None, DEFAULT_STRATEGY)
    off = apply_strategy(shelf, "s", None, mode="play")
    assert (applied(off, "s"), applied(off, "s", mode="play")) == (None, None)


def test_a_child_copies_what_holds_for_its_parent_once() -> None:
    shelf = inherit(Shelf(), "parent", "child", mode="play")
    assert applied(shelf, "child") == DEFAULT_STRATEGY
    shelf = inherit(apply_strategy(shelf, "parent", None), "parent", "child")
    assert applied(shelf, "child") == DEFAULT_STRATEGY
    assert applied(inherit(shelf, "parent", "second"), "second", mode="play") is None


def test_what_earlier_versions_stored_by_mode_is_read() -> None:
    old = apply_strategy(Shelf(unified=False), "s", "builtin-native-roles", mode="play")
    shelf = Shelf(selections=old.selections)
    assert applied(shelf, "s", mode="play") == "builtin-native-roles"
    assert applied(apply_strategy(shelf, "s", "builtin-st"), "s", mode="play") == "builtin-st"


@pytest.mark.parametrize(
    ("work", "code", "status"),
    [
        (lambda it: save_strategy(it, "builtin-mine", MINE), "STRATEGY_READ_ONLY", 400),
        (lambda it: save_strategy(it, "__proto__", MINE), "STRATEGY_ID", 400),
        (lambda it: save_strategy(it, "a b", MINE), "STRATEGY_ID", 400),
        (lambda it: remove_strategy(it, "builtin-st"), "STRATEGY_READ_ONLY", 400),
        (lambda it: remove_strategy(it, "gone"), "STRATEGY_NOT_FOUND", 404),
        (lambda it: apply_strategy(it, "s", "gone"), "STRATEGY_NOT_FOUND", 404),
        (lambda it: apply_strategy(it, "-s", None), "STRATEGY_SESSION_ID", 400),
        (lambda it: remove_strategy(apply_strategy(it, "s", "mine"), "mine"), "STRATEGY_IN_USE", 409),
    ],
)
def test_refusals_have_codes(work: Callable[[Shelf], Shelf], code: str, status: int) -> None:
    with pytest.raises(AssemblyError) as caught:
        work(save_strategy(Shelf(), "mine", MINE))
    assert (caught.value.error_code, caught.value.status) == (code, status)


def test_what_no_session_uses_any_more_can_go() -> None:
    shelf = apply_strategy(save_strategy(Shelf(), "mine", MINE), "s", "mine")
    shelf = remove_strategy(apply_strategy(shelf, "s", None), "mine")
    assert "mine" not in shelf.ids

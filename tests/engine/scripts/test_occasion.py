"""When scripts run."""

from typing import Any

import pytest

from engine.resources import RegexScript
from engine.scripts import Occasion, ScriptBook, applies


def script(**fields: Any) -> RegexScript:
    return RegexScript("id", "name", "a", **fields)


@pytest.mark.parametrize("display_only", [False, True])
@pytest.mark.parametrize("prompt_only", [False, True])
def test_the_two_only_switches(display_only: bool, prompt_only: bool) -> None:
    one = script(display_only=display_only, prompt_only=prompt_only)

    assert applies(one, Occasion(2, display=True)) == display_only
    assert applies(one, Occasion(2, prompt=True)) == prompt_only
    assert applies(one, Occasion(2)) == (not display_only and not prompt_only)
    assert applies(one, Occasion(2, display=True, prompt=True)) == (display_only or prompt_only)


def test_the_place_must_be_one_of_the_scripts() -> None:
    one = script(placements=frozenset({1, 6}))

    assert [number for number in range(8) if applies(one, Occasion(number))] == [1, 6]


def test_an_edit_runs_those_that_are_meant_for_it() -> None:
    assert not applies(script(), Occasion(2, edit=True))
    assert applies(script(run_on_edit=True), Occasion(2, edit=True))


def test_a_disabled_or_empty_script_never_runs() -> None:
    assert not applies(script(disabled=True), Occasion(2))
    assert not applies(RegexScript("id", "name", ""), Occasion(2))


@pytest.mark.parametrize(
    ("low", "high", "depth", "expected"),
    [
        (2, None, 1, False),
        (2, None, 2, True),
        (None, 2, 2, True),
        (None, 2, 3, False),
        (1, 2, None, True),
        (-1, None, -1, True),
        (0, None, -1, False),
        (None, 0, -1, True),
        (None, None, 99, True),
    ],
)
def test_the_window_of_depths(low: int | None, high: int | None, depth: int | None, expected: bool) -> None:
    one = script(min_depth=low, max_depth=high)

    assert applies(one, Occasion(2, depth=depth)) == expected


def test_scripts_of_others_need_consent_and_go_in_their_order() -> None:
    def named(name: str) -> tuple[RegexScript, ...]:
        return (RegexScript(name, name, "a"), RegexScript(name + "2", name, "a"))

    def order(preset: bool, character: bool) -> list[str]:
        book = ScriptBook(
            named("g"), named("p"), named("c"), preset_allowed=preset, character_allowed=character
        )
        return [one.id for one in book]

    assert order(True, True) == ["g", "g2", "p", "p2", "c", "c2"]
    assert order(False, True) == ["g", "g2", "c", "c2"]
    assert order(True, False) == ["g", "g2", "p", "p2"]
    assert order(False, False) == ["g", "g2"]

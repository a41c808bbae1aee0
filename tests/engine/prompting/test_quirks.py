"""SillyTavern's behaviours are all there by name, and none is on unless asked for."""

import inspect

import pytest

from engine.prompting import OURS, SILLYTAVERN, Quirk, build, quirks
from tests.engine.prompting.make import in_chat, made, preset, sent


def test_none_is_on_unless_asked_for() -> None:
    assert inspect.signature(build).parameters["quirks"].default == OURS == frozenset()
    assert frozenset(Quirk) == SILLYTAVERN


@pytest.mark.parametrize("quirk", list(Quirk))
def test_each_says_what_it_does_and_what_is_done_without_it(quirk: Quirk) -> None:
    source = inspect.getsource(quirks)
    told = source.partition(f'{quirk.name} = "{quirk.value}"')[2].partition('"""')[2].partition('"""')[0]

    assert "Off:" in told


def test_a_prompt_in_the_chat_that_is_named_twice_is_said_twice_to_sillytavern() -> None:
    given = preset(in_chat("c", "C", 0), order=["main", "c", "c", "chatHistory"])

    assert sent(made(given, quirks=SILLYTAVERN))[-1] == "s: C\nC"
    assert sent(made(given))[-1] == "s: C"

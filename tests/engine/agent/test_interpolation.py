"""`{{name}}` in prompt texts: strict, once, and with its place. Spec agent-loop 4.3."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.agent.interpolation import Filled, Span, interpolate, is_variable_name
from engine.errors import AgentError

VALUES = {"place": "the inn", "hour": "ten", "tricky": "{{place}}", "empty": "", "unset": None}


def fill(text: str) -> Filled:
    return interpolate(text, VALUES, where="scene")


def test_values_stand_in_their_places() -> None:
    assert fill("At {{place}}, {{hour}}.") == Filled(
        "At the inn, ten.", (Span("place", 3, 10), Span("hour", 12, 15))
    )


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("", ""),
        ("plain", "plain"),
        ("{{place}}{{place}}", "the innthe inn"),
        ("a{{empty}}b", "ab"),
        ("{{tricky}}", "{{place}}"),  # a value is not looked at again
        ("an open {{ alone", "an open {{ alone"),
        ("{{place}} and {{", "the inn and {{"),
        ("}} and {place}", "}} and {place}"),
        ("é {{hour}}", "é ten"),
    ],
)
def test_what_is_text_and_what_is_a_variable(text: str, filled: str) -> None:
    assert fill(text).text == filled


@pytest.mark.parametrize(
    ("text", "placeholder", "start", "fault"),
    [
        ("x {{nowhere}}", "{{nowhere}}", 2, "nobody registered"),
        ("{{unset}}", "{{unset}}", 0, "has no value now"),
        ("{{User}}", "{{User}}", 0, "not the name"),
        ("{{ place }}", "{{ place }}", 0, "not the name"),
        ("{{}}", "{{}}", 0, "not the name"),
        ("{{{place}}}", "{{{place}}", 0, "not the name"),
        ("a {{ b {{place}}", "{{ b {{place}}", 2, "not the name"),
        ("{{a\nb}}", "{{a\nb}}", 0, "not the name"),
        ("{{random::a::b}}", "{{random::a::b}}", 0, "not the name"),
    ],
)
def test_what_cannot_be_filled_in_is_named_with_its_place(
    text: str, placeholder: str, start: int, fault: str
) -> None:
    with pytest.raises(AgentError, match=fault) as refused:
        fill(text)
    assert refused.value.error_code == "PROMPT_VARIABLE"
    assert "scene" in refused.value.message
    assert refused.value.data == {
        "section": "scene",
        "placeholder": placeholder,
        "start": start,
        "end": start + len(placeholder),
    }


@pytest.mark.parametrize("name", ["a", "a1", "place_of_birth", "z_"])
def test_names(name: str) -> None:
    assert is_variable_name(name)


@pytest.mark.parametrize("name", ["", "A", "1a", "_a", "a-b", "a b", "ä", "a\n", "user.name"])
def test_what_is_no_name(name: str) -> None:
    assert not is_variable_name(name)


def naive(text: str) -> str:
    """Character by character, as the rule reads."""
    done = ""
    while text:
        if text.startswith("{{") and "}}" in text[2:]:
            name, _, text = text[2:].partition("}}")
            value = VALUES.get(name)
            if value is None:
                raise KeyError(name)
            done += value
        else:
            done, text = done + text[0], text[1:]
    return done


PIECES = st.sampled_from(["{{", "}}", "{", "}", "place", "hour", "tricky", "empty", "unset", " ", "x", "\n"])


@given(st.lists(PIECES, max_size=12).map("".join))
def test_it_is_the_rule_and_the_spans_show_the_values(text: str) -> None:
    try:
        expected = naive(text)
    except KeyError:
        with pytest.raises(AgentError):
            fill(text)
        return
    filled = fill(text)
    assert filled.text == expected
    assert [filled.text[s.start : s.end] for s in filled.spans] == [VALUES[s.name] for s in filled.spans]

"""Macros: what each stands for, what stays as written, and that nothing is expanded twice."""

import random
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.macros import MacroContext, evaluate, expand


class Middle(random.Random):
    """Chance that always falls in the middle."""

    def random(self) -> float:
        return 0.5


CONTEXT = MacroContext(
    user="Bob",
    char="Alice",
    persona="Bob is tall",
    description="Desc of Alice",
    personality="Kind",
    scenario="Cafe",
    mes_examples="<START>\nBob: hi",
    group=("Alice", "Cara"),
    now=datetime(2024, 3, 5, 14, 7, 9, tzinfo=UTC),
    seed="chat-1",
    rng=Middle(),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{user}} & {{char}}", "Bob & Alice"),
        ("{{USER}} {{ Char }}", "Bob Alice"),
        ("<USER> <bot> <Char> <group>", "Bob Alice Alice Alice, Cara"),
        ("{{persona}}|{{description}}|{{charDescription}}", "Bob is tall|Desc of Alice|Desc of Alice"),
        ("{{personality}}|{{scenario}}|{{mesExamples}}", "Kind|Cafe|<START>\nBob: hi"),
        ("{{group}}|{{charIfNotGroup}}|{{notChar}}", "Alice, Cara|Alice, Cara|Cara, Bob"),
        ("a{{newline}}b{{newline::2}}c{{space::3}}d", "a\nb\n\nc   d"),
        ("a\n\n{{trim}}\nb", "ab"),
        ("a {{trim}} b", "a  b"),
        ("x{{// a note with {{user}} in it }}y{{//}}z{{noop}}", "xyz"),
        ("{{comment: shown to nobody}}.", "."),
        ("{{time}} {{date}} {{weekday}}", "2:07 PM March 5, 2024 Tuesday"),
        ("{{isotime}} {{isodate}} {{time::UTC-3}}", "14:07 2024-03-05 11:07 AM"),
        ("{{{user}}}", "{Bob}"),
        (r"\{\{user\}\} \{x\}", "{{user}} {x}"),
        (r"\{{user}}", "\\Bob"),
    ],
)
def test_names_fields_time_and_layout(text: str, expected: str) -> None:
    assert expand(text, CONTEXT) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{random::a::b::c}}", "b"),
        ("{{random:a::b::c}}", "b"),
        ("{{random:a,b,c}}", "b"),
        ("{{random a, b ,c}}", "b"),
        (r"{{random::x\,y,x\,y}}", "x,y"),
        ("{{random::{{user}}::{{user}}}}", "Bob"),
        ("[{{random}}]", "[]"),
        ("{{random::::}}", ""),
    ],
)
def test_random_takes_lists_of_every_make(text: str, expected: str) -> None:
    assert expand(text, CONTEXT) == expected


def test_pick_is_what_sillytavern_picks_for_this_chat_text_and_place() -> None:
    assert expand("xx{{pick::a::b::c::d::e}}", CONTEXT) == "xxc"
    line = "{{pick::a::b::c::d::e}} {{pick::a::b::c::d::e}} {{pick::a::b::c::d::e}}"
    assert expand(line, CONTEXT) == "b c a"
    assert expand(line, CONTEXT) == "b c a"


@pytest.mark.parametrize(
    ("formula", "low", "high"),
    [("20", 1, 20), ("d6", 1, 6), ("2d6+3", 5, 15), ("3d4-2", 1, 10), ("101d6", 100, 600)],
)
def test_dice_stay_within_their_bounds(formula: str, low: int, high: int) -> None:
    context = replace(CONTEXT, rng=random.Random(7))
    values = {int(expand(f"{{{{roll {formula}}}}}", context)) for _ in range(200)}
    assert min(values) >= low
    assert max(values) <= high
    assert len(values) > 1


@pytest.mark.parametrize("formula", ["d", "3d", "0d6", "1d0", "1d6+", "d%", "1 d 6", "abc", "-1d6"])
def test_what_is_no_formula_rolls_nothing(formula: str) -> None:
    assert expand(f"[{{{{roll::{formula}}}}}]", CONTEXT) == "[]"


@pytest.mark.parametrize(
    "text",
    [
        "{{unknown}}",
        "{{unknown::x::y}}",
        "{{user::x}}",
        "{{roll}}",
        "{{roll::1d6::2}}",
        "{{newline::many}}",
        "{{time::Mars}}",
        "{{user",
        "user}}",
        "{{}}",
        "{{ }}",
        "{{宏}}",
        "{{1}}",
        "{{a.b}}",
        "}}{{",
        "{ {user} }",
    ],
)
def test_what_cannot_be_expanded_stays_as_written(text: str) -> None:
    assert expand(text, CONTEXT) == text


def test_macros_inside_what_stays_are_expanded() -> None:
    assert expand("{{unknown::{{user}}::x{{char}}}}", CONTEXT) == "{{unknown::Bob::xAlice}}"
    assert expand("{{宏 {{user}} }}", CONTEXT) == "{{宏 Bob }}"
    assert expand("{{open {{user}}", CONTEXT) == "{{open Bob"


def test_results_are_never_expanded_again() -> None:
    context = replace(CONTEXT, user="{{char}}", description="{{user}} <USER>")
    assert expand("{{user}} {{description}}", context) == "{{char}} {{user}} <USER>"


def test_original_serves_one_use_and_is_literal() -> None:
    context = replace(CONTEXT, original=r"costs $1 and \1 {{user}}")
    assert expand("[{{original}}][{{original}}]", context) == r"[costs $1 and \1 {{user}}][]"
    assert expand("{{original}}", CONTEXT) == "{{original}}"


def test_with_once_a_field_is_empty_at_its_second_use() -> None:
    context = replace(CONTEXT, once=True)
    assert expand("{{persona}}|{{persona}}|{{user}}{{user}}", context) == "Bob is tall||BobBob"
    assert expand("{{description}}|{{charDescription}}", context) == "Desc of Alice|"


def test_what_was_used_and_what_is_unknown_is_told() -> None:
    result = evaluate("{{CharDescription}} {{user}} {{getvar::x}}", CONTEXT)
    assert result.used == {"description", "user"}
    assert result.unknown == {"getvar"}


def test_nesting_beyond_the_cap_stays_text_and_output_is_bounded() -> None:
    deep = "{{random::" * 100 + "x" + "}}" * 100
    assert "{{random" in expand(deep, CONTEXT)
    shallow = "{{random::" * 60 + "x" + "}}" * 60
    assert expand(shallow, CONTEXT) == "x"
    big = replace(CONTEXT, description="x" * 1_000_000)
    result = evaluate("{{description}}" * 50, big)
    assert result.cut
    assert len(result.text) <= 4 * 1024 * 1024
    assert len(expand("{{space::999999999}}", CONTEXT)) == 1000


@pytest.mark.parametrize(
    "text",
    ["{{" * 100_000, "{{a " * 50_000 + "}}" * 50_000, "}}{{" * 50_000, "{{random::" + "a::" * 100_000 + "}}"],
)
def test_hostile_texts_cost_linear_time(text: str) -> None:
    start = time.perf_counter()
    expand(text, CONTEXT)
    assert time.perf_counter() - start < 5  # about 0.2 s here; quadratic would be hours


@given(st.text(alphabet="{}\\<>:/ aurse宏\n", max_size=60))
def test_any_text_comes_through_and_a_second_run_of_a_plain_one_changes_nothing(text: str) -> None:
    result = expand(text, CONTEXT)
    if "{" not in result and "<" not in result:
        assert expand(result, CONTEXT) == result


@given(st.text(max_size=80).filter(lambda text: not set(text) & set("{}<\\\ufdd0")))
def test_a_text_without_braces_is_itself(text: str) -> None:
    assert expand(text, CONTEXT) == text

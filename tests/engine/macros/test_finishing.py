"""The last pass: trims, escapes, the two profiles, data and other people's words."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.macros.pieces import NOOP, TRIM, Made, finished
from tests.engine.macros.texts import CONTEXT, codes, result, said, stored


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\n{{trim}}\n\nb", "ab"),
        ("a\r\n{{trim}}\r\nb", "ab"),
        ("a  \n{{trim}}\n  b", "a    b"),
        ("a {{trim}} b", "a  b"),
        ("a\n{{trim}}{{setvar::x::1}}{{// note}}\n\nb", "ab"),
        ("a\n{{setvar::x::1}}\n{{trim}}{{trim}}\nb", "ab"),
        ("a\n{{noop}}{{trim}}{{noop}}\nb", "a\n\nb"),
        ("a{{newline}}{{trim}}{{newline}}b", "a\n\nb"),
        ("a\n{{if 1}}\n x{{trim}}\n{{/if}}\nb", "a\nxb"),
        ("{{trim}}", ""),
    ],
)
def test_trim_takes_line_breaks_around_it(text: str, expected: str) -> None:
    assert said(text) == expected


@given(st.lists(st.sampled_from(["a", "\n", "\r", "\r\n", " ", TRIM]), max_size=12))
def test_trims_of_literal_text_are_those_of_the_plain_pattern(pieces: list[str]) -> None:
    source = "".join("{{trim}}" if piece is TRIM else piece for piece in pieces)
    expected = re.sub(r"(?:\r?\n)*(?:\{\{trim\}\}(?:\r?\n)*)+", "", source)
    assert said(source) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x{{nope}}y", "xy"),
        ("x{{nope::{{user}}}}y", "xy"),
        ("x{{user::1}}y{{/if}}", "xy"),
        ("a {{ b", "a { { b"),
        ("a }} b", "a } } b"),
        ("a {{{{ b", "a { { { { b"),
        ("{{宏}}", "{ {宏} }"),
        (r"\{\{user\}\}", "{{user}}"),
        (" \n{{user}}\n ", "Bob"),
        ("  plain  ", "plain"),
    ],
)
def test_assembly_leaves_nothing_that_looks_like_a_macro(text: str, expected: str) -> None:
    assert said(text, profile="assembly") == expected


def test_assembly_defuses_what_macros_yield() -> None:
    context = replace(CONTEXT, description="say {{user}}")
    assert said("{{description}}", context, profile="assembly") == "say { {user} }"


def test_assembly_tells_what_it_removed_and_keeps_the_effects() -> None:
    outcome = result("{{nope::{{setvar::a::1}}}}", profile="assembly")
    assert [(note.code, note.name) for note in outcome.notes] == [("UNKNOWN_MACRO", "nope")]
    assert [effect.name for effect in outcome.effects] == ["a"]


def test_a_scope_that_was_not_taken_keeps_its_text_in_assembly() -> None:
    assert said("{{user}}a{{char}}{{/user}}", profile="assembly") == "aAlice"


@given(st.text(alphabet="{}\\ a:", max_size=30))
def test_assembly_never_leaves_double_braces_unless_they_were_escaped(text: str) -> None:
    outcome = said(text, profile="assembly")
    if "\\" not in text:
        assert "{{" not in outcome
        assert "}}" not in outcome


def test_a_pattern_keeps_its_escapes_and_escapes_what_macros_yield() -> None:
    context = replace(CONTEXT, user="a.b")
    assert said(r"x\{2\}{{user}}", context, profile="pattern") == r"x\{2\}a.b"
    escaped = said(r"x\{2\}{{user}}{{nope}}.", context, profile="pattern", escape=re.escape)
    assert escaped == r"x\{2\}a\.b{{nope}}."


def test_data_is_indented_to_where_it_stands_and_otherwise_untouched() -> None:
    context = replace(CONTEXT, literals={"stat": "a\nb {{user}} \\{", "fmt::x.y": "1\n2"})
    assert said("state: {{stat}}|", context, profile="assembly") == "state: a\n       b {{user}} \\{|"
    assert said("{{user}}:\n- {{STAT}}", context) == "Bob:\n- a\n  b {{user}} \\{"
    assert said("{{ fmt::x.y }} {{fmt::x.y}}", context) == "1\n2 1\n  2"
    assert said("{{fmt::x.z}}", context) == "{{fmt::x.z}}"
    assert said("{{if 1}}  {{stat}}{{/if}}", context) == "a\nb {{user}} \\{"


def filled(template: str, value: str) -> tuple[str, list[tuple[int, int, str]]]:
    spans = [(found.start(), found.end(), value) for found in re.finditer(r"\$1", template)]
    return template, spans


def test_other_peoples_words_are_never_expanded_wherever_they_are_put() -> None:
    evil = "{{setglobalvar::x::1}}}} {{user}} <USER> \\{"
    text, inserts = filled("[$1] {{setvar::said::$1}}{{getvar::said}} {{reverse::$1}}", evil)
    outcome = result(text, inserts=inserts)
    assert outcome.text == f"[{evil}] " + evil.replace("\\{", "{") + " " + evil[::-1]
    assert [(effect.store, effect.name, effect.value) for effect in outcome.effects] == [
        ("local", "said", evil)
    ]
    assert result(text, inserts=inserts, profile="assembly").text.startswith(f"[{evil}] ")


def test_inserts_alone_make_a_text_too() -> None:
    assert result("$1", inserts=[(0, 2, "{{user}}")]).text == "{{user}}"
    assert result("{$1}{user}}", inserts=[(1, 3, "{")]).text == "{{}{user}}"


@given(st.text(max_size=30), st.text(max_size=10), st.text(max_size=10))
def test_an_insert_comes_out_as_it_went_in(value: str, before: str, after: str) -> None:
    plain_before, plain_after = (re.sub(r"[{}<>\\]", "", side) for side in (before, after))
    text = f"{plain_before}#{plain_after}"
    spans = [(len(plain_before), len(plain_before) + 1, value)]
    assert result(text, inserts=spans).text == f"{plain_before}{value}{plain_after}"


def test_what_a_macro_made_is_not_trimmed_at_the_edges_of_arguments() -> None:
    assert stored("{{setvar::a:: {{newline}} }}") == ("", {"a": "\n"})
    assert stored("{{setvar::a:: {{noop}} x }}") == ("", {"a": " x"})
    assert stored("{{setvar::a:: {{// gone}} x }}") == ("", {"a": "x"})


def test_pieces_are_joined_before_escapes_are_read() -> None:
    assert finished(["\\", Made("{x"), NOOP], "keep") == "{x"


def test_remarks_are_the_same_in_both_profiles() -> None:
    text = "{{nope}} {{user::1}} {{space::5000}}"
    assert codes(text) == codes(text, profile="assembly")

"""Scopes, conditions, and the blanks at their edges."""

from dataclasses import replace

import pytest

from engine.macros import MacroContext
from tests.engine.macros.texts import CONTEXT, codes, said, stored


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{if go}}A{{/if}}", "A"),
        ("{{IF go}}A{{ /If }}", "A"),
        ("{{if 0}}A{{else}}B{{/if}}", "B"),
        ("{{if::false}}A{{ELSE}}B{{/if}}", "B"),
        ("{{if:: Off }}A{{else}}B{{/if}}", "B"),
        ("{{if::no}}A{{else}}B{{/if}}", "A"),
        ("{{if::}}A{{/if}}|", "|"),
        ("{{if::1::A}}{{if::0::B}}", "A"),
        ("{{if description}}D{{/if}}", "D"),
        ("{{if DESCRIPTION}}D{{/if}}", "D"),
        ("{{if !description}}D{{else}}E{{/if}}", "E"),
        ("{{if ! 0}}D{{/if}}", "D"),
        ("{{if !{{outlet::none}}}}none{{/if}}", "none"),
        ("{{if {{outlet::box}}}}box{{/if}}", "box"),
        (
            "{{if setvar}}a word, not a macro: it needs arguments{{/if}}",
            "a word, not a macro: it needs arguments",
        ),
        ("{{if .q}}A{{else}}B{{/if}}", "B"),
        ("{{if 0}}{{if::1::x}}{{else}}outer{{/if}}", "outer"),
        ("{{if::}}A{{else}}B{{if::}}C{{else}}D{{/if}}{{/if}}", "BD"),
        ("a{{else}}b", "ab"),
        ("{{if 1}}{{setvar::a}}x{{else}}y{{/setvar}}{{getvar::a}}{{/if}}", "xy"),
        ("{{if 1}}a{{else}}b{{else}}c{{/if}}{{if 0}}a{{else}}b{{else}}c{{/if}}", "abc"),
    ],
)
def test_conditions(text: str, expected: str) -> None:
    assert said(text) == expected


def test_a_value_with_an_exclamation_mark_negates_nothing() -> None:
    context = replace(CONTEXT, description="!0")
    assert said("{{if {{description}}}}A{{else}}B{{/if}}", context) == "A"


def test_a_value_that_is_the_name_of_a_macro_stands_for_itself() -> None:
    context = MacroContext(description="personality", personality="")
    assert said("{{if {{description}}}}A{{else}}B{{/if}}", context) == "A"


def test_only_the_chosen_branch_is_evaluated() -> None:
    assert stored("{{if 0}}{{setvar::q::x}}{{/if}}") == ("", {})
    assert stored("{{if 0::{{setvar::q::x}}}}") == ("{{if 0::}}", {"q": "x"})
    assert stored("{{if::0::{{setvar::q::x}}}}") == ("", {})
    assert stored("{{if 1}}{{.a = 1}}{{else}}{{.b = 1}}{{/if}}") == ("", {"a": "1"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{if y}}\n   hi\n{{/if}}", "hi"),
        ("{{#if y}}\n hi\n{{/if}}", "\n hi\n"),
        ("{{if y}}\n  a\n    b\n  c\n{{/if}}", "a\n  b\nc"),
        ("{{if y}}\n    a\n  b\n\tc\n{{/if}}", "a\nb\nc"),
        ("{{if y}}\n  {{user}}\n    b{{/if}}", "Bob\n  b"),
        ("{{if y}}a\n  b{{/if}}", "a\n  b"),
        ("{{if 0}}\n  a\n{{else}}\n    b\n      c\n{{/if}}", "b\n  c"),
        ("{{if y}}\n  a\n  {{if y}}\n    b\n      c\n  {{/if}}\n{{/if}}", "a\nb\n  c"),
        ("{{if y}} {{newline}}x{{space}} {{/if}}", "\nx "),
        ("{{if y}} {{noop}} x {{noop}} {{/if}}", " x "),
        ("{{if y}} {{// gone}} x {{getvar::none}} {{/if}}", "x"),
    ],
)
def test_the_text_of_a_scope_is_trimmed_and_dedented(text: str, expected: str) -> None:
    assert said(text) == expected


def test_what_a_macro_made_keeps_its_indentation() -> None:
    context = replace(CONTEXT, description="  one\n    two\n")
    assert said("{{if y}}\n  {{description}}\n  b\n{{/if}}", context) == "  one\n    two\n\nb"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{setvar::k}} v {{/setvar}}[{{getvar::k}}]", "[v]"),
        ("{{#setvar::k}}  t {{/SetVar}}[{{getvar::k}}]", "[  t ]"),
        ("{{reverse}}ab{{user}}{{/reverse}}", "boBba"),
        ("{{trim}}\n x \n{{/trim}}|", "x|"),
        ("{{//}}hidden {{setvar::h::1}}\nlines{{///}}end{{getvar::h}}", "end"),
        ("{{setvar::o}}a {{setvar::i}}z{{/setvar}} b{{/setvar}}{{getvar::o}}|{{getvar::i}}", "a  b|z"),
        ("{{reverse}}{{if 1}}ab{{/reverse}}{{/if}}", "ba}}1 fi{{{{/if}}"),
    ],
)
def test_a_scope_is_the_last_argument(text: str, expected: str) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x{{/setvar}}y", "x{{/setvar}}y"),
        ("{{user}}hi {{char}}{{/user}}", "{{user}}hi Alice{{/user}}"),
        ("{{setvar::k::v}}more{{/setvar}}", "{{setvar::k::v}}more{{/setvar}}"),
        ("{{setvar}}{{user}}{{/setvar}}", "{{setvar}}Bob{{/setvar}}"),
        ("{{nosuch}}{{user}}{{/nosuch}}", "{{nosuch}}Bob{{/nosuch}}"),
        ("{{reverse::{{if 1}}a}}b{{/if}}", "a}}1 fi{{b{{/if}}"),
    ],
)
def test_tags_that_do_not_belong_together_stay(text: str, expected: str) -> None:
    assert said(text) == expected


def test_a_scope_that_cannot_be_taken_is_told() -> None:
    assert codes("{{user}}hi{{/user}} {{/if}}") == [
        ("MACRO_SCOPE", "{{user}}"),
        ("MACRO_SCOPE", "{{/user}}"),
        ("MACRO_SCOPE", "{{/if}}"),
    ]


def test_flags_without_a_meaning_are_read_over() -> None:
    assert said("{{!user}}{{?user}}{{~user}}{{#user}}{{> ! user}}") == "Bob" * 5
    assert said("{{!.x}}{{# .x = 1}}{{.x}}") == "1"

"""Variables: what is said, what is written, and that nothing but the list of effects changes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.macros import MacroContext, Variables, VariableWrite
from engine.macros.numerals import number_of, number_text
from tests.engine.macros.texts import codes, result, said, stored


@pytest.mark.parametrize(
    ("text", "outcome", "after"),
    [
        ("{{getvar::a}}{{setvar::a::1}}{{getvar::a}}", "1", {"a": "1"}),
        ("{{setvar::a::}}[{{getvar::a}}]", "[]", {"a": ""}),
        ("[{{getvar::zz}}]", "[]", {}),
        ("{{setvar::a::{{user}}}}{{getvar::a}}", "Bob", {"a": "Bob"}),
        ("{{setvar:: a :: v }}[{{getvar::a}}]", "[v]", {"a": "v"}),
        ("{{setvar::a::5}}{{addvar::a::3}}{{getvar::a}}", "8", {"a": 8}),
        ("{{setvar::a::foo}}{{addvar::a::bar}}{{getvar::a}}", "foobar", {"a": "foobar"}),
        ("{{addvar::n::x}}{{getvar::n}}", "x", {"n": "x"}),
        ("{{setvar::a::0}}{{addvar::a::x}}{{getvar::a}}", "x", {"a": "x"}),
        ("{{setvar::a::[1,2]}}{{addvar::a::3}}{{getvar::a}}", '[1,2,"3"]', {"a": '[1,2,"3"]'}),
        ("{{setvar::a::[1.0, {}]}}{{addvar::a::猫}}", "", {"a": '[1,{},"猫"]'}),
        ("{{setvar::a::[1}}{{addvar::a::3}}", "", {"a": "[13"}),
        ("{{setvar::a::[NaN]}}{{addvar::a::3}}", "", {"a": "[NaN]3"}),
        ("{{setvar::a::[1e999]}}{{addvar::a::3}}", "", {"a": "[1e999]3"}),
        ("{{incvar::c}}{{incvar::c}}{{decvar::c}}", "121", {"c": 1}),
        ("{{setvar::a::foo}}{{incvar::a}}", "foo1", {"a": "foo1"}),
        ("{{setvar::a::1.5}}{{decvar::a}}", "0.5", {"a": 0.5}),
        ("{{setvar::a::1e308}}{{addvar::a::1e308}}{{getvar::a}}", "Infinity", {"a": "Infinity"}),
        ("{{hasvar::a}}{{setvar::a::}}{{hasvar::a}}{{varexists::a}}", "falsetruetrue", {"a": ""}),
        ("{{setvar::a::1}}{{deletevar::a}}{{hasvar::a}}{{flushvar::a}}", "false", {}),
    ],
)
def test_macros_of_variables(text: str, outcome: str, after: dict[str, object]) -> None:
    assert stored(text) == (outcome, after)


@pytest.mark.parametrize(
    ("text", "before", "outcome", "after"),
    [
        ("{{.a}}", "007", "7", "007"),
        ("{{.a = hello}}[{{.a}}]", "", "[hello]", "hello"),
        ("{{.a++}}{{.a++}}", "5", "67", 7),
        ("{{.a--}}", "5", "4", 4),
        ("{{.a += bar}}{{.a}}", "foo", "foobar", "foobar"),
        ("{{.a += 2}}{{.a}}", "3", "5", 5),
        ("{{.a -= 2}}{{.a}}", "3", "1", 1),
        ("{{.a -= x}}{{.a}}", "7", "7", "7"),
        ("{{.a -= 1}}{{.a}}", "x", "x", "x"),
        ("{{.a || Guest}}", "", "Guest", ""),
        ("{{.a || Guest}}", "Bo", "Bo", "Bo"),
        ("[{{.a ?? Guest}}]", "", "[]", ""),
        ("{{.a ||= X}}{{.a}}", "0", "XX", "X"),
        ("[{{.a ??= X}}]", "", "[]", ""),
        ("{{.a == 7}}{{.a == 007}}{{.a != 7}}", "7.0", "truetruefalse", "7.0"),
        ("{{.a == x}}{{.a != x}}", "x", "truefalse", "x"),
        ("{{.a > 5}}{{.a >= 6}}{{.a < 7}}{{.a <= 5}}", "6", "truetruetruefalse", "6"),
        ("{{.a > 5}}{{.a < 5}}", "x", "falsefalse", "x"),
        ("{{.a = {{user}}::{{char}}}}{{.a}}", "", "Bob::Alice", "Bob::Alice"),
    ],
)
def test_operators(text: str, before: str, outcome: str, after: object) -> None:
    assert stored(text, a=before) == (outcome, {"a": after})


def test_operators_on_what_does_not_exist() -> None:
    assert stored("{{.n ?? Guest}}|{{.n || x}}|{{.n}}|{{.n == }}") == ("Guest|x||true", {})
    assert stored("{{.n ??= X}}{{.n}}") == ("XX", {"n": "X"})
    assert stored("{{.n -= 2}}{{.m++}}") == ("1", {"n": -2, "m": 1})


@pytest.mark.parametrize("operator", ["||", "??", "||=", "??="])
def test_a_right_side_that_is_not_needed_is_not_evaluated(operator: str) -> None:
    assert stored(f"{{{{.a {operator} {{{{setvar::q::x}}}}}}}}", a="v") == ("v", {"a": "v"})


def test_global_variables_are_apart() -> None:
    context = MacroContext(local_variables={"a": "1"}, global_variables={"a": "2", "n": 3})
    outcome = result("{{.a}}{{$a}} {{setglobalvar::a::4}}{{.a}}{{$a}}{{incglobalvar::n}}{{$x = y}}", context)
    assert outcome.text == "12 144"
    assert outcome.effects == (
        VariableWrite("global", "a", "4"),
        VariableWrite("global", "n", 4),
        VariableWrite("global", "x", "y"),
    )
    assert said("{{hasglobalvar::a}}{{globalvarexists::b}}{{getglobalvar::n}}", context) == "truefalse3"
    gone = result("{{deleteglobalvar::a}}{{flushglobalvar::n}}{{addglobalvar::a::x}}", context)
    assert [effect.value for effect in gone.effects] == [None, None, "x"]


def test_the_stores_are_never_touched() -> None:
    local: dict[str, object] = {"a": "1"}
    context = MacroContext(local_variables=local)
    assert said("{{.a++}}{{.a}}", context) == "22"
    assert local == {"a": "1"}
    assert said("{{.a}}", context) == "1"


def test_texts_of_one_assembly_see_each_others_writes() -> None:
    variables = Variables({"a": "1"})
    first = result("{{.a += 1}}", variables=variables)
    second = result("{{.a}}{{.b = x}}", variables=variables)
    assert second.text == "2"
    assert first.effects == (VariableWrite("local", "a", 2),)
    assert second.effects == (VariableWrite("local", "b", "x"),)
    assert variables.effects == [*first.effects, *second.effects]
    assert variables.final() == {("local", "a"): 2, ("local", "b"): "x"}


def test_values_that_other_programs_stored_are_read() -> None:
    context = MacroContext(local_variables={"n": 7.0, "t": True, "l": [1, "x"], "z": None, "big": 10**400})
    assert said("{{.n}} {{.t}} {{.l}} [{{.z}}] {{hasvar::z}} {{.big}}", context) == (
        '7 true [1,"x"] [] false Infinity'
    )


def test_what_is_too_long_is_not_written_and_told() -> None:
    text = "{{.a = {{random::" + "x" * 70_000 + "}}}}[{{.a}}]"
    assert said(text) == "[]"
    assert codes(text)[0][0] == "MACRO_VARIABLE_TOO_LONG"
    grown = "{{.a = " + "x" * 1000 + "}}" + "{{.a += {{.a}}}}" * 20
    assert stored(grown)[1] == {"a": "x" * 64_000}
    assert stored("{{setvar::" + "n" * 300 + "::v}}")[1] == {}


def test_all_writes_together_have_a_limit() -> None:
    text = "{{.a = " + "x" * 60_000 + "}}"
    variables = Variables()
    outcome = result(text * 100, variables=variables)
    assert sum(len(str(effect.value)) for effect in variables.effects) <= 4 * 1024 * 1024
    assert outcome.notes[-1].code == "MACRO_VARIABLE_TOO_LONG"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        (" \ufeff7 ", 7),
        ("0x10", 16),
        ("0b11", 3),
        ("0o17", 15),
        ("1e3", 1000),
        (".5", 0.5),
        ("5.", 5),
        ("-Infinity", -math.inf),
        ("1e999", math.inf),
        ("0x" + "f" * 400, math.inf),
    ],
)
def test_texts_are_numbers_as_in_javascript(text: str, value: float) -> None:
    assert number_of(text) == value


@pytest.mark.parametrize("text", ["x", "1_000", "1,5", "٣", "--1", "0x", "1e", ".", "infinity", "+-Infinity"])
def test_texts_that_are_no_numbers(text: str) -> None:
    assert math.isnan(number_of(text))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (7.0, "7"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (-1.25, "-1.25"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e22, "1.5e+22"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.25e-7, "1.25e-7"),
        (123456789012345680000.0, "123456789012345680000"),
        (5e-324, "5e-324"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
    ],
)
def test_numbers_are_written_as_in_javascript(number: float, text: str) -> None:
    assert number_text(number) == text


@given(st.floats(allow_nan=False))
def test_a_written_number_is_read_back(number: float) -> None:
    assert number_of(number_text(number)) == number

"""What scripts make of a text: their order, their replacements, their limits."""

import asyncio
import time
from typing import Any

import pytest

from engine.macros import MacroContext
from engine.patterns import Watch
from engine.resources import Diagnostics, RegexScript, parse_scripts
from engine.scripts import (
    ContextMacros,
    Occasion,
    ScriptBook,
    apply_scripts,
    check_script,
    escape_for_pattern,
    find_pattern,
)
from engine.scripts.application import MAX_OUTPUT
from tests.engine.patterns.processor import processor_time

STORED = Occasion(2)
EVIL = "/(a|aa)+$(?=b)|^(?:(a|aa)+)\\1$/g"
EVIL_TEXT = "a" * 30_000 + "!"


def script(find: str, replacement: str = "X", **fields: Any) -> RegexScript:
    return RegexScript(fields.pop("id", find), fields.pop("name", find), find, replacement, **fields)


def applied(text: str, *scripts: RegexScript, **options: Any) -> str:
    return apply_scripts(text, scripts, STORED, **options).text


def macros(captured: bool = False) -> ContextMacros:
    return ContextMacros(MacroContext(user="Bob", char="Alice", extra={"tricky": "a.b*c"}), captured=captured)


def test_reading_a_pattern_takes_nothing_of_the_time_to_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # given a pattern that takes as long to read as all scripts together may run
    def slowly(*given: Any) -> Any:
        time.sleep(0.2)
        return find_pattern(*given)

    monkeypatch.setattr("engine.scripts.application.find_pattern", slowly)
    made = apply_scripts("cat", [script("cat", "dog"), script("dog", "fox")], STORED, total_seconds=0.2)
    assert (made.text, made.problems) == ("fox", ())


@pytest.mark.parametrize(
    ("find", "replacement", "text", "expected"),
    [
        ("cat", "dog", "cat cat", "dog cat"),
        ("/cat/g", "dog", "cat cat", "dog dog"),
        ("/cat/gi", "dog", "Cat cAT", "dog dog"),
        (r"/(\w+)@(\w+)/", "$2 at $1", "me@site", "site at me"),
        (r"/(?<a>\w+) (?<b>\w+)/", "$<b> $<a> $<c>|", "x y", "y x |"),
        ("/b/", "[$0{{match}}{{MATCH}}]", "abc", "a[bbb]c"),
        ("/b/", "$&$$$`$'", "abc", "a$&$$$`$'c"),
        ("/(b)/", "$1$2$10$999999999", "abc", "abc"),
        ("/(b)|c/g", "[$1]", "bc", "[b][]"),
        ("/x*/g", "-", "axb", "-a--b-"),
        ("/^/gm", "> ", "a\nb", "> a\n> b"),
        ("//", "X", "a//b", "aXb"),
        ("/a/zz", "X", "a /a/zz", "a X"),
        ("/a\nb/g", "X", "a\nb /a", "X /a"),
        ("/龍/g", "竜", "龍と龍", "竜と竜"),
    ],
)
def test_a_replacement_is_sillytaverns(find: str, replacement: str, text: str, expected: str) -> None:
    assert applied(text, script(find, replacement)) == expected


def test_scripts_run_in_their_order_each_on_what_the_one_before_made() -> None:
    result = apply_scripts("ab", [script("/a/g", "b"), script("/b/g", "c"), script("/z/g", "")], STORED)

    assert result.text == "cc"
    assert [one.find for one in result.changed] == ["/a/g", "/b/g"]


def test_trimmed_texts_leave_what_is_captured_only() -> None:
    one = script('/"(.*?)"/g', "*[$1]*", trim=("*", "_"))

    assert applied('"*hi*_" *keep*', one) == "*[hi]* *keep*"


def test_macros_of_the_script_are_expanded() -> None:
    assert (
        applied("Alice: hi", script("/.+/", "{{user}}: $0", trim=("{{char}}: ",)), macros=macros())
        == "Bob: hi"
    )


def test_what_a_match_captured_is_expanded_only_where_it_is_asked_for() -> None:
    one = script("/<(.+?)>/", "$1")

    assert applied("<{{user}}>", one, macros=macros()) == "{{user}}"
    assert applied("<{{user}}>", one, macros=macros(captured=True)) == "Bob"


@pytest.mark.parametrize(("substitute", "expected"), [(0, "aXbbbc a.b*c"), (1, "X a.b*c"), (2, "aXbbbc X")])
def test_macros_in_the_pattern(substitute: Any, expected: str) -> None:
    one = script("/{{tricky}}/g", substitute=substitute)

    assert applied("aXbbbc a.b*c", one, macros=macros()) == expected


def test_an_escaped_text_is_a_pattern_for_itself() -> None:
    text = "a.^$*+?{}[]\\/|()\n\r\t\v\f\0\x30-b"

    pattern = find_pattern(script(f"/^{escape_for_pattern(text)}$/u"))

    assert pattern.matches(text)
    assert not pattern.matches("b" + text)


@pytest.mark.parametrize(
    ("find", "code"),
    [("/(a/", "PATTERN_INVALID"), ("/a/x", "PATTERN_FLAGS"), ("a" * 5_000, "PATTERN_TOO_LONG")],
)
def test_a_script_that_cannot_be_used_leaves_the_text_and_says_why(find: str, code: str) -> None:
    broken = script(find)

    result = apply_scripts("(a", [broken, script("/a/", "b")], STORED)

    assert result.text == "(b"
    assert [(problem.script, problem.code) for problem in result.problems] == [(broken, code)]


def test_a_script_that_takes_too_long_leaves_the_text_and_the_next_goes_on() -> None:
    evil = script(EVIL, "")

    result = apply_scripts(EVIL_TEXT, [evil, script("/!/", "?")], STORED)

    assert result.text == "a" * 30_000 + "?"
    assert [(problem.script, problem.code) for problem in result.problems] == [(evil, "PATTERN_TIMEOUT")]


def test_after_three_timeouts_it_is_not_run_and_its_owner_hears_it_once() -> None:
    evil, watch = script(EVIL, ""), Watch()

    results = [apply_scripts(EVIL_TEXT, [evil], STORED, watch=watch) for _ in range(4)]

    assert [[problem.disables for problem in result.problems] for result in results] == [
        [False],
        [False],
        [True],
        [],
    ]


def test_all_scripts_together_have_one_limit() -> None:
    scripts = [script(f"{EVIL[:-2]}|{number}/g") for number in range(20)]

    with processor_time() as taken:
        result = apply_scripts(EVIL_TEXT, scripts, STORED)

    assert taken.seconds < 0.6
    assert result.text == EVIL_TEXT
    assert len(result.problems) == 20
    assert result.problems[-1].code == "SCRIPT_NO_TIME"


def test_a_script_cannot_blow_a_text_up() -> None:
    result = apply_scripts("a" * 1_000, [script("/a/g", "b" * 1_000)], STORED)

    assert result.text == "a" * 1_000
    assert [problem.code for problem in result.problems] == ["SCRIPT_OUTPUT_TOO_LONG"]
    assert len(applied("a", script("/a/g", "b" * MAX_OUTPUT))) == MAX_OUTPUT


async def test_scripts_run_on_a_thread_while_the_loop_goes_on() -> None:
    longest = 0.0

    async def watch_loop() -> None:
        nonlocal longest
        before = time.monotonic()
        while True:
            await asyncio.sleep(0.002)
            now = time.monotonic()
            longest, before = max(longest, now - before), now

    watching = asyncio.create_task(watch_loop())
    begin = time.monotonic()
    result = await asyncio.to_thread(
        apply_scripts, EVIL_TEXT, [script(f"{EVIL[:-2]}|{number}/g") for number in range(5)], STORED
    )
    taken = time.monotonic() - begin
    watching.cancel()

    assert result.problems
    # if the interpreter were held, the loop would have stood still for as long as one script or all
    assert longest < taken / 2


def test_an_empty_text_and_no_scripts() -> None:
    assert apply_scripts("", [script("/^/", "X")], STORED).text == ""
    assert apply_scripts("a", [], STORED) == apply_scripts("a", [script("")], STORED)


def test_what_its_author_should_know() -> None:
    def codes(find: str, **fields: Any) -> list[str]:
        return [note.code for note in check_script(script(find, **fields))]

    assert codes("/a/g") == []
    assert codes("") == ["nothing-to-find"]
    assert codes("/a\nb/") == ["pattern-line-break"]
    assert codes("/a/gg") == ["flags-unknown"]
    assert codes("/(/") == ["invalid-pattern"]
    assert codes("a", placements=frozenset()) == ["no-placement"]
    assert codes("a", min_depth=3, max_depth=1) == ["depth-order"]


def test_a_script_of_a_file_runs() -> None:
    scripts = parse_scripts([{"findRegex": "/a/g", "replaceString": "b", "placement": [2]}], Diagnostics())

    assert apply_scripts("aa", ScriptBook(everywhere=scripts), STORED).text == "bb"

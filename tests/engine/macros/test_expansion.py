"""Macros: what each stands for, what stays as written, and that nothing is expanded twice."""

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from engine.macros import Chat, ChatMessage, MacroContext, seeded_fraction, string_hash
from tests.engine.macros.texts import CONTEXT, codes, result, said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{user}} & {{char}}", "Bob & Alice"),
        ("{{USER}} {{ Char }}", "Bob Alice"),
        ("{{\nuser\n}}", "Bob"),
        ("{{user}}s {{char}}'s", "Bobs Alice's"),
        ("<USER> <bot> <Char>", "Bob Alice Alice"),
        ("<group>|<CHARIFNOTGROUP>", "Alice, Cara, Dan|Alice, Cara, Dan"),
        ("{{reverse::<BOT>}}", "ecilA"),
        ("{{group}}|{{charIfNotGroup}}", "Alice, Cara, Dan|Alice, Cara, Dan"),
        ("{{groupNotMuted}}|{{notChar}}", "Alice, Cara|Cara, Dan, Bob"),
        ("{{persona}}|{{description}}|{{charDescription}}", "Bob is tall|Desc of Alice|Desc of Alice"),
        ("{{personality}}|{{charPersonality}}", "Kind|Kind"),
        ("{{scenario}}|{{charScenario}}", "Cafe|Cafe"),
        ("{{mesExamples}}|{{mesExamplesRaw}}", "<START>\nBob: hi\n|<START>\nBob: hi"),
        ("{{charPrompt}}|{{charInstruction}}|{{charJailbreak}}", "Prompt|Instruction|Instruction"),
        ("{{charDepthPrompt}}|{{creatorNotes}}|{{charCreatorNotes}}", "Depth|Notes|Notes"),
        ("{{charVersion}}|{{version}}|{{char_version}}", "1.2|1.2|1.2"),
        ("{{charFirstMessage}}|{{charFirstMessage::1}}|{{charFirstMessage::2}}", "Hello|Hi there|"),
        ("a{{newline}}b{{newline::2}}c{{space::3}}d{{space::0}}", "a\nb\n\nc   d"),
        ("x{{// a note with {{user}} in it }}y{{//}}z", "xyz"),
        ("{{comment: shown to nobody}}.", "."),
        ("{{reverse:a😀b}} {{reverse:a:b}}", "b😀a b:a"),
        ("{{outlet::box}}|{{outlet::none}}", "Outlet text|"),
        ("{{model}} {{maxPrompt}} {{maxPromptTokens}}", "deepseek-chat 4000 4000"),
        ("{{maxContext}} {{maxContextTokens}} {{maxResponse}}", "4096 4096 96"),
        ("{{lastGenerationType}} {{isMobile}} {{input}}", "swipe false typed"),
        ("{{hasExtension::memory}} {{hasExtension::other}}", "true false"),
        ("{{summary}}|{{banned::word}}|{{authorsNote}}|{{systemPrompt}}", "Sum||Note|"),
        ("{{instructInput}}|{{chatSeparator}}", "|"),
        ("{{{user}}}", "{Bob}"),
        (r"\{\{user\}\} \{x\}", "{{user}} {x}"),
        (r"\{{user}}", "\\Bob"),
    ],
)
def test_what_each_macro_says(text: str, expected: str) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{lastMessage}}|{{lastMessageId}}", "Reply {{user}}|13"),
        ("{{lastUserMessage}}|{{lastCharMessage}}", "Hello Alice|Reply {{user}}"),
        ("{{firstIncludedMessageId}}|{{firstDisplayedMessageId}}", "11|10"),
        ("{{lastSwipeId}}|{{currentSwipeId}}|{{allChatRange}}", "3|2|0-13"),
    ],
)
def test_the_chat(text: str, expected: str) -> None:
    assert said(text) == expected


def test_a_last_message_that_is_being_written_is_skipped() -> None:
    chat = Chat([ChatMessage("one"), ChatMessage("two"), ChatMessage("thr", swipes=2, swipe=2)])
    context = MacroContext(chat=chat)
    assert said("{{lastMessage}}|{{lastMessageId}}|{{lastCharMessage}}", context) == "two|1|two"
    assert said("{{lastSwipeId}}|{{currentSwipeId}}", context) == "2|3"


def test_without_a_chat_its_macros_say_nothing_and_idle_time_is_unknown() -> None:
    context = MacroContext()
    assert said("[{{lastMessage}}{{lastMessageId}}{{lastSwipeId}}{{allChatRange}}]", context) == "[]"
    assert said("{{idle_duration}}", context) == "{{idle_duration}}"


def test_a_story_of_two_has_no_group() -> None:
    context = MacroContext(user="Bob", char="Alice")
    assert said("{{group}}|{{groupNotMuted}}|{{notChar}}", context) == "Alice|Alice|Bob"
    silent = replace(context, group=("Alice", "Cara"), muted=("Alice", "Cara"))
    assert said("[{{groupNotMuted}}]", silent) == "[]"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("", ""),
        ("  ", ""),
        ("<START>", ""),
        ("A: hi", "<START>\nA: hi\n"),
        ("<START>\nA: hi\n\n<start>\nB: yo", "<START>\nA: hi\n<START>\nB: yo\n"),
    ],
)
def test_examples_are_written_as_blocks(raw: str, expected: str) -> None:
    assert said("{{mesExamples}}", replace(CONTEXT, mes_examples=raw)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{random::a::b::c}}", "b"),
        ("{{random:a::b::c}}", "b"),
        ("{{random:a,b,c}}", "b"),
        ("{{random a, b ,c}}", "b"),
        (r"{{random::x\,y,x\,y}}", "x,y"),
        ("{{random::{{user}}::{{user}}}}", "Bob"),
        ("{{random::a,b::c,d::e,f}}", "c,d"),
        ("[{{random}}][{{pick}}]", "[][]"),
        ("{{random::::}}", ""),
        ("[{{random::a::::c}}]", "[]"),
    ],
)
def test_random_takes_lists_of_every_make(text: str, expected: str) -> None:
    assert said(text) == expected


def test_an_escaped_comma_does_not_part_choices() -> None:
    for seed in range(20):
        assert said(r"{{random:a\,a,b}}", replace(CONTEXT, rng=random.Random(seed))) in ("a,a", "b")


def test_pick_is_what_sillytavern_picks_for_this_chat_text_and_place() -> None:
    assert said("xx{{pick::a::b::c::d::e}}") == "xxc"
    line = "{{pick::a::b::c::d::e}} {{pick::a::b::c::d::e}} {{pick::a::b::c::d::e}}"
    assert said(line) == "b c a"
    assert said(line) == "b c a"
    assert said("{{pick:a,b,c,d,e}}") == "e"


def test_pick_counts_places_as_sillytavern_does() -> None:
    """In UTF-16 units, after `<USER>` and `{{time_UTC+2}}` were rewritten."""
    items = "::".join(map(str, range(1000)))

    def picked(before: str) -> str:
        return result(f"{before}{{{{pick::{items}}}}}").text.removeprefix(said(before))

    by_hand = {
        "😀": (2, "😀{{pick::" + items + "}}"),
        "<BOT>": (8, "<BOT>{{pick::" + items + "}}"),
        "{{time_UTC+2}}": (15, "{{time_UTC+2}}{{pick::" + items + "}}"),
    }
    for before, (place, whole) in by_hand.items():
        seed = string_hash(f"{string_hash('chat-1')}-{string_hash(whole)}-{place}")
        assert picked(before) == str(int(seeded_fraction(str(seed)) * 1000))


def test_pick_goes_by_the_story_and_not_by_its_name() -> None:
    text = "{{pick::" + "::".join(map(str, range(1000))) + "}}"
    imported = replace(CONTEXT, seed="renamed", seed_hash=7235048233963410)  # the hash of `chat-1`
    assert said(text, imported) == said(text)
    assert said(text, replace(CONTEXT, seed="another")) != said(text)


def test_picks_in_branches_are_independent() -> None:
    """ST PR 4986: all picks inside an `if` were the same one."""
    items = "::".join(map(str, range(1000)))
    first, second = said(f"{{{{if 1}}}}{{{{pick::{items}}}}} {{{{pick::{items}}}}}{{{{/if}}}}").split()
    assert first != second


@pytest.mark.parametrize(
    ("formula", "low", "high"),
    [("20", 1, 20), ("d6", 1, 6), ("2d6+3", 5, 15), ("3d4-2", 1, 10), ("101d6", 100, 600), ("1D6", 1, 6)],
)
def test_dice_stay_within_their_bounds(formula: str, low: int, high: int) -> None:
    context = replace(CONTEXT, rng=random.Random(7))
    values = {int(said(f"{{{{roll {formula}}}}}", context)) for _ in range(200)}
    assert min(values) >= low
    assert max(values) <= high
    assert len(values) > 1


@pytest.mark.parametrize("formula", ["d", "3d", "0d6", "1d0", "1d6+", "d%", "1 d 6", "abc", "-1d6", "0", ""])
def test_what_is_no_formula_rolls_nothing(formula: str) -> None:
    assert said(f"[{{{{roll::{formula}}}}}]") == "[]"


@pytest.mark.parametrize(
    "text",
    [
        "{{unknown}}",
        "{{unknown::x::y}}",
        "{{user::x}}",
        "{{user::}}",
        "{{user name}}",
        "{{roll}}",
        "{{roll::1d6::2}}",
        "{{newline::many}}",
        "{{newline::-1}}",
        "{{setvar::a}}",
        "{{setvar::a::b::c}}",
        "{{setvar a::b}}",
        "{{time::Mars}}",
        "{{time::UTC+99}}",
        "{{timeDiff::now::then}}",
        "{{charFirstMessage::x}}",
        "{{if 1}}",
        "{{/if}}",
        "{{/ if x}}",
        "{{user",
        "user}}",
        "{{}}",
        "{{ }}",
        "{{宏}}",
        "{{1}}",
        "{{a.b}}",
        "{{user|upper}}",
        "{{.}}",
        "{{.1}}",
        "{{.x y}}",
        "{{.x ++ 1}}",
        "{{.x := 1}}",
        "{{#}}",
        "{{original}}",
        "}}{{",
        "{ {user} }",
        "<users> <us er>",
    ],
)
def test_what_cannot_be_expanded_stays_as_written(text: str) -> None:
    assert said(text) == text


def test_macros_inside_what_stays_are_expanded() -> None:
    assert said("{{unknown::{{user}}::x{{char}}}}") == "{{unknown::Bob::xAlice}}"
    assert said("{{宏 {{user}} }}") == "{{宏 Bob }}"
    assert said("{{reverse::{{宏}}}}") == "}}宏{{"
    assert said("{{open {{user}}") == "{{open Bob"
    assert said("{{{{user}}}}") == "{{Bob}}"


def test_single_braces_inside_a_macro_are_balanced() -> None:
    assert said('{{setvar::a::{"x":{"y":{}}}}}{{getvar::a}}') == '{"x":{"y":{}}}'
    assert said("{{reverse::{a}}}") == "}a{"
    assert said('{"a":{"b":{{user}}}}') == '{"a":{"b":Bob}}'


def test_a_single_brace_without_a_partner_does_not_keep_a_macro_open() -> None:
    assert said("{{random::x:{::{{user}}:{::y}}") == "Bob:{"
    assert said("{{random:::{ :{::{{user}} :{ :{::y}}") == "Bob :{ :{"


def test_results_are_never_expanded_again() -> None:
    context = replace(CONTEXT, user="{{char}}", description="{{user}} <USER> {{setvar::a::b}}")
    assert said("{{user}} {{description}}", context) == "{{char}} {{user}} <USER> {{setvar::a::b}}"
    assert result("{{description}}", context).effects == ()
    assert said("{{reverse::{{reverse::{{user}}}}}}", context) == "{{char}}"


def test_original_serves_one_use_and_is_literal() -> None:
    context = replace(CONTEXT, original=r"costs $1 and \1 {{user}}")
    assert said("[{{original}}][{{original}}]", context) == r"[costs $1 and \1 {{user}}][]"
    assert said("[{{original}}]", replace(CONTEXT, original="")) == "[]"


def test_with_once_a_field_is_empty_at_its_second_use() -> None:
    context = replace(CONTEXT, once=True)
    assert said("{{persona}}|{{persona}}|{{user}}{{user}}", context) == "Bob is tall||BobBob"
    assert said("{{description}}|{{charDescription}}", context) == "Desc of Alice|"
    assert said("{{mesExamplesRaw}}|{{mesExamples}}", context) == "<START>\nBob: hi|"


def test_what_was_used_and_what_is_unknown_is_told() -> None:
    outcome = result("{{CharDescription}} {{user}} {{NoSuch::x}}")
    assert outcome.used == {"description", "user"}
    assert outcome.unknown == {"nosuch"}


def test_the_callers_own_macros_go_first_and_take_no_arguments() -> None:
    context = replace(CONTEXT, extra={"lastChatMessage": "LCM {{user}}", "User": "Zed"})
    assert said("{{lastchatmessage}} {{user}} <USER>", context) == "LCM {{user}} Zed Zed"
    assert said("{{lastChatMessage::1}}", context) == "{{lastChatMessage::1}}"
    assert said("{{if lastChatMessage}}yes{{/if}}", context) == "yes"


def test_hidden_keys_are_nowhere_but_told() -> None:
    outcome = result("a{{hidden_key: dragon }}b{{hidden_key:{{user}}}}")
    assert outcome.text == "ab"
    assert outcome.hidden_keys == ("dragon", "Bob")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{time}} {{date}} {{weekday}}", "2:07 PM March 5, 2024 Tuesday"),
        ("{{isotime}} {{isodate}}", "14:07 2024-03-05"),
        ("{{time::UTC-3}} {{time::UTC+5.5}} {{time_UTC+2}}", "11:07 AM 7:37 PM 4:07 PM"),
        ("{{time_UTC-5}} {{ TIME_utc-12 }} {{time_UTC-3.5}}", "9:07 AM 2:07 AM 10:37 AM"),
        ("{{datetimeformat::YYYY/MM/DD HH:mm:ss}}", "2024/03/05 14:07:09"),
        ("{{datetimeformat:dddd [at] h A}}", "Tuesday at 2 PM"),
        ("{{idleDuration}} {{idle_duration}}", "37 minutes 37 minutes"),
        ("{{timeDiff::2023-01-01 12:00:00::2023-01-01 15:00:00}}", "3 hours ago"),
        ("{{timeDiff::2023-01-01T15:00:00Z::2023-01-01 12:00:00}}", "in 3 hours"),
    ],
)
def test_time_is_told_by_the_given_clock(text: str, expected: str) -> None:
    assert said(text) == expected


def test_a_clock_without_a_zone_serves_too() -> None:
    context = replace(CONTEXT, now=datetime(2024, 3, 5, 14, 7, 9))
    assert said("{{time}} {{idle_duration}}", context) == "2:07 PM 37 minutes"
    diff = "{{timeDiff::2023-01-01T15:00:00Z::2023-01-01 12:00:00}}"
    assert said(diff, context) == "in 3 hours"


def test_clocks_at_both_ends_of_time_do_no_harm() -> None:
    for now in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        context = replace(CONTEXT, now=now)
        assert said("{{time::UTC-12}}|{{time::UTC+12}}|{{idle_duration}}", context).count("|") == 2
        assert said("{{datetimeformat::gggg ww GGGG WW X x}}", context)


def test_nobody_said_anything_before_the_newest_message() -> None:
    context = replace(CONTEXT, chat=Chat([ChatMessage("Hi", is_user=True)]))
    assert said("{{idle_duration}}", context) == "just now"


def test_remarks_have_the_span_of_what_they_are_about() -> None:
    assert codes("a {{nope::{{user}}}} b {{char::x}} {{newline::x}} {{/if}}") == [
        ("UNKNOWN_MACRO", "{{nope::{{user}}}}"),
        ("MACRO_ARGUMENTS", "{{char::x}}"),
        ("MACRO_VALUE", "{{newline::x}}"),
        ("MACRO_SCOPE", "{{/if}}"),
    ]
    assert codes("{{user}} {{random}} {{if 1}}x{{/if}} {{宏}} {{open") == []


def test_the_argument_structure_is_fixed_before_what_is_inside_is_evaluated() -> None:
    """ST issue 5976: a value with `::` must not make another choice."""
    context = replace(CONTEXT, description="::a::b")
    assert said("{{random::x::{{description}}::y}}", context) == "::a::b"
    assert said("{{setvar::v::{{description}}}}{{getvar::v}}", context) == "::a::b"

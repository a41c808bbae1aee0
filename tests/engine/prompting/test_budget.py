"""What is left out when there is no room for all of it."""

import pytest

from engine.errors import AssemblyError
from engine.prompting import SILLYTAVERN, ChatLine, Extension, Quirk
from tests.engine.prompting.make import CHAT, codes, in_chat, made, preset, sent, story, without

# 3 tokens to begin with, 1 for the main prompt, 4 for the header, 2 + 2 + 3 + 1 for the chat
HEAD = ["s: Main.", "s: [Start a new Chat]"]
TALK = ["a: Hello traveller", "u: Hi Alice", "a: How are you", "u: Fine"]
EXAMPLES = ["s: [Example Chat]", "s(example_user): ex q", "s(example_assistant): ex a"]
TOLD = story(mes_examples="<START>\nBob: ex q\nAlice: ex a")  # 2 for its header, 3 for each


def test_the_newest_messages_are_kept_and_the_first_that_does_not_fit_ends_it() -> None:
    for quirks in (frozenset[Quirk](), SILLYTAVERN):
        assert sent(made(preset(), budget=16, quirks=quirks)) == [*HEAD, *TALK]
        assert sent(made(preset(), budget=15, quirks=quirks)) == [*HEAD, *TALK[1:]]
        built = made(preset(), budget=12, quirks=quirks)
        assert sent(built) == [*HEAD, *TALK[2:]]
        assert (built.dropped_lines, built.total, built.budget) == ((0, 1), 12, 12)
        assert built.tokens == {"main": 1, "newMainChat": 4, "chatHistory": 4}
        assert codes(built) == ["history-dropped"]


def test_the_budget_is_what_the_preset_leaves_of_its_context() -> None:
    given = preset(openai_max_context=112, openai_max_tokens=100)

    assert sent(made(given)) == [*HEAD, *TALK[2:]]


def test_the_history_goes_before_examples() -> None:
    for quirks in (frozenset[Quirk](), SILLYTAVERN):
        assert sent(made(preset(), TOLD, budget=24, quirks=quirks)) == [HEAD[0], *EXAMPLES, HEAD[1], *TALK]
        built = made(preset(), TOLD, budget=23, quirks=quirks)
        assert sent(built) == [*HEAD, *TALK]
        assert (built.dropped_examples, codes(built)) == (1, ["examples-dropped"])


def test_examples_come_whole_and_in_their_order_until_one_does_not_fit() -> None:
    told = story(mes_examples="Bob: a b c\n<START>\nBob: a b c d e\n<START>\nBob: a")

    built = made(preset(), told, CHAT[3:], budget=21)  # 9, then 6, 8 and 4

    assert sent(built)[1:3] == ["s: [Example Chat]", "s(example_user): a b c"]
    assert built.dropped_examples == 2


def test_pinned_examples_go_before_the_history() -> None:
    for quirks in (frozenset[Quirk](), SILLYTAVERN):
        built = made(preset(), TOLD, budget=20, pinned=True, quirks=quirks)
        assert sent(built) == [HEAD[0], *EXAMPLES, HEAD[1], *TALK[2:]]
        assert (built.dropped_lines, built.dropped_examples) == ((0, 1), 0)


def test_pinned_examples_may_leave_nothing_of_the_history_or_at_least_the_last_words() -> None:
    built = made(preset(), TOLD, budget=13, pinned=True, quirks=SILLYTAVERN)
    assert sent(built) == [HEAD[0], *EXAMPLES]
    assert built.errors == ("Mandatory prompts exceed the context size.",)

    ours = made(preset(), TOLD, budget=13, pinned=True)
    assert sent(ours) == [*HEAD, *TALK[2:]]
    assert (ours.dropped_examples, ours.errors) == (1, ())


def test_the_last_words_of_a_person_are_kept_before_what_came_after_them() -> None:
    chat = [
        ChatLine("Bob", "what now", is_user=True),
        ChatLine("Alice", "one two three four"),
        ChatLine("Alice", "five"),
    ]

    ours = made(preset(), chat=chat, budget=11)
    assert sent(ours)[2:] == ["u: what now", "a: five"]
    assert ours.dropped_lines == (1,)
    assert sent(made(preset(), chat=chat, budget=11, quirks=SILLYTAVERN))[2:] == ["a: five"]


def test_what_must_be_there_and_does_not_fit_is_refused_with_numbers() -> None:
    given = preset(changed={"jailbreak": {"content": "one two three"}})
    chat = [*CHAT, ChatLine("Bob", "and the last words", is_user=True)]

    with pytest.raises(AssemblyError) as refused:
        made(given, chat=chat, budget=14)

    assert refused.value.error_code == "PROMPT_BUDGET_EXCEEDED"
    assert refused.value.data == {
        "needed": 15,
        "budget": 14,
        "missing": 1,
        "sources": {"main": 1, "jailbreak": 3, "newMainChat": 4, "chatHistory": 4},
    }
    assert sent(made(given, chat=chat, budget=15))[-2:] == ["u: and the last words", "s: one two three"]


def test_sillytavern_sends_what_stands_by_then_and_says_so() -> None:
    given = preset(changed={"jailbreak": {"content": "one two three"}})

    built = made(given, budget=6, quirks=SILLYTAVERN)

    assert sent(built) == ["s: Main."]
    assert built.errors == ("Mandatory prompts exceed the context size.",)
    assert built.dropped_lines == (0, 1, 2, 3)


def test_room_is_kept_for_control_prompts() -> None:
    told = story(type="quiet", quiet="one two three four")
    for quirks in (frozenset[Quirk](), SILLYTAVERN):
        assert sent(made(preset(), told, budget=13, quirks=quirks)) == [
            *HEAD, "u: Fine", "s: one two three four",
        ]  # fmt: skip


def test_room_is_kept_for_what_is_continued_and_for_the_nudge_of_a_group() -> None:
    nudge = preset(continue_nudge_prompt="go on", group_nudge_prompt="as her", new_group_chat_prompt="new")
    told = story(type="continue", group=("Alice",))

    # 3 + 1 + 1 for the header, 2 and 2 for the nudges, 4 for what is continued: 2 are left
    lines = sent(made(nudge, told, CHAT[:3], budget=15))

    assert lines == ["s: Main.", "s: new", "u: Hi Alice", "s: as her", "a: Alice: How are you", "s: go on"]


def test_what_stands_between_the_messages_takes_room_as_they_do() -> None:
    given = preset(in_chat("x", "one two three four five six", 1))

    built = made(given, budget=13)
    assert sent(built) == [*HEAD, "u: Fine"]
    assert (built.dropped_lines, built.dropped_injected) == ((0, 1, 2), 1)


def test_nobody_is_made_to_speak_where_there_is_no_room() -> None:
    given = preset(send_if_empty="one two three four five")

    assert sent(made(given, chat=CHAT[:3], budget=12, quirks=SILLYTAVERN))[-1] == "a: How are you"


def test_notes_beside_the_main_prompt_must_fit() -> None:
    told = story(extensions=(Extension("n", "one two three", "end"),))

    with pytest.raises(AssemblyError) as refused:
        made(preset(), told, (), budget=10)
    assert refused.value.data["missing"] == 1
    assert made(preset(), told, (), budget=6, quirks=SILLYTAVERN).errors != ()


def test_only_the_reserve_differs_where_nothing_is_short() -> None:
    late = made(preset(), TOLD, budget=24, quirks=SILLYTAVERN)
    early = made(preset(), TOLD, budget=24, quirks=without(Quirk.RESERVES_LATE))

    assert late.messages == early.messages

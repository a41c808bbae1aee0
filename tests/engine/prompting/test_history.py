"""The end of a request: continuing, writing as the user, quiet prompts, groups, and silence."""

from engine.prompting import SILLYTAVERN, ChatLine, Quirk
from tests.engine.prompting.make import CHAT, in_chat, made, preset, sent, story

NUDGE = "s: [Continue your last message without repeating its original content.]"
ENDED = CHAT[:3]  # with the character's words
BOTH: tuple[frozenset[Quirk], ...] = (frozenset(), SILLYTAVERN)


def test_continuing_moves_the_last_message_to_the_end_and_nudges() -> None:
    given = preset(in_chat("x", "between", 0))
    for quirks in BOTH:
        assert sent(made(given, story(type="continue"), ENDED, quirks=quirks))[2:] == [
            "a: Hello traveller", "u: Hi Alice", "s: between", "a: How are you", NUDGE,
        ]  # fmt: skip


def test_the_nudge_stands_behind_the_post_history_instructions() -> None:
    given = preset(changed={"jailbreak": {"content": "JB"}})

    assert sent(made(given, story(type="continue"), ENDED))[-3:] == ["s: JB", "a: How are you", NUDGE]


def test_the_nudge_may_quote_what_is_continued() -> None:
    given = preset(continue_nudge_prompt="Go on from: {{lastChatMessage}}")

    assert sent(made(given, story(type="continue", continued=" you "), ENDED))[-1] == "s: Go on from: you"


def test_what_is_empty_cannot_be_continued() -> None:
    assert sent(made(preset(), story(type="continue"), (*ENDED, ChatLine("Alice", ""))))[-1] == (
        "a: How are you"
    )


def test_with_prefill_the_last_message_is_the_final_one() -> None:
    given = preset(in_chat("x", "between", 0), continue_prefill=True, assistant_prefill="Well,")
    for quirks in BOTH:
        assert sent(made(given, story(type="continue"), ENDED, quirks=quirks))[2:] == [
            "a: Hello traveller", "u: Hi Alice", "s: between", "a: How are you",
        ]  # fmt: skip


def test_claude_begins_the_prefill_with_the_assistants_own() -> None:
    given = preset(continue_prefill=True, assistant_prefill="Well, {{user}}", chat_completion_source="claude")

    assert sent(made(given, story(type="continue"), ENDED))[-1] == "a: Well, Bob\n\nHow are you"
    assert sent(made(given, story(type="continue"), CHAT))[-1] == "u: Fine"


def test_prefill_keeps_the_name_field_and_the_nudge_loses_it() -> None:
    given = preset(names_behavior=1)

    assert sent(made(given, story(type="continue"), ENDED))[-2:] == ["a: How are you", NUDGE]
    prefilled = preset(names_behavior=1, continue_prefill=True)
    assert sent(made(prefilled, story(type="continue"), ENDED))[-1] == "a(Alice): How are you"


def test_writing_as_the_user_and_the_quiet_prompt_come_last() -> None:
    given = preset(changed={"jailbreak": {"content": "JB"}}, impersonation_prompt="[As {{user}}]")

    assert sent(made(given, story(type="impersonate")))[-2:] == ["s: JB", "s: [As Bob]"]
    assert sent(made(given, story(type="quiet", quiet="Sum up {{char}}")))[-1] == "s: Sum up Alice"
    both = story(type="impersonate", quiet="And hush")
    assert sent(made(given, both))[-2:] == ["s: [As Bob]", "s: And hush"]
    assert sent(made(given))[-1] == "s: JB"


def test_somebody_is_made_to_speak_after_the_character_only() -> None:
    given = preset(send_if_empty="[go on, {{char}}]")

    assert sent(made(given, chat=ENDED))[-1] == "u: [go on, Alice]"
    assert sent(made(given, chat=ENDED, quirks=SILLYTAVERN))[-1] == "u: [go on, {{char}}]"
    assert sent(made(given))[-1] == "u: Fine"
    assert sent(made(given, chat=()))[-1] == "s: [Start a new Chat]"


def test_a_group_has_its_own_header_and_a_nudge_that_names_the_speaker() -> None:
    told = story(group=("Alice", "Carol"))

    lines = sent(made(preset(), told))
    assert lines[1] == "s: [Start a new group chat. Group members: Alice, Carol]"
    assert lines[-1] == "s: [Write the next reply only as Alice.]"
    as_user = sent(made(preset(impersonation_prompt="[As Bob]"), story(group=("A",), type="impersonate")))
    assert as_user[-2:] == ["u: Fine", "s: [As Bob]"]


def test_the_nudge_of_a_group_stands_at_the_end_of_the_history() -> None:
    given = preset(changed={"jailbreak": {"content": "JB"}})

    assert sent(made(given, story(group=("Alice",))))[-2:] == [
        "s: [Write the next reply only as Alice.]", "s: JB",
    ]  # fmt: skip

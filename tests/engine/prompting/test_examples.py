"""Example dialogue."""

from engine.prompting import SILLYTAVERN, Quirk
from tests.engine.prompting.make import made, preset, sent, story, without

OURS: frozenset[Quirk] = frozenset()


def examples(text: str, quirks: frozenset[Quirk] = OURS, **more: object) -> list[str]:
    """The messages of the examples alone, the headers as `#`."""
    told = story(mes_examples=text, **more)
    found = sent(made(preset(new_example_chat_prompt="#", group_nudge_prompt=""), told, (), quirks=quirks))
    return [line.removeprefix("s: ") for line in found[1:-1]]


def test_blocks_begin_at_start_in_any_case_and_a_first_one_need_not_be_written() -> None:
    text = "Bob: q\nAlice: a\n<start>\nAlice: b\n<START>\nBob: c"
    for quirks in (OURS, SILLYTAVERN):
        assert examples(text, quirks) == [
            "#", "s(example_user): q", "s(example_assistant): a",
            "#", "s(example_assistant): b",
            "#", "s(example_user): c",
        ]  # fmt: skip


def test_a_message_goes_on_until_somebody_else_speaks() -> None:
    for quirks in (OURS, SILLYTAVERN):
        assert examples("Bob: q\r\nmore\n\nAlice: a", quirks) == [
            "#", "s(example_user): q\nmore", "s(example_assistant): a",
        ]  # fmt: skip


def test_macros_of_the_examples_name_the_speakers() -> None:
    assert examples("{{user}}: q\n{{char}}: a") == ["#", "s(example_user): q", "s(example_assistant): a"]


def test_lines_before_the_first_speaker_go_with_the_first_message() -> None:
    text = "intro\nBob: q\nAlice: a\nAlice: again"

    assert examples(text, SILLYTAVERN) == [
        "#", "s(example_user): intro\n q", "s(example_assistant): a\nAlice: again",
    ]  # fmt: skip
    assert examples(text) == [
        "#", "s(example_user): intro\nq", "s(example_assistant): a", "s(example_assistant): again",
    ]  # fmt: skip


def test_a_block_in_which_nobody_speaks_leaves_its_header_or_is_narration() -> None:
    assert examples("<START>\nIt rains.", SILLYTAVERN) == ["#"]
    assert examples("<START>\nIt rains.") == ["#", "It rains."]


def test_an_empty_block_has_a_header_only_in_sillytavern() -> None:
    # a small <start> gets another one in front, so the first block is empty
    assert examples("<start>\nBob: q", SILLYTAVERN) == ["#", "#", "s(example_user): q"]
    assert examples("<start>\nBob: q") == ["#", "s(example_user): q"]
    assert examples("<START>", SILLYTAVERN) == []


def test_in_a_group_the_text_says_who_speaks() -> None:
    text = "Bob: q\nCarol: c\nBob: r\nAlice: a"

    assert examples(text, group=("Alice", "Carol")) == [
        "#", "s(example_user): Bob: q", "s(example_assistant): Carol: c",
        "s(example_user): Bob: r", "s(example_assistant): Alice: a",
    ]  # fmt: skip


def test_a_member_who_spoke_once_keeps_speaking_in_sillytavern() -> None:
    text = "Carol: c\nBob: r\nAlice: a"

    assert examples(text, SILLYTAVERN, group=("Alice", "Carol")) == [
        "#", "s(example_assistant): Carol: c", "s(example_user): Bob: r",
        "s(example_assistant): Carol: Alice: a",
    ]  # fmt: skip
    mended = without(Quirk.EXAMPLE_LABELS)
    assert examples(text, mended, group=("Alice", "Carol"))[-1] == "s(example_assistant): Alice: a"


def test_lores_examples_stand_around_the_cards() -> None:
    told = examples("Bob: card", examples_before=("Bob: b1", "Bob: b2"), examples_after=("Alice: {{user}}",))

    assert told == [
        "#", "s(example_user): b1", "#", "s(example_user): b2", "#", "s(example_user): card",
        "#", "s(example_assistant): Bob",
    ]  # fmt: skip


def test_an_empty_header_is_no_message() -> None:
    told = story(mes_examples="Bob: q")

    assert sent(made(preset(new_example_chat_prompt="", new_chat_prompt=""), told, ())) == [
        "s: Main.", "s(example_user): q",
    ]  # fmt: skip

"""What is done to the messages for a provider's sake."""

import pytest

from engine.prompting import Cast, PostProcessing, PromptMessage, post_process

CAST = Cast("Bob", "Alice", ("Carol",))


def line(role: str, content: str, name: str = "", **more: object) -> PromptMessage:
    return PromptMessage(role, content, name, **more)  # type: ignore[arg-type]


def done(how: PostProcessing, *messages: PromptMessage) -> list[str]:
    return [f"{m.role[0]}: {m.content}" for m in post_process(messages, how, CAST)]


TALK = (
    line("system", "Rules."),
    line("system", "q", "example_user"),
    line("system", "a", "example_assistant"),
    line("system", "Carol: c", "example_assistant"),
    line("assistant", "Hello.", "Alice__"),
    line("system", "Rain."),
    line("user", "Hi."),
    line("user", "Cleo: Hey.", "Cleo"),
)
SYSTEM = "Rules.\n\nBob: q\n\nAlice: a\n\nCarol: c"


def test_nothing_is_done_where_nothing_is_asked() -> None:
    assert post_process(TALK, "", CAST) == TALK


@pytest.mark.parametrize(
    ("how", "lines"),
    [
        ("merge", [f"s: {SYSTEM}", "a: Alice__: Hello.", "s: Rain.", "u: Hi.\n\nCleo: Hey."]),
        ("semi", [f"s: {SYSTEM}", "a: Alice__: Hello.", "u: Rain.\n\nHi.\n\nCleo: Hey."]),
        (
            "strict",
            [
                f"s: {SYSTEM}",
                "u: Let's get started.",
                "a: Alice__: Hello.",
                "u: Rain.\n\nHi.\n\nCleo: Hey.",
            ],
        ),
        ("single", [f"u: {SYSTEM}\n\nAlice: Alice__: Hello.\n\nRain.\n\nBob: Hi.\n\nBob: Cleo: Hey."]),
    ],
)
def test_each_way(how: PostProcessing, lines: list[str]) -> None:
    assert done(how, *TALK) == lines


def test_strict_begins_with_the_user_only_where_nobody_else_made_it() -> None:
    assert done("strict", line("system", "S"), line("user", "U")) == ["s: S", "u: U"]
    assert done("strict", line("system", "S")) == ["s: S", "u: Let's get started."]
    assert done("strict", line("assistant", "A")) == ["u: Let's get started.", "a: A"]
    assert done("strict", line("user", "U"), line("assistant", "A")) == ["u: U", "a: A"]


def test_no_message_at_all_becomes_the_placeholder() -> None:
    for how in ("merge", "semi", "strict", "single"):
        assert done(how) == ["u: Let's get started."]
    assert [m.content for m in post_process((), "merge", CAST, placeholder="Go.")] == ["Go."]


CALLS = (
    line("user", "Roll."),
    line("assistant", "", tool_calls=({"id": "c1"},)),
    line("tool", "4", tool_call_id="c1"),
    line("tool", "5", tool_call_id="c2"),
    line("assistant", "It is 4."),
)


def test_tool_data_is_taken_out() -> None:
    found = post_process(CALLS, "merge", CAST)

    assert [m.to_wire() for m in found] == [
        {"role": "user", "content": "Roll."},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "4\n\n5"},
        {"role": "assistant", "content": "It is 4."},
    ]


@pytest.mark.parametrize("how", ["merge_tools", "semi_tools", "strict_tools"])
def test_or_kept_where_tools_are_wanted(how: PostProcessing) -> None:
    found = post_process(CALLS, how, CAST)

    assert [m.to_wire() for m in found] == [
        {"role": "user", "content": "Roll."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1"}]},
        {"role": "tool", "content": "4", "tool_call_id": "c1"},
        {"role": "tool", "content": "5", "tool_call_id": "c2"},
        {"role": "assistant", "content": "It is 4."},
    ]


def test_lines_and_parts_are_known_after_joining() -> None:
    joined = post_process([line("user", "a", lines=(1,)), line("user", "b", lines=(2,))], "merge", CAST)

    assert [(m.content, m.lines) for m in joined] == [("a\n\nb", (1, 2))]


def test_names_are_said_once() -> None:
    assert done("merge", line("user", "Bob: hi", "Bob")) == ["u: Bob: hi"]
    assert done("single", line("assistant", "Carol: hi")) == ["u: Carol: hi"]
    assert done("single", line("assistant", "Alice: hi"), line("user", "Bob: yo")) == [
        "u: Alice: hi\n\nBob: yo"
    ]

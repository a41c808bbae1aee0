"""How speakers are named, and whose messages they are."""

import pytest

from engine.prompting import SILLYTAVERN, ChatLine, Quirk
from tests.engine.prompting.make import made, preset, sent, story, without

TABLE = (
    ChatLine("Alice", "a"),
    ChatLine("Bob", "b", is_user=True),
    ChatLine("Cleo", "c", is_user=True, labelled=True),
    ChatLine("Narrator", "n", narrator=True),
    ChatLine("Sue", "s", narrator=True, labelled=True),
)


def talk(names: object, group: tuple[str, ...] = (), quirks: frozenset[Quirk] = SILLYTAVERN) -> list[str]:
    given = preset(names_behavior=names, group_nudge_prompt="")
    return sent(made(given, story(group=group), TABLE, quirks=quirks))[2:]


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        (-1, ["a: a", "u: b", "u: c", "s: n", "s: s"]),
        (0, ["a: a", "u: b", "u: Cleo: c", "s: n", "s: s"]),
        (1, ["a(Alice): a", "u(Bob): b", "u(Cleo): c", "s(Narrator): n", "s(Sue): s"]),
        (2, ["a: Alice: a", "u: Bob: b", "u: Cleo: c", "s: n", "s: s"]),
        (7, ["a: a", "u: b", "u: Cleo: c", "s: n", "s: s"]),
    ],
)
def test_the_ways_of_naming(names: int, lines: list[str]) -> None:
    assert talk(names) == lines


def test_in_a_group_everybody_but_the_user_has_a_label() -> None:
    group = ("Alice", "Dora")

    assert talk(0, group) == ["a: Alice: a", "u: b", "u: Cleo: c", "s: Narrator: n", "s: Sue: s"]
    mended = without(Quirk.GROUP_NARRATOR_LABELLED)
    assert talk(0, group, mended) == ["a: Alice: a", "u: b", "u: Cleo: c", "s: n", "s: s"]
    assert talk(-1, group) == ["a: a", "u: b", "u: c", "s: n", "s: s"]


@pytest.mark.parametrize(
    ("name", "field"),
    [("Alice Ö", "Alice__"), ("A" * 70, "A" * 64), ("爱丽丝", "___"), ("x😀", "x__"), ("", "")],
)
def test_the_field_has_only_ascii_letters_digits_and_underscores(name: str, field: str) -> None:
    built = made(preset(names_behavior=1), chat=[ChatLine(name, "hi")])

    assert built.messages[-1].name == field


def test_hidden_lines_are_not_sent_and_carriage_returns_are_taken_out() -> None:
    chat = [ChatLine("Alice", "secret", hidden=True), ChatLine("Bob", "a\r\nb", is_user=True)]

    assert sent(made(preset(), chat=chat))[2:] == ["u: a\nb"]


def test_what_people_say_may_stand_in_quotes() -> None:
    chat = [ChatLine("Alice", "hm"), ChatLine("Bob", "hi", is_user=True)]

    assert sent(made(preset(wrap_in_quotes=True), chat=chat))[2:] == ["a: hm", 'u: "hi"']


def test_the_names_setting_of_older_presets_is_understood() -> None:
    given = preset(names_in_completion=True)

    assert made(given, chat=[ChatLine("Bob", "hi", is_user=True)]).messages[-1].name == "Bob"


def test_macros_in_what_was_said_are_expanded_by_sillytavern_only() -> None:
    chat = [ChatLine("Bob", "I am {{user}} {{setvar::x::1}}", is_user=True)]

    assert sent(made(preset(), chat=chat, quirks=SILLYTAVERN))[-1] == "u: I am Bob "
    assert sent(made(preset(), chat=chat))[-1] == "u: I am {{user}} {{setvar::x::1}}"

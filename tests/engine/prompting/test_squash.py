"""Runs of system messages made one."""

from engine.prompting import SILLYTAVERN, ChatLine, Extension, PromptMessage, Quirk, build
from tests.engine.prompting.make import CHAT, codes, in_chat, made, preset, prompt, sent, story


def test_runs_of_the_system_are_joined_and_headers_and_examples_stay() -> None:
    given = preset(
        prompt("a", "A"),
        in_chat("x", "X", 0),
        changed={"jailbreak": {"content": "JB"}},
        squash_system_messages=True,
    )
    told = story(description="D", mes_examples="Bob: q\nAlice: a")

    assert sent(made(given, told, CHAT[3:])) == [
        "s: Main.\nA\nD",
        "s: [Example Chat]", "s(example_user): q", "s(example_assistant): a",
        "s: [Start a new Chat]",
        "u: Fine",
        "s: X\nJB",
    ]  # fmt: skip


def test_the_nudge_of_a_group_stays_by_itself() -> None:
    given = preset(in_chat("x", "X", 0), changed={"jailbreak": {"content": "J"}}, squash_system_messages=True)

    assert sent(made(given, story(group=("Alice",)), ()))[-3:] == [
        "s: X", "s: [Write the next reply only as Alice.]", "s: J",
    ]  # fmt: skip


def test_the_narrators_lines_are_joined_too_and_still_known() -> None:
    chat = [ChatLine("N", "It rains.", narrator=True), ChatLine("N", "It stops.", narrator=True)]
    given = preset(squash_system_messages=True, new_chat_prompt="")

    built = made(given, chat=chat)

    assert sent(built) == ["s: Main.\nIt rains.\nIt stops."]
    assert built.messages[0].lines == (0, 1)
    assert [part.source for part in built.messages[0].parts] == ["main", "chatHistory", "chatHistory"]


def test_an_empty_message_of_somebody_else_keeps_the_system_apart() -> None:
    given = preset(
        prompt("a", "A"), prompt("u", "", role="user"), prompt("b", "B"), squash_system_messages=True
    )

    assert sent(made(given, chat=()))[:2] == ["s: Main.\nA", "s: B"]


def letters(message: PromptMessage) -> int:
    return len(message.content)


def test_messages_stay_apart_where_joining_them_would_cost_too_much() -> None:
    given = preset(prompt("a", "A"), squash_system_messages=True, new_chat_prompt="")
    told = story(extensions=(Extension("n", "N", "end"),))
    # 3 + 5 + 1 + 1 apart; joined there are two line breaks more
    tight = build(given, told, (), count_tokens=letters, budget=10)
    assert sent(tight) == ["s: Main.", "s: N", "s: A"]
    assert codes(tight) == ["squash-too-large"]

    assert sent(build(given, told, (), count_tokens=letters, budget=12)) == ["s: Main.\nN\nA"]
    theirs: frozenset[Quirk] = SILLYTAVERN
    assert build(given, told, (), count_tokens=letters, budget=10, quirks=theirs).total == 12

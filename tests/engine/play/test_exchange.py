"""Reading exchanges out of logs, and walking trees: the pure parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from engine.play import Head, Node, Piece, Timeline, Variant
from engine.play.exchange import exchange_text, exchanges, spoken_message, words_since
from engine.session import (
    Event,
    Header,
    Session,
    assistant_message,
    message_text,
    text_block,
    tool_call_block,
    tool_message,
    user_message,
)
from tests.engine.play.table import utterance


class Log:
    """A log written by hand, without an agent."""

    def __init__(self) -> None:
        self.session = Session(Header("s", 0))
        self.turn = 0
        self.replies = 0

    def insert(self, *texts: str) -> None:
        inserted = [spoken_message(utterance(text, text), text) for text in texts]
        self.splice(0, 0, inserted)

    def splice(self, start: int, removed: int, inserted: Sequence[Any] = (), **more: Any) -> None:
        data = {"target": "next-turn", "start": start, "inserted": list(inserted), **more}
        self.session.append("agent/inbox/spliced", data | ({"removedCount": removed} if removed else {}))

    def open(self) -> None:
        self.turn += 1
        self.session.append("turn/start", {"turn": self.turn})

    def claim(self) -> None:
        self.splice(0, 1)

    def admit(self, text: str) -> None:
        message = spoken_message(utterance(text, text), text)
        self.session.append("user/message", message, surface_op="append")

    def answer(self, *texts: str, **more: Any) -> None:
        for text in texts:
            self.replies += 1
            message = assistant_message(f"m{self.replies}", [text_block(text)], provider="p", model="m")
            data = {"turn": self.turn, "step": 1, "message": message, "stream": [], **more}
            self.session.append("assistant/message", data, surface_op="append")

    def call(self, call_id: str, tool: str, result: str, *, error: bool = False, words: str = "") -> None:
        """An answer that calls a tool, and what came of it."""
        self.replies += 1
        blocks = [*([text_block(words)] if words else []), tool_call_block(call_id, tool, "{}")]
        message = assistant_message(f"m{self.replies}", blocks, provider="p", model="m")
        where = {"turn": self.turn, "step": 1}
        self.session.append(
            "assistant/message", {**where, "message": message, "stream": []}, surface_op="append"
        )
        self.session.append("tool/call", {**where, "callId": call_id, "name": tool, "arguments": "{}"})
        told = tool_message(f"r-{call_id}", call_id, result, is_error=error)
        self.session.append("tool/result", {**where, "message": told}, surface_op="append")

    def close(self, kind: str = "completed") -> None:
        self.session.append("turn/end", {"turn": self.turn, "reason": {"kind": kind}})

    @property
    def events(self) -> Sequence[Event]:
        return self.session.events()


def test_a_turn_with_an_answer_is_an_exchange() -> None:
    log = Log()
    log.insert("a")  # 0
    log.open()
    log.claim()
    log.admit("a")
    log.answer("one")
    log.close()  # 5
    (found,) = exchanges(log.events, -1)
    assert (found.start_seq, found.end_seq, found.interrupted) == (1, 5, False)
    assert exchanges(log.events, 5) == []
    text = exchange_text(log.events)
    assert ([words.text for words in text.inputs], text.answer) == (["a"], "one")


def test_turns_without_an_answer_belong_to_the_next_exchange_and_trailing_ones_to_none() -> None:
    log = Log()
    for answers in ((), ("one",), (), ("two",), ()):
        log.open()
        log.answer(*answers)
        log.close("completed" if answers else "error")
    ranges = [(found.start_seq, found.end_seq) for found in exchanges(log.events, -1)]
    assert ranges == [(0, 4), (5, 9)]


def test_a_turn_that_is_still_open_lends_its_answer_to_nobody() -> None:
    log = Log()
    log.open()
    log.close("error")
    log.open()
    log.answer("half of it")
    assert exchanges(log.events, -1) == []


def test_blank_text_is_no_answer() -> None:
    log = Log()
    log.open()
    log.answer("  \n")
    log.close()
    assert exchanges(log.events, -1) == []
    assert exchange_text(log.events).answer == ""


def test_several_answers_of_one_turn_are_one_text_that_ends_like_the_last() -> None:
    log = Log()
    log.open()
    log.answer("one", " ", "two")
    log.answer("thr", interrupted=True)
    log.close("aborted")
    (found,) = exchanges(log.events, -1)
    assert found.interrupted
    text = exchange_text(log.events)
    assert (text.answer, text.interrupted) == ("one\n\ntwo\n\nthr", True)


def test_injected_context_is_nobodys_words() -> None:
    log = Log()
    log.open()
    log.session.append("user/message", user_message("c", "noon", {"kind": "clock"}), surface_op="append")
    log.admit("a")
    log.close()
    assert [words.text for words in exchange_text(log.events).inputs] == ["a"]
    assert [message["id"] for message in words_since(log.events, 0, -1)] == ["a"]


def test_words_are_what_was_claimed_or_admitted_after_a_place_once() -> None:
    log = Log()
    log.insert("a", "b", "c", "d")
    log.open()
    log.claim()
    log.admit("a")
    log.close()
    end = len(log.events) - 1
    log.splice(0, 1, [spoken_message(utterance("B!", "b"), "b")], outcome="canceled")
    log.splice(1, 1, outcome="canceled")
    log.open()
    log.claim()
    log.close("aborted")
    said = {message["id"]: message["source"]["text"] for message in words_since(log.events, 0, end)}
    # b as it was last worded; c was taken back, d still waits
    assert said == {"b": "B!"}
    assert [message["id"] for message in words_since(log.events, 0, -1)] == ["a", "b"]


def test_the_queue_of_the_parent_is_not_the_forks() -> None:
    log = Log()
    log.insert("a")
    log.open()
    log.claim()
    log.close("aborted")
    assert words_since(log.events, len(log.events), -1) == []


# -- trees ---------------------------------------------------------------------------------------


def tree(head: str | None, **nodes: tuple[str | None, str, str]) -> Timeline:
    """Nodes as name=(parent variant, adopted, variants); a variant's session and seqs do not matter here."""
    built = []
    for position, (name, (parent, adopted, variants)) in enumerate(nodes.items()):
        ranges = tuple(Variant(v, name, f"s-{v}", position, position, False) for v in variants.split())
        built.append(Node(name, parent, adopted, ranges))
    owner = next((node for node in built for v in node.variants if v.id == head), None)
    return Timeline(tuple(built), Head("s", owner.id if owner else None, head))


def ids(timeline: Timeline) -> list[str]:
    return [node.id for node in timeline.path()]


def test_the_path_goes_over_parents_from_the_head() -> None:
    nodes: dict[str, tuple[str | None, str, str]] = {
        "one": (None, "a", "a b"),
        "two": ("a", "c", "c"),
        "other": ("b", "d", "d"),
    }
    assert ids(tree("c", **nodes)) == ["one", "two"]
    assert ids(tree("d", **nodes)) == ["one", "other"]
    assert ids(tree("b", **nodes)) == ["one"]
    assert ids(tree(None, **nodes)) == []
    assert tree("c", **nodes).node("two").position == 0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "broken",
    [
        lambda: tree("a", one=("a", "a", "a")),
        lambda: tree("b", one=("b", "a", "a"), two=("a", "b", "b")),
        lambda: tree("a", one=("nowhere", "a", "a")),
    ],
)
def test_a_tree_that_bites_its_tail_or_has_no_root_is_an_error(broken: Callable[[], Timeline]) -> None:
    with pytest.raises(ValueError, match="broken"):
        broken().path()


def test_a_long_path_is_walked_in_a_moment() -> None:
    nodes: dict[str, tuple[str | None, str, str]] = {
        f"n{i}": (f"v{i - 1}" if i else None, f"v{i}", f"v{i}") for i in range(20_000)
    }
    # quadratic work here would be 4·10⁸ steps, more than the timeout of a test
    assert len(ids(tree("v19999", **nodes))) == 20_000


def test_the_spoken_form_has_the_label_and_the_source_has_the_words() -> None:
    message = spoken_message(utterance("Hi", "k", "Ben", avatarUrl="u"), "id1")
    assert (message["id"], message_text(message)) == ("id1", "Ben: Hi")
    assert message["source"] == {
        "kind": "user",
        "key": "k",
        "authorId": "id-Ben",
        "authorName": "Ben",
        "persona": "Ben",
        "text": "Hi",
        "avatarUrl": "u",
    }


# -- tools ---------------------------------------------------------------------------------------


def test_what_tools_showed_stands_where_it_happened_and_is_no_prose() -> None:
    log = Log()
    log.open()
    log.admit("I sneak")
    log.call("c1", "dice", "d20 → [4] = 4", words="Let us see.")
    log.call("c2", "recall", "- [story] a key")
    log.call("c3", "dice", "Error: no", error=True)
    log.call("c4", "roll_table", "Loot: d2 → [1] a key")
    log.answer("You find a key.")
    log.close()
    text = exchange_text(log.session.events())
    assert text.pieces == (
        Piece("Let us see."),
        Piece("d20 → [4] = 4", "dice"),
        Piece("Loot: d2 → [1] a key", "roll_table"),
        Piece("You find a key."),
    )
    assert text.answer == "Let us see.\n\nYou find a key."


@pytest.mark.parametrize(
    ("reason", "interrupted"),
    [("completed", False), ("max-tokens", False), ("aborted", True), ("error", True), ("interrupted", True)],
)
def test_an_answer_that_breaks_off_after_a_call_is_interrupted(reason: str, interrupted: bool) -> None:
    log = Log()
    log.open()
    log.admit("I sneak")
    log.call("c1", "dice", "d20 → [4] = 4", words="Let us see.")
    log.close(reason)
    (turn,) = exchanges(log.session.events(), -1)
    assert turn.interrupted is interrupted


def test_a_whole_answer_stays_whole_however_its_turn_ends() -> None:
    log = Log()
    log.open()
    log.admit("I sneak")
    log.call("c1", "dice", "d20 → [4] = 4")
    log.answer("You slip past.")
    log.close("interrupted")
    (turn,) = exchanges(log.session.events(), -1)
    assert turn.interrupted is False

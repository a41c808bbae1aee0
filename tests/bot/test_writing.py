"""The speaker's label at the head of a reply: off, however the reply comes in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answers import answer_text, tool_line
from bot.writing import LabelFilter, Writing
from engine.play import Piece

# Texts that come close to a label of Mira's.
near = st.lists(
    st.sampled_from(["Mira", ":", "：", "**", " ", "\n", "Mir", "a", "Hello. ", "mira:"]), max_size=6
).map("".join)


def shown(pieces: list[str]) -> str:
    label = LabelFilter("Mira")
    return "".join(map(label.feed, pieces)) + label.rest()


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("Mira: Hello.", "Hello."),
        ("**Mira:** Hello.", "Hello."),
        ("**Mira**: Hello.", "Hello."),
        ("Mira：你好。", "你好。"),
        ("\nMira:\nHello.", "Hello."),
        ("Miranda: Hello.", "Miranda: Hello."),
        ("Mira smiles.", "Mira smiles."),
        ("Hello. Mira: no.", "Hello. Mira: no."),
        ("Mira:", "Mira:"),
        ("Mir", "Mir"),
        ("", ""),
    ],
)
def test_only_the_speaker_s_own_label_at_the_head_is_taken_off(written: str, seen: str) -> None:
    assert LabelFilter.strip("Mira", written) == seen


@given(near, st.data())
def test_it_does_not_matter_how_the_reply_comes_in(written: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=5)))
    pieces = [written[a:b] for a, b in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    # blanks at either end are not shown by Discord
    assert shown(pieces).strip() == LabelFilter.strip("Mira", written).strip()


@given(near)
def test_what_is_not_blank_is_never_shown_blank(written: str) -> None:
    assert bool(LabelFilter.strip("Mira", written).strip()) is bool(written.strip())


class Sheet:
    """A reply that only remembers what stands on it."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, delta: str) -> None:
        self.text += delta

    def restart(self) -> None:
        self.text = ""


def start(step: int) -> dict[str, Any]:
    return {"kind": "start", "turn": 1, "step": step}


def said(text: str) -> dict[str, Any]:
    return {"kind": "chunk", "chunk": {"type": "text-delta", "index": 0, "text": text}}


async def shown_of(*frames: dict[str, Any]) -> str:
    sheet = Sheet()

    async def opened() -> Any:
        return sheet

    writing = Writing(lambda: "Mira", opened)
    for frame in frames:
        writing.frame(frame)
    await writing.reply()
    return sheet.text


async def test_a_retry_replaces_what_its_own_step_showed() -> None:
    assert await shown_of(start(1), said("Doom"), start(1), said("Hello.")) == "Hello."


async def test_a_later_step_goes_on_below_the_earlier_one() -> None:
    assert await shown_of(start(1), said("I roll."), start(2), said("Mira: A four.")) == "I roll.\n\nA four."


async def test_a_retry_of_a_later_step_keeps_the_earlier_one() -> None:
    frames = (start(1), said("I roll."), start(2), said("A fo"), start(2), said("A four."))
    assert await shown_of(*frames) == "I roll.\n\nA four."


def remark(text: str) -> dict[str, Any]:
    return {"kind": "remark", "text": text}


async def test_remarks_stand_between_the_steps_on_lines_of_their_own() -> None:
    frames = (start(1), said("Mira: I roll."), remark("-# 4"), remark("-# 2"), start(2), said("Mira: Six."))
    assert await shown_of(*frames) == "I roll.\n\n-# 4\n-# 2\n\nSix."


async def test_a_remark_may_come_first_and_a_retry_keeps_it() -> None:
    frames = (start(1), remark("-# 4"), start(2), said("Fo"), start(2), said("Four."))
    assert await shown_of(*frames) == "-# 4\n\nFour."


async def test_what_is_written_live_is_what_is_shown_of_the_log() -> None:
    pieces = (Piece("Mira: I roll."), Piece("4 * 2", "dice"), Piece("2", "dice"), Piece("Mira: Six."))
    frames = [start(1), said(pieces[0].text)]
    frames += [remark(tool_line(piece.text)) for piece in pieces[1:3]]
    frames += [start(2), said(pieces[3].text)]
    assert await shown_of(*frames) == answer_text("Mira", pieces)


def test_a_long_result_is_cut_and_its_markup_does_not_work() -> None:
    assert tool_line("**Loot**: d2 → [1] a _key_\n\n") == "-# 🎲 \\*\\*Loot\\*\\*: d2 → [1] a \\_key\\_"
    assert len(tool_line("word " * 1_000)) <= 310
    assert tool_line("a\nb") == "-# 🎲 a\n-# 🎲 b"


async def test_a_step_that_said_nothing_leaves_no_gap() -> None:
    assert await shown_of(start(1), start(2), said("A four.")) == "A four."

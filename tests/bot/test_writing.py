"""The speaker's label at the head of a reply: off, however the reply comes in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.writing import LabelFilter

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

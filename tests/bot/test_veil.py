"""What may be shown of an answer that scripts will act on, while it comes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.veil import Veil


def seen(*pieces: str) -> str:
    veil = Veil()
    return "".join(map(veil.feed, pieces))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("She nods.", "She nods."),
        ("<think>Hm.</think>She nods.", "She nods."),
        ("She nods.<status>HP 3", "She nods."),
        ("A<x>1<x>2</x>3</x>B", "AB"),
        ("A<X a='1' b>1</x >B", "AB"),
        ("A<x/>B<br>C<hr />D", "ABCD"),
        ("A<b>bold</b>, <font color=red>red</font>", "Abold, red"),
        ("A<状态栏>血量</状态栏>B", "AB"),
        ("A<!-- a -- > b -->B", "AB"),
        ("A</stray>B", "AB"),
        ("I <3 you, 1 < 2, <@12> <:a:1> <https://a.b>", "I <3 you, 1 < 2, <@12> <:a:1> <https://a.b>"),
        ("```py\na<b>c</d>\n``` <x>y</x>z", "```py\na<b>c</d>\n``` z"),
        ("`<x>`", "`"),
        ("half a <ta", "half a "),
        ("half a ``", "half a "),
        ("A<" + "x " * 300 + "B", "A<" + "x " * 300 + "B"),
    ],
)
def test_prose_shows_and_what_is_in_tags_does_not(written: str, shown: str) -> None:
    assert seen(written) == shown


pieces = st.lists(
    st.sampled_from(
        [
            "word ",
            "<x>",
            "</x>",
            "<b>",
            "<x a='1'>",
            "<!--",
            "-->",
            "<",
            ">",
            "```",
            "`",
            "<@1>",
            "\n",
            "<x/>",
            "<y>",
        ]
    ),
    max_size=12,
).map("".join)


@given(pieces, st.data())
def test_it_does_not_matter_how_it_comes_in(written: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=6)))
    parts = [written[a:b] for a, b in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    # a half that waits for its other half is the only difference, and only at the very end
    assert seen(*parts) == seen(written)


@given(pieces, pieces)
def test_what_was_shown_is_never_taken_back(before: str, after: str) -> None:
    assert seen(before, after).startswith(seen(before))


@pytest.mark.parametrize(
    "written", ["<x>" * 20_000, "<a '" * 20_000, "<!-" * 20_000, "<x>" + "<x a" * 20_000]
)
def test_hostile_answers_take_bounded_time(written: str) -> None:
    veil = Veil()
    begun = time.monotonic()
    for start in range(0, len(written), 4):
        veil.feed(written[start : start + 4])
    assert time.monotonic() - begun < 3  # for as long as a model writes such a thing, nothing

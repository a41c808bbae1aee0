"""Given any text, fed in any way, when it is split, then the promises of `bot.splitter` hold."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.markdown import is_blank, scan
from bot.splitter import FINAL_LIMIT, Chunk, Splitter, split

SMALL, SMALL_FINAL = 150, 190

# Fragments that are dangerous to cut, next to ordinary words.
ATOMS = [
    "<@123456789012345678>",
    "<@&123456789012345678>",
    "<#123456789012345678>",
    "<:smile_cat:123456789012345678>",
    "<a:dance:123456789012345678>",
    "<t:1700000000:R>",
    "[the old map](https://example.com/maps/old_(1).png)",
    "https://example.com/a/b/c?d=e&f=g",
    "{{random::red::green}}",
]
MARKUP = [
    "*",
    "**",
    "***",
    "_",
    "__",
    "~~",
    "||",
    "`",
    "``",
    "```",
    "```py\n",
    "~~~\n",
    "> ",
    ">>> ",
    "-# ",
    "\\*",
]
LETTERS = [
    "a",
    "Mira ",
    "the door. ",
    "早上好。",
    "，",
    "\n",
    "\n\n",
    "    ",
    "\u200b",
    "\u3000",
    "e\u0301",
    "👩‍👩‍👧",
    "🇩🇪",
]
wild = st.lists(st.sampled_from(ATOMS + MARKUP * 2 + LETTERS * 3), max_size=200).map("".join)
anything = st.one_of(wild, st.text(max_size=600), st.text("*_`~|> \n\u200bab", max_size=900))

words = st.lists(
    st.sampled_from(["she", "opens", "the", "heavy", "door", "火", "🔥", "café"]), min_size=1, max_size=40
).map(" ".join)
sentences = words.map(lambda text: text + ". ")
spans = st.tuples(st.sampled_from(["*", "**", "_", "~~", "||", "__"]), words).map(
    lambda pair: f"{pair[0]}{pair[1]}{pair[0]}"
)
fences = st.tuples(st.sampled_from(["", "py", "c++"]), st.lists(words, min_size=1, max_size=12)).map(
    lambda pair: f"\n```{pair[0]}\n" + "\n".join("    " + line for line in pair[1]) + "\n```\n"
)
prose = st.lists(
    st.one_of(
        sentences,
        spans.map(lambda text: text + " "),
        st.sampled_from(ATOMS).map(lambda text: text + " "),
        st.just("\n\n"),
    ),
    max_size=40,
).map("".join)
documents = st.lists(st.one_of(prose, fences), min_size=1, max_size=6).map("".join)


def small(text: str) -> tuple[Chunk, ...]:
    return split(text, SMALL, SMALL_FINAL)


@given(anything)
@example("word" + " " * 400 + "word")
@example("\u200b" * 500 + "a" * 300)
@example("*" * 500)
@example("```" + "\n" * 400 + "x")
@example("```py\n" + " " * 400 + "x\n" * 100)
@settings(max_examples=400, deadline=None)
def test_the_ranges_of_the_chunks_joined_are_the_text(text: str) -> None:
    chunks = small(text)
    if is_blank(text):
        assert chunks == ()
    else:
        assert "".join(text[chunk.start : chunk.end] for chunk in chunks) == text


@given(anything)
@settings(max_examples=400, deadline=None)
def test_no_chunk_is_blank_or_too_long(text: str) -> None:
    *before, last = small(text) or (Chunk(0, 0, "nothing"),)
    assert all(len(chunk.text) <= SMALL for chunk in before)
    assert len(last.text) <= SMALL_FINAL
    assert not any(is_blank(chunk.text) for chunk in (*before, last))
    assert not any(is_blank(text[chunk.start : chunk.end]) for chunk in before)


@given(anything, st.lists(st.integers(1, 90), min_size=1, max_size=60))
@settings(max_examples=300, deadline=None)
def test_frozen_chunks_never_change_and_feeding_does_not_matter(text: str, steps: list[int]) -> None:
    splitter = Splitter(SMALL, SMALL_FINAL)
    frozen: tuple[Chunk, ...] = ()
    position, turn = 0, 0
    while position < len(text):
        step = steps[turn % len(steps)]
        splitter.feed(text[position : position + step])
        position, turn = position + step, turn + 1
        now = splitter.frozen
        assert now[: len(frozen)] == frozen
        frozen = now
        assert len(splitter.live(" ▌")) <= SMALL_FINAL + 2
    assert splitter.finish() == small(text)
    assert splitter.finish()[: len(frozen)] == frozen or text[frozen[-1].end :].strip() == ""


@given(documents)
@settings(max_examples=300, deadline=None)
def test_every_chunk_closes_the_fences_and_the_emphasis_that_it_opens(text: str) -> None:
    for chunk in small(text):
        assert chunk.text.count("```") % 2 == 0
        assert scan(chunk.text).at(len(chunk.text)).bare, chunk.text


@given(documents)
@example("x" * 100 + " " + "y" * 32 + " [the old map](https://example.com/maps/old_(1).png) " + "z" * 40)
@settings(max_examples=300, deadline=None)
def test_mentions_links_and_emoji_stay_whole(text: str) -> None:
    chunks = small(text)
    for atom in set(ATOMS):
        assert sum(chunk.text.count(atom) for chunk in chunks) == text.count(atom)


@given(documents)
@settings(max_examples=200, deadline=None)
def test_nothing_that_can_be_read_is_lost_or_doubled(text: str) -> None:
    def readable(of: str) -> str:
        return re.sub(r"```(?:py|c\+\+)?|[*_~|\s]", "", of)

    assert "".join(readable(chunk.text) for chunk in small(text)) == readable(text)


@given(st.text(min_size=1, max_size=400), st.integers(1, 30))
@settings(deadline=None)
def test_paragraph_mode_makes_a_message_of_every_paragraph(text: str, step: int) -> None:
    whole = Splitter(SMALL, SMALL_FINAL, paragraphs=True)
    whole.feed(text)
    pieces = Splitter(SMALL, SMALL_FINAL, paragraphs=True)
    for start in range(0, len(text), step):
        pieces.feed(text[start : start + step])
        assert pieces.frozen == whole.frozen[: len(pieces.frozen)]
    assert pieces.finish() == whole.finish()


def test_paragraphs_stand_alone_in_paragraph_mode() -> None:
    splitter = Splitter(paragraphs=True)
    splitter.feed("One.\n\nTwo.\n\n```\na\n\nb\n```\n\nThree.")
    assert [chunk.text for chunk in splitter.finish()] == ["One.", "Two.", "```\na\n\nb\n```", "Three."]


def test_a_short_text_is_one_chunk_and_stays_as_it_is() -> None:
    text = 'She smiles. *"5 * 3 is fifteen,"* she says, and snake_case stays.'
    assert split(text) == (Chunk(0, len(text), text),)


def test_a_stray_asterisk_at_the_end_is_not_closed_unless_the_text_was_cut_off() -> None:
    splitter = Splitter()
    splitter.feed("*She walks over to")
    assert splitter.finish()[0].text == "*She walks over to"
    assert splitter.finish(close=True)[0].text == "*She walks over to*"


def test_an_open_fence_is_closed_at_the_end() -> None:
    assert split("Look:\n```py\nprint(1)\n")[0].text == "Look:\n```py\nprint(1)\n```"


def test_paragraphs_are_preferred_to_lines_and_lines_to_sentences() -> None:
    paragraph = "x" * 100 + "\n" + "y" * 20 + ". " + "z" * 10 + "\n\n" + "w. " * 40
    assert small(paragraph)[0].text == "x" * 100 + "\n" + "y" * 20 + ". " + "z" * 10
    line = "x" * 90 + ". " + "y" * 20 + "\n" + "z" * 10 + ". " + "w" * 120
    assert small(line)[0].text == "x" * 90 + ". " + "y" * 20


def test_ideographic_sentences_end_without_a_space() -> None:
    chunks = small("我们走进了黑暗的森林里。" * 40)
    assert all(chunk.text.endswith("。") for chunk in chunks)
    assert len(chunks[0].text) > SMALL - 12


def test_a_fence_is_reopened_with_its_language_and_its_indentation() -> None:
    lines = [f"    step_{number} = {number}" for number in range(30)]
    chunks = small("```python\n" + "\n".join(lines) + "\n```")
    assert len(chunks) > 2
    assert all(chunk.text.startswith("```python\n    step_") for chunk in chunks)
    assert all(chunk.text.endswith("\n```") for chunk in chunks)
    shown = [line for chunk in chunks for line in chunk.text.splitlines() if not line.startswith("```")]
    assert shown == lines


def test_spoilers_and_quotes_are_reopened() -> None:
    spoiler = small("||" + "the butler did it " * 20 + "yes||")
    assert all(chunk.text.startswith("||") and chunk.text.endswith("||") for chunk in spoiler)
    quote = small("> " + "a long memory " * 30)
    assert all(chunk.text.startswith("> a") or chunk.text.startswith("> ") for chunk in quote)
    block = small(">>> " + "a line of verse\n" * 30)
    assert all(chunk.text.startswith(">>> ") for chunk in block)


def test_a_forgotten_asterisk_harms_no_more_than_its_paragraph() -> None:
    chunks = small("*" + "she waits " * 20 + "\n\n" + "he sleeps " * 20)
    assert chunks[0].text.startswith("*she waits") and chunks[0].text.endswith("*")
    assert all("*" not in chunk.text for chunk in chunks[1:])


@pytest.mark.parametrize(
    "cluster", ["e\u0301", "👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "각", "🏴\U000e0067\U000e0062\U000e007f", "☝️"]
)
def test_a_visible_character_is_never_cut(cluster: str) -> None:
    for shift in range(8):
        text = "x" * shift + cluster * 120
        for chunk in small(text):
            assert (len(chunk.text.lstrip("x"))) % len(cluster) == 0


def test_the_open_chunk_is_shown_closed_and_without_half_written_markup() -> None:
    def live(text: str) -> str:
        splitter = Splitter()
        splitter.feed(text)
        return splitter.live(" ▌")

    assert live("*She walks") == "*She walks ▌*"
    assert live("*She walks* and **") == "*She walks* and ▌"
    assert live("see <:smil") == "see ▌"
    assert live("```py\nx = 1") == "```py\nx = 1 ▌\n```"
    assert live("see [the map](https://exam") == "see ▌"
    assert live(" \n ") == ""
    assert live("**") == ""


def test_the_defaults_leave_room_in_a_message_of_discord() -> None:
    text = "She walks on. " * 1000
    *before, last = split(text)
    assert all(1700 < len(chunk.text) <= 1900 for chunk in before)
    assert len(last.text) <= FINAL_LIMIT < 2000


def test_limits_too_small_for_markup_are_refused() -> None:
    with pytest.raises(ValueError, match="limit"):
        Splitter(50, 60)

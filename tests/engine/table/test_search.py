"""Finding passages by their words, in scripts with and without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.table.search import Passage, excerpt, find, terms


def found(query: str, *texts: str, limit: int = 10) -> list[str]:
    passages = [Passage(str(index), text) for index, text in enumerate(texts)]
    return [texts[hit.index] for hit in find(query, passages, limit)]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("The silver KEY", ("the", "silver", "key")),
        ("key, key!", ("key",)),
        ("银钥匙", ("银钥", "钥匙")),
        ("银", ("银",)),
        ("Mira的银钥匙", ("mira", "的银", "银钥", "钥匙")),
        ("ｋｅｙ", ("key",)),
        ("Ключ", ("ключ",)),
        ("… !?", ()),
    ],
)
def test_what_is_looked_for(query: str, words: tuple[str, ...]) -> None:
    assert terms(query) == words


def test_rare_words_weigh_more_and_small_ones_alone_find_nothing() -> None:
    texts = ("The key is silver.", "The dog sleeps.", "The cat sleeps.", "The inn.", "The silver spoon.")
    assert found("the silver key", *texts) == ["The key is silver.", "The silver spoon."]


def test_a_plural_finds_its_singular_and_a_short_word_only_itself() -> None:
    assert found("gates", "The gate is shut.", "No.") == ["The gate is shut."]
    assert found("inn", "An innocent man.", "In between.") == []
    assert found("inn", "The inn burns.", "An innocent man.") == ["The inn burns."]


def test_chinese_is_found_by_pairs_of_characters() -> None:
    texts = ("她把银钥匙藏在井边。", "他睡着了。", "井里没有水。")
    assert found("银钥匙在哪", *texts) == [texts[0]]
    assert found("井", *texts) == [texts[2], texts[0]]


def test_of_equal_passages_the_later_comes_first_and_there_is_a_limit() -> None:
    texts = tuple(f"key {n}" for n in range(5))
    assert found("key", *texts, limit=2) == ["key 4", "key 3"]


def test_an_excerpt_begins_with_the_sentence_and_says_where_it_was_cut() -> None:
    text = "Long ago. The key is under the stone.\nNobody knows it, and nobody asks." + " More." * 60
    place = text.index("key")
    assert excerpt(text, place, 40) == "The key is under the stone. Nobody…"
    assert excerpt("The key.", 4, 40) == "The key."
    far = "word " * 40 + "key at the end"
    assert excerpt(far, far.index("key"), 200).startswith("…word")
    assert excerpt(far, far.index("key"), 200).endswith("key at the end")


@given(st.lists(st.text(max_size=80), max_size=8), st.text(max_size=20))
def test_every_hit_holds_a_word_that_was_looked_for(texts: list[str], query: str) -> None:
    passages = [Passage(str(index), text) for index, text in enumerate(texts)]
    for hit in find(query, passages, 5):
        assert 0 <= hit.first < max(1, len(texts[hit.index]))
        assert hit.score > 0
        assert len(excerpt(texts[hit.index], hit.first, 20)) <= 22

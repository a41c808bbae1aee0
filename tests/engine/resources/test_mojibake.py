"""Letters that were read in the wrong encoding: told, and mended only on request."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.resources import mended_texts, read_card
from engine.resources.mojibake import is_mojibake, mended_text
from tests.engine.resources.pngs import v2


def broken(text: str, encoding: str) -> str:
    return "".join(
        chr(byte) if encoding == "latin-1" else bytes([byte]).decode("cp1252", "ignore") or chr(byte)
        for byte in text.encode()
    )


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
@pytest.mark.parametrize("text", ["Zoë", "“Hi”, she said — softly…", "艾达", "😀"])
def test_what_was_broken_is_told_and_mended(text: str, encoding: str) -> None:
    damaged = broken(text, encoding)
    assert is_mojibake(damaged)
    assert mended_text(damaged) == text


@pytest.mark.parametrize("text", ["", "plain", "Zoë", "naïve café", "Ã", "艾达 Ã©", "“quoted”", "100 £"])
def test_what_is_right_is_left_alone(text: str) -> None:
    assert not is_mojibake(text)
    assert mended_text(text) == text


def test_a_card_is_not_mended_unasked() -> None:
    raw = v2("Ada", description=broken("Zoë — ö", "cp1252"), extensions={"x": [broken("é", "latin-1"), 1]})
    card = read_card(json.dumps(raw).encode(), "a.json")
    assert card.description == raw["data"]["description"]
    (remark,) = card.warnings
    assert (remark.code, remark.where) == ("double-encoded-text", "data.description")
    mended = mended_texts(raw)
    assert mended["data"]["description"] == "Zoë — ö"
    assert mended["data"]["extensions"] == {"x": ["é", 1]}


@given(st.text())
def test_mending_never_fails_and_never_grows(text: str) -> None:
    assert len(mended_text(text)) <= len(text)

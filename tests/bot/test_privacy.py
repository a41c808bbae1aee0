"""What personas say of people, kept from whoever it is no business of."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from bot.i18n import FALLBACK, LANGUAGES, catalogue
from bot.privacy import Private, redacted, with_evidence
from bot.sentdesk import MISSING
from engine.llm import CallConfig
from engine.strategies import (
    Missing,
    Preview,
    PreviewBlock,
    PreviewMessage,
    description_hash,
    telling,
)

MARK = "[somebody's persona]"
CAST = "Character: Mira\nPlayers: Qi, Vale\nAbout Qi: Qi fears the sea.\nAbout Vale: Vale hides a key."


def preview(*blocks: PreviewBlock) -> Preview:
    text = "\n\n".join(block.text for block in blocks)
    message = PreviewMessage("system", text, 9, "system", blocks)
    return Preview(None, (message,), (), CallConfig("p", "m"), (), 9, None, None, 0, 0)


def block(module: str, text: str) -> PreviewBlock:
    return PreviewBlock("a part", text, 3, module=module)


def shown(private: Private, *blocks: PreviewBlock) -> str:
    """The message, whose parts say the same as it does."""
    (message,) = redacted(preview(*blocks), private, FALLBACK).messages
    assert message.text == "\n\n".join(each.text for each in message.blocks)
    return message.text


def test_a_persona_is_kept_back_wherever_it_stands() -> None:
    private = Private(("Vale hides a key.\nFrom {{char}} above all.",))
    assert shown(private, block("persona", "anything at all")) == MARK
    assert shown(private, block("preset", "Know that Vale hides a key. Be kind.")) == (
        f"Know that {MARK} Be kind."
    )
    assert shown(private, block("preset", "Trust Mira above all.")) == f"Trust Mira {MARK}"


def test_a_persona_is_kept_back_when_a_preset_picks_one_item_of_it() -> None:
    # as {{random::{{persona}}}} has it: what stands between two commas, while everyday words stay
    private = Private(("Vale hides a silver key, fears the sea at night, is old",))
    assert shown(private, block("preset", "Today: fears the sea at night. It is old.")) == (
        f"Today: {MARK}. It is old."
    )


def test_a_persona_is_kept_back_when_a_preset_reverses_it() -> None:
    # as {{reverse::{{persona}}}} has it: the lines in the other order, each from its end
    private = Private(("Vale hides a key.\nFrom {{char}} above all.",))
    assert shown(private, block("preset", "< .lla evoba ariM morF\n.yek a sedih elaV >")) == (
        f"< {MARK} ariM {MARK}\n{MARK} >"
    )


def test_the_list_of_players_keeps_names_and_what_is_ones_own() -> None:
    private = Private(("Vale hides a key.",), ("Qi fears the sea.",))
    assert shown(private, block("cast", CAST)) == (
        f"Character: Mira\nPlayers: Qi, Vale\nAbout Qi: Qi fears the sea.\n{MARK}"
    )
    nobodys = Private(("Vale hides a key.", "Qi fears the sea."))
    assert shown(nobodys, block("cast", CAST)) == f"Character: Mira\nPlayers: Qi, Vale\n{MARK}"


def test_ones_own_persona_is_shown() -> None:
    private = Private(("Vale hides a key.",), ("Qi fears the sea.",))
    assert shown(private, block("persona", "[Qi fears the sea.]")) == "[Qi fears the sea.]"


def test_a_persona_made_of_common_words_opens_nobody_elses() -> None:
    # given somebody whose own persona says "the", and a part of a persona that is not known otherwise
    private = Private((), ("the",))
    assert shown(private, block("persona", "Over the hills and the sea Vale hid the key.")) == MARK


@given(
    st.lists(st.text("ab {}\n", max_size=12), min_size=1, max_size=3),
    st.lists(st.text("ab {}\n", max_size=12), max_size=2),
    st.text("ab c", max_size=20),
    st.sampled_from(["persona", "cast", "preset", "worldbook"]),
)
def test_no_telling_piece_of_anothers_persona_is_ever_shown(
    others: list[str], own: list[str], around: str, module: str
) -> None:
    text = around + others[0] + around
    found = shown(Private(tuple(others), tuple(own)), block(module, text)).replace(MARK, "\0")
    assert not any(piece in found for piece in telling(others))


def test_what_personas_said_then_is_kept_back_too() -> None:
    now = Private(("Vale is a baker.",), ("Qi fears the sea.",))
    then = {
        description_hash("Vale hides a key."): frozenset({"Vale hides a key."}),
        description_hash("Qi fears the sea."): frozenset({"Qi fears the sea."}),
    }
    both = with_evidence(now, then)
    assert both == Private(
        ("Vale is a baker.", "Vale hides a key."), ("Qi fears the sea.", "Qi fears the sea.")
    )


def test_without_evidence_nobody_knows_what_to_keep_back() -> None:
    assert with_evidence(Private(), None) is None
    assert with_evidence(Private(), {}) == Private()


def test_every_reason_why_a_request_is_not_shown_has_its_words() -> None:
    assert set(MISSING) == set(get_args(Missing))
    for name in LANGUAGES:
        assert {f"error.{code}" for code in MISSING.values()} <= set(catalogue(name))

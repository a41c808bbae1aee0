"""The messages that lore may look at."""

import json

from hypothesis import given
from hypothesis import strategies as st

from engine.lore import activation_context
from engine.session import Message, assistant_message, system_message, user_message

SOURCE = {"kind": "user"}


def said(message_id: str, text: str) -> Message:
    return user_message(message_id, text, SOURCE)


def answered(message_id: str, text: str) -> Message:
    return assistant_message(message_id, text, provider="p", model="m")


def test_durable_messages_and_then_the_claimed_ones() -> None:
    context = activation_context(
        [system_message("s", "SYSTEM"), said("1", "hi"), answered("2", "ho")],
        [said("3", "now")],
        claim_seqs=[9],
    )
    assert context.texts == ("hi", "ho", "now")
    assert context.text == "hi\nho\nnow"
    assert [(m.id, m.role, m.pending) for m in context.messages] == [
        ("1", "user", False), ("2", "assistant", False), ("3", "user", True)
    ]  # fmt: skip
    assert (context.message_count, context.assistant_count) == (3, 1)
    assert context.metadata == {
        "kind": "durable-plus-pending-input",
        "durableMessageCount": 2,
        "pendingMessageCount": 1,
        "includedPendingMessageCount": 1,
        "duplicatePendingMessageCount": 0,
        "scannedMessageCount": 3,
        "scannedCharacters": 9,
        "inputCharacters": 9,
        "truncated": False,
        "claimEventSeqs": [9],
        "invalidEventCount": 0,
    }


def test_messages_are_told_apart_by_id_never_by_text() -> None:
    context = activation_context([said("1", "same")], [said("2", "same"), said("1", "same")])
    assert context.texts == ("same", "same")
    assert context.metadata["duplicatePendingMessageCount"] == 1
    assert context.metadata["pendingMessageCount"] == 2


def test_the_newest_128_messages_are_scanned() -> None:
    context = activation_context([said(str(n), f"m{n}") for n in range(300)])
    assert (len(context.messages), context.texts[0], context.texts[-1]) == (128, "m172", "m299")
    assert context.metadata["truncated"]
    assert context.message_count == 300


def test_of_a_long_message_the_end_is_kept() -> None:
    context = activation_context([said("0", "old"), said("1", "x" * 6 + "y" * (64 * 1024))])
    assert context.texts == ("y" * (64 * 1024),)
    assert context.metadata["scannedCharacters"] == 64 * 1024
    assert context.metadata["inputCharacters"] == 3 + 1 + 6 + 64 * 1024
    assert context.metadata["truncated"]
    emoji = activation_context([said("1", "🐈" * 70_000)])  # code points are counted
    assert len(emoji.texts[0]) == 64 * 1024


def test_no_setting_passes_the_hard_limits() -> None:
    many = activation_context(
        [said(str(n), "x" * 1100) for n in range(1100)], max_messages=9999, max_characters=10**9
    )
    assert len(many.texts) <= 1024
    assert many.metadata["scannedCharacters"] == 1024 * 1024
    assert activation_context([said("1", "x")], max_messages=0).texts == ()


def test_the_metadata_has_no_words_and_at_most_four_claims() -> None:
    context = activation_context([said("1", "secret")], [said("2", "clocktower")], claim_seqs=range(9))
    assert context.metadata["claimEventSeqs"] == [5, 6, 7, 8]
    assert not {"secret", "clocktower"} & set(json.dumps(context.metadata).split('"'))


def test_words_are_read_as_the_caller_says() -> None:
    context = activation_context([answered("1", "ho")], spoken=lambda message: f"Ada: {message['id']}")
    assert context.texts == ("Ada: 1",)


@given(st.lists(st.text("ab", max_size=9), max_size=9), st.integers(0, 9), st.integers(0, 40))
def test_the_context_is_the_end_of_the_conversation_within_both_limits(
    texts: list[str], most: int, room: int
) -> None:
    context = activation_context(
        [said(str(n), text or "-") for n, text in enumerate(texts)], max_messages=most, max_characters=room
    )
    whole = "\n".join(text or "-" for text in (texts[-most:] if most else []))
    assert len(context.messages) <= most
    assert len(context.text) <= room
    assert whole.endswith(context.text)
    # nothing more would fit, but for a line break with no word of the message before it
    assert len(context.text) >= min(room, len(whole)) - 1

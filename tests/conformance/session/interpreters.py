"""The message projections that the recordings use (see `interpreters` in projections.json)."""

from collections.abc import Mapping

from engine.session import Event, History, Interpreter, Message, offload_images, text_block


def replace_text(event: Event, history: History) -> Mapping[int, Message]:
    """`test/project` {seq, text}: the target's content becomes that text; 'reject' raises."""
    seq, text = event.data["seq"], event.data["text"]
    if text == "reject":
        raise ValueError("rejected decision")
    message = history.messages.get(seq)
    if message is None:
        raise ValueError(f"seq {seq} is not a current node")
    return {seq: {**message, "content": [text_block(text)] if text else []}}


INTERPRETERS: dict[str, Interpreter] = {"test/project": replace_text, "image/offload": offload_images}

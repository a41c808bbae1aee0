"""What blocks of a message say in words, for every wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["EMPTY_RESULT", "block_text", "text_of"]

EMPTY_RESULT = "(no output)"
"""What stands for an empty tool result: several servers refuse an empty string there."""


def text_of(content: Sequence[Mapping[str, Any]], between: str = "\n\n") -> str:
    """The text of the blocks: paragraphs of their own, except where a model wrote them in one go."""
    return between.join(text for block in content if (text := block_text(block)))


def block_text(block: Mapping[str, Any]) -> str:
    """Its text, a name for what cannot be shown, nothing for the rest."""
    kind = block["type"]
    if kind == "text":
        return str(block["text"])
    if kind in ("image", "file"):
        attachment = block.get("attachment", {})
        facts = [str(attachment.get("name") or "without a name")]
        if kind == "image" and attachment.get("width") and attachment.get("height"):
            facts.append(f"{attachment['width']}×{attachment['height']}")
        return f"[{kind}: {', '.join(facts)}]"
    return ""

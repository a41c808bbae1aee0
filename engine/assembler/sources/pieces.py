"""Texts that say where the conversation or the lore goes: `OPEN{{history}}CLOSE`.

One parser for presets and for what people write into a strategy. Source: assembler spec 2.6; seed 001.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from engine.assembler.blocks import Block, ReferenceBlock, TextBlock

__all__ = ["PLACES", "references", "split_text"]

PLACES: Final = {
    "chathistory": (("history", None), ("input", None)),
    "history": (("history", None),),
    "input": (("input", None),),
    "worldinfobefore": (("worldbook", "before"),),
    "worldinfoafter": (("worldbook", "after"),),
    "worldinfo": (("worldbook", "before"), ("worldbook", "after")),
}
"""What the names of places mean: sources, and groups of the world book."""

_PLACE: Final = re.compile(r"\{\{\s*(" + "|".join(PLACES) + r")\s*\}\}", re.IGNORECASE)


def references(name: str, owner: str, role: str | None) -> list[ReferenceBlock]:
    """The references of a place, owned by that block."""
    return [
        ReferenceBlock(f"{owner}:{group or source}", source, group=group, role=role, owner=owner)
        for source, group in PLACES[name.casefold()]
    ]


def split_text(block: TextBlock) -> list[Block]:
    """The block, or its pieces around the places that its text names."""
    found = list(_PLACE.finditer(block.text)) if "{{" in block.text else []
    if not found:
        return [block]
    blocks: list[Block] = []
    at = 0
    claims = block.claims
    for place in [*found, None]:
        end = place.start() if place is not None else len(block.text)
        if end > at:
            # what the text claims it claims once
            blocks.append(replace(block, id=f"{block.id}:text:{at}", text=block.text[at:end], claims=claims))
            claims = ()
        if place is not None:
            blocks += references(place[1], f"{block.id}:{at}", block.role)
            at = place.end()
    return blocks

"""How a preset wants personality, scenario and lore written: its three formats, under a strategy.

A format is only written around a text: what is empty stays empty. Source: sillytavern spec 3.1, 3.3.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from engine.resources import Preset
from engine.tavern import SourceText

__all__ = ["formatted_field", "formatted_lore"]

_FIELDS: Final = {"personality": "personality_format", "scenario": "scenario_format"}
_ENTRIES: Final = "{0}"
_HOLE: Final = "\x00"  # where the entries stand while the macros around them are expanded; no text has it


def formatted_field(preset: Preset | None, field: str, text: str) -> str:
    """A field of the card in the preset's format. The field's own macro in it is the text, so that nothing
    refers to itself; its other macros are expanded with the text's."""
    wanted = _format(preset, _FIELDS.get(field, ""))
    if wanted is None or not text.strip():
        return text
    return re.sub(rf"\{{\{{\s*{field}\s*\}}\}}", lambda _: text, wanted, flags=re.IGNORECASE)


def formatted_lore(
    preset: Preset | None, lore: Sequence[SourceText], expand: Callable[[str], str]
) -> tuple[SourceText, ...]:
    """The active entries in their order, those before and those after the character in the preset's format.

    What it has in front goes with the first entry of each place, what it has behind with the last one: they
    are moved together, and each stays a part by itself. A format without `{0}` is none.
    """
    wanted = _format(preset, "wi_format")
    if wanted is None or _ENTRIES not in wanted or wanted.strip() == _ENTRIES:
        return tuple(lore)
    front, _, back = expand(wanted.replace(_ENTRIES, _HOLE, 1)).partition(_HOLE)
    texts = {id(entry): entry for entry in lore}
    places = sorted((e for e in lore if e.position in ("before", "after")), key=lambda e: e.position)
    for _, group in groupby(places, key=lambda e: e.position):
        held = list(group)
        for entry, fore, aft in ((held[0], front, ""), (held[-1], "", back)):
            now = texts[id(entry)]
            texts[id(entry)] = replace(now, text=f"{fore}{now.text}{aft}")
    return tuple(texts[id(entry)] for entry in lore)


def _format(preset: Preset | None, key: str) -> str | None:
    given = preset.raw.get(key) if preset is not None and key else None
    return given if isinstance(given, str) and given.strip() else None

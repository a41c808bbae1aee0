"""How the speakers of a chat are named. Source: sillytavern spec 3.3.14."""

from __future__ import annotations

import re

from engine.prompting.message import Role
from engine.prompting.quirks import Quirk
from engine.prompting.settings import Settings
from engine.prompting.story import ChatLine

__all__ = ["field_name", "role_of", "said"]

_OTHER = re.compile(r"[^A-Za-z0-9_]")
_LONGEST = 64  # what the field may have


def field_name(name: str) -> str:
    """A name as the field `name` may have it: other signs become `_` (two in UTF-16, two of them)."""
    return _OTHER.sub(lambda sign: "_" * (1 + (ord(sign[0]) > 0xFFFF)), name)[:_LONGEST]


def role_of(line: ChatLine) -> Role:
    """Whose message it is; the narrator's are the system's."""
    if line.narrator:
        return "system"
    return "user" if line.is_user else "assistant"


def said(line: ChatLine, settings: Settings, *, user: str, group: bool, quirks: frozenset[Quirk]) -> str:
    """What was said, with a label where this way of naming wants one, and without carriage returns."""
    names = settings.names
    if names == 0:
        narrates = line.narrator and Quirk.GROUP_NARRATOR_LABELLED not in quirks
        labelled = line.name != user and ((group and not narrates) or (line.labelled and not line.narrator))
    else:
        labelled = names == 2 and not line.narrator
    text = f"{line.name}: {line.text}" if labelled else line.text
    text = text.replace("\r", "")
    return f'"{text}"' if settings.quotes and role_of(line) == "user" else text

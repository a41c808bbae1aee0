"""A character of oobabooga's web UI: `name`, `context`, `greeting` in YAML. Source: spec sillytavern 1.3."""

from __future__ import annotations

from typing import Any

from engine.errors import ResourceError
from engine.resources.card import CARD
from engine.resources.diagnostic import Diagnostics
from engine.resources.yaml_text import read_yaml

__all__ = ["yaml_document"]

_RENAMED = {"context": "description", "greeting": "first_mes", "example_dialogue": "mes_example"}
_KNOWN = {"name", "char_name", "spec"}


def yaml_document(data: bytes, notes: Diagnostics) -> dict[str, Any]:
    """The character as a V1 card; fields that have no place there keep their names.

    Raises ResourceError CHARACTER_DOCUMENT_INVALID, CHARACTER_DOCUMENT_TOO_LARGE.
    """
    value = read_yaml(data, CARD)
    if not isinstance(value, dict) or not _KNOWN & value.keys():
        raise ResourceError(
            "This is no character: a YAML character has a name, a context and a greeting.", code=CARD.invalid
        )
    notes.info("yaml-card", "A YAML character; its fields were brought into the form of a card.")
    if "spec" in value or "name" not in value:
        return value  # a card that somebody wrote as YAML
    renamed = {_RENAMED[key]: text for key, text in value.items() if key in _RENAMED}
    return {key: item for key, item in value.items() if key not in _RENAMED} | renamed

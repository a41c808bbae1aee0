"""Who a person plays: exactly a name and a description. Source: spec tavern 1.4."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import ResourceError
from engine.resources.fields import clean_text, visible_line

__all__ = ["Persona", "make_persona"]

MAX_NAME = 80  # Discord's limit for the name a webhook speaks under; the seed's own limit is 200
MAX_DESCRIPTION = 100_000


@dataclass(frozen=True, slots=True)
class Persona:
    """`name` is one trimmed line; `description` may be empty."""

    name: str
    description: str = ""


def make_persona(name: str, description: str = "") -> Persona:
    """A persona from what a person typed. Raises ResourceError PERSONA_INVALID saying what to change."""
    line = visible_line(name)
    body = clean_text(description).strip()
    if not line:
        raise ResourceError("A persona needs a name.", code="PERSONA_INVALID", field="name")
    if len(line) > MAX_NAME:
        raise ResourceError(
            f"A persona's name may have {MAX_NAME} characters; this one has {len(line)}.",
            code="PERSONA_INVALID",
            field="name",
        )
    if len(body) > MAX_DESCRIPTION:
        raise ResourceError(
            f"A description may have {MAX_DESCRIPTION:,} characters; this one has {len(body):,}.",
            code="PERSONA_INVALID",
            field="description",
        )
    return Persona(line, body)

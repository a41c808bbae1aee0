"""The fields of a card and a persona that have a place in a preset, and the markers of these places.

Source: spec tavern 5, "Markers"; sillytavern 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = [
    "DESCRIPTION",
    "EXAMPLES",
    "FIELDS",
    "FIELD_MARKERS",
    "LORE_MARKERS",
    "PERSONA",
    "PERSONALITY",
    "SCENARIO",
    "Field",
]


@dataclass(frozen=True, slots=True)
class Field:
    """A field that is emitted at most once: by a marker, by its macro, or at the fallback place."""

    kind: str
    macro: str  # the canonical macro name, which also names the field
    attribute: str  # of MacroContext
    template: str
    format_key: str = ""  # where a preset may say how to write it


PERSONA: Final = Field("user", "persona", "persona", "{{persona}}")
DESCRIPTION: Final = Field("character", "description", "description", "{{description}}")
PERSONALITY: Final = Field("character", "personality", "personality", "{{personality}}", "personality_format")
SCENARIO: Final = Field("character", "scenario", "scenario", "{{scenario}}", "scenario_format")
EXAMPLES: Final = Field("character", "mesexamples", "mes_examples", "{{mesExamplesRaw}}")

FIELDS: Final = {field.macro: field for field in (PERSONA, DESCRIPTION, PERSONALITY, SCENARIO, EXAMPLES)}
"""By macro."""

FIELD_MARKERS: Final = {
    "personaDescription": PERSONA,
    "userDescription": PERSONA,
    "userPersona": PERSONA,
    "charDescription": DESCRIPTION,
    "charPersonality": PERSONALITY,
    "scenario": SCENARIO,
    "dialogueExamples": EXAMPLES,
}
LORE_MARKERS: Final = {"worldInfoBefore": "before", "worldInfoAfter": "after"}

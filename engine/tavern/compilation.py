"""One compilation: what a session's selection came to in one step, and how.

It is a frozen value. Whoever works on the step later (call parameters, trace, panels) reads this one, even
if the selection has changed since. The audit has no words of anybody in it. Source: spec tavern 5, seed 003.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from engine.codec import json_hash, text_hash
from engine.library import Selection
from engine.lore import ActivationContext, ActiveEntry, BookOrder
from engine.resources import Diagnostic, PromptMode
from engine.tavern.assembly_input import AssemblyInput
from engine.tavern.books import own_book
from engine.tavern.profile import CallParameters, Profile, ProfileRequest, Section, UserInjection
from engine.tavern.texts import greeting_text

__all__ = ["PART", "SECTION", "Compilation", "NamedSection", "ResourceUse", "resource_uses"]

SECTION: Final = "tavern:profile"
"""The section of the system prompt in whose place a profile stands."""

PART: Final = "tavern:part"
"""Where the names of its parts begin: `tavern:part:<4-digit ordinal>:<kind>:<field>`."""

_SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class NamedSection:
    """A part of the profile as a section of the system prompt."""

    name: str
    section: Section

    @property
    def text(self) -> str:
        """What the model reads."""
        return self.section.text


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """A resource that took part. `revision` is None for what is not in a library (any more); `origins` are
    the ways by which a world book came; `entries` and `active` count its entries."""

    kind: Literal["preset", "card", "persona", "world_book"]
    id: str
    name: str
    revision: int | None = None
    origins: tuple[str, ...] = ()
    entries: int = 0
    active: int = 0

    def audit(self) -> dict[str, Any]:
        """As JSON."""
        found: dict[str, Any] = {
            "kind": self.kind, "id": self.id, "name": self.name, "revision": self.revision
        }  # fmt: skip
        if self.kind == "world_book":
            found |= {
                "bindingSources": list(self.origins), "entries": self.entries, "active": self.active
            }  # fmt: skip
        return found


@dataclass(frozen=True, slots=True)
class Compilation:
    """`session_selection` is what the session has stored, `selection` what was in effect: with the persona
    that is meant, and with every book. `fingerprint` (SHA-256, hex) tells two compilations apart that say
    different things to the model. Without rendering there is no text and there are no sections."""

    session_id: str
    session_selection: Selection
    selection: Selection
    request: ProfileRequest
    profile: Profile
    activation: ActivationContext
    resources: tuple[ResourceUse, ...]
    assembly_input: AssemblyInput
    fingerprint: str = field(default="", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fingerprint", self._fingerprint())

    @property
    def system_text(self) -> str:
        return self.profile.system_text

    @property
    def call_config(self) -> CallParameters:
        return self.profile.parameters

    @property
    def system_prompt_mode(self) -> PromptMode:
        return self.profile.mode

    @property
    def active_lore(self) -> tuple[ActiveEntry, ...]:
        """Every active entry, in reading order; which of them have their text in the profile it says."""
        return self.profile.active

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.profile.diagnostics

    @property
    def greeting(self) -> str:
        """The chosen greeting as people have read it; empty when there is none."""
        request = self.request
        if request.card is None:
            return ""
        return greeting_text(request.card, request.greeting_index, self.profile.user, seed=request.seed)

    @property
    def user_injection(self) -> UserInjection:
        return self.profile.injection

    @property
    def order(self) -> BookOrder:
        """Which way each stand-alone book came."""
        return self.request.order

    @property
    def sections(self) -> tuple[NamedSection, ...]:
        """The parts of the text, named by their place."""
        return tuple(
            NamedSection(f"{PART}:{number:04}:{section.kind}:{section.field}", section)
            for number, section in enumerate(self.profile.sections, start=1)
        )

    def audit(self) -> dict[str, Any]:
        """How it came to be, as JSON under the seeds' names: numbers, ids, names and codes only."""
        profile = self.profile
        return {
            "schemaVersion": _SCHEMA,
            "sessionId": self.session_id,
            "selection": self.selection.to_wire(),
            "sessionSelection": self.session_selection.to_wire(),
            "worldBookSelection": self.order.audit(),
            "resources": [use.audit() for use in self.resources],
            "diagnostics": [
                {"code": note.code, "severity": note.severity, "where": note.where}
                for note in self.diagnostics
            ],
            "worldBooks": {
                "books": [use.audit() for use in self.resources if use.kind == "world_book"],
                "missingIds": list(self.request.missing),
                "activeEntries": [active.id for active in profile.active],
                "budget": _budget(profile),
            },
            "activation": dict(self.activation.metadata),
            "userInjection": self.user_injection.audit(),
            "composition": {
                "section": SECTION,
                "systemPromptMode": self.system_prompt_mode,
                "profileCharacters": len(self.system_text),
                "callConfigFields": sorted(_config(self.call_config)),
            },
            "fingerprint": self.fingerprint,
        }

    def _fingerprint(self) -> str:
        said = {
            "sections": [[part.name, text_hash(part.text)] for part in self.sections],
            "sources": [
                [source.kind, source.field, source.resource_id, text_hash(source.text)]
                for source in self.assembly_input.sources
            ],
            "callConfig": _config(self.call_config),
            "systemPromptMode": self.system_prompt_mode,
            "resources": [[use.kind, use.id, use.revision] for use in self.resources],
        }
        return json_hash(said)


def _budget(profile: Profile) -> Mapping[str, int]:
    budget = profile.budget
    return {
        "maxProfileBytes": budget.max_bytes,
        "measuredCandidateBytes": budget.candidate_bytes,
        "maxLoreInputBytes": budget.max_input_bytes,
        "retainedLoreEntries": budget.retained,
        "omittedLoreEntries": budget.omitted,
    }


def _config(parameters: CallParameters) -> dict[str, Any]:
    values: dict[str, Any] = {
        "temperature": parameters.temperature,
        "maxTokens": parameters.max_tokens,
        "reasoningEffort": parameters.reasoning_effort,
        "stop": list(parameters.stop) if parameters.stop else None,
    }
    return {name: value for name, value in values.items() if value is not None}


def resource_uses(
    request: ProfileRequest, profile: Profile, revisions: Mapping[str, int]
) -> tuple[ResourceUse, ...]:
    """What took part, in the order in which it was looked for; `revisions` by id."""
    uses: list[ResourceUse] = []
    if request.preset is not None:
        uses.append(
            ResourceUse("preset", request.preset_id, request.preset.name, revisions.get(request.preset_id))
        )
    if request.card is not None:
        uses.append(ResourceUse("card", request.card_id, request.card.name, revisions.get(request.card_id)))
    if request.persona is not None:
        uses.append(ResourceUse("persona", request.persona_id, request.persona.name))
    active = Counter(entry.id.rpartition(":")[0] for entry in profile.active)
    own = own_book(request.card_id, request.card)
    for book in request.books if own is None else (*request.books, own):
        origins = ("character",) if book is own else request.order.origins.get(book.id, ())
        uses.append(
            ResourceUse(
                "world_book",
                book.id,
                book.book.name,
                revisions.get(book.id),
                origins,
                len(book.book.entries),
                active[book.id],
            )
        )
    return tuple(uses)

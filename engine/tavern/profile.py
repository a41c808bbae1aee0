"""What a profile is made of, and what comes out. Source: spec tavern 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from engine.lore import ActiveEntry, Book, LoreSettings
from engine.resources import Card, Diagnostic, Persona, Preset

__all__ = ["DEFAULT_MAX_BYTES", "HARD_MAX_BYTES", "CallParameters", "Profile", "ProfileRequest", "Section"]

DEFAULT_MAX_BYTES = 512 * 1024  # UTF-8, of the whole system text: the seeds' default …
HARD_MAX_BYTES = 2 * 1024 * 1024  # … and what no setting can pass


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """Everything a profile is made of.

    `persona` is the one bound to the session, whom `{{user}}` names; `players` are all at the table
    in a stable order. `messages` are the last ones, oldest first, each `Name: text`, the claimed
    input last. `first_turn` is true until the first real reply. `trigger` is the kind of generation
    (normal, continue, swipe, …). `seed` names the story and `turn` its exchange: the same request
    gives the same profile.
    """

    card: Card | None = None
    card_id: str = ""
    preset: Preset | None = None
    persona: Persona | None = None
    players: Sequence[Persona] = ()
    books: Sequence[Book] = ()
    messages: Sequence[str] = ()
    greeting_index: int = 0
    first_turn: bool = False
    prefer_system: bool = True
    prefer_post_history: bool = True
    trigger: str = "normal"
    seed: str = ""
    turn: int = 0
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    lore: LoreSettings = field(default_factory=LoreSettings)
    max_bytes: int = DEFAULT_MAX_BYTES


@dataclass(frozen=True, slots=True)
class CallParameters:
    """What a preset asks of the model; None says nothing."""

    temperature: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    stop: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A piece of the system text: where it is from (`cast`, `preset`, `character`, `user`, `lore`),
    which field or prompt it is, and the text, never blank."""

    kind: str
    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Profile:
    """The system text, which is its sections joined by a blank line, and what goes with it.

    `persona_placement` says where the bound persona's description went: `none`, `fallback`,
    `preset-marker:<prompt>` or `preset-macro:<prompt>`.
    """

    system_text: str
    sections: tuple[Section, ...]
    parameters: CallParameters
    character: str
    user: str
    lore: tuple[ActiveEntry, ...]
    persona_placement: str
    diagnostics: tuple[Diagnostic, ...]

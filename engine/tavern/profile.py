"""What a profile is made of, and what comes out. Source: spec tavern 5."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from engine.lore import ActiveEntry, Book, BookOrder, LoreSettings, TimedEffects, compose
from engine.macros import Chat, MacroContext, Value, VariableWrite
from engine.patterns import Watch
from engine.resources import Card, Diagnostic, Persona, Preset, PromptMode
from engine.tavern.variables import VariableChanges

__all__ = [
    "DEFAULT_MAX_BYTES",
    "HARD_MAX_BYTES",
    "CallParameters",
    "LoreBudget",
    "LoreFinish",
    "Profile",
    "ProfileRequest",
    "Section",
    "UserInjection",
]

DEFAULT_MAX_BYTES = 512 * 1024  # UTF-8, of the whole system text: the seeds' default …
HARD_MAX_BYTES = 2 * 1024 * 1024  # … and what no setting can pass

LoreFinish: TypeAlias = Callable[[str, int | None], str]
"""Changes the text of an active entry at the last moment (regex scripts for world info do); it is told the
depth of an entry that has one. It may run on a thread."""


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """Everything a profile is made of.

    `persona` is the one bound to the session, whom `{{user}}` names; `players` are all at the table
    in a stable order. `messages` are the last ones, oldest first, each `Name: text`, the claimed
    input last; `message_count` and `answer_count` are of the whole branch. `chat` is the conversation as
    macros see it. `effects` are what of its lore is timed, `local_variables` what its macros remember,
    `global_variables` what those of its library do. `first_turn` is true until the first real reply.
    `trigger` is the kind of generation (normal, continue, swipe, …). `seed` names the story and `turn` its
    exchange: the same request gives the same profile. `books` are the stand-alone ones in `order`, without
    those that are `missing`. `model`, `window` and `max_response` are those of the call, the latter two in
    tokens; lore may take a part of the window (None: no such limit). `watch` counts patterns that take too
    long, for the library `owner`. `remarks` are those of whoever found all this.
    """

    card: Card | None = None
    card_id: str = ""
    preset: Preset | None = None
    preset_id: str = ""
    persona: Persona | None = None
    persona_id: str = ""
    players: Sequence[Persona] = ()
    books: Sequence[Book] = ()
    order: BookOrder = field(default_factory=compose)
    missing: tuple[str, ...] = ()
    messages: Sequence[str] = ()
    message_count: int | None = None
    answer_count: int = 0
    chat: Chat | None = None
    greeting_index: int = 0
    first_turn: bool = False
    prefer_system: bool = True
    prefer_post_history: bool = True
    trigger: str = "normal"
    seed: str = ""
    turn: int = 0
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    lore: LoreSettings = field(default_factory=LoreSettings)
    effects: TimedEffects = field(default_factory=TimedEffects)
    local_variables: Mapping[str, Value] = field(default_factory=dict)
    global_variables: Mapping[str, Value] = field(default_factory=dict)
    max_bytes: int = DEFAULT_MAX_BYTES
    model: str = ""
    window: int | None = None
    max_response: int | None = None
    owner: str = ""
    watch: Watch | None = None
    finish: LoreFinish | None = None
    remarks: tuple[Diagnostic, ...] = ()


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
class UserInjection:
    """Whether the bound persona's description is in the text, and where: `none`, `fallback`,
    `preset-marker:<prompt>` or `preset-macro:<prompt>`. Its length is that of the authored text."""

    selected: bool = False
    description_characters: int = 0
    placement: str = "none"

    def audit(self) -> dict[str, Any]:
        """As JSON, under the seeds' names."""
        return {
            "selected": self.selected,
            "descriptionAvailable": self.description_characters > 0,
            "descriptionCharacters": self.description_characters,
            "descriptionInsertions": int(self.placement != "none"),
            "descriptionPlacement": self.placement,
        }


@dataclass(frozen=True, slots=True)
class LoreBudget:
    """How much lore there was room for. Bytes are UTF-8: `max_bytes` of the whole text,
    `candidate_bytes` of what it would have had with every candidate, `max_input_bytes` of raw lore."""

    max_bytes: int
    candidate_bytes: int
    max_input_bytes: int
    retained: int = 0
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class Profile:
    """The system text, which is its sections joined by a blank line, and what goes with it.

    Without rendering (a strategy places the sources) both are empty. `lore` are the active entries whose
    text is in it, `active` all. What is then said beside the sources are `cast` and, until the first reply,
    `greeting`; `written` is what lore and these wrote into variables, for the texts that a strategy places.
    `lore_record` is what the log must keep of timed lore, None when nothing changed; `variables` what macros
    changed. `macros` is what the texts were expanded with.
    """

    system_text: str
    sections: tuple[Section, ...]
    mode: PromptMode
    parameters: CallParameters
    character: str
    user: str
    injection: UserInjection
    lore: tuple[ActiveEntry, ...]
    active: tuple[ActiveEntry, ...]
    budget: LoreBudget
    lore_record: Mapping[str, Any] | None
    variables: VariableChanges
    macros: MacroContext
    diagnostics: tuple[Diagnostic, ...]
    cast: Section | None = None
    greeting: Section | None = None
    written: tuple[VariableWrite, ...] = ()

    @property
    def persona_placement(self) -> str:
        """Where the bound persona's description went."""
        return self.injection.placement

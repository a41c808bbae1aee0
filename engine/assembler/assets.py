"""What a story brings to the assembler: its resources as plain data, read-only, already chosen and activated.

Whoever resolves the selections fills this in; the assembler knows no file formats. Source: assembler spec
2.2, 2.5, 2.6; seed 001, source protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from engine.codec import JsonObject
from engine.macros import MacroContext, Variables

__all__ = [
    "Assets",
    "CharacterAsset",
    "DepthPrompt",
    "LoreAsset",
    "PersonaAsset",
    "PresetAsset",
    "PromptAsset",
]

_EMPTY: Final[Mapping[str, str]] = MappingProxyType({})

SpokenRole: TypeAlias = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class PromptAsset:
    """A prompt of a preset. `in_chat` ones stand at a depth in the conversation."""

    identifier: str
    content: str = ""
    name: str = ""
    role: SpokenRole = "system"
    enabled: bool = True
    marker: bool = False
    in_chat: bool = False
    depth: int | None = None
    order: float | None = None
    forbid_overrides: bool = False


@dataclass(frozen=True, slots=True)
class PresetAsset:
    """A preset's prompts in order."""

    id: str | None = None
    prompts: tuple[PromptAsset, ...] = ()


@dataclass(frozen=True, slots=True)
class DepthPrompt:
    """A card's note at a depth."""

    text: str
    depth: int = 4  # what SillyTavern takes when a card says nothing
    role: SpokenRole = "system"


@dataclass(frozen=True, slots=True)
class CharacterAsset:
    """The fields of the card that speaks, macros not yet expanded. `greeting` is the chosen one."""

    id: str | None = None
    name: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    examples: str = ""
    system: str = ""
    phi: str = ""
    greeting: str = ""
    depth_prompt: DepthPrompt | None = None


@dataclass(frozen=True, slots=True)
class PersonaAsset:
    """Who the human plays."""

    id: str | None = None
    name: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class LoreAsset:
    """An activated entry. `position` is where its book wants it, in SillyTavern's words; `fallback` where it
    goes when there is no such place. `literals` are values that its macros stand for, never read again.
    """

    id: str
    content: str
    name: str = ""
    position: str = ""
    fallback: Literal["before", "after"] = "after"
    role: SpokenRole | None = None
    depth: int | None = None
    order: float = 100
    resource_id: str | None = None
    literals: Mapping[str, str] = field(default_factory=lambda: _EMPTY)

    def __post_init__(self) -> None:
        if self.literals is not _EMPTY:
            literals = MappingProxyType(dict(self.literals)) if self.literals else _EMPTY
            object.__setattr__(self, "literals", literals)


@dataclass(frozen=True, slots=True)
class Assets:
    """Everything of one request. `greeting_reference` asks that the greeting be shown to the model.

    `macros` are further names that texts may use; `diagnostics` are remarks of whoever resolved this.
    `expanding` is all that macros of authored texts stand for, and `variables` what they read and write:
    without them there are only names and the last words, and nothing is remembered.
    """

    preset: PresetAsset | None = None
    character: CharacterAsset | None = None
    persona: PersonaAsset | None = None
    lore: tuple[LoreAsset, ...] = ()
    prefer_character_system: bool = True
    prefer_character_phi: bool = True
    greeting_reference: bool = False
    macros: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    diagnostics: tuple[JsonObject, ...] = ()
    expanding: MacroContext | None = None
    variables: Variables | None = None

    def __post_init__(self) -> None:
        texts = {name: text for name, text in self.macros.items() if isinstance(text, str)}
        object.__setattr__(self, "macros", MappingProxyType(texts))

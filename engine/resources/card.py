"""A character, whatever version and file it came in. Source: spec sillytavern 1.1, 1.6; tavern 1.3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.codec import JsonObject
from engine.resources.asset import Asset
from engine.resources.diagnostic import Diagnostic
from engine.resources.document import DocumentKind
from engine.resources.world_book import WorldBook

__all__ = ["CARD", "Card", "CardSpec", "DepthPrompt"]

CARD = DocumentKind(
    noun="a character card",
    invalid="CHARACTER_DOCUMENT_INVALID",
    too_large="CHARACTER_DOCUMENT_TOO_LARGE",
    max_bytes=8 * 1024 * 1024,  # of JSON; the largest honest cards with scripts stay under 2 MiB
)

CardSpec = Literal["v1", "v2", "v3", "pygmalion"]

_NSFW_TAGS = {"nsfw", "18+", "r18", "r-18", "explicit", "adults only"}


@dataclass(frozen=True, slots=True)
class DepthPrompt:
    """A note that a card wants `depth` messages before the end. Roles: system, user, assistant."""

    prompt: str
    depth: int = 4
    role: str = "system"


@dataclass(frozen=True, slots=True)
class Card:
    """A character. Texts have `\\n` line ends and no control characters; absent ones are empty.

    `image` is the whole picture file that the card came in or brought as its icon, if any; `raw` the JSON
    object as it came (of YAML and BYAF: the card it was turned into). Dates are unix seconds; 0 is
    withheld.
    """

    spec: CardSpec
    name: str
    raw: JsonObject
    spec_version: str = ""
    nickname: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_mes: str = ""
    alternate_greetings: tuple[str, ...] = ()
    group_only_greetings: tuple[str, ...] = ()
    mes_example: str = ""
    system_prompt: str = ""
    post_history_instructions: str = ""
    creator: str = ""
    creator_notes: str = ""
    notes_by_language: Mapping[str, str] = field(default_factory=dict)
    character_version: str = ""
    tags: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    created: int | None = None
    modified: int | None = None
    depth_prompt: DepthPrompt | None = None
    talkativeness: float = 0.5
    world: str = ""
    """The name of a world book that the card was linked to where it came from."""
    extensions: JsonObject | None = None
    book: WorldBook | None = None
    assets: tuple[Asset, ...] = ()
    image: bytes | None = None
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def greetings(self) -> tuple[str, ...]:
        """`first_mes` and the alternates, blank ones skipped: what can be swiped before the first message."""
        return tuple(text for text in (self.first_mes, *self.alternate_greetings) if text.strip())

    @property
    def group_greetings(self) -> tuple[str, ...]:
        """What the character may open a group with: all greetings and those that are only for groups."""
        return self.greetings + tuple(text for text in self.group_only_greetings if text.strip())

    @property
    def speaker(self) -> str:
        """What `{{char}}` stands for and who the character speaks as: the nickname, else the name."""
        return self.nickname.strip() or self.name

    @property
    def nsfw(self) -> bool:
        """Whether a tag says that the card is for adults."""
        return any(tag.casefold() in _NSFW_TAGS for tag in self.tags)

    def notes_for(self, language: str) -> str:
        """The creator's notes in a language such as `zh-CN`, else in English, else in any.

        Where the card has notes by language, its plain notes are the English ones only if it has no
        others in English.
        """
        notes = {key.lower(): text for key, text in self.notes_by_language.items() if text.strip()}
        notes.setdefault("en", self.creator_notes)
        wanted = language.lower()
        for key in (wanted, wanted.partition("-")[0], "en"):
            if notes.get(key):
                return notes[key]
        return next((text for text in notes.values() if text), "")

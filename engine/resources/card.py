"""Character cards V1, V2 and V3: the model, and its reading from a JSON object.

Whatever the version, one model comes out; `raw` keeps the object as it came, unknown
fields and all, for a lossless export. Source: spec sillytavern 1.1, 1.3; tavern 1.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.codec import JsonObject
from engine.errors import ResourceError
from engine.resources.diagnostic import Diagnostic, Diagnostics
from engine.resources.document import DocumentKind
from engine.resources.fields import Fields, clean_text, visible_line
from engine.resources.world_book import WorldBook, embedded_book

__all__ = ["CARD", "Card", "CardSpec", "DepthPrompt", "parse_card"]

CARD = DocumentKind(
    noun="a character card",
    invalid="CARD_INVALID",
    too_large="CARD_TOO_LARGE",
    max_bytes=8 * 1024 * 1024,  # of JSON; the largest honest cards with scripts stay under 2 MiB
)

CardSpec = Literal["v1", "v2", "v3", "pygmalion"]

_V1_FIELDS = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
_PYGMALION = {
    "name": "char_name",
    "description": "char_persona",
    "first_mes": "char_greeting",
    "scenario": "world_scenario",
    "mes_example": "example_dialogue",
}
_NSFW_TAGS = {"nsfw", "18+", "r18", "r-18", "explicit", "adults only"}
_NEWEST = 3.0  # the newest spec_version that is read whole
_PLACEHOLDER_NOTES = "Creator's notes go here."  # what an old editor left in every card


@dataclass(frozen=True, slots=True)
class DepthPrompt:
    """A note that a card wants `depth` messages before the end. Roles: system, user, assistant."""

    prompt: str
    depth: int = 4
    role: str = "system"


@dataclass(frozen=True, slots=True)
class Card:
    """A character. Texts have `\\n` line ends and no control characters; absent ones are empty.

    `image` is the whole picture file that the card came in, if any; `raw` the JSON object as it came.
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
    character_version: str = ""
    tags: tuple[str, ...] = ()
    depth_prompt: DepthPrompt | None = None
    talkativeness: float = 0.5
    extensions: JsonObject | None = None
    book: WorldBook | None = None
    image: bytes | None = None
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def greetings(self) -> tuple[str, ...]:
        """`first_mes` and the alternates, blank ones skipped: what can be swiped before the first message."""
        return tuple(text for text in (self.first_mes, *self.alternate_greetings) if text.strip())

    @property
    def speaker(self) -> str:
        """What `{{char}}` stands for and who the character speaks as: the nickname, else the name."""
        return self.nickname.strip() or self.name

    @property
    def nsfw(self) -> bool:
        """Whether a tag says that the card is for adults."""
        return any(tag.casefold() in _NSFW_TAGS for tag in self.tags)


def parse_card(root: Any, notes: Diagnostics, *, filename: str = "", image: bytes | None = None) -> Card:
    """The card in a JSON value. `filename` names a card that has no name.

    Raises ResourceError CARD_INVALID: not a card, or a field that no repair can save (named in `field`).
    """
    if not isinstance(root, Mapping):
        raise ResourceError("This is no character card: it is no JSON object.", code=CARD.invalid)
    spec = _detect(root)
    data = _data(root, spec, notes)
    path = "data" if data is root.get("data") else ""
    fields = Fields(data, path, notes, CARD.invalid)
    extensions = _extensions(fields, notes)
    name = visible_line(fields.text("name"))
    if not name:
        name = _named_after(filename)
        notes.warn("missing-name", f"The card has no name; it was named “{name}” after the file.", "name")
    return Card(
        spec=spec,
        spec_version=_version(root, spec, notes),
        name=name,
        nickname=fields.text("nickname"),
        description=fields.text("description"),
        personality=fields.text("personality"),
        scenario=fields.text("scenario"),
        first_mes=fields.text("first_mes"),
        alternate_greetings=fields.texts("alternate_greetings"),
        group_only_greetings=fields.texts("group_only_greetings"),
        mes_example=fields.text("mes_example"),
        system_prompt=fields.text("system_prompt"),
        post_history_instructions=fields.text("post_history_instructions"),
        creator=fields.text("creator", loose=True),
        creator_notes=_creator_notes(fields),
        character_version=fields.text("character_version", loose=True),
        tags=_tags(fields),
        depth_prompt=_depth_prompt(extensions),
        talkativeness=_talkativeness(extensions),
        extensions=extensions.source,
        book=embedded_book(data.get("character_book"), notes, name),
        raw=root,
        image=image,
        warnings=notes.all(),
    )


def _detect(root: Mapping[str, Any]) -> CardSpec:
    spec = root.get("spec")
    if isinstance(spec, str) and spec:
        if spec == "chara_card_v2":
            return "v2"
        if spec.startswith("chara_card_v"):
            return "v3"
        raise _not_a_card(root)
    if isinstance(root.get("data"), Mapping) and "name" in root["data"]:
        return "v2"  # written without its spec field, but unmistakable
    if "name" in root and ("prompts" in root or "entries" in root):
        raise _not_a_card(root)
    if "name" in root:
        return "v1"
    if "char_name" in root:
        return "pygmalion"
    raise _not_a_card(root)


def _data(root: Mapping[str, Any], spec: CardSpec, notes: Diagnostics) -> Mapping[str, Any]:
    """The object that holds the fields."""
    if spec == "v1":
        return root
    if spec == "pygmalion":
        notes.info("pygmalion", "An old Pygmalion character; its fields were renamed.")
        return {ours: root[theirs] for ours, theirs in _PYGMALION.items() if theirs in root}
    data = root.get("data")
    if isinstance(data, Mapping):
        return (
            data if all(key in data or key not in root for key in _V1_FIELDS) else _filled(root, data, notes)
        )
    if "name" not in root:
        raise ResourceError(
            "This card has no `data` and no name: it is empty.", code=CARD.invalid, field="data"
        )
    notes.warn("data-missing", "The card has no `data`; its fields were read from the top level.", "data")
    return root


def _filled(root: Mapping[str, Any], data: Mapping[str, Any], notes: Diagnostics) -> Mapping[str, Any]:
    missing = {key: root[key] for key in _V1_FIELDS if key not in data and key in root}
    notes.info("field-from-top-level", f"Read from the top level: {', '.join(missing)}.", "data")
    return {**missing, **data}


def _version(root: Mapping[str, Any], spec: CardSpec, notes: Diagnostics) -> str:
    version = root.get("spec_version")
    text = "" if version is None else str(version)[:40]
    try:
        newer = float(text or 0) > _NEWEST
    except ValueError:
        newer = False
    if newer or (spec == "v3" and root.get("spec") != "chara_card_v3"):
        notes.warn(
            "newer-v3-version",
            f"The card was made for a newer format ({text or root.get('spec')}); what is known was read.",
            "spec_version",
        )
    return text


def _extensions(fields: Fields, notes: Diagnostics) -> Fields:
    return Fields(fields.object("extensions"), fields.where("extensions"), notes, CARD.invalid)


def _creator_notes(fields: Fields) -> str:
    notes = fields.text("creator_notes") or fields.text("creatorcomment")
    return notes.replace(_PLACEHOLDER_NOTES, "").strip()


def _tags(fields: Fields) -> tuple[str, ...]:
    listed = (" ".join(tag.split()) for tag in fields.texts("tags", comma=True))
    return tuple(dict.fromkeys(tag for tag in listed if tag))


def _depth_prompt(extensions: Fields) -> DepthPrompt | None:
    note = extensions.child("depth_prompt")
    prompt = note.text("prompt", loose=True)
    if not prompt.strip():
        return None
    role = note.source.get("role")
    depth = note.integer("depth", 4)
    return DepthPrompt(
        prompt=prompt,
        depth=4 if depth is None else max(0, depth),
        role=role if role in ("system", "user", "assistant") else "system",
    )


def _talkativeness(extensions: Fields) -> float:
    # Often a text even from SillyTavern itself: no remark.
    try:
        value = float(extensions.source.get("talkativeness", 0.5))
    except (TypeError, ValueError):
        return 0.5
    return min(1.0, max(0.0, value)) if math.isfinite(value) else 0.5


def _named_after(filename: str) -> str:
    name = clean_text(filename).replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0]
    return " ".join(name.replace("_", " ").split())[:80] or "Unnamed"


def _not_a_card(root: Mapping[str, Any]) -> ResourceError:
    if "prompts" in root or "prompt_order" in root:
        hint = "It looks like a preset: import it as one."
    elif "entries" in root or root.get("spec") == "lorebook_v3":
        hint = "It looks like a world book: import it as one."
    elif "findRegex" in root:
        hint = "It looks like a regex script."
    else:
        hint = "A card is a PNG or JSON file with a character's name, description and first message."
    return ResourceError(f"This is no character card. {hint}", code=CARD.invalid)

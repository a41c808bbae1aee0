"""Character cards V1, V2, V3 and Pygmalion's, read from a JSON object.

Whatever the version, one model comes out. What is malformed as the wild has it is mended with
a remark that names the field. Source: spec sillytavern 1.1, 1.3; tavern 1.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from engine.codec import JsonObject
from engine.errors import ResourceError
from engine.resources.asset import list_assets
from engine.resources.card import CARD, Card, CardSpec, DepthPrompt
from engine.resources.diagnostic import Diagnostics
from engine.resources.fields import Fields, clean_text, visible_line
from engine.resources.mojibake import is_mojibake
from engine.resources.world_book import embedded_book

__all__ = ["PYGMALION", "V1_FIELDS", "card_data", "card_spec", "parse_card"]

V1_FIELDS = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
PYGMALION = {
    "name": "char_name",
    "description": "char_persona",
    "first_mes": "char_greeting",
    "scenario": "world_scenario",
    "mes_example": "example_dialogue",
}
_NEWEST = 3.0  # the newest spec_version that is read whole
_PLACEHOLDER_NOTES = "Creator's notes go here."  # what an old editor left in every card


def parse_card(root: Any, notes: Diagnostics, *, filename: str = "", image: bytes | None = None) -> Card:
    """The card in a JSON value. `filename` names a card that has no name.

    Raises ResourceError CHARACTER_DOCUMENT_INVALID: not a card, or a field that no repair can save
    (named in `field`).
    """
    if not isinstance(root, Mapping):
        raise ResourceError("This is no character card: it is no JSON object.", code=CARD.invalid)
    spec = card_spec(root)
    data = _noted_data(root, spec, notes)
    path = "data" if spec in ("v2", "v3") and isinstance(root.get("data"), Mapping) else ""
    fields = Fields(data, path, notes, CARD.invalid)
    extensions = Fields(fields.object("extensions"), fields.where("extensions"), notes, CARD.invalid)
    version = _version(root, spec, notes)
    name = visible_line(fields.text("name"))
    if not name:
        name = _named_after(filename)
        notes.warn(
            "missing-name", "The card has no name; it was named “{name}” after the file.", "name", name=name
        )
    texts = {key: fields.text(key) for key in _TEXTS}
    _offer_mending(fields, {"name": name, **texts}, notes)
    return Card(
        spec=spec,
        spec_version=version,
        name=name,
        **texts,
        alternate_greetings=fields.texts("alternate_greetings"),
        group_only_greetings=fields.texts("group_only_greetings"),
        creator=fields.text("creator", loose=True),
        creator_notes=_creator_notes(fields),
        notes_by_language=_notes_by_language(fields),
        character_version=fields.text("character_version", loose=True),
        tags=_tags(fields),
        source=fields.texts("source"),
        created=fields.integer("creation_date"),
        modified=fields.integer("modification_date"),
        depth_prompt=_depth_prompt(extensions),
        talkativeness=_talkativeness(extensions, root),
        world=extensions.text("world", loose=True),
        extensions=extensions.source,
        book=embedded_book(data.get("character_book"), notes, name),
        assets=list_assets(data, notes),
        raw=root,
        image=image,
        warnings=notes.all(),
    )


_TEXTS = (
    "nickname",
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "system_prompt",
    "post_history_instructions",
)


def card_spec(root: JsonObject) -> CardSpec:
    """Which kind of card a JSON object is. Raises ResourceError CHARACTER_DOCUMENT_INVALID: none."""
    spec = root.get("spec")
    wrapped = isinstance(data := root.get("data"), Mapping) and "name" in data
    if isinstance(spec, str) and spec:
        if spec == "chara_card_v2":
            return "v2"
        if spec.startswith("chara_card_v"):
            return "v3"
        if not wrapped:
            raise _not_a_card(root)
    if wrapped:  # written without its spec field, or with one of its own, but unmistakable
        return "v3" if str(root.get("spec_version", ""))[:1] == "3" else "v2"
    if "name" in root and ("prompts" in root or "entries" in root):
        raise _not_a_card(root)
    if "name" in root:
        return "v1"
    if "char_name" in root:
        return "pygmalion"
    raise _not_a_card(root)


def card_data(root: JsonObject, spec: CardSpec) -> JsonObject:
    """The object that holds the fields, under the names that V2 gives them."""
    data = root.get("data")
    if spec in ("v2", "v3") and isinstance(data, Mapping):
        missing = {key: root[key] for key in V1_FIELDS if key not in data and key in root}
        return {**missing, **data} if missing else data
    if spec == "pygmalion":
        renamed = {ours: root[theirs] for ours, theirs in PYGMALION.items() if theirs in root}
        return {key: value for key, value in root.items() if key not in PYGMALION.values()} | renamed
    return root


def _noted_data(root: JsonObject, spec: CardSpec, notes: Diagnostics) -> JsonObject:
    data = card_data(root, spec)
    if spec == "pygmalion":
        notes.info("pygmalion", "An old Pygmalion character; its fields were renamed.")
    elif spec in ("v2", "v3") and data is root:
        if "name" not in root:
            raise ResourceError(
                "This card has no `data` and no name: it is empty.", code=CARD.invalid, field="data"
            )
        notes.warn("data-missing", "The card has no `data`; its fields were read from the top level.", "data")
    elif spec in ("v2", "v3") and data is not root["data"]:
        missing = ", ".join(key for key in V1_FIELDS if key in data and key not in root["data"])
        notes.info("field-from-top-level", "Read from the top level: {fields}.", "data", fields=missing)
    return data


def _version(root: JsonObject, spec: CardSpec, notes: Diagnostics) -> str:
    version = root.get("spec_version")
    text = "" if version is None else str(version)[:40]
    try:
        newer = float(text or 0) > _NEWEST
    except ValueError:
        newer = False
    named = str(root.get("spec"))[:40]
    if newer or (spec == "v3" and named.startswith("chara_card_v") and named != "chara_card_v3"):
        notes.warn(
            "newer-v3-version",
            "The card was made for a newer format ({version}); what is known was read.",
            "spec_version",
            version=text or named,
        )
    elif spec in ("v2", "v3") and not named.startswith("chara_card_v"):
        notes.warn(
            "unknown-spec", "The card does not say its format; it was read as {spec}.", spec=spec.upper()
        )
    return text


def _creator_notes(fields: Fields) -> str:
    notes = fields.text("creator_notes") or fields.text("creatorcomment")
    return notes.replace(_PLACEHOLDER_NOTES, "").strip()


def _notes_by_language(fields: Fields) -> dict[str, str]:
    listed = fields.object("creator_notes_multilingual")
    return {key[:20]: clean_text(text) for key, text in listed.items() if isinstance(text, str)}


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


def _talkativeness(extensions: Fields, root: JsonObject) -> float:
    # Often a text even from SillyTavern itself: no remark. It writes a copy at the top level.
    given = extensions.source.get("talkativeness", root.get("talkativeness", 0.5))
    try:
        value = float(given)
    except (TypeError, ValueError):
        return 0.5
    return min(1.0, max(0.0, value)) if math.isfinite(value) else 0.5


def _offer_mending(fields: Fields, texts: Mapping[str, str], notes: Diagnostics) -> None:
    """Texts that were UTF-8 read as Latin-1 are told, not mended: it would be a guess about a whole card."""
    where = next((key for key, text in texts.items() if is_mojibake(text)), None)
    if where is not None:
        notes.warn(
            "double-encoded-text",
            "The letters of this card look wrongly encoded, as in “{sample}”. They can be mended.",
            fields.where(where),
            sample=" ".join(texts[where][:40].split()),
        )


def _named_after(filename: str) -> str:
    name = clean_text(filename).replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0]
    return " ".join(name.replace("_", " ").split())[:80] or "Unnamed"


def _not_a_card(root: JsonObject) -> ResourceError:
    if "prompts" in root or "prompt_order" in root:
        why, hint = "like-preset", "It looks like a preset: import it as one."
    elif "entries" in root or root.get("spec") == "lorebook_v3":
        why, hint = "like-world-book", "It looks like a world book: import it as one."
    elif "findRegex" in root:
        why, hint = "like-regex", "It looks like a regex script."
    else:
        why = ""
        hint = "A card is a PNG or JSON file with a character's name, description and first message."
    return ResourceError(f"This is no character card. {hint}", code=CARD.invalid, why=why)

"""What SillyTavern makes of each file, compared where we want the same.

The raw object must be what it found. The texts must be what it stores, but for line ends and
control characters, which our model cleans. The book must be its world info; where it loses
something or disables an entry by its defects we do not follow. What we write back must be a V3 card
where it writes one, and must read as it did.
"""

from collections.abc import Mapping
from typing import Any

from engine.resources import Asset, Card, Entry, export_card, read_card
from engine.resources.archive import is_unsafe
from engine.resources.entry import LOGICS, POSITIONS, ROLES
from engine.resources.fields import clean_text
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector

TEXTS = (
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "system_prompt",
    "post_history_instructions",
    "creator",
    "character_version",
)
LISTS = ("alternate_greetings", "tags")


def run(vector: Vector) -> None:
    recorded = vector.body["recorded"]
    if "error" in recorded:
        return  # what we do where it gives up is the other family
    path = vector.body["path"]
    card = read_card(path.read_bytes(), path.name)
    if "embedded" in recorded:
        agree("raw", recorded["embedded"], card.raw)
    stored = recorded.get("stImport", {}).get("data", {})
    for name in TEXTS:
        if isinstance(stored.get(name), str):
            agree(name, clean_text(stored[name]), getattr(card, name))
    for name in LISTS:
        if isinstance(stored.get(name), list):
            agree(name, [clean_text(text) for text in stored[name]], list(getattr(card, name)))
    if isinstance(stored.get("creator_notes"), str):
        agree("creator_notes", clean_text(stored["creator_notes"]).strip(), card.creator_notes)
    if "avatar" in recorded and path.suffix == ".charx":
        size = None if recorded["avatar"] == "DEFAULT" else int(recorded["avatar"].removeprefix("buffer:"))
        agree("icon", size, None if card.image is None else len(card.image))
    if "assets" in recorded:
        agree("assets", recorded["assets"], [_asset(asset) for asset in card.assets if _stored(asset)])
    if "rewrite" in recorded:
        _rewritten(card, path.read_bytes(), recorded["rewrite"])
    if "stWorldInfo" in recorded:
        _book(card, recorded["stWorldInfo"]["entries"], stored["character_book"])


def _stored(asset: Asset) -> bool:
    """Whether it is a picture of the archive that SillyTavern would take out of it."""
    return asset.place == "file" and asset.category not in ("icon", "other") and not is_unsafe(asset.path)


def _asset(asset: Asset) -> dict[str, Any]:
    return {
        "type": asset.kind,
        "name": asset.name,
        "ext": asset.ext,
        "zipPath": asset.path,
        "order": asset.index,
        "storageCategory": asset.category,
        "baseName": asset.label,
    }


def _rewritten(card: Card, original: bytes, recorded: Mapping[str, Any]) -> None:
    written = export_card(card.raw, "png", original=original)
    again = read_card(written, "again.png")
    agree("written spec", recorded["spec"], again.raw["spec"])
    if card.spec != "v3":
        agree("written version", recorded["spec_version"], again.raw["spec_version"])
    for name in ("name", *TEXTS):
        agree(f"written {name}", getattr(card, name), getattr(again, name))
    for name in LISTS:
        agree(f"written {name}", list(getattr(card, name)), list(getattr(again, name)))
    agree("written again", written, export_card(again.raw, "png", original=written))


def _book(card: Card, converted: Mapping[str, Any], source: Mapping[str, Any]) -> None:
    assert card.book is not None
    ours = {str(entry.uid): _world_info(entry) for entry in card.book.entries}
    listed = source["entries"]
    items = list(listed.values()) if isinstance(listed, dict) else listed
    agree("number of entries", len(items), len(ours))
    for uid, entry in converted.items():
        wanted = {key: value for key, value in entry.items() if key in ours[uid]}
        given = next(item for index, item in enumerate(items) if str(item.get("id", index)) == uid)
        if "enabled" not in given:
            wanted["disable"] = False  # disabling it is the defect
        agree(f"entry {uid}", wanted, ours[uid])


def _world_info(entry: Entry) -> dict[str, Any]:
    return {
        "key": list(entry.keys),
        "keysecondary": list(entry.secondary_keys),
        "comment": entry.comment,
        "content": entry.content,
        "constant": entry.constant,
        "vectorized": entry.vectorized,
        "selective": entry.selective,
        "selectiveLogic": LOGICS.index(entry.logic),
        "order": entry.order,
        "position": POSITIONS.index(entry.position),
        "disable": not entry.enabled,
        "ignoreBudget": entry.ignore_budget,
        "excludeRecursion": entry.exclude_recursion,
        "preventRecursion": entry.prevent_recursion,
        "matchScenario": "scenario" in entry.match_sources,
        "probability": entry.probability,
        "useProbability": entry.use_probability,
        "depth": entry.depth,
        "outletName": entry.outlet,
        "group": entry.group,
        "groupOverride": entry.group_override,
        "groupWeight": entry.group_weight,
        "scanDepth": entry.scan_depth,
        "caseSensitive": entry.case_sensitive,
        "matchWholeWords": entry.whole_words,
        "useGroupScoring": entry.group_scoring,
        "automationId": entry.automation_id,
        "role": ROLES.index(entry.role),
        "sticky": entry.sticky,
        "cooldown": entry.cooldown,
        "delay": entry.delay,
        "triggers": list(entry.triggers),
        "displayIndex": entry.display_index,
    }

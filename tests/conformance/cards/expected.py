"""What SillyTavern makes of each file, compared where we want the same.

The raw object must be what it found. The texts must be what it stores, but for line ends and
control characters, which our model cleans. The book must be its world info; where it loses
something or disables an entry by its defects we do not follow.
"""

from collections.abc import Mapping
from typing import Any

from engine.resources import Card, Entry, read_card
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
    if isinstance(stored.get("tags"), list):
        agree("tags", stored["tags"], list(card.tags))
    if "avatar" in recorded and path.suffix == ".charx":
        size = None if recorded["avatar"] == "DEFAULT" else int(recorded["avatar"].removeprefix("buffer:"))
        agree("icon", size, None if card.image is None else len(card.image))
    if "stWorldInfo" in recorded:
        _book(card, recorded["stWorldInfo"]["entries"], stored["character_book"])


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

"""Changing a preset: only what was changed is written into the object that came.

Order entries, unknown keys and the lists of other characters stay as they are; only the list that
counts is rewritten. Source: spec tavern 1.1, sillytavern 3.2; decision 23.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from engine.codec import JsonObject
from engine.errors import ResourceError
from engine.resources.diagnostic import Diagnostics
from engine.resources.fields import visible_line
from engine.resources.patch import checked, flag, number, one_of, text, texts, whole
from engine.resources.preset import (
    EFFORTS,
    GLOBAL_ORDER,
    MAX_STOPS,
    MODES,
    OWN_KEY,
    Preset,
    Prompt,
    parse_preset,
)

__all__ = [
    "PRESET_FIELDS",
    "PROMPT_FIELDS",
    "add_prompt",
    "blank_preset",
    "edit_preset",
    "edit_prompt",
    "move_prompt",
    "remove_prompt",
]

_ANY = 2**31 - 1


def _stops(field: str, value: object) -> list[str]:
    found = [item for item in texts(field, value) if item]
    if len(found) > MAX_STOPS:
        raise ResourceError(
            f"A preset may have {MAX_STOPS} stop texts; these are {len(found)}.",
            code="FIELD_INVALID",
            field=field,
        )
    return found


def _effort(field: str, value: object) -> str | None:
    return None if value is None else str(one_of(*EFFORTS)(field, value))


PRESET_FIELDS = {
    "temperature": number(0, 2, optional=True),
    "max_tokens": whole(1, _ANY, optional=True),
    "reasoning_effort": _effort,
    "stop": _stops,
    "system_prompt_mode": one_of(*MODES),
}
"""What a preset's own fields may be set to; None takes a parameter out."""

PROMPT_FIELDS = {
    "name": text,
    "role": one_of("system", "user", "assistant"),
    "content": text,
    "enabled": flag,
    "in_chat": flag,
    "depth": whole(0, 10_000),
    "order": whole(-_ANY, _ANY),
    "triggers": texts,
    "forbid_overrides": flag,
}
_WRITTEN = {"depth": "injection_depth", "order": "injection_order", "triggers": "injection_trigger"}


def blank_preset(name: str) -> dict[str, Any]:
    """A preset with an empty main prompt and temperature 1 (spec tavern 1.1)."""
    main = {
        "identifier": "main",
        "name": "Main",
        "role": "system",
        "content": "",
        "system_prompt": True,
    }
    order = [{"identifier": "main", "enabled": True}]
    return {
        "name": name,
        "temperature": 1,
        "prompts": [main],
        "prompt_order": [{"character_id": GLOBAL_ORDER, "order": order}],
    }


def edit_preset(raw: JsonObject, patch: Mapping[str, object]) -> dict[str, Any]:
    """Other parameters. Raises ResourceError FIELD_UNKNOWN, FIELD_INVALID; nothing is changed then."""
    values = checked(patch, PRESET_FIELDS)
    edited = dict(raw)
    mode = values.pop("system_prompt_mode", None)
    if mode is not None:
        own = edited.get(OWN_KEY)
        edited[OWN_KEY] = {**(own if isinstance(own, Mapping) else {}), "system_prompt_mode": mode}
    for field, value in values.items():
        if field == "max_tokens":
            edited.pop("max_tokens", None)
            field = "openai_max_tokens"
        if field == "temperature":
            edited.pop("temp_openai", None)
        if value is None or value == []:
            edited.pop(field, None)
        else:
            edited[field] = value
    return edited


def edit_prompt(raw: JsonObject, identifier: str, patch: Mapping[str, object]) -> dict[str, Any]:
    """One prompt changed. Whether it is on is a matter of the order that counts.

    Raises ResourceError PROMPT_NOT_FOUND, PROMPT_IS_MARKER for a text in a marker, FIELD_UNKNOWN,
    FIELD_INVALID.
    """
    values = checked(patch, PROMPT_FIELDS)
    preset = _parsed(raw)
    prompt = _named(preset, identifier)
    if prompt.marker and values.keys() - {"enabled", "name", "role"}:
        raise ResourceError(
            "This prompt only marks a place; it has no text of its own.",
            code="PROMPT_IS_MARKER",
            prompt=identifier,
        )
    edited = _modern(raw, preset)
    if "enabled" in values:
        edited = _enable(edited, preset, identifier, values.pop("enabled"))
    if values:
        item = dict(_items(edited)[_place(edited, identifier)])
        if "in_chat" in values:
            item["injection_position"] = int(values.pop("in_chat"))
        item.update({_WRITTEN.get(field, field): value for field, value in values.items()})
        edited = _with_item(edited, identifier, item)
    return edited


def add_prompt(
    raw: JsonObject, patch: Mapping[str, object], *, at: int | None = None
) -> tuple[dict[str, Any], str]:
    """A prompt more, on unless the patch says otherwise, at the end or at `at`; its new identifier."""
    values = checked(patch, PROMPT_FIELDS)
    if not visible_line(str(values.get("name", ""))):
        raise ResourceError("A prompt needs a name.", code="FIELD_INVALID", field="name")
    preset = _parsed(raw)
    identifier = str(uuid.uuid4())
    enabled = values.pop("enabled", True)
    item: dict[str, Any] = {
        "identifier": identifier,
        "name": values.pop("name"),
        "role": values.pop("role", "system"),
        "content": values.pop("content", ""),
        "system_prompt": False,
        "injection_position": int(values.pop("in_chat", False)),
    }
    item.update({_WRITTEN.get(field, field): value for field, value in values.items()})
    edited = _modern(raw, preset)
    edited["prompts"] = [*edited["prompts"], item]
    order = _order(preset)
    order.insert(len(order) if at is None else at, {"identifier": identifier, "enabled": enabled})
    return _with_order(edited, preset, order), identifier


def remove_prompt(raw: JsonObject, identifier: str) -> dict[str, Any]:
    """Without that prompt. Raises ResourceError PROMPT_NOT_FOUND."""
    preset = _parsed(raw)
    _named(preset, identifier)
    edited = _modern(raw, preset)
    place = _place(edited, identifier)
    edited["prompts"] = [item for at, item in enumerate(edited["prompts"]) if at != place]
    order = [entry for entry in _order(preset) if entry["identifier"] != identifier]
    return _with_order(edited, preset, order)


def move_prompt(raw: JsonObject, identifier: str, to: int) -> dict[str, Any]:
    """The prompt at another place of the order, 0 first. Raises ResourceError PROMPT_NOT_FOUND."""
    preset = _parsed(raw)
    _named(preset, identifier)
    order = _order(preset)
    moved = next(entry for entry in order if entry["identifier"] == identifier)
    order.remove(moved)
    order.insert(max(0, to), moved)
    return _with_order(_modern(raw, preset), preset, order)


def _parsed(raw: JsonObject) -> Preset:
    return parse_preset(raw, Diagnostics())


def _named(preset: Preset, identifier: str) -> Prompt:
    for prompt in preset.prompts:
        if prompt.identifier == identifier:
            return prompt
    raise ResourceError(
        "This prompt is not in the preset (any more).", code="PROMPT_NOT_FOUND", prompt=identifier[:80]
    )


def _modern(raw: JsonObject, preset: Preset) -> dict[str, Any]:
    """A copy that has a list of prompts: one from before the prompt manager gets it from its three texts."""
    edited = dict(raw)
    if not isinstance(edited.get("prompts"), list):
        edited["prompts"] = [
            {"identifier": prompt.identifier, "name": prompt.identifier, "role": prompt.role}
            | ({"marker": True} if prompt.marker else {"content": prompt.content})
            | {"system_prompt": True}
            for prompt in preset.prompts
        ]
    return edited


def _items(raw: JsonObject) -> Sequence[Any]:
    items: Sequence[Any] = raw["prompts"]
    return items


def _place(raw: JsonObject, identifier: str) -> int:
    """Where the prompt stands in the file: the first of its identifier, which may be made up."""
    for at, item in enumerate(_items(raw)):
        if not isinstance(item, Mapping):
            continue
        given = item.get("identifier")
        if (str(given).strip() if given not in (None, "") else f"prompt-{at + 1}") == identifier:
            return at
    raise ResourceError(
        "This prompt is not in the preset (any more).", code="PROMPT_NOT_FOUND", prompt=identifier[:80]
    )


def _with_item(raw: dict[str, Any], identifier: str, item: Mapping[str, Any]) -> dict[str, Any]:
    place = _place(raw, identifier)
    return {**raw, "prompts": [item if at == place else old for at, old in enumerate(_items(raw))]}


def _enable(raw: dict[str, Any], preset: Preset, identifier: str, enabled: bool) -> dict[str, Any]:
    order = [
        {**entry, "enabled": enabled} if entry["identifier"] == identifier else entry
        for entry in _order(preset)
    ]
    return _with_order(raw, preset, order)


def _order(preset: Preset) -> list[dict[str, Any]]:
    """The order as it stands, every prompt in it."""
    return [{"identifier": prompt.identifier, "enabled": prompt.enabled} for prompt in preset.prompts]


def _with_order(raw: dict[str, Any], preset: Preset, order: list[dict[str, Any]]) -> dict[str, Any]:
    """The list that counts replaced, others untouched; one is made where none counts."""
    owner = GLOBAL_ORDER if preset.order_id is None else preset.order_id
    lists = raw.get("prompt_order")
    lists = list(lists) if isinstance(lists, list) else []
    for at, item in enumerate(lists):
        if isinstance(item, Mapping) and item.get("character_id") == preset.order_id and item.get("order"):
            lists[at] = {**item, "order": _merged(item["order"], order)}
            return {**raw, "prompt_order": lists}
    return {**raw, "prompt_order": [*lists, {"character_id": owner, "order": order}]}


def _merged(before: Any, order: list[dict[str, Any]]) -> list[Any]:
    """The new order, each entry with what else the old one said of it."""
    known = {str(entry.get("identifier")): entry for entry in reversed(before) if isinstance(entry, Mapping)}
    return [{**known.get(entry["identifier"], {}), **entry} for entry in order]

"""SillyTavern chat-completion presets: prompts, their order, and the four parameters that are sent.

Fields that name an endpoint or hold a secret are stripped before anything is kept.
Source: spec tavern 1.1, sillytavern 3.1 and 3.2, decision 22.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from engine.codec import JsonObject
from engine.errors import ResourceError
from engine.resources.diagnostic import Diagnostic, Diagnostics
from engine.resources.document import DocumentKind, read_document
from engine.resources.fields import Fields, clean_text

__all__ = [
    "DEFAULT_ORDER",
    "OFF_BY_DEFAULT",
    "OWN_KEY",
    "Preset",
    "Prompt",
    "PromptMode",
    "choose_order",
    "parse_preset",
    "read_preset",
]

PRESET = DocumentKind(
    noun="a preset", invalid="PRESET_INVALID", too_large="PRESET_TOO_LARGE", max_bytes=2 * 1024 * 1024
)
MAX_PROMPTS = 2_000  # the largest public presets have about 200
MAX_STOPS = 16

GLOBAL_ORDER, OLDER_ORDER = 100001, 100000  # the ids under which SillyTavern keeps its one list

EFFORTS = ("low", "medium", "high", "xhigh")

PromptMode: TypeAlias = Literal["append", "replace"]
MODES: tuple[PromptMode, ...] = ("append", "replace")

OWN_KEY = "inglenook"
"""Where the object of a preset holds what only this program knows of it. Never part of an export."""

_STRIPPED = re.compile(
    r"proxy|^custom_(url|include_|exclude_)|azure|vertexai|api_?key|secret|password|authorization|^token$|_token$",
    re.IGNORECASE,
)
_LEGACY = (("main", "main_prompt"), ("nsfw", "nsfw_prompt"), ("jailbreak", "jailbreak_prompt"))
DEFAULT_ORDER: Final = (
    "main",
    "worldInfoBefore",
    "personaDescription",
    "charDescription",
    "charPersonality",
    "scenario",
    "enhanceDefinitions",
    "nsfw",
    "worldInfoAfter",
    "dialogueExamples",
    "chatHistory",
    "jailbreak",
)
"""The prompts that every preset of SillyTavern has, in their usual order."""

OFF_BY_DEFAULT: Final = frozenset({"enhanceDefinitions"})
"""Those of them that stand there and are not sent unless the preset says so."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt of a preset, or the marker where something else's text goes."""

    identifier: str
    name: str = ""
    role: Literal["system", "user", "assistant"] = "system"
    content: str = ""
    enabled: bool = True
    marker: bool = False
    system_prompt: bool = False
    in_chat: bool = False  # to be placed `depth` messages before the end
    depth: int = 4
    order: int = 100
    triggers: tuple[str, ...] = ()
    forbid_overrides: bool = False


@dataclass(frozen=True, slots=True)
class Preset:
    """Prompts in their order, and parameters as authored (None = the preset says nothing).

    `raw` is the file's object without endpoints and secrets. `system_prompt_mode` says whether it wants
    to be the only system text (spec tavern 1.1).
    """

    name: str
    prompts: tuple[Prompt, ...]
    raw: JsonObject
    temperature: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    stop: tuple[str, ...] | None = None
    order_id: int | None = None
    system_prompt_mode: PromptMode = "append"
    warnings: tuple[Diagnostic, ...] = ()


def read_preset(data: bytes, filename: str = "") -> Preset:
    """Read a preset file; its name is the file's. Raises ResourceError PRESET_INVALID, PRESET_TOO_LARGE."""
    notes = Diagnostics()
    return parse_preset(read_document(data, PRESET, notes), notes, filename=filename)


def parse_preset(root: Any, notes: Diagnostics, *, filename: str = "") -> Preset:
    """The preset in a JSON value. `raw` of the result can be given back to it."""
    if not isinstance(root, Mapping):
        raise ResourceError("This is no preset: it is no JSON object.", code=PRESET.invalid)
    raw = _stripped(root, notes)
    listed = root.get("prompts")
    if listed is None and any(isinstance(root.get(old), str) for _, old in _LEGACY):
        notes.info("legacy-prompts", "An old preset: its three prompts were put into the usual order.")
        prompts, order_id = _legacy(root), None
    elif isinstance(listed, list):
        if len(listed) > MAX_PROMPTS:
            raise ResourceError(f"A preset may have {MAX_PROMPTS:,} prompts.", code=PRESET.too_large)
        prompts, order_id = _ordered(_prompts(listed, notes), root.get("prompt_order"), notes)
    else:
        why, hint = _guess(root)
        raise ResourceError(f"This is no preset: it has no prompts. {hint}", code=PRESET.invalid, why=why)
    fields = Fields(root, "", notes, PRESET.invalid)
    return Preset(
        name=_name(root, filename),
        prompts=prompts,
        raw=raw,
        temperature=fields.number("temperature", fields.number("temp_openai")),
        max_tokens=_positive(fields.integer("openai_max_tokens", fields.integer("max_tokens"))),
        reasoning_effort=_effort(root.get("reasoning_effort"), notes),
        stop=_stops(fields),
        order_id=order_id,
        system_prompt_mode=_mode(root.get(OWN_KEY)),
        warnings=notes.all(),
    )


def _mode(own: Any) -> PromptMode:
    asked = own.get("system_prompt_mode") if isinstance(own, Mapping) else None
    return "replace" if asked == "replace" else "append"


def _stripped(root: Mapping[str, Any], notes: Diagnostics) -> dict[str, Any]:
    """The object without what names an endpoint or holds a secret."""
    gone = [key for key in root if _STRIPPED.search(key)]
    filled = [key for key in gone if root[key] not in ("", None, False, [], {})]
    if filled:
        notes.warn(
            "connection-stripped",
            "Connection settings and secrets were left out: a preset never changes where requests go. "
            f"({', '.join(sorted(filled)[:8])})",
        )
    return {key: value for key, value in root.items() if key not in gone}


def _prompts(listed: list[Any], notes: Diagnostics) -> list[tuple[Prompt, bool | None]]:
    """(prompt, its own enabled flag) of each; a repeated identifier keeps its first prompt."""
    found: dict[str, tuple[Prompt, bool | None]] = {}
    for index, item in enumerate(listed):
        path = f"prompts.{index}"
        if not isinstance(item, Mapping):
            notes.warn("invalid-prompt", "A prompt that is no object was left out.", path)
            continue
        fields = Fields(item, path, notes, PRESET.invalid)
        identifier = fields.text("identifier", loose=True).strip() or f"prompt-{index + 1}"
        if identifier in found:
            notes.warn(
                "duplicate-prompt", f"There are several prompts “{identifier}”; the first counts.", path
            )
            continue
        found[identifier] = (_prompt(fields, identifier), fields.tristate("enabled"))
    return list(found.values())


def _prompt(fields: Fields, identifier: str) -> Prompt:
    depth, order = fields.integer("injection_depth", 4), fields.integer("injection_order", 100)
    return Prompt(
        identifier=identifier,
        name=fields.text("name", loose=True),
        role=_role(fields.source.get("role")),
        content=fields.text("content", loose=True),
        marker=fields.flag("marker", False),
        system_prompt=fields.flag("system_prompt", False),
        in_chat=fields.integer("injection_position", 0) == 1,
        depth=4 if depth is None else max(0, depth),
        order=100 if order is None else order,
        triggers=fields.texts("injection_trigger"),
        forbid_overrides=fields.flag("forbid_overrides", False),
    )


def _role(value: object) -> Literal["system", "user", "assistant"]:
    if value in (None, "", "system"):
        return "system"
    return "assistant" if value in ("assistant", "model") else "user"


def _ordered(
    prompts: list[tuple[Prompt, bool | None]], orders: object, notes: Diagnostics
) -> tuple[tuple[Prompt, ...], int | None]:
    known = {prompt.identifier: prompt for prompt, _ in prompts}
    order_id, order = choose_order(orders, known)
    if order is None:
        chosen = tuple(
            _with_enabled(prompt, bool(prompt.content.strip()) and not prompt.marker if own is None else own)
            for prompt, own in prompts
        )
        return chosen, None
    listed: dict[str, Prompt] = {}
    for item in order:
        if not isinstance(item, Mapping):
            continue
        identifier = str(item.get("identifier", ""))
        if identifier in listed:
            continue
        if identifier not in known:
            notes.info("unknown-prompt", f"The order names “{identifier[:60]}”, which is not in the preset.")
            continue
        listed[identifier] = _with_enabled(known[identifier], item.get("enabled") is not False)
    rest = (_with_enabled(prompt, own is True) for prompt, own in prompts if prompt.identifier not in listed)
    return (*listed.values(), *rest), order_id


def choose_order(orders: object, known: Mapping[str, Prompt]) -> tuple[int | None, list[Any] | None]:
    """SillyTavern's global list, else its older id, else the list that names most known prompts."""
    lists: list[tuple[int | None, list[Any]]] = []
    for item in orders if isinstance(orders, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("order"), list) and item["order"]:
            lists.append((_owner(item.get("character_id")), item["order"]))
    for wanted in (GLOBAL_ORDER, OLDER_ORDER):
        for owner, order in lists:
            if owner == wanted:
                return owner, order
    if not lists:
        return None, None

    def hits(pair: tuple[int | None, list[Any]]) -> int:
        named = {str(item.get("identifier", "")) for item in pair[1] if isinstance(item, Mapping)}
        return len(named & known.keys())

    return max(lists, key=hits)


def _owner(written: object) -> int | None:
    """Whose list it is; some programs write the number as a text."""
    if isinstance(written, str) and written.isdecimal() and len(written) < 20:
        return int(written)
    return written if isinstance(written, int) and not isinstance(written, bool) else None


def _legacy(root: Mapping[str, Any]) -> tuple[Prompt, ...]:
    texts = {name: clean_text(root[old]) for name, old in _LEGACY if isinstance(root.get(old), str)}
    return tuple(
        Prompt(
            identifier,
            content=texts.get(identifier, ""),
            marker=identifier not in ("main", "nsfw", "jailbreak"),
        )
        for identifier in DEFAULT_ORDER
        if identifier not in OFF_BY_DEFAULT
        and (identifier in texts or identifier not in ("main", "nsfw", "jailbreak"))
    )


def _with_enabled(prompt: Prompt, enabled: bool) -> Prompt:
    return prompt if prompt.enabled == enabled else replace(prompt, enabled=enabled)


def _effort(value: object, notes: Diagnostics) -> str | None:
    if value in (None, "", "auto"):
        return None
    if value in EFFORTS:
        return str(value)
    notes.info("unknown-effort", f"The reasoning effort “{str(value)[:20]}” is unknown and is not sent.")
    return None


def _stops(fields: Fields) -> tuple[str, ...] | None:
    stops = tuple(dict.fromkeys(stop for stop in fields.texts("stop") if stop))
    if len(stops) > MAX_STOPS:
        fields.notes.warn("too-many-stops", f"Only the first {MAX_STOPS} stop texts are used.", "stop")
    return stops[:MAX_STOPS] or None


def _positive(number: int | None) -> int | None:
    return number if number is not None and number > 0 else None


def _name(root: Mapping[str, Any], filename: str) -> str:
    stem = clean_text(filename).replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0]
    given = root.get("name")
    name = stem or (given if isinstance(given, str) else "")
    return " ".join(name.split())[:200] or "Preset"


def _guess(root: Mapping[str, Any]) -> tuple[str, str]:
    if "entries" in root:
        return "like-world-book", "It looks like a world book: import it as one."
    if "spec" in root or "first_mes" in root:
        return "like-card", "It looks like a character card: import it as one."
    if "temp" in root and "rep_pen" in root:
        told = "It looks like a text-completion preset; only chat-completion presets can be used."
        return "like-text-preset", told
    return "", "A preset is the JSON file that SillyTavern's chat-completion presets export."

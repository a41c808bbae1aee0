"""The prompts of a preset that take part in a request, in their order.

Source: sillytavern spec 3.2, "Reading rule" and "Repair on load"; 3.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from engine.prompting.defaults import DEFAULT_PROMPTS
from engine.prompting.quirks import Quirk
from engine.prompting.words import Words
from engine.resources import DEFAULT_ORDER, OFF_BY_DEFAULT, Preset, Prompt, choose_order

__all__ = ["Collection", "Side", "Slot", "SlotRole", "collect"]

Side: TypeAlias = Literal["start", "end"]
SlotRole: TypeAlias = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in the order, and the text that stands there, its macros expanded.

    What the preset does not say is None: a text that comes to a marker's place takes from it what it says.
    `side` is where beside the main prompt a note stands; `extension` marks notes of unknown name.
    """

    identifier: str
    content: str = ""
    name: str = ""
    role: SlotRole | None = None
    system_prompt: bool | None = None
    in_chat: bool | None = None
    depth: int | None = None
    order: int | None = None
    side: Side | None = None
    extension: bool = False
    forbid_overrides: bool = False


class Collection:
    """The slots of one request, by place and by identifier; of a repeated one the first counts."""

    def __init__(self, entries: Iterable[tuple[str, bool]]) -> None:
        self._slots: list[Slot] = []
        self._enabled: dict[str, bool] = {}
        for identifier, enabled in entries:
            self._enabled.setdefault(identifier, enabled)

    def __iter__(self) -> Iterator[Slot]:
        return iter(tuple(self._slots))

    def __contains__(self, identifier: str) -> bool:
        return self.get(identifier) is not None

    def get(self, identifier: str) -> Slot | None:
        """The slot of an identifier."""
        return next((slot for slot in self._slots if slot.identifier == identifier), None)

    def index(self, identifier: str) -> int:
        """The place of an identifier that there is."""
        return next(at for at, slot in enumerate(self._slots) if slot.identifier == identifier)

    def add(self, slot: Slot) -> None:
        """One more slot, behind all."""
        self._slots.append(slot)

    def put(self, slot: Slot) -> None:
        """In the place of the one with the same identifier."""
        self._slots[self.index(slot.identifier)] = slot

    def insert(self, slot: Slot, at: int) -> None:
        """Between others."""
        self._slots.insert(at, slot)

    def disabled(self, identifier: str) -> bool:
        """Whether the order names it and has it switched off, or it is for other kinds of answers."""
        return not self._enabled.get(identifier, True)


def collect(preset: Preset, trigger: str, words: Words, quirks: frozenset[Quirk]) -> Collection:
    """What the order names, is switched on and is meant for this kind of answer.

    A main prompt that is switched off stays as an empty place: notes stand beside it.
    """
    prompts = {**DEFAULT_PROMPTS, **{prompt.identifier: prompt for prompt in preset.prompts}}
    entries = [entry for entry in _entries(preset, prompts) if entry[0] in prompts]
    if Quirk.DUPLICATE_ENTRIES not in quirks:
        first: dict[str, bool] = {}
        for identifier, enabled in entries:
            first.setdefault(identifier, enabled)
        entries = list(first.items())
    given = _given(preset)
    # For SillyTavern a marker that is meant for other answers is missing, and its text stands at the end.
    missing = Quirk.MISSING_AT_END in quirks
    collection = Collection(
        (identifier, enabled and (missing or _wanted(prompts[identifier], trigger)))
        for identifier, enabled in entries
    )
    for identifier, enabled in entries:
        slot = _slot(prompts[identifier], given.get(identifier))
        if enabled and _wanted(prompts[identifier], trigger):
            collection.add(replace(slot, content=words.authored(slot.content)))
        elif not enabled and identifier == "main":
            collection.add(replace(slot, content=""))
    return collection


def _wanted(prompt: Prompt, trigger: str) -> bool:
    return not prompt.triggers or trigger in prompt.triggers


def _entries(preset: Preset, prompts: Mapping[str, Prompt]) -> list[tuple[str, bool]]:
    """The list that counts. Without any list: the default one."""
    _, order = choose_order(preset.raw.get("prompt_order"), prompts)
    if order is None:
        return [(identifier, identifier not in OFF_BY_DEFAULT) for identifier in DEFAULT_ORDER]
    return [
        (str(item.get("identifier", "")), item.get("enabled") is True)
        for item in order
        if isinstance(item, Mapping)
    ]


def _given(preset: Preset) -> dict[str, Mapping[str, Any]]:
    """The prompts as the file has them: what they do not say matters here."""
    listed = preset.raw.get("prompts")
    found: dict[str, Mapping[str, Any]] = {}
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, Mapping):
            found.setdefault(str(item.get("identifier") or "").strip(), item)
    return found


def _slot(prompt: Prompt, given: Mapping[str, Any] | None) -> Slot:
    def says(key: str) -> bool:
        return given is not None and given.get(key) is not None

    return Slot(
        identifier=prompt.identifier,
        content=prompt.content,
        name=prompt.name,
        role=prompt.role if says("role") or (not prompt.marker and given is None) else None,
        system_prompt=prompt.system_prompt if says("system_prompt") or given is None else None,
        in_chat=prompt.in_chat if says("injection_position") else None,
        depth=prompt.depth if says("injection_depth") else None,
        order=prompt.order if says("injection_order") else None,
        forbid_overrides=prompt.forbid_overrides,
    )

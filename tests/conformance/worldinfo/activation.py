"""Activation: a recorded scan, or a row of scans over one chat's effects, done again with ours."""

from typing import Any

from engine.lore import (
    Activation,
    Book,
    LoreSettings,
    Places,
    Situation,
    TimedEffects,
    activate,
    compose,
    place,
)
from engine.macros import MacroContext, expand
from engine.resources import Diagnostics, WorldBook, parse_world_book
from engine.resources.entry import ROLES
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector

_SOURCES = {
    "personaDescription": "persona_description",
    "characterDescription": "character_description",
    "characterPersonality": "character_personality",
    "characterDepthPrompt": "character_depth_prompt",
    "scenario": "scenario",
    "creatorNotes": "creator_notes",
}
_NAMES = MacroContext(user="Bob", char="Alice")


def run(vector: Vector) -> None:
    body = vector.body
    recording = _Recording(vector.document, body)
    fixed = body.get("expectedStepsFixed") or body.get("expectedSteps") or ()
    if body["kind"] == "sequence":
        for number, (step, expected) in enumerate(zip(body["steps"], fixed, strict=True)):
            recording.edit(step.get("edit", {}))
            _compare(f"step {number}: ", expected, recording.scan({**body, **step}))
        return
    _compare("", body.get("expectedFixed") or body["expected"], recording.scan(body))


def _compare(where: str, expected: dict[str, Any], actual: dict[str, Any]) -> None:
    for key, value in expected.items():
        if key in actual:
            agree(where + key, _plain(key, value), actual[key])


def _plain(key: str, value: Any) -> Any:
    """What differs between implementations taken out: hashes, and a depth that was not given."""
    if key == "timed":
        return {
            kind: {name: [e["start"], e["end"], bool(e["protected"])] for name, e in effects.items()}
            for kind, effects in value.items()
        }
    if key == "depthEntries":
        return [{**block, "depth": 4 if block["depth"] is None else block["depth"]} for block in value]
    return value


class _Recording:
    """The books of one vector, and the state that its scans leave behind."""

    def __init__(self, document: dict[str, Any], body: dict[str, Any]) -> None:
        self.template = document["template"]
        self.defaults = document["settingsDefaults"]
        self.raw: dict[str, dict[str, Any]] = {
            name: {key: {**self.template, **entry} for key, entry in book["entries"].items()}
            for name, book in body["books"].items()
        }
        self.effects = TimedEffects()
        self.rolls = iter(body.get("rolls", ()))
        self.rolled: list[float] = []

    def edit(self, edits: dict[str, Any]) -> None:
        for name, entries in edits.items():
            for key, changes in entries.items():
                self.raw[name][key] = {**self.raw[name][key], **changes}

    def scan(self, body: dict[str, Any]) -> dict[str, Any]:
        settings = {**self.defaults, **body.get("settings", {})}
        books = self._books(body, int(settings["world_info_character_strategy"]))
        self.rolled = []
        found = activate(
            books,
            self._situation(body),
            settings=_settings(settings),
            roll=self._roll,
            expand=lambda text: expand(text, _NAMES),
            count_tokens=lambda text: len(text.split()),
        )
        self.effects = found.effects
        return self._told(found, body, any(book.book.entries for book in books))

    def _roll(self, _what: str) -> float:
        rolled = next(self.rolls, None)
        if rolled is None:
            return 0.5
        self.rolled.append(rolled)
        return rolled

    def _situation(self, body: dict[str, Any]) -> Situation:
        data = body.get("globalScanData", {})
        note = body.get("authorsNote", "")
        return Situation(
            messages=list(reversed(body["chat"])),
            trigger=data.get("trigger", "normal"),
            characters=("Alice",),
            tags=body.get("character", {}).get("tags"),
            sources={ours: data[theirs] for theirs, ours in _SOURCES.items() if data.get(theirs)},
            injections=(note,) if note and body.get("anScan") else (),
            effects=self.effects,
            forced={
                f"{entry['world']}:{entry['uid']}": _read("", {"0": entry}).entries[0]
                for entry in body.get("external", ())
            },
            window=body.get("maxContext", 100_000),
            dry_run=bool(body.get("dryRun")),
        )

    def _books(self, body: dict[str, Any], strategy: int) -> list[Book]:
        """The books in SillyTavern's order, which is one of tiers: chat, persona, then the strategy's."""
        character = body.get("character", {})
        own = [character.get("data", {}).get("extensions", {}).get("world")]
        own += [
            name
            for lore in body.get("charLore", ())
            if lore["name"] == "Alice"
            for name in lore["extraBooks"]
        ]
        everywhere = list(body["selected"])
        chat = [(body.get("chat_metadata") or {}).get("world_info")]
        persona = [body.get("personaLore")]
        order = compose(
            session=_there(everywhere), user=_there(chat), preset=_there(persona), character=_there(own)
        )
        last = {0: (2, 2), 1: (3, 2), 2: (2, 3)}[strategy]
        tiers = {"session": last[0], "user": 0, "preset": 1, "character": last[1]}
        return [
            Book(name, _read(name, self.raw.get(name, {})), tier=tiers[order.origins[name][0]])
            for name in order.effective
        ]

    def _told(self, found: Activation, body: dict[str, Any], any_entries: bool) -> dict[str, Any]:
        places = place(found.entries)
        # SillyTavern leaves the note alone when it is not due, and when there is no lore at all.
        due = any_entries and body.get("shouldAN", True)
        return {
            "activated": [item.id.replace(":", ".") for item in found.in_order_of_activation],
            **_placed(places),
            "authorsNoteText": places.note(body.get("authorsNote", "")) if due else None,
            "timed": {
                kind: {
                    key.replace(":", "."): [effect.start, effect.end, effect.protected]
                    for key, effect in effects.items()
                }
                for kind, effects in (("sticky", found.effects.sticky), ("cooldown", found.effects.cooldown))
            },
            "rollsConsumed": self.rolled,
        }


def _placed(places: Places) -> dict[str, Any]:
    return {
        "worldInfoBefore": places.before_text,
        "worldInfoAfter": places.after_text,
        "emEntries": [
            {"position": 0 if example.side == "top" else 1, "content": example.piece.text}
            for example in places.examples
        ],
        "depthEntries": [
            {"depth": block.depth, "role": ROLES.index(block.role), "entries": [p.text for p in block.pieces]}
            for block in places.depths
        ],
        "anTop": [piece.text for piece in places.note_top],
        "anBottom": [piece.text for piece in places.note_bottom],
        "outlets": {name: [piece.text for piece in pieces] for name, pieces in places.outlets.items()},
    }


def _there(names: list[Any]) -> list[str]:
    return [name for name in names if name]


def _read(name: str, entries: dict[str, Any]) -> WorldBook:
    return parse_world_book({"name": name, "entries": entries}, Diagnostics())


def _settings(given: dict[str, Any]) -> LoreSettings:
    return LoreSettings(
        scan_depth=given["world_info_depth"],
        case_sensitive=given["world_info_case_sensitive"],
        whole_words=given["world_info_match_whole_words"],
        recursive=given["world_info_recursive"],
        max_steps=given["world_info_max_recursion_steps"],
        min_activations=given["world_info_min_activations"],
        min_activations_depth=given["world_info_min_activations_depth_max"],
        budget_percent=given["world_info_budget"],
        budget_cap=given["world_info_budget_cap"],
        group_scoring=given["world_info_use_group_scoring"],
        decorators="sillytavern",  # its two; the V3 set is ours
    )

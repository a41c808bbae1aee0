"""World books and scripts as people bring them in, and ways to look at panels. For the cogs' tests."""

from __future__ import annotations

from typing import Any

from bot.sandbox.human import Human
from bot.sandbox.limits import Upload
from bot.sandbox.screen import InteractionResult, Shown
from engine.codec import dumps
from engine.library import ResourceRow
from engine.resources import Entry, WorldBook
from tests.e2e.scene import Scene

__all__ = [
    "TOWN",
    "becomes",
    "book_json",
    "brought_book",
    "brought_scripts",
    "entry_of",
    "fields",
    "row",
    "script",
    "the_book",
]

TOWN: dict[str, dict[str, Any]] = {
    "0": {
        "uid": 0, "key": ["clocktower", "/tow(er|n)s/i"], "comment": "Clock tower",
        "content": "THE TOWER HAS NO STAIRS. The gulls nest there.",
    },
    "1": {
        "uid": 1, "key": ["gulls"], "content": "Gulls steal bread.", "order": 50,
        "position": 4, "depth": 2, "role": 1,
    },
    "2": {"uid": 2, "key": [], "constant": True, "content": "It always rains.", "comment": "Weather"},
    "3": {
        "uid": 3, "key": ["ferry"], "keysecondary": ["night"], "selective": True, "selectiveLogic": 3,
        "content": "THE FERRY IS LATE", "comment": "Ferry",
    },
    "4": {"uid": 4, "key": ["king"], "content": "LONG LIVE", "disable": True, "comment": "The king"},
}  # fmt: skip
"""A town of five entries: one wakes another, one is always there, one needs two keys, one is off."""


def book_json(name: str = "Town", entries: Any = TOWN, **fields: Any) -> bytes:
    """A stand-alone world book."""
    return dumps({"name": name, "description": "All of the town.", **fields, "entries": entries})


async def brought_book(
    scene: Scene, who: str = "Ana", name: str = "Town", entries: Any = TOWN, **fields: Any
) -> InteractionResult:
    """A world book that somebody brings in, and its panel."""
    file = Upload(f"{name}.json", book_json(name, entries, **fields))
    return await scene.human(who).slash("general", "world import", file=file)


def script(name: str, find: str, put: str = "", **fields: Any) -> dict[str, Any]:
    """A regex script as SillyTavern writes it: for answers, as they are shown."""
    return {
        "id": name,
        "scriptName": name,
        "findRegex": find,
        "replaceString": put,
        "trimStrings": [],
        "placement": [2],
        "disabled": False,
        "markdownOnly": True,
        "promptOnly": False,
        "runOnEdit": False,
        "substituteRegex": 0,
        "minDepth": None,
        "maxDepth": None,
        **fields,
    }


async def brought_scripts(
    scene: Scene, *scripts: dict[str, Any], who: str = "Ana", name: str = "Tidy"
) -> InteractionResult:
    """Scripts that somebody brings in, and their panel."""
    file = Upload(f"{name}.json", dumps(list(scripts)))
    return await scene.human(who).slash("general", "regex import", file=file)


async def becomes(who: Human, message: Shown, text: str) -> Shown:
    """The message as soon as it shows the text."""
    try:
        await who.wait_for(lambda: text in who.shown(message).text)
    except TimeoutError:
        assert text in who.shown(message).text
    return who.shown(message)


def fields(modal: InteractionResult) -> dict[str, Any]:
    """The fields of a form, by their custom_id."""
    assert modal.modal is not None, modal.text
    parts = [part.get("component") or part["components"][0] for part in modal.modal["components"]]
    return {part["custom_id"]: part for part in parts}


async def row(scene: Scene, name: str = "Town", kind: Any = "world_book") -> ResourceRow:
    return await scene.bot.engine.library.resolve(scene.owner, kind, name)


async def the_book(scene: Scene, name: str = "Town") -> WorldBook:
    return await scene.bot.engine.library.book((await row(scene, name)).id)


async def entry_of(scene: Scene, uid: int, name: str = "Town") -> Entry:
    return next(entry for entry in (await the_book(scene, name)).entries if entry.uid == uid)

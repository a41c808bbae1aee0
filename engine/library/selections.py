"""What each session uses: card, preset, persona, greeting, books. Source: spec tavern 2.

Who may have how many stories is counted where stories begin (`engine.play`); here each selection is held to
its own bounds, and to ids that cannot be anything else.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from engine.codec import dumps, loads
from engine.errors import ResourceError
from engine.storage import Row, Store, Write

__all__ = ["Selection", "Selections", "selection_from_wire"]

MAX_BOOKS = 100
MAX_SCRIPTS = 100  # as many as books; each holds a list of its own
MAX_TOOLS = 100
MAX_ID = 200  # characters of a resource's id
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
_HOSTILE = {"__proto__", "constructor", "prototype"}


@dataclass(frozen=True, slots=True)
class Selection:
    """Ids of what a session uses, and how it uses its card.

    `user_name` is whom `{{user}}` names (empty: whoever speaks first), `seed` what the story's
    random macros draw from; a story's whole tree shares both, so that what was shown stays true.
    `tools` are the names of those that the model may call; a name without a tool means nothing.
    """

    card_id: str | None = None
    preset_id: str | None = None
    persona_id: str | None = None
    greeting_index: int = 0
    prefer_system: bool = True
    prefer_post_history: bool = True
    book_ids: tuple[str, ...] = ()
    regex_ids: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    user_name: str = ""
    seed: str = ""

    def to_wire(self) -> dict[str, Any]:
        """As a JSON object, tuples as lists."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }


def selection_from_wire(wire: Mapping[str, Any]) -> Selection:
    """The selection in a JSON object that `to_wire` made; fields of a later version are passed over."""
    known = {field.name for field in fields(Selection)} & wire.keys()
    values: dict[str, Any] = {
        name: tuple(wire[name]) if isinstance(wire[name], list) else wire[name] for name in known
    }
    return Selection(**values)


def merged(selection: Selection, patch: Mapping[str, object]) -> Selection:
    """The selection with what a patch says: a field by its name, null for what it is by default.

    Raises ResourceError SELECTION_INVALID (data: field) for a field that there is not, or a value that
    does not fit; nothing is half merged.
    """
    usual = Selection()
    values: dict[str, Any] = {}
    for name, value in patch.items():
        if name not in _FIELDS:
            raise _invalid(name)
        default = getattr(usual, name)
        if value is None:
            values[name] = default
        elif isinstance(default, tuple):
            if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
                raise _invalid(name)
            values[name] = tuple(value)
        elif type(value) is not (str if default is None else type(default)):
            raise _invalid(name)
        else:
            values[name] = value
    return replace(selection, **values)


class Selections:
    """The selection of each session. Methods that return a `Write` are for the caller's own unit."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._merging = asyncio.Lock()  # between reading a selection and writing what became of it

    async def get(self, session_id: str) -> Selection | None:
        """What the session uses, or None while that is open. Reading settles nothing."""
        row = await self._store.fetch_one("selection_get", session_id=session_id)
        return None if row is None else _selection(row)

    async def set(self, session_id: str, selection: Selection) -> None:
        """Set what the session uses. Whether its agent runs (a 409) is the caller's to check."""
        await self._store.commit(self.set_write(session_id, selection))

    async def merge(self, session_id: str, patch: Mapping[str, object]) -> Selection:
        """Change what a patch names and keep the rest; see `merged`. Raises ResourceError as `set`."""
        return (await self.merge_many({session_id: patch}))[session_id]

    async def merge_many(self, patches: Mapping[str, Mapping[str, object]]) -> Mapping[str, Selection]:
        """As `merge` for several sessions as one unit: all, or none when one of them is refused."""
        async with self._merging:
            changed = {
                session_id: merged(await self.get(session_id) or Selection(), patch)
                for session_id, patch in patches.items()
            }
            await self._store.commit(*(self.set_write(*item) for item in changed.items()))
        return changed

    async def freeze(self, session_id: str, defaults: Selection) -> Selection:
        """The session's selection; at its first use `defaults` become it, for good."""
        await self._store.commit(self.freeze_write(session_id, defaults))
        return await self.get(session_id) or defaults

    async def copy(self, source_id: str, child_id: str) -> None:
        """A fork takes its parent's selection of now; nothing links them afterwards."""
        await self._store.commit(self.copy_write(source_id, child_id))

    def set_write(self, session_id: str, selection: Selection) -> Write:
        """As `set`, in the caller's unit.

        Raises ResourceError SESSION_SELECTION_LIMIT_REACHED for too many books, SESSION_ID_INVALID,
        SELECTION_INVALID (data: field) for what is no id.
        """
        return Write("selection_put", self._params(session_id, selection))

    def freeze_write(self, session_id: str, selection: Selection) -> Write:
        """As `freeze`, in the caller's unit: changes nothing for a session that has a selection."""
        return Write("selection_freeze", self._params(session_id, selection))

    def copy_write(self, source_id: str, child_id: str) -> Write:
        """As `copy`, in the caller's unit: changes nothing for a child that has a selection."""
        _check_session(child_id)
        return Write("selection_copy", {"source_id": source_id, "child_id": child_id, "at": self._now()})

    def clear_write(self, kind: str, resource_id: str) -> Write:
        """Takes a deleted resource out of every selection; a card takes its options with it."""
        return Write(f"selection_clear_{kind}", {"id": resource_id, "at": self._now()})

    def _params(self, session_id: str, selection: Selection) -> Mapping[str, object]:
        _check_session(session_id)
        books = list(dict.fromkeys(selection.book_ids))
        scripts = list(dict.fromkeys(selection.regex_ids))
        tools = list(dict.fromkeys(selection.tools))
        for what, chosen, most in (
            ("world books", books, MAX_BOOKS),
            ("regex lists", scripts, MAX_SCRIPTS),
            ("tools", tools, MAX_TOOLS),
        ):
            if len(chosen) > most:
                raise ResourceError(
                    f"A story can use {most} {what}; these are {len(chosen)}.",
                    code="SESSION_SELECTION_LIMIT_REACHED",
                    limit=most,
                )
        single = [("card_id", selection.card_id), ("preset_id", selection.preset_id)]
        single.append(("persona_id", selection.persona_id))
        named = [(name, found) for name, found in single if found is not None]
        named += [("book_ids", found) for found in books] + [("regex_ids", found) for found in scripts]
        for name, found in named:
            if not 0 < len(found) <= MAX_ID or found in _HOSTILE:
                raise _invalid(name)
        return {
            "session_id": session_id,
            "card_id": selection.card_id,
            "preset_id": selection.preset_id,
            "persona_id": selection.persona_id,
            "greeting_index": max(0, selection.greeting_index),
            "prefer_system": int(selection.prefer_system),
            "prefer_post_history": int(selection.prefer_post_history),
            "book_ids": dumps(books).decode(),
            "regex_ids": dumps(scripts).decode(),
            "tools": dumps(tools).decode(),
            "user_name": selection.user_name,
            "seed": selection.seed,
            "at": self._now(),
        }

    def _now(self) -> int:
        return int(self._clock() * 1000)


_FIELDS = {field.name for field in fields(Selection)}


def _check_session(session_id: str) -> None:
    if not _SESSION_ID.fullmatch(session_id) or session_id in _HOSTILE:
        raise ResourceError("This is no id of a session.", code="SESSION_ID_INVALID")


def _invalid(field: str) -> ResourceError:
    return ResourceError("The selection does not fit.", code="SELECTION_INVALID", field=field[:80])


def _selection(row: Row) -> Selection:
    return Selection(
        card_id=row["card_id"],
        preset_id=row["preset_id"],
        persona_id=row["persona_id"],
        greeting_index=row["greeting_index"],
        prefer_system=bool(row["prefer_system"]),
        prefer_post_history=bool(row["prefer_post_history"]),
        book_ids=tuple(loads(row["book_ids"])),
        regex_ids=tuple(loads(row["regex_ids"])),
        tools=tuple(loads(row["tools"])),
        user_name=row["user_name"],
        seed=row["seed"],
    )

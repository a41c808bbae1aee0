"""What each session uses: card, preset, persona, greeting, books. Source: spec tavern 2."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.codec import dumps, loads
from engine.errors import ResourceError
from engine.storage import Row, Store, Write

__all__ = ["Selection", "Selections"]

MAX_BOOKS = 100


@dataclass(frozen=True, slots=True)
class Selection:
    """Ids of what a session uses, and how it uses its card.

    `user_name` is whom `{{user}}` names (empty: whoever speaks first), `seed` what the story's
    random macros draw from; a story's whole tree shares both, so that what was shown stays true.
    """

    card_id: str | None = None
    preset_id: str | None = None
    persona_id: str | None = None
    greeting_index: int = 0
    prefer_system: bool = True
    prefer_post_history: bool = True
    book_ids: tuple[str, ...] = ()
    user_name: str = ""
    seed: str = ""


class Selections:
    """The selection of each session. Methods that return a `Write` are for the caller's own unit."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    async def get(self, session_id: str) -> Selection | None:
        """What the session uses, or None while that is open. Reading settles nothing."""
        row = await self._store.fetch_one("selection_get", session_id=session_id)
        return None if row is None else _selection(row)

    async def set(self, session_id: str, selection: Selection) -> None:
        """Set what the session uses. Whether its agent runs (a 409) is the caller's to check."""
        await self._store.commit(self.set_write(session_id, selection))

    async def freeze(self, session_id: str, defaults: Selection) -> Selection:
        """The session's selection; at its first use `defaults` become it, for good."""
        await self._store.commit(self.freeze_write(session_id, defaults))
        return await self.get(session_id) or defaults

    async def copy(self, source_id: str, child_id: str) -> None:
        """A fork takes its parent's selection of now; nothing links them afterwards."""
        await self._store.commit(self.copy_write(source_id, child_id))

    def set_write(self, session_id: str, selection: Selection) -> Write:
        """As `set`, in the caller's unit. Raises ResourceError SESSION_SELECTION_LIMIT_REACHED."""
        return Write("selection_put", self._params(session_id, selection))

    def freeze_write(self, session_id: str, selection: Selection) -> Write:
        """As `freeze`, in the caller's unit: changes nothing for a session that has a selection."""
        return Write("selection_freeze", self._params(session_id, selection))

    def copy_write(self, source_id: str, child_id: str) -> Write:
        """As `copy`, in the caller's unit: changes nothing for a child that has a selection."""
        return Write("selection_copy", {"source_id": source_id, "child_id": child_id, "at": self._now()})

    def clear_write(self, kind: str, resource_id: str) -> Write:
        """Takes a deleted resource out of every selection; a card takes its options with it."""
        return Write(f"selection_clear_{kind}", {"id": resource_id, "at": self._now()})

    def _params(self, session_id: str, selection: Selection) -> Mapping[str, object]:
        books = list(dict.fromkeys(selection.book_ids))
        if len(books) > MAX_BOOKS:
            raise ResourceError(
                f"A story can use {MAX_BOOKS} world books; these are {len(books)}.",
                code="SESSION_SELECTION_LIMIT_REACHED",
            )
        return {
            "session_id": session_id,
            "card_id": selection.card_id,
            "preset_id": selection.preset_id,
            "persona_id": selection.persona_id,
            "greeting_index": max(0, selection.greeting_index),
            "prefer_system": int(selection.prefer_system),
            "prefer_post_history": int(selection.prefer_post_history),
            "book_ids": dumps(books).decode(),
            "user_name": selection.user_name,
            "seed": selection.seed,
            "at": self._now(),
        }

    def _now(self) -> int:
        return int(self._clock() * 1000)


def _selection(row: Row) -> Selection:
    return Selection(
        card_id=row["card_id"],
        preset_id=row["preset_id"],
        persona_id=row["persona_id"],
        greeting_index=row["greeting_index"],
        prefer_system=bool(row["prefer_system"]),
        prefer_post_history=bool(row["prefer_post_history"]),
        book_ids=tuple(loads(row["book_ids"])),
        user_name=row["user_name"],
        seed=row["seed"],
    )

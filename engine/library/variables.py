"""Global variables of macros: `{{setglobalvar::…}}` of one story is read in every other of its library.

What was written counts at once, in memory; the table follows at the next `flush`. Two stories that
write the same name at the same time do not wait for each other: the later one stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from engine.codec import dumps, loads
from engine.macros import Value
from engine.storage import Store, Write

__all__ = ["GlobalVariables"]


class GlobalVariables:
    """The variables of each library. One process writes a database, so what it holds in memory is true."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[str, Mapping[str, Value]] = {}
        self._unsaved: dict[tuple[str, str], Value | None] = {}
        self._reading = asyncio.Lock()
        self._saving = asyncio.Lock()

    async def of(self, owner: str) -> Mapping[str, Value]:
        """The variables as they stand. The mapping does not change afterwards."""
        async with self._reading:
            if owner not in self._held:
                rows = await self._store.fetch("variable_list", owner=owner)
                stored = {row["name"]: loads(row["value"]) for row in rows}
                later = {name: value for (whose, name), value in self._unsaved.items() if whose == owner}
                self._held[owner] = _changed(stored, later)
        return self._held[owner]

    def put(self, owner: str, changes: Mapping[str, Value | None]) -> None:
        """Set variables, or take away those that are None. Does not wait; see `flush`."""
        if owner in self._held:
            self._held[owner] = _changed(self._held[owner], changes)
        self._unsaved |= {(owner, name): value for name, value in changes.items()}

    async def flush(self) -> None:
        """Save what was put. Raises StorageError; it is tried again next time then."""
        async with self._saving:
            saving = dict(self._unsaved)
            if not saving:
                return
            await self._store.commit(*(_write(*key, value) for key, value in saving.items()))
            for key, value in saving.items():
                if key in self._unsaved and self._unsaved[key] is value:  # nobody has put another meanwhile
                    del self._unsaved[key]


def _changed(held: Mapping[str, Value], changes: Mapping[str, Value | None]) -> Mapping[str, Value]:
    merged: dict[str, Value | None] = {**held, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def _write(owner: str, name: str, value: Value | None) -> Write:
    if value is None:
        return Write("variable_drop", {"owner": owner, "name": name})
    return Write("variable_put", {"owner": owner, "name": name, "value": dumps(value).decode()})

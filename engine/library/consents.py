"""Whether the regex scripts that a preset or card brings along may run. Asked once. Source: spec
sillytavern 5; decision 17."""

from __future__ import annotations

from collections.abc import Callable

from engine.storage import Store, Write

__all__ = ["Consents"]


class Consents:
    """What an owner said of each resource. `clock` gives epoch ms."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock

    async def given(self, owner: str, resource_id: str) -> bool | None:
        """Allowed, refused, or None: nobody was asked yet, and the scripts do not run."""
        row = await self._store.fetch_one("consent_get", owner=owner, resource_id=resource_id)
        return None if row is None else bool(row["allowed"])

    async def give(self, owner: str, resource_id: str, allowed: bool, by: str) -> None:
        """Allow or refuse, from the next request on."""
        params = {
            "owner": owner,
            "resource_id": resource_id,
            "allowed": int(allowed),
            "by": by,
            "at": self._clock(),
        }
        await self._store.commit(Write("consent_put", params))

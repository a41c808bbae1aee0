"""The rows of stories, and the writes that change them as one unit."""

from __future__ import annotations

from engine.errors import NotFound
from engine.play.model import Head, Node, Playthrough, Timeline, Variant
from engine.storage import Row, Store, Write

__all__ = ["PlayTable", "move_head", "note_waiting", "remember", "stand"]


class PlayTable:
    """Reads stories and names the writes. Raises NotFound for an unknown story."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, play_id: str) -> Playthrough:
        row = await self._store.fetch_one("playthrough", id=play_id)
        if row is None:
            raise NotFound("This story does not exist.", code="PLAY_PLAYTHROUGH_NOT_FOUND", play=play_id)
        return _playthrough(row)

    async def of_owner(self, owner: str, include_ended: bool) -> list[Playthrough]:
        rows = await self._store.fetch("playthroughs", owner=owner, include_ended=include_ended)
        return [_playthrough(row) for row in rows]

    async def timeline(self, play: Playthrough) -> Timeline:
        variants: dict[str, list[Variant]] = {}
        for row in await self._store.fetch("variants", play_id=play.id):
            variants.setdefault(row["node_id"], []).append(_variant(row))
        nodes = [
            Node(row["id"], row["parent_variant"], row["adopted_variant"], tuple(variants[row["id"]]))
            for row in await self._store.fetch("nodes", play_id=play.id)
        ]
        return Timeline(tuple(nodes), play.head)

    async def branch_head(self, play_id: str, variant_id: str) -> Head | None:
        row = await self._store.fetch_one("branch_head", play_id=play_id, variant_id=variant_id)
        return Head(row["session_id"], row["node_id"], row["head_variant"]) if row else None

    async def swipe(self, play_id: str) -> tuple[str, str] | None:
        """(session, exchange) of the answer that is being written beside the standing one."""
        row = await self._store.fetch_one("swipe_of_play", play_id=play_id)
        return (row["session_id"], row["swipe_node"]) if row else None

    async def owner_of_session(self, session_id: str) -> tuple[str, str | None] | None:
        """(story, exchange that is being swiped there) of a session."""
        row = await self._store.fetch_one("play_of_session", session_id=session_id)
        if row is None:
            return None
        return row["play_id"], row["swipe_node"] if row["role"] == "swipe" else None

    async def open_count(self, owner: str) -> int:
        """How many stories of a library have not ended."""
        row = await self._store.fetch_one("count_open_plays", owner=owner)
        return int(row["count"]) if row else 0

    async def session_count(self, play_id: str) -> int:
        """How many sessions a story has, of all its branches."""
        row = await self._store.fetch_one("count_play_sessions", play_id=play_id)
        return int(row["count"]) if row else 0

    async def unfinished(self) -> list[tuple[str, str]]:
        """(story, session) of those that a restart has to look at."""
        return [(row["play_id"], row["session_id"]) for row in await self._store.fetch("unfinished_plays")]

    async def spoken(self, play_id: str, key: str) -> bool:
        return await self._store.fetch_one("spoken", play_id=play_id, key=key) is not None

    async def commit(self, *writes: Write) -> None:
        """All or nothing. Raises Conflict when a compare-and-swap among them fails."""
        await self._store.commit(*writes)


def move_head(play: Playthrough, head: Head) -> Write:
    """Compare-and-swap: only if the story is still as it was read."""
    return Write(
        "move_head",
        {
            "id": play.id,
            "revision": play.revision,
            "session_id": head.session_id,
            "node_id": head.node_id,
            "variant_id": head.variant_id,
        },
        expect=1,
    )


def remember(play_id: str, timeline: Timeline) -> list[Write]:
    """Under every variant of the active path: the story had gone on to this head."""
    head = timeline.head
    if head.node_id is None or head.variant_id is None:
        return []
    return [
        Write(
            "remember_branch",
            {
                "play_id": play_id,
                "variant_id": node.adopted_variant_id,
                "session_id": head.session_id,
                "node_id": head.node_id,
                "head_variant": head.variant_id,
            },
        )
        for node in timeline.path()
    ]


def note_waiting(session_id: str, waiting: bool) -> Write:
    """Whether words wait in a session; a restart looks at those where some do."""
    return Write("note_waiting", {"session_id": session_id, "waiting": int(waiting)}, expect=1)


def stand(timeline: Timeline, variant_id: str | None) -> list[Write]:
    """Every answer on the way to `variant_id` stands in its exchange, `variant_id` itself too.

    What is shown of an exchange is the answer that stands; it has to be the one that the head goes on from.
    """
    writes: list[Write] = []
    for node in reversed(timeline.path_to(variant_id)):
        if node.adopted_variant_id != variant_id:
            writes.append(Write("adopt_variant", {"node_id": node.id, "variant_id": variant_id}))
        variant_id = node.parent_variant_id
    return writes


def _playthrough(row: Row) -> Playthrough:
    return Playthrough(
        id=row["id"],
        owner=row["owner"],
        number=row["number"],
        title=row["title"],
        card_id=row["card_id"],
        created_by=row["created_by"],
        head=Head(row["head_session"], row["head_node"], row["head_variant"]),
        revision=row["revision"],
        created_at=row["created_at"],
        ended_at=row["ended_at"],
    )


def _variant(row: Row) -> Variant:
    return Variant(
        id=row["id"],
        node_id=row["node_id"],
        session_id=row["session_id"],
        start_seq=row["start_seq"],
        end_seq=row["end_seq"],
        interrupted=bool(row["interrupted"]),
    )

"""The ledger of what we have sent: one row per Discord message, written before it is sent.

A *spot* is the set of messages that show one answer (or greeting, or echo): its parts. It is
found by its `Place`, keeps its identity when the answer is swiped, and survives a restart.
Protocol: spec storage C2. A row is `planned` with a nonce that follows from what it shows,
then `sent` with the message's id; all further output edits that message. `body_hash` is empty
until the final text stands there.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from engine.storage import Row, Store, Write

__all__ = ["Place", "Post", "Posts", "body_hash"]

# Kinds of which a story has one per turn; of any other it has one per channel (or per exchange).
_BY_TURN = {"answer", "failure"}
_NONCE_LENGTH = 24  # Discord takes 25 characters


@dataclass(frozen=True, slots=True)
class Place:
    """What is shown, and where.

    The spot of a place is found by the exchange (`node_id`) if that is known; else, for an `answer`
    or a `failure`, by session and turn; else by the kind, of which a story has one in a channel
    (such as `greeting`). `over` names an older turn whose messages shall be written over.
    """

    channel_id: int
    play_id: str
    session_id: str
    turn: int
    kind: str = "answer"
    node_id: str | None = None
    variant_id: str | None = None
    over: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """One row. `message_id` is there from `sent` on; `webhook_id` when a persona spoke; times in ms.

    `revision` counts how often what it shows was called into doubt.
    """

    nonce: str
    spot: str
    play_id: str
    node_id: str | None
    variant_id: str | None
    session_id: str
    turn: int
    part: int
    kind: str
    channel_id: int
    message_id: int | None
    webhook_id: int | None
    state: str
    body_hash: bytes | None
    buttons: bool
    revision: int
    planned_at: int
    updated_at: int


def body_hash(text: str) -> bytes:
    """The hash of what a message shows."""
    return hashlib.sha256(text.encode()).digest()


class Posts:
    """The table, in words. `clock` gives milliseconds since 1970."""

    def __init__(self, store: Store, clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._store = store
        self._clock = clock

    async def spot_of(self, place: Place) -> str | None:
        """The spot that shows `place` now, if any message of it stands or is planned."""
        if place.node_id is not None:
            found = await self._store.fetch_one(
                "post_spot_of_node",
                play_id=place.play_id,
                node_id=place.node_id,
                channel_id=place.channel_id,
                kind=place.kind,
            )
            if found is not None:
                return str(found["spot"])
        elif place.kind not in _BY_TURN:
            posts = await self.of_kind(place.play_id, place.channel_id, place.kind)
            return posts[-1].spot if posts else None
        for session_id, turn in filter(None, ((place.session_id, place.turn), place.over)):
            found = await self._store.fetch_one(
                "post_spot_of_turn",
                session_id=session_id,
                turn=turn,
                channel_id=place.channel_id,
                kind=place.kind,
                node_id=place.node_id,
            )
            if found is not None:
                return str(found["spot"])
        return None

    @staticmethod
    def new_spot(place: Place) -> str:
        """The spot that a place gets when it has none; the same one for the same place."""
        if place.node_id is not None:
            key = f"node:{place.node_id}"
        elif place.kind not in _BY_TURN:
            key = "only"
        else:
            key = f"turn:{place.session_id}:{place.turn}"
        return _token(f"{place.channel_id}:{place.play_id}:{place.kind}:{key}")

    async def at_spot(self, spot: str) -> list[Post]:
        """The messages of a spot in order, planned ones included, deleted ones not."""
        return [_post(row) for row in await self._store.fetch("post_at_spot", spot=spot)]

    async def by_message(self, message_id: int) -> Post | None:
        """What a message shows; None for one that is not ours."""
        row = await self._store.fetch_one("post_by_message", message_id=message_id)
        return _post(row) if row is not None else None

    async def of_kind(self, play_id: str, channel_id: int, kind: str) -> list[Post]:
        """The messages of one kind that a story has in a channel, oldest first."""
        rows = await self._store.fetch("post_of_kind", play_id=play_id, channel_id=channel_id, kind=kind)
        return [_post(row) for row in rows]

    async def buttoned(self, channel_id: int, but: str) -> list[Post]:
        """Messages of a channel under which buttons stand, except those of the spot `but`."""
        rows = await self._store.fetch("post_buttoned", channel_id=channel_id, spot=but)
        return [_post(row) for row in rows]

    async def unfinished(self) -> list[Post]:
        """Messages that never got their final text, oldest first: what a dead process left."""
        return [_post(row) for row in await self._store.fetch("post_unfinished")]

    async def known(self, channel_id: int, since: int) -> set[int]:
        """The ids of our recorded messages in a channel, from `since` on."""
        rows = await self._store.fetch("post_known_messages", channel_id=channel_id, since=since)
        return {row["message_id"] for row in rows}

    async def plan(self, place: Place, spot: str, part: int) -> Post:
        """Write ahead. The nonce follows from spot, part and how many messages this part has had."""
        count = await self._store.fetch_one("post_part_count", spot=spot, part=part)
        nonce = _token(f"{spot}:{part}:{count['n'] if count is not None else 0}")
        now = self._clock()
        post = Post(
            nonce,
            spot,
            place.play_id,
            place.node_id,
            place.variant_id,
            place.session_id,
            place.turn,
            part,
            place.kind,
            place.channel_id,
            message_id=None,
            webhook_id=None,
            state="planned",
            body_hash=None,
            buttons=False,
            revision=0,
            planned_at=now,
            updated_at=now,
        )
        columns = ("nonce", "spot", "play_id", "node_id", "variant_id", "session_id", "turn", "part", "kind")
        params = {name: getattr(post, name) for name in columns}
        await self._store.commit(
            Write("post_plan", {**params, "channel_id": place.channel_id, "now": now}, expect=1)
        )
        return post

    async def sent(self, post: Post, message_id: int, webhook_id: int | None) -> Post:
        """It stands in the channel."""
        params = {
            "nonce": post.nonce,
            "message_id": message_id,
            "webhook_id": webhook_id,
            "now": self._clock(),
        }
        await self._store.commit(Write("post_sent", params))
        return replace(post, message_id=message_id, webhook_id=webhook_id, state="sent")

    async def shown(self, post: Post, text: str, *, buttons: bool) -> Post:
        """It shows its final text, unless that has been called into doubt since the post was read."""
        digest = body_hash(text)
        params = {
            "nonce": post.nonce,
            "body_hash": digest,
            "revision": post.revision,
            "buttons": int(buttons),
            "now": self._clock(),
        }
        await self._store.commit(Write("post_shown", params))
        return replace(post, body_hash=digest, buttons=buttons)

    async def bare(self, post: Post) -> None:
        """Its buttons are gone."""
        await self._store.commit(Write("post_bare", {"nonce": post.nonce, "now": self._clock()}))

    async def deleted(self, *posts: Post) -> None:
        """They do not stand in the channel any more."""
        if posts:
            now = self._clock()
            await self._store.commit(
                Write("post_deleted", [{"nonce": post.nonce, "now": now} for post in posts])
            )

    async def message_deleted(self, *message_ids: int) -> None:
        """Messages are gone from the channel; those that are not ours are ignored."""
        if message_ids:
            now = self._clock()
            rows = [{"message_id": message_id, "now": now} for message_id in message_ids]
            await self._store.commit(Write("post_message_deleted", rows))

    async def reopen(self, spot: str, place: Place) -> None:
        """The messages of a spot are about to show something else; until then they are unfinished."""
        params = {
            "spot": spot,
            "play_id": place.play_id,
            "session_id": place.session_id,
            "turn": place.turn,
            "node_id": place.node_id,
            "variant_id": place.variant_id,
            "now": self._clock(),
        }
        await self._store.commit(Write("post_reopen", params))

    async def unsettle(self, *places: Place) -> None:
        """Write ahead: what these places show is about to change. Until it is shown anew they count as
        unfinished, so that whoever comes after a crash shows them as they are told by then."""
        spots = [spot for place in places if (spot := await self.spot_of(place)) is not None]
        if spots:
            now = self._clock()
            rows = [{"spot": spot, "now": now} for spot in spots]
            await self._store.commit(Write("post_unsettle", rows))

    async def label(self, spot: str, node_id: str | None, variant_id: str | None) -> None:
        """The exchange and the variant that a spot shows are known now."""
        await self._store.commit(
            Write("post_label", {"spot": spot, "node_id": node_id, "variant_id": variant_id})
        )

    async def rename(self, spot: str, kind: str) -> None:
        """What stands there is something of another kind from now on."""
        await self._store.commit(Write("post_rename", {"spot": spot, "kind": kind}))


def _token(key: str) -> str:
    digest = hashlib.sha256(key.encode()).digest()
    return base64.b32encode(digest).decode().lower()[:_NONCE_LENGTH]


def _post(row: Row) -> Post:
    return Post(
        row["nonce"],
        row["spot"],
        row["play_id"],
        row["node_id"],
        row["variant_id"],
        row["session_id"],
        row["turn"],
        row["part"],
        row["kind"],
        row["channel_id"],
        row["message_id"],
        row["webhook_id"],
        row["state"],
        row["body_hash"],
        bool(row["buttons"]),
        row["revision"],
        row["planned_at"],
        row["updated_at"],
    )

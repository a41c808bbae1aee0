"""What every event store must do, whatever it stands on: one abstract case, run on each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from engine.codec import canonical
from engine.errors import Conflict, NotFound, StaleSession
from engine.session.store import EventStore, StoredEvent, StoredSession

HEADER = b'{"id":"s","version":4}'


def rows(start: int, stop: int, mark: str = "") -> list[StoredEvent]:
    """Events as they might come from a session; `mark` makes them unlike others of the same seq."""
    return [
        StoredEvent(
            seq=seq,
            type=f"test/{seq % 3}",
            time=1_700_000_000_000 + seq,
            body=canonical({"seq": seq, "type": f"test/{seq % 3}", "data": {"text": f"{mark} {seq} ☕"}}),
        )
        for seq in range(start, stop)
    ]


def seqs(session: StoredSession) -> list[int]:
    return [row.seq for row in session.rows]


class EventStoreConformance:
    """Inherit, and give a fixture `events` that makes an empty store."""

    async def root(self, events: EventStore, id: str, count: int, mark: str = "") -> None:
        await events.create(id, HEADER, inherited=0, parent=None, rows=rows(0, count, mark))

    # Creating and reading

    async def test_a_created_session_reads_back_byte_for_byte(self, events: EventStore) -> None:
        header = b'{"cwd":null,"id":"s","note":"\xe2\x98\x95","version":4}'
        await events.create("s", header, inherited=0, parent=None, rows=rows(0, 5))
        stored = await events.read("s")
        assert (stored.header, stored.inherited, stored.parent) == (header, 0, None)
        assert list(stored.rows) == rows(0, 5)
        assert await events.head("s") == 5

    async def test_a_session_may_begin_with_nothing(self, events: EventStore) -> None:
        await self.root(events, "s", 0)
        assert await events.head("s") == 0
        assert list((await events.read("s")).rows) == []

    async def test_an_id_is_given_once(self, events: EventStore) -> None:
        await self.root(events, "s", 3, "first")
        with pytest.raises(Conflict):
            await self.root(events, "s", 1, "second")
        assert list((await events.read("s")).rows) == rows(0, 3, "first")

    async def test_of_many_that_create_one_id_at_once_one_wins(self, events: EventStore) -> None:
        results = await asyncio.gather(
            *(self.root(events, "s", 2, str(i)) for i in range(8)), return_exceptions=True
        )
        winners = [i for i, result in enumerate(results) if result is None]
        assert len(winners) == 1
        assert all(isinstance(result, Conflict) for result in results if result is not None)
        assert list((await events.read("s")).rows) == rows(0, 2, str(winners[0]))

    @pytest.mark.parametrize("first", [rows(1, 3), [*rows(0, 2), *rows(3, 4)], [*rows(0, 1), *rows(0, 1)]])
    async def test_a_session_whose_events_have_a_gap_is_not_created(
        self, events: EventStore, first: Sequence[StoredEvent]
    ) -> None:
        with pytest.raises(Conflict):
            await events.create("s", HEADER, inherited=0, parent=None, rows=first)
        with pytest.raises(NotFound):
            await events.read("s")

    async def test_what_does_not_exist_is_not_found(self, events: EventStore) -> None:
        for attempt in (
            events.read("nobody"),
            events.head("nobody"),
            events.take("nobody"),
            events.append("nobody", 1, rows(0, 1)),
            events.append("nobody", 1, []),
            events.create("child", HEADER, inherited=1, parent=("nobody", 0), rows=[]),
            events.create("child", HEADER, inherited=0, parent=("nobody", -1), rows=[]),
        ):
            with pytest.raises(NotFound):
                await attempt

    @pytest.mark.parametrize(
        ("start", "stop", "expected"),
        [
            (0, None, [0, 1, 2, 3, 4]),
            (0, 2, [0, 1]),
            (2, 4, [2, 3]),
            (4, None, [4]),
            (5, None, []),
            (2, 2, []),
            (3, 1, []),
            (0, 99, [0, 1, 2, 3, 4]),
            (99, None, []),
        ],
    )
    async def test_a_range_is_read(
        self, events: EventStore, start: int, stop: int | None, expected: list[int]
    ) -> None:
        await self.root(events, "s", 5)
        assert seqs(await events.read("s", start, stop)) == expected

    # Appending

    async def test_appends_continue_the_log(self, events: EventStore) -> None:
        await self.root(events, "s", 0)
        epoch = await events.take("s")
        await events.append("s", epoch, rows(0, 1))
        await events.append("s", epoch, rows(1, 64))
        await events.append("s", epoch, [])
        await events.append("s", epoch, rows(64, 65))
        assert list((await events.read("s")).rows) == rows(0, 65)

    @pytest.mark.parametrize(
        "batch",
        [
            rows(4, 5),  # leaves one out
            rows(2, 3),  # repeats the last
            rows(2, 5),  # overlaps
            rows(0, 1),
            [*rows(3, 4), *rows(5, 6)],  # a hole inside
            [*rows(3, 4), *rows(3, 4)],  # a repeat inside
            [*rows(4, 5), *rows(3, 4)],  # out of order
        ],
    )
    async def test_a_batch_that_does_not_continue_exactly_changes_nothing(
        self, events: EventStore, batch: Sequence[StoredEvent]
    ) -> None:
        await self.root(events, "s", 3)
        epoch = await events.take("s")
        with pytest.raises(Conflict):
            await events.append("s", epoch, batch)
        assert list((await events.read("s")).rows) == rows(0, 3)
        await events.append("s", epoch, rows(3, 4))

    async def test_the_creator_may_append_without_taking(self, events: EventStore) -> None:
        epoch = await events.create("s", HEADER, inherited=0, parent=None, rows=rows(0, 1))
        await events.append("s", epoch, rows(1, 2))
        assert await events.head("s") == 2

    async def test_of_many_appends_at_one_place_one_wins(self, events: EventStore) -> None:
        await self.root(events, "s", 3)
        epoch = await events.take("s")
        results = await asyncio.gather(
            *(events.append("s", epoch, rows(3, 5, str(i))) for i in range(16)), return_exceptions=True
        )
        winners = [i for i, result in enumerate(results) if result is None]
        assert len(winners) == 1
        assert all(isinstance(result, Conflict) for result in results if result is not None)
        assert list((await events.read("s", 3)).rows) == rows(3, 5, str(winners[0]))

    async def test_sessions_do_not_disturb_one_another(self, events: EventStore) -> None:
        async def story(id: str) -> None:
            await self.root(events, id, 0)
            epoch = await events.take(id)
            for seq in range(0, 30, 3):
                await events.append(id, epoch, rows(seq, seq + 3, id))

        await asyncio.gather(*(story(f"s{i}") for i in range(20)))
        for i in range(20):
            assert list((await events.read(f"s{i}")).rows) == rows(0, 30, f"s{i}")

    # Epochs

    async def test_taking_fences_every_earlier_writer(self, events: EventStore) -> None:
        created = await events.create("s", HEADER, inherited=0, parent=None, rows=[])
        first = await events.take("s")
        second = await events.take("s")
        assert created < first < second
        for old in (created, first):
            with pytest.raises(StaleSession) as caught:
                await events.append("s", old, rows(0, 1))
            assert caught.value.data == {"session": "s", "expected": old, "actual": second}
        with pytest.raises(StaleSession):
            await events.append("s", first, [])
        with pytest.raises(StaleSession):
            await events.append("s", second + 1, rows(0, 1))  # an epoch that nobody was given
        await events.append("s", second, rows(0, 1))
        assert await events.head("s") == 1

    async def test_takers_at_the_same_time_get_different_epochs(self, events: EventStore) -> None:
        await self.root(events, "s", 0)
        epochs = await asyncio.gather(*(events.take("s") for _ in range(16)))
        assert len(set(epochs)) == 16
        newest = max(epochs)
        for epoch in set(epochs) - {newest}:
            with pytest.raises(StaleSession):
                await events.append("s", epoch, rows(0, 1))
        await events.append("s", newest, rows(0, 1))

    async def test_a_stale_writer_is_told_so_even_when_its_rows_do_not_fit_either(
        self, events: EventStore
    ) -> None:
        await self.root(events, "s", 3)
        old = await events.take("s")
        new = await events.take("s")
        await events.append("s", new, rows(3, 5))
        with pytest.raises(StaleSession):
            await events.append("s", old, rows(3, 4))

    # Forks

    async def test_a_fork_sees_its_parent_s_events_and_then_its_own(self, events: EventStore) -> None:
        await self.root(events, "p", 10, "p")
        epoch = await events.create("c", b"{}", inherited=4, parent=("p", 3), rows=rows(4, 6, "c"))
        await events.append("c", epoch, rows(6, 8, "c"))
        stored = await events.read("c")
        assert (stored.header, stored.inherited, stored.parent) == (b"{}", 4, ("p", 3))
        assert list(stored.rows) == rows(0, 4, "p") + rows(4, 8, "c")
        assert await events.head("c") == 8
        assert list((await events.read("p")).rows) == rows(0, 10, "p")

    async def test_a_fork_may_inherit_all_or_nothing(self, events: EventStore) -> None:
        await self.root(events, "p", 3, "p")
        await events.create("all", HEADER, inherited=3, parent=("p", 2), rows=[])
        await events.create("none", HEADER, inherited=0, parent=("p", -1), rows=rows(0, 2, "n"))
        assert list((await events.read("all")).rows) == rows(0, 3, "p")
        stored = await events.read("none")
        assert (stored.inherited, stored.parent) == (0, ("p", -1))
        assert list(stored.rows) == rows(0, 2, "n")

    async def test_parent_and_fork_grow_apart(self, events: EventStore) -> None:
        await self.root(events, "p", 3, "p")
        child = await events.create("c", HEADER, inherited=3, parent=("p", 2), rows=[])
        parent = await events.take("p")
        await events.append("p", parent, rows(3, 6, "p"))
        await events.append("c", child, rows(3, 5, "c"))
        assert list((await events.read("p")).rows) == rows(0, 6, "p")
        assert list((await events.read("c")).rows) == rows(0, 3, "p") + rows(3, 5, "c")

    async def test_a_fork_of_a_fork_may_cut_before_its_parent_s_own_events(self, events: EventStore) -> None:
        await self.root(events, "a", 10, "a")
        await events.create("b", HEADER, inherited=6, parent=("a", 5), rows=rows(6, 9, "b"))
        await events.create("early", HEADER, inherited=3, parent=("b", 2), rows=rows(3, 4, "e"))
        await events.create("edge", HEADER, inherited=6, parent=("b", 5), rows=rows(6, 7, "d"))
        await events.create("late", HEADER, inherited=8, parent=("b", 7), rows=rows(8, 9, "l"))
        assert list((await events.read("early")).rows) == rows(0, 3, "a") + rows(3, 4, "e")
        assert list((await events.read("edge")).rows) == rows(0, 6, "a") + rows(6, 7, "d")
        late = rows(0, 6, "a") + rows(6, 8, "b") + rows(8, 9, "l")
        assert list((await events.read("late")).rows) == late

    @pytest.mark.parametrize("through", [3, 99])
    async def test_a_fork_after_the_end_of_its_parent_is_not_made(
        self, events: EventStore, through: int
    ) -> None:
        await self.root(events, "p", 3)
        with pytest.raises(Conflict):
            await events.create("c", HEADER, inherited=through + 1, parent=("p", through), rows=[])
        with pytest.raises(NotFound):
            await events.head("c")

    async def test_a_fork_that_does_not_inherit_up_to_its_cut_is_not_made(self, events: EventStore) -> None:
        await self.root(events, "p", 3)
        with pytest.raises(Conflict):
            await events.create("c", HEADER, inherited=1, parent=("p", 2), rows=[])

    async def test_a_session_without_a_parent_may_hold_what_it_inherited_itself(
        self, events: EventStore
    ) -> None:
        epoch = await events.create("s", HEADER, inherited=2, parent=None, rows=rows(0, 3))
        await events.append("s", epoch, rows(3, 4))
        stored = await events.read("s")
        assert (stored.inherited, stored.parent) == (2, None)
        assert list(stored.rows) == rows(0, 4)
        child = await events.create("c", HEADER, inherited=1, parent=("s", 0), rows=rows(1, 2, "c"))
        await events.append("c", child, rows(2, 3, "c"))
        assert list((await events.read("c")).rows) == rows(0, 1) + rows(1, 3, "c")

    async def test_a_fork_s_own_events_must_follow_its_cut(self, events: EventStore) -> None:
        await self.root(events, "p", 5)
        for first in (rows(2, 4), rows(4, 5), rows(0, 1)):
            with pytest.raises(Conflict):
                await events.create("c", HEADER, inherited=3, parent=("p", 2), rows=first)
        child = await events.create("c", HEADER, inherited=3, parent=("p", 2), rows=[])
        with pytest.raises(Conflict):
            await events.append("c", child, rows(2, 3))
        await events.append("c", child, rows(3, 4))

    async def test_taking_a_parent_does_not_fence_its_forks(self, events: EventStore) -> None:
        await self.root(events, "p", 3)
        child = await events.create("c", HEADER, inherited=3, parent=("p", 2), rows=[])
        await events.take("p")
        await events.append("c", child, rows(3, 4))

    async def test_two_hundred_forks_deep_every_range_reads_true(self, events: EventStore) -> None:
        await self.root(events, "f0", 5, "0")
        expected = rows(0, 5, "0")
        for depth in range(1, 201):
            # each one leaves out its parent's last event and writes three of its own
            cut = len(expected) - 1
            expected = expected[:cut] + rows(cut, cut + 3, str(depth))
            await events.create(
                f"f{depth}",
                HEADER,
                inherited=cut,
                parent=(f"f{depth - 1}", cut - 1),
                rows=expected[cut:],
            )
        assert len(expected) == 405
        assert list((await events.read("f200")).rows) == expected
        for start, stop in [(0, 1), (3, 5), (100, 300), (345, None), (404, None)]:
            assert list((await events.read("f200", start, stop)).rows) == expected[start:stop]
        assert list((await events.read("f100")).rows) == expected[:204] + rows(204, 205, "100")

    # Lists

    async def test_the_list_has_the_last_stored_first_with_what_is_known_of_each(
        self, events: EventStore
    ) -> None:
        await self.root(events, "a", 3)
        await events.create("b", b'{"b":1}', inherited=2, parent=("a", 1), rows=rows(2, 3))
        await self.root(events, "c", 0)
        listed = await events.list()
        assert [(head.id, head.head, head.inherited, head.parent) for head in listed] == [
            ("c", 0, 0, None),
            ("b", 3, 2, ("a", 1)),
            ("a", 3, 0, None),
        ]
        assert listed[1].header == b'{"b":1}'

    async def test_the_list_goes_on_after_an_entry(self, events: EventStore) -> None:
        for number in range(5):
            await self.root(events, f"s{number}", 0)
        first = await events.list(limit=2)
        second = await events.list(limit=2, before=first[-1].id)
        assert [head.id for head in [*first, *second]] == ["s4", "s3", "s2", "s1"]
        with pytest.raises(NotFound):
            await events.list(before="nobody")

    # Generations

    async def test_a_new_generation_stands_in_place_of_the_old_one(self, events: EventStore) -> None:
        await self.root(events, "s", 4, "old")
        epoch = await events.supersede("s", 1, b'{"new":1}', inherited=2, rows=rows(0, 6, "new"))
        await events.append("s", epoch, rows(6, 7, "new"))
        stored = await events.read("s")
        assert (stored.header, stored.inherited, stored.parent) == (b'{"new":1}', 2, None)
        assert list(stored.rows) == rows(0, 7, "new")
        assert [head.id for head in await events.list()] == ["s"]

    async def test_a_new_generation_fences_the_writer_of_the_old_one(self, events: EventStore) -> None:
        await self.root(events, "s", 1)
        await events.supersede("s", 1, HEADER, inherited=0, rows=[])
        with pytest.raises(StaleSession):
            await events.append("s", 1, rows(0, 1))
        with pytest.raises(StaleSession):
            await events.supersede("s", 1, HEADER, inherited=0, rows=[])
        assert await events.take("s") == 3

    async def test_forks_keep_the_generation_that_they_were_made_of(self, events: EventStore) -> None:
        await self.root(events, "s", 4, "old")
        await events.create("child", HEADER, inherited=3, parent=("s", 2), rows=rows(3, 5, "child"))
        assert len((await events.read("child")).rows) == 5  # its lineage is known before
        await events.supersede("s", 1, HEADER, inherited=0, rows=rows(0, 2, "new"))
        assert list((await events.read("child")).rows) == [*rows(0, 3, "old"), *rows(3, 5, "child")]
        await events.create("later", HEADER, inherited=2, parent=("s", 1), rows=[])
        assert list((await events.read("later")).rows) == rows(0, 2, "new")

    async def test_a_generation_with_a_gap_changes_nothing(self, events: EventStore) -> None:
        await self.root(events, "s", 2)
        with pytest.raises(Conflict):
            await events.supersede("s", 1, b"{}", inherited=0, rows=rows(1, 3))
        assert list((await events.read("s")).rows) == rows(0, 2)
        await events.append("s", 1, rows(2, 3))

    async def test_what_is_not_there_cannot_be_superseded(self, events: EventStore) -> None:
        with pytest.raises(NotFound):
            await events.supersede("s", 1, HEADER, inherited=0, rows=[])

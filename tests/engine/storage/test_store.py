"""The store: durable units, group commit, reading beside writing, blobs, limits, closing."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from engine.codec import digest
from engine.errors import Conflict, HandleClosed, NotFound, StorageError
from engine.storage import Store, Write, blob_write
from engine.storage.connector import Reader, WriterConnection


def add(name: str, value: int) -> Write:
    return Write("counter_add", {"name": name, "value": value}, expect=1)


def move(name: str, before: int, after: int) -> Write:
    return Write("counter_move", {"name": name, "from": before, "to": after}, expect=1)


async def values(store: Store) -> dict[str, int]:
    return {row["name"]: row["value"] for row in await store.fetch("counter_all")}


# Units


async def test_a_unit_gives_one_row_count_for_each_write(counters: Store) -> None:
    await counters.commit(add("a", 1), add("b", 1), add("c", 2))
    counts = await counters.commit(
        Write("counter_move_all", {"from": 1, "to": 5}),
        Write("counter_move", {"name": "c", "from": 9, "to": 5}),
    )
    assert counts == [2, 0]
    assert await values(counters) == {"a": 5, "b": 5, "c": 2}


async def test_a_write_with_many_sets_of_values_counts_their_sum(counters: Store) -> None:
    rows = [{"name": f"n{i}", "value": i} for i in range(100)]
    assert await counters.commit(Write("counter_add", rows, expect=100)) == [100]
    assert sum((await values(counters)).values()) == 4950


async def test_an_expectation_that_is_not_met_undoes_the_whole_unit(counters: Store) -> None:
    await counters.commit(add("a", 1))
    with pytest.raises(Conflict) as caught:
        await counters.commit(add("b", 1), move("a", 2, 3), add("c", 1))
    assert caught.value.data == {"query": "counter_move", "expected": 1, "actual": 0}
    assert await values(counters) == {"a": 1}


async def test_more_rows_than_expected_undo_the_unit_too(counters: Store) -> None:
    await counters.commit(add("a", 1), add("b", 1))
    with pytest.raises(Conflict, match="2 rows instead of 1"):
        await counters.commit(Write("counter_move_all", {"from": 1, "to": 5}, expect=1))
    assert await values(counters) == {"a": 1, "b": 1}


async def test_a_taken_key_is_a_conflict(counters: Store) -> None:
    await counters.commit(add("a", 1))
    with pytest.raises(Conflict) as caught:
        await counters.commit(add("a", 2))
    assert caught.value.error_code == "CONFLICT"
    assert caught.value.data["query"] == "counter_add"


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (add("a", -1), "The database refused a statement in counter_add: CHECK constraint failed"),
        (
            Write("counter_add", {"name": "a"}),
            "The database refused a statement in counter_add: You did not supply a value",
        ),
        (
            Write("counter_add", {"name": "a", "value": 2**70}),
            "A value cannot be stored: Python int too large",
        ),
        (
            Write("counter_add", {"name": "\ud800", "value": 1}),
            "A value cannot be stored: 'utf-8' codec can't encode",
        ),
        (
            Write("counter_add", {"name": object(), "value": 1}),
            "The database refused a statement in counter_add: Error bind",
        ),
    ],
)
async def test_a_statement_that_cannot_run_is_a_typed_error(counters: Store, write: Write, text: str) -> None:
    with pytest.raises(StorageError) as caught:
        await counters.commit(add("b", 1), write)
    assert type(caught.value) is StorageError
    assert caught.value.error_code == "STATEMENT"
    assert caught.value.message.startswith(text)
    assert await values(counters) == {}


async def test_an_unknown_name_is_refused_before_anything_happens(counters: Store) -> None:
    with pytest.raises(StorageError, match="no statement called 'counter_ad'") as caught:
        await counters.commit(add("a", 1), Write("counter_ad", {}))
    assert caught.value.error_code == "UNKNOWN_QUERY"
    with pytest.raises(StorageError, match="no statement called 'nothing'"):
        await counters.fetch("nothing")
    assert await values(counters) == {}


async def test_a_query_cannot_change_anything(counters: Store) -> None:
    with pytest.raises(StorageError):
        await counters.fetch("counter_add", name="a", value=1)
    assert await values(counters) == {}


async def test_fetch_one_gives_a_row_or_none(store: Store) -> None:
    key = await store.put_blob(b"x")
    row = await store.fetch_one("blob_get", hash=key)
    assert row is not None
    assert dict(row) == {"body": b"x"}
    assert await store.fetch_one("blob_get", hash=bytes(32)) is None


# Group commit


async def test_a_thousand_concurrent_units_all_happen_and_share_transactions(counters: Store) -> None:
    counts = await asyncio.gather(*(counters.commit(add(f"n{i}", i)) for i in range(1000)))
    assert counts == [[1]] * 1000
    assert await values(counters) == {f"n{i}": i for i in range(1000)}


async def test_units_of_one_task_happen_in_the_order_in_which_they_were_given(counters: Store) -> None:
    await counters.commit(add("a", 0))
    # each step needs the one before it: any other order is a conflict
    results = await asyncio.gather(*(counters.commit(move("a", i, i + 1)) for i in range(600)))
    assert results == [[1]] * 600
    assert await values(counters) == {"a": 600}


async def test_a_conflict_undoes_its_own_unit_and_not_its_neighbours(counters: Store) -> None:
    await counters.commit(add("taken", 0))
    results = await asyncio.gather(
        counters.commit(add("a", 1)),
        counters.commit(add("b", 1), add("taken", 1)),
        counters.commit(add("c", 1), move("taken", 5, 6)),
        counters.commit(Write("counter_add", {"name": "d"})),
        counters.commit(add("e", 1)),
        return_exceptions=True,
    )
    assert results[0] == [1] and results[4] == [1]
    assert [type(result) for result in results[1:4]] == [Conflict, Conflict, StorageError]
    assert await values(counters) == {"a": 1, "e": 1, "taken": 0}


async def test_a_failing_commit_fails_every_unit_of_its_transaction_and_the_next_goes_through(
    counters: Store,
) -> None:
    # the second unit's reference is looked for only at COMMIT, which fails for the whole group
    results = await asyncio.gather(
        counters.commit(add("a", 1)),
        counters.commit(Write("note_add", {"counter": "nobody"})),
        counters.commit(add("b", 1)),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [Conflict] * 3
    assert len({id(result) for result in results}) == 3
    assert await values(counters) == {}
    note = await counters.fetch_one("note_count")
    assert note is not None and note["notes"] == 0
    assert await counters.commit(add("a", 1), Write("note_add", {"counter": "a"})) == [1, 1]


async def test_a_cancelled_caller_does_not_take_its_unit_back_nor_disturb_others(counters: Store) -> None:
    impatient = asyncio.create_task(counters.commit(add("a", 1)))
    patient = asyncio.create_task(counters.commit(add("b", 1)))
    await asyncio.sleep(0)
    impatient.cancel()
    assert await patient == [1]
    assert impatient.cancelled()
    assert await values(counters) == {"a": 1, "b": 1}


async def test_a_cancelled_caller_of_a_failing_unit_leaves_no_unheard_error(counters: Store) -> None:
    await counters.commit(add("a", 1))
    impatient = asyncio.create_task(counters.commit(add("a", 1)))
    await asyncio.sleep(0)
    impatient.cancel()
    assert await counters.commit(add("b", 1)) == [1]
    assert impatient.cancelled()


async def test_readers_are_not_held_up_by_a_long_transaction(counters: Store) -> None:
    big = [{"name": f"n{i}", "value": i} for i in range(100_000)]
    writing = asyncio.create_task(counters.commit(Write("counter_add", big)))
    await asyncio.sleep(0)
    assert await values(counters) == {}  # the state before, at once, not after the writer's end
    assert not writing.done()
    assert await writing == [100_000]
    assert len(await values(counters)) == 100_000


# Blobs


async def test_a_blob_is_stored_once_under_its_hash(store: Store) -> None:
    body = bytes(range(256)) * 5000  # larger than a page
    key = await store.put_blob(body)
    assert key == digest(body)
    assert await store.put_blob(body) == key
    assert await store.get_blob(key) == body
    assert await store.get_blob(await store.put_blob(b"")) == b""


async def test_a_blob_that_nobody_stored_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.get_blob(digest(b"never stored"))


async def test_a_blob_can_be_part_of_a_unit(store: Store) -> None:
    with pytest.raises(Conflict):
        await store.commit(
            blob_write(b"picture"), Write("session_take", {"id": "nobody", "epoch": 1}, expect=1)
        )
    with pytest.raises(NotFound):
        await store.get_blob(digest(b"picture"))


async def test_a_damaged_blob_is_reported_and_mended_by_storing_it_again(store: Store) -> None:
    key = await store.put_blob(b"the original")
    other = sqlite3.connect(store.path)
    other.execute("UPDATE blob SET body = ? WHERE hash = ?", (b"the 0riginal", key))
    other.commit()
    other.close()
    with pytest.raises(StorageError) as caught:
        await store.get_blob(key)
    assert caught.value.error_code == "BLOB_CORRUPT"
    assert caught.value.data == {"hash": key.hex()}
    await store.put_blob(b"the original")
    assert await store.get_blob(key) == b"the original"


# The disk


async def test_on_a_full_disk_commits_fail_typed_and_go_on_when_there_is_room(store: Store) -> None:
    kept = await store.put_blob(b"k" * 50_000)
    await store.limit_size(0)  # not below what the file has: no growth any more
    with pytest.raises(StorageError) as caught:
        await store.put_blob(b"x" * 200_000)
    assert caught.value.error_code == "DISK_FULL"
    assert caught.value.message == "The disk is full: the database cannot grow. The change was not kept."
    # what needs no room still works, what is there can be read
    assert await store.get_blob(kept) == b"k" * 50_000
    assert await store.commit(Write("session_take", {"id": "nobody", "epoch": 1})) == [0]
    await store.limit_size(None)
    later = await store.put_blob(b"x" * 200_000)
    assert await store.get_blob(later) == b"x" * 200_000
    assert await store.check() == ()


async def test_on_a_full_disk_a_unit_that_finds_room_is_kept_beside_one_that_does_not(store: Store) -> None:
    await store.put_blob(b"k" * 50_000)
    await store.limit_size(0)
    small, large, small_too = await asyncio.gather(
        store.commit(Write("session_take", {"id": "nobody", "epoch": 1})),
        store.put_blob(b"x" * 500_000),
        store.commit(Write("session_take", {"id": "nobody", "epoch": 1})),
        return_exceptions=True,
    )
    assert small == [0] and small_too == [0]
    assert isinstance(large, StorageError) and large.error_code == "DISK_FULL"


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are a POSIX thing")
async def test_when_the_file_system_refuses_to_write_nothing_is_half_done(store: Store) -> None:
    import resource

    kept = await store.put_blob(b"k" * 50_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    log = store.path.with_name(store.path.name + "-wal")
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + 10_000, hard))
    try:
        with pytest.raises(StorageError) as caught:
            await store.put_blob(b"x" * 500_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.error_code in {"DISK_FULL", "DISK_IO"}
    with pytest.raises(NotFound):
        await store.get_blob(digest(b"x" * 500_000))
    later = await store.put_blob(b"x" * 500_000)
    assert await store.get_blob(later) == b"x" * 500_000
    assert await store.get_blob(kept) == b"k" * 50_000
    assert await store.check() == ()


async def test_a_size_limit_is_in_bytes(store: Store) -> None:
    await store.limit_size(4 << 20)
    await store.put_blob(b"x" * (1 << 20))
    with pytest.raises(StorageError):
        await store.put_blob(b"y" * (4 << 20))


# Opening and closing


async def test_what_was_committed_is_there_after_opening_again(database: Path) -> None:
    async with await Store.open(database) as store:
        key = await store.put_blob(b"kept")
    async with await Store.open(database) as store:
        assert await store.get_blob(key) == b"kept"


async def test_the_folder_is_made(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "not" / "yet" / "there.db") as store:
        assert await store.check() == ()


async def test_the_file_is_set_up_for_durability(database: Path) -> None:
    async with await Store.open(database) as store:
        await store.put_blob(b"x")
        assert database.with_name(database.name + "-wal").stat().st_size > 0
    db = sqlite3.connect(database)
    assert db.execute("PRAGMA page_size").fetchone() == (8192,)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()


async def test_closing_folds_the_log_into_the_file(database: Path) -> None:
    async with await Store.open(database) as store:
        await store.put_blob(b"x" * 100_000)
        assert database.stat().st_size < 100_000
    assert database.stat().st_size > 100_000
    assert not database.with_name(database.name + "-wal").exists()


async def test_closing_settles_what_waits(counters: Store) -> None:
    waiting = [asyncio.create_task(counters.commit(add(f"n{i}", i))) for i in range(600)]
    await asyncio.sleep(0)
    await counters.aclose()
    assert await asyncio.gather(*waiting) == [[1]] * 600


async def test_a_closed_store_says_so_and_closing_twice_is_fine(database: Path) -> None:
    store = await Store.open(database)
    await asyncio.gather(store.aclose(), store.aclose())
    await store.aclose()
    with pytest.raises(HandleClosed):
        await store.put_blob(b"x")
    with pytest.raises(HandleClosed):
        await store.get_blob(bytes(32))
    with pytest.raises(HandleClosed):
        await store.check()
    with pytest.raises(HandleClosed):
        await store.limit_size(None)


async def test_a_file_that_is_no_database_is_refused(database: Path) -> None:
    database.write_bytes(b"This is not a database, it is a letter. " * 500)
    with pytest.raises(StorageError) as caught:
        await Store.open(database)
    assert caught.value.error_code == "DATABASE_CORRUPT"
    assert str(database) in caught.value.message
    assert database.read_bytes().startswith(b"This is not")


async def test_a_path_that_cannot_be_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError) as caught:
        await Store.open(tmp_path / "folder")
    assert caught.value.error_code == "CANNOT_OPEN"
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError) as caught:
        await Store.open(tmp_path / "file" / "inside.db")
    assert caught.value.error_code == "CANNOT_OPEN"


@pytest.mark.parametrize("connection", [Reader, WriterConnection])
def test_a_connection_that_cannot_be_opened_leaves_no_thread_behind(
    tmp_path: Path,
    connection: type[Reader] | type[WriterConnection],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refused() -> None:
        with pytest.raises(StorageError):
            await connection.open(tmp_path)

    # given event loops that end at once, as a short command's does: a thread that outlives one breaks
    broken: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", broken.append)
    before = set(threading.enumerate())
    for _ in range(200):  # about one in thirty breaks when nobody waits for it
        asyncio.run(refused())
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert broken == []


async def test_a_second_store_on_the_file_is_refused_and_a_later_one_is_not(database: Path) -> None:
    async with await Store.open(database):
        with pytest.raises(StorageError) as caught:
            await Store.open(database)
        assert caught.value.error_code == "DATABASE_IN_USE"
        assert f"(number {os.getpid()})" in caught.value.message
    async with await Store.open(database):
        pass


async def test_another_process_is_refused_until_the_holder_is_killed(database: Path) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import asyncio, sys, pathlib\n"
            "from engine.storage import Store\n"
            "async def hold():\n"
            "    await Store.open(pathlib.Path(sys.argv[1]))\n"
            "    print('held', flush=True)\n"
            "    await asyncio.sleep(60)\n"
            "asyncio.run(hold())",
            str(database),
        ],
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert await asyncio.to_thread(holder.stdout.readline) == b"held\n"
        with pytest.raises(StorageError) as caught:
            await Store.open(database)
        assert caught.value.error_code == "DATABASE_IN_USE"
        assert f"(number {holder.pid})" in caught.value.message
    finally:
        holder.kill()
        holder.communicate()
    async with await Store.open(database) as store:
        assert await store.check() == ()

"""Any sequence of creating, forking, taking, appending and restarting, against a plain dict.

Always: a read gives exactly what the oracle has; an operation fails in the store exactly when the
oracle says so, and then changes nothing.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from engine.errors import Conflict, EngineError, StaleSession
from engine.session.store import StoredEvent
from engine.storage import EventTable, Store
from tests.engine.storage.event_stores import rows

T = TypeVar("T")


@dataclass
class Known:
    """What the oracle knows of one session."""

    events: list[StoredEvent]
    parent: tuple[str, int] | None = None
    epochs: list[int] = field(default_factory=list)


class EventMachine(RuleBasedStateMachine):
    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.oracle: dict[str, Known] = {}
        self.marks = 0
        self.open()

    def open(self) -> None:
        self.store = self.run(Store.open(Path(self.folder.name) / "machine.db"))
        self.table = EventTable(self.store)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def attempt(self, work: Coroutine[Any, Any, object], expected: type[EngineError] | None) -> None:
        """Runs it and checks that it fails exactly as the oracle says."""
        try:
            self.run(work)
        except EngineError as error:
            assert type(error) is expected, f"expected {expected}, got {error!r}"
        else:
            assert expected is None, f"expected {expected}, but it went through"

    def fresh(self, start: int, count: int) -> list[StoredEvent]:
        self.marks += 1
        return rows(start, start + count, f"mark {self.marks}")

    def teardown(self) -> None:
        self.run(self.store.aclose())
        self.runner.close()
        self.folder.cleanup()

    @initialize(target=sessions)
    def first(self) -> str:
        return self.begin(3)

    @rule(target=sessions, count=st.integers(0, 4))
    def create(self, count: int) -> str:
        return self.begin(count)

    def begin(self, count: int) -> str:
        id, events = f"s{len(self.oracle)}", self.fresh(0, count)
        epoch = self.run(self.table.create(id, id.encode(), inherited=0, parent=None, rows=events))
        self.oracle[id] = Known(events, None, [epoch])
        return id

    @rule(target=sessions, parent=sessions, share=st.floats(0, 1), count=st.integers(0, 3))
    def fork(self, parent: str, share: float, count: int) -> str:
        inherited = round(share * len(self.oracle[parent].events))
        id, own = f"s{len(self.oracle)}", self.fresh(inherited, count)
        origin = (parent, inherited - 1)
        epoch = self.run(self.table.create(id, id.encode(), inherited=inherited, parent=origin, rows=own))
        self.oracle[id] = Known(self.oracle[parent].events[:inherited] + own, origin, [epoch])
        return id

    @rule(parent=sessions, beyond=st.integers(1, 3))
    def fork_behind_the_end(self, parent: str, beyond: int) -> None:
        inherited = len(self.oracle[parent].events) + beyond
        origin = (parent, inherited - 1)
        self.attempt(self.table.create("no", b"", inherited=inherited, parent=origin, rows=[]), Conflict)
        assert self.run(self.store.fetch("session_get", id="no")) == []

    @rule(id=sessions)
    def create_again(self, id: str) -> None:
        self.attempt(self.table.create(id, b"", inherited=0, parent=None, rows=[]), Conflict)

    @rule(id=sessions)
    def take(self, id: str) -> None:
        epoch = self.run(self.table.take(id))
        assert epoch > self.oracle[id].epochs[-1]
        self.oracle[id].epochs.append(epoch)

    @rule(
        id=sessions, age=st.integers(0, 2), offset=st.sampled_from([0, 0, 0, -1, 1]), count=st.integers(1, 4)
    )
    def append(self, id: str, age: int, offset: int, count: int) -> None:
        known = self.oracle[id]
        epoch = known.epochs[max(len(known.epochs) - 1 - age, 0)]
        batch = self.fresh(len(known.events) + offset, count)
        expected: type[EngineError] | None = None
        if epoch != known.epochs[-1]:
            expected = StaleSession
        elif offset != 0:
            expected = Conflict
        self.attempt(self.table.append(id, epoch, batch), expected)
        if expected is None:
            known.events.extend(batch)

    @rule(id=sessions, start=st.integers(0, 12), length=st.integers(0, 12))
    def read_range(self, id: str, start: int, length: int) -> None:
        stored = self.run(self.table.read(id, start, start + length))
        assert list(stored.rows) == self.oracle[id].events[start : start + length]

    @rule()
    def restart(self) -> None:
        self.run(self.store.aclose())
        self.open()

    @invariant()
    def every_session_reads_as_the_oracle_has_it(self) -> None:
        for id, known in self.oracle.items():
            stored = self.run(self.table.read(id))
            assert list(stored.rows) == known.events
            assert stored.parent == known.parent
            assert stored.header == id.encode()
            assert self.run(self.table.head(id)) == len(known.events)


TestEventMachine = EventMachine.TestCase
# Each example opens real files: fewer of them, but long ones.
TestEventMachine.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)

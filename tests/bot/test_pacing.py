"""Given a busy channel, when requests compete, then the budget and the priorities hold."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.pacing import Cadence, Pace, Priority, Window


async def test_a_window_lets_through_its_size_and_then_makes_wait() -> None:
    window = Window(3, 1.0)
    start = time.monotonic()
    for _ in range(3):
        await window.take(Priority.INTERMEDIATE)
    assert time.monotonic() - start < 0.9  # none of them has waited; a busy machine may stand still a while
    await window.take(Priority.INTERMEDIATE)
    assert 0.98 <= time.monotonic() - start < 1.9


async def test_no_stretch_of_time_holds_more_than_the_size() -> None:
    window = Window(4, 0.2)
    taken: list[float] = []
    for _ in range(14):
        await window.take(Priority.FIRST)
        taken.append(time.monotonic())
    assert all(later - earlier >= 0.199 for earlier, later in zip(taken, taken[4:], strict=False))


async def test_a_final_request_goes_at_once_where_others_wait() -> None:
    window = Window(4, 5.0)
    for _ in range(4):
        await window.take(Priority.INTERMEDIATE)
    waiting = asyncio.create_task(window.take(Priority.INTERMEDIATE))
    await asyncio.sleep(0)
    start = time.monotonic()
    await window.take(Priority.FINAL)
    assert time.monotonic() - start < 2.5  # half of what the others wait
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_final_goes_before_first_before_intermediate_before_chore() -> None:
    window = Window(2, 0.1)
    for _ in range(3):
        await window.take(Priority.FINAL)
    order: list[Priority] = []

    async def ask(priority: Priority) -> None:
        await window.take(priority)
        order.append(priority)

    asked = [Priority.CHORE, Priority.INTERMEDIATE, Priority.FIRST, Priority.FINAL]
    tasks = []
    for priority in asked:
        tasks.append(asyncio.create_task(ask(priority)))
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert order == sorted(asked)


async def test_a_cancelled_waiter_takes_nothing() -> None:
    window = Window(1, 1.0)
    await window.take(Priority.FIRST)
    gone = asyncio.create_task(window.take(Priority.FIRST))
    await asyncio.sleep(0)
    gone.cancel()
    start = time.monotonic()
    await window.take(Priority.FIRST)
    assert time.monotonic() - start < 1.9  # not behind the one that left
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_a_window_is_idle_again_when_its_time_has_passed() -> None:
    window = Window(1, 0.5)
    assert window.idle
    await window.take(Priority.FIRST)
    assert not window.idle
    await asyncio.sleep(0.51)
    assert window.idle


def test_the_cadence_slows_down_when_edits_are_slow_and_recovers() -> None:
    cadence = Cadence(Pace())
    assert cadence.period(0) == 1.2
    cadence.note(1.5)
    assert cadence.period(0) == pytest.approx(1.8)
    cadence.note(0.2, limited=True)
    assert cadence.period(0) == pytest.approx(2.7)
    for _ in range(10):
        cadence.note(0.2)
    assert cadence.period(0) == 1.2


def test_a_long_answer_is_edited_less_often() -> None:
    cadence = Cadence(Pace())
    assert cadence.period(19.0) == 1.2
    assert cadence.period(21.0) == 2.5


@given(st.lists(st.tuples(st.floats(0, 60), st.booleans())), st.floats(0, 600))
def test_the_period_always_stays_between_the_shortest_and_the_longest(
    edits: list[tuple[float, bool]], age: float
) -> None:
    pace = Pace()
    cadence = Cadence(pace)
    for took, limited in edits:
        cadence.note(took, limited=limited)
        assert pace.edit_every <= cadence.period(age) <= pace.longest

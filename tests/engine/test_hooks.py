"""Extension points: who is told, in which order, what a failure does, and when a registration ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from engine.errors import HookError
from engine.hooks import Hooks, Next, Scope

# -- emit ----------------------------------------------------------------------------------------


async def test_a_failing_listener_starves_nobody() -> None:
    hooks, owner, told = Hooks(), Scope("test"), []

    def broken(word: str) -> None:
        raise RuntimeError("no")

    async def broken_later(word: str) -> None:
        raise RuntimeError("no, either")

    hooks.on("said", broken, owner=owner)
    hooks.on("said", broken_later, owner=owner)
    hooks.on("said", told.append, owner=owner)
    with capture_logs() as logs:
        hooks.emit("said", "one")
        await hooks.settle(5)
    assert told == ["one"]
    assert [entry["event"] for entry in logs] == ["hook.listener_failed"] * 2


async def test_settling_waits_for_what_listeners_are_doing() -> None:
    hooks, owner, done = Hooks(), Scope("test"), []

    async def slowly(text: str) -> None:
        await asyncio.sleep(0.02)
        done.append(text)

    hooks.on("said", slowly, owner=owner)
    hooks.emit("said", "one")
    hooks.emit("said", "two")
    await hooks.settle(5)
    assert done == ["one", "two"]
    await hooks.settle(5)  # nothing to wait for


async def test_settling_ends_what_takes_too_long() -> None:
    hooks, owner, ended = Hooks(), Scope("test"), asyncio.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    hooks.on("said", forever, owner=owner)
    hooks.emit("said")
    await hooks.settle(0.05)
    assert ended.is_set()


# -- serial --------------------------------------------------------------------------------------


async def test_a_serial_hook_awaits_one_after_the_other_and_stops_at_a_failure() -> None:
    hooks, owner, told = Hooks(), Scope("test"), []

    async def slow() -> None:
        await asyncio.sleep(0.01)
        told.append("slow")

    def broken() -> None:
        told.append("broken")
        raise RuntimeError("no")

    hooks.on("done", slow, owner=owner)
    hooks.on("done", broken, owner=owner)
    hooks.on("done", lambda: told.append("never"), owner=owner)
    with pytest.raises(RuntimeError, match="no"):
        await hooks.serial("done")
    assert told == ["slow", "broken"]


@pytest.mark.parametrize("value", [False, 0, "", {}])
async def test_a_value_from_a_serial_listener_is_an_error(value: object) -> None:
    hooks = Hooks()
    hooks.on("done", lambda: value, owner=Scope("a listener"))
    with pytest.raises(HookError, match="a listener"):
        await hooks.serial("done")


# -- waterfall -----------------------------------------------------------------------------------


def adds(word: str) -> Callable[[Any, Next], Any]:
    async def listen(payload: Any, proceed: Next) -> Any:
        return f"{word}({await proceed()})"

    return listen


async def test_the_first_registered_is_outermost_and_prepended_ones_before_it() -> None:
    hooks, owner = Hooks(), Scope("test")
    hooks.on("built", adds("a"), owner=owner)
    hooks.on("built", adds("b"), owner=owner)
    hooks.on("built", adds("first"), owner=owner, prepend=True)
    assert await hooks.waterfall("built", None, lambda: "x") == "first(a(b(x)))"


async def test_a_listener_that_does_not_go_on_has_the_last_word() -> None:
    hooks, owner = Hooks(), Scope("test")
    hooks.on("built", adds("a"), owner=owner)
    hooks.on("built", lambda payload, proceed: f"no {payload}", owner=owner)
    hooks.on("built", adds("never"), owner=owner)
    assert await hooks.waterfall("built", "word", lambda: pytest.fail("called")) == "a(no word)"


async def test_going_on_twice_is_an_error() -> None:
    hooks, owner = Hooks(), Scope("test")

    async def twice(payload: Any, proceed: Next) -> Any:
        return await proceed(), await proceed()

    hooks.on("built", twice, owner=owner)
    with pytest.raises(HookError, match="twice"):
        await hooks.waterfall("built", None, lambda: "x")


async def stream_of(*parts: str) -> AsyncIterator[str]:
    for part in parts:
        yield part


async def test_a_waterfall_of_streams_wraps_them() -> None:
    hooks, owner = Hooks(), Scope("test")

    async def loud(payload: Any, proceed: Callable[[], AsyncIterator[str]]) -> AsyncIterator[str]:
        async for part in proceed():
            yield part.upper()

    def twice(payload: Any, proceed: Callable[[], AsyncIterator[str]]) -> AsyncIterator[str]:
        proceed()
        return proceed()

    hooks.on("stream", loud, owner=owner)
    outcome = hooks.stream("stream", None, lambda: stream_of("a", "b"))
    assert [part async for part in outcome] == ["A", "B"]
    hooks.on("stream", twice, owner=owner)
    with pytest.raises(HookError, match="twice"):
        async for _ in hooks.stream("stream", None, lambda: stream_of("a")):
            pass


# -- who is listening ----------------------------------------------------------------------------


async def test_an_owner_that_ends_during_a_dispatch_is_passed_over() -> None:
    hooks, first, second = Hooks(), Scope("first"), Scope("second")

    async def ending(payload: Any, proceed: Next) -> Any:
        await second.aclose()
        return f"ended({await proceed()})"

    hooks.on("built", ending, owner=first)
    hooks.on("built", adds("never"), owner=second)
    assert await hooks.waterfall("built", None, lambda: "x") == "ended(x)"


async def test_one_that_comes_during_a_dispatch_hears_the_next() -> None:
    hooks, owner, told = Hooks(), Scope("test"), []

    def more(word: str) -> None:
        hooks.on("said", lambda word: told.append(f"late {word}"), owner=owner)

    hooks.on("said", more, owner=owner)
    hooks.emit("said", "one")
    assert told == []
    hooks.emit("said", "two")
    assert told == ["late two"]


async def test_listeners_of_a_scope_hear_it_and_what_lies_in_it() -> None:
    hooks, owner, told = Hooks(), Scope("test"), []
    parent = Scope("parent")
    child, other = Scope("child", parent), Scope("other")
    for name, scope in (("all", None), ("parent", parent), ("child", child), ("other", other)):
        hooks.on("said", lambda name=name: told.append(name), owner=owner, scope=scope)
    heard = {}
    for scope in (None, parent, child, other):
        told.clear()
        hooks.emit("said", scope=scope)
        heard[scope.name if scope else None] = list(told)
    assert heard == {
        None: ["all"],
        "parent": ["all", "parent"],
        "child": ["all", "parent", "child"],
        "other": ["all", "other"],
    }
    assert [scope.name for scope in child.lineage] == ["parent", "child"]


# -- the end of an owner -------------------------------------------------------------------------


async def test_what_an_owner_has_ends_last_first_and_awaited() -> None:
    owner, undone = Scope("test"), []

    async def slowly() -> None:
        await asyncio.sleep(0.01)
        undone.append("second")

    owner.effect(lambda: undone.append("first"))
    owner.effect(slowly)
    early = owner.effect(lambda: undone.append("early"))
    early()
    early()  # harmless
    assert undone == ["early"]
    await owner.aclose()
    await owner.aclose()
    assert undone == ["early", "second", "first"]
    with pytest.raises(HookError, match="has ended"):
        owner.effect(lambda: None)


async def test_every_part_ends_though_one_fails() -> None:
    owner, undone = Scope("test"), []

    def broken() -> None:
        raise RuntimeError("no")

    owner.effect(lambda: undone.append("first"))
    owner.effect(broken)
    with pytest.raises(ExceptionGroup) as caught:
        await owner.aclose()
    assert undone == ["first"]
    assert [str(error) for error in caught.value.exceptions] == ["no"]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), max_size=12), st.integers(0, 2))
def test_any_order_of_registrations_is_kept(registrations: list[tuple[bool, int]], ended: int) -> None:
    async def play() -> None:
        hooks, owners, told = Hooks(), [Scope(str(n)) for n in range(3)], []
        expected: list[int] = []
        for number, (prepend, owner) in enumerate(registrations):
            hooks.on("said", lambda n=number: told.append(n), owner=owners[owner], prepend=prepend)
            expected.insert(0 if prepend else len(expected), number)
        await owners[ended].aclose()
        hooks.emit("said")
        assert told == [n for n in expected if registrations[n][1] != ended]

    asyncio.run(play())

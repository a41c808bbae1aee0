"""Extension points: contained emit, ordered serial, waterfall, and waterfall over streams.

Semantics: spec agent-loop 7. Listeners run in the order of registration (`prepend`
first). The set of listeners is taken at dispatch; one whose owner has ended
meanwhile is passed over. A dispatch in a scope reaches the listeners of that scope, of the
scopes that it lies in, and those that listen everywhere.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import structlog

from engine.errors import HookError

__all__ = ["Disposer", "Hooks", "Next", "Scope"]

log = structlog.get_logger(__name__)

Disposer: TypeAlias = Callable[[], None]
Next: TypeAlias = Callable[[], Awaitable[Any]]


class Scope:
    """The lifetime of an owner: what it registered goes away with it, last first.

    `parent` is the scope that it lies in: what is registered for that one holds here too. The end of
    a parent does not end the scopes in it; whoever made them does that first.
    """

    def __init__(self, name: str, parent: Scope | None = None) -> None:
        self.name = name
        self.parent = parent
        self.active = True
        self._undo: list[Callable[[], Any]] = []

    @property
    def lineage(self) -> Sequence[Scope]:
        """The scopes that it lies in, the farthest first, and itself last."""
        return (*(self.parent.lineage if self.parent is not None else ()), self)

    def effect(self, undo: Callable[[], Any]) -> Disposer:
        """Remember how to undo something; the returned disposer undoes it early, once.

        Raises HookError when the scope has ended.
        """
        if not self.active:
            raise HookError(f"{self.name} has ended and cannot own anything")
        self._undo.append(undo)

        def dispose() -> None:
            if undo in self._undo:
                self._undo.remove(undo)
                undo()

        return dispose

    async def aclose(self) -> None:
        """Undo everything, last first; every undo runs even if another fails. Safe to call twice."""
        self.active = False
        failures: list[Exception] = []
        while self._undo:
            try:
                outcome = self._undo.pop()()
                if inspect.isawaitable(outcome):
                    await outcome
            except Exception as error:
                failures.append(error)
        if failures:
            raise ExceptionGroup(f"{self.name} did not end cleanly", failures)


class _Listener:
    __slots__ = ("fn", "owner", "scope")

    def __init__(self, fn: Callable[..., Any], owner: Scope, scope: Scope | None) -> None:
        self.fn = fn
        self.owner = owner
        self.scope = scope


class Hooks:
    """A registry of listeners by hook name."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[_Listener]] = {}
        self._tasks: set[asyncio.Future[Any]] = set()

    def on(
        self,
        name: str,
        fn: Callable[..., Any],
        *,
        owner: Scope,
        prepend: bool = False,
        scope: Scope | None = None,
    ) -> Disposer:
        """Listen. With `scope`, only to dispatches in it or in a scope inside it. The owner's end removes
        the listener."""
        listener = _Listener(fn, owner, scope)
        listeners = self._listeners.setdefault(name, [])
        listeners.insert(0 if prepend else len(listeners), listener)
        return owner.effect(lambda: listeners.remove(listener))

    def emit(self, name: str, *args: Any, scope: Scope | None = None) -> None:
        """Tell everyone. A failing listener is logged and starves nobody; async ones run on their own."""
        for listener in self._matching(name, scope):
            try:
                outcome = listener.fn(*args)
            except Exception:
                log.exception("hook.listener_failed", hook=name, owner=listener.owner.name)
                continue
            if inspect.isawaitable(outcome):
                self._watch(name, listener, outcome)

    async def serial(self, name: str, *args: Any, scope: Scope | None = None) -> None:
        """One after the other, awaited; a failure skips the rest and propagates.

        A returned value is a HookError: it would mean that the listener took this for a waterfall.
        """
        for listener in self._matching(name, scope):
            if not listener.owner.active:
                continue
            outcome = listener.fn(*args)
            if inspect.isawaitable(outcome):
                outcome = await outcome
            if outcome is not None:
                raise HookError(f"{listener.owner.name} returned a value from the serial hook {name}")

    async def waterfall(
        self, name: str, payload: Any, default: Callable[[], Any], *, scope: Scope | None = None
    ) -> Any:
        """Listeners wrap each other, first registered outermost; `default` is innermost.

        A listener is `fn(payload, next)`: it returns `await next()`, or something else, or
        never calls `next` to short-circuit. Calling `next` twice is a HookError.
        """
        listeners = self._matching(name, scope)

        async def run(index: int) -> Any:
            while index < len(listeners) and not listeners[index].owner.active:
                index += 1
            if index == len(listeners):
                outcome = default()
            else:
                outcome = listeners[index].fn(payload, _once(name, lambda: run(index + 1)))
            return await outcome if inspect.isawaitable(outcome) else outcome

        return await run(0)

    def stream(
        self,
        name: str,
        payload: Any,
        default: Callable[[], AsyncIterator[Any]],
        *,
        scope: Scope | None = None,
    ) -> AsyncIterator[Any]:
        """A waterfall whose results are async iterators: `fn(payload, next)` returns one."""
        listeners = self._matching(name, scope)

        def run(index: int) -> AsyncIterator[Any]:
            while index < len(listeners) and not listeners[index].owner.active:
                index += 1
            if index == len(listeners):
                return default()
            called = False

            def proceed() -> AsyncIterator[Any]:
                nonlocal called
                if called:
                    raise HookError(f"next was called twice in {name}")
                called = True
                return run(index + 1)

            result: AsyncIterator[Any] = listeners[index].fn(payload, proceed)
            return result

        return run(0)

    async def settle(self, patience: float) -> None:
        """Wait until what async listeners of `emit` are doing is done; after `patience` seconds end it."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=patience)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _matching(self, name: str, scope: Scope | None) -> list[_Listener]:
        around = scope.lineage if scope is not None else ()
        return [
            listener
            for listener in self._listeners.get(name, ())
            if listener.owner.active and (listener.scope is None or listener.scope in around)
        ]

    def _watch(self, name: str, listener: _Listener, outcome: Awaitable[Any]) -> None:
        task = asyncio.ensure_future(outcome)
        self._tasks.add(task)

        def finished(done: asyncio.Future[Any]) -> None:
            self._tasks.discard(done)
            if not done.cancelled() and (error := done.exception()) is not None:
                log.error("hook.listener_failed", hook=name, owner=listener.owner.name, exc_info=error)

        task.add_done_callback(finished)


def _once(name: str, proceed: Next) -> Next:
    called = False

    def guarded() -> Awaitable[Any]:
        nonlocal called
        if called:
            raise HookError(f"next was called twice in {name}")
        called = True
        return proceed()

    return guarded

"""The sources that are registered, and how others than ours come in.

A plug-in is a Python package with an entry point in the group `inglenook.sources`: a `Definition`, a list of
them, or a function without parameters that gives either. One in the group `inglenook.placements` is a
placement strategy, an `Algorithm`, under the entry point's own name. Source: assembler spec 1.3 and 2.1;
seed 001.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, Final

import structlog

from engine.assembler.algorithms import Algorithms
from engine.assembler.definition import Definition, checked_definition
from engine.assembler.faults import source_invalid
from engine.hooks import Disposer, Scope

__all__ = ["ENTRY_POINTS", "PLACEMENTS", "PROTOCOL", "PlugInFailure", "Sources", "placements", "plug_ins"]

log = structlog.get_logger(__name__)

PROTOCOL: Final = 1
"""The version of the source protocol."""

ENTRY_POINTS: Final = "inglenook.sources"
PLACEMENTS: Final = "inglenook.placements"


@dataclass(frozen=True, slots=True)
class PlugInFailure:
    """A plug-in that could not be taken in. Its rules stay; they are reported as unavailable."""

    name: str
    reason: str


class Sources:
    """A registry. A request works on the set that `capture` gave it: what comes or goes later is not its."""

    def __init__(self) -> None:
        self._sources: dict[str, Definition] = {}

    def register(self, definition: Definition, *, owner: Scope | None = None) -> Disposer:
        """Take a source in; the returned disposer takes it out, unless another has the id meanwhile.

        Raises AssemblyError SOURCE_INVALID, or SOURCE_DUPLICATE when the id is taken.
        """
        checked_definition(definition)
        if definition.id in self._sources:
            raise source_invalid(
                f"There is a source {definition.id} already.", "SOURCE_DUPLICATE", source_id=definition.id
            )
        self._sources[definition.id] = definition

        def dispose() -> None:
            if self._sources.get(definition.id) is definition:
                del self._sources[definition.id]

        return dispose if owner is None else owner.effect(dispose)

    def register_all(self, definitions: Iterable[Definition], *, owner: Scope | None = None) -> Disposer:
        """Take several in, or none of them."""
        disposers: list[Disposer] = []

        def dispose() -> None:
            for undo in reversed(disposers):
                undo()

        try:
            for definition in definitions:
                disposers.append(self.register(definition))
        except BaseException:
            dispose()
            raise
        return dispose if owner is None else owner.effect(dispose)

    def capture(self) -> Mapping[str, Definition]:
        """The sources by id, as they are now."""
        return MappingProxyType(dict(self._sources))

    def listing(self, scope: Any = None) -> list[dict[str, Any]]:
        """Descriptions of all sources, in the order of their registration."""
        return [definition.describe(scope) for definition in self._sources.values()]


def plug_ins(
    sources: Sources, *, owner: Scope | None = None, found: Iterable[EntryPoint] | None = None
) -> list[PlugInFailure]:
    """Register what installed packages offer. One that fails is reported and harms no other."""

    def take(point: EntryPoint) -> None:
        offered = point.load()
        offered = offered if isinstance(offered, Definition) or not callable(offered) else offered()
        definitions = [offered] if isinstance(offered, Definition) else list(offered)
        sources.register_all(definitions, owner=owner)

    return _taken(entry_points(group=ENTRY_POINTS) if found is None else found, take)


def placements(
    algorithms: Algorithms, *, owner: Scope | None = None, found: Iterable[EntryPoint] | None = None
) -> list[PlugInFailure]:
    """The same for placement strategies."""

    def take(point: EntryPoint) -> None:
        algorithm = point.load()
        if not callable(algorithm):
            raise TypeError("This is no placement strategy.")
        algorithms.register(point.name, algorithm, owner=owner)

    return _taken(entry_points(group=PLACEMENTS) if found is None else found, take)


def _taken(points: Iterable[EntryPoint], take: Callable[[EntryPoint], None]) -> list[PlugInFailure]:
    failures: list[PlugInFailure] = []
    for point in points:
        try:
            take(point)
        except Exception as error:  # anything may happen in code that is not ours
            log.warning("assembler.plug_in_failed", plug_in=point.name, exc_info=error)
            failures.append(PlugInFailure(point.name, str(error) or type(error).__name__))
    return failures

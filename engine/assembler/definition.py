"""What a source says of itself when it is registered. Source: assembler spec 2.1."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

from engine.assembler.blocks import Block, ReferenceBlock, TextBlock
from engine.assembler.faults import source_invalid
from engine.assembler.layout import SOURCE_ID
from engine.assembler.request import SourceContext
from engine.assembler.strategy import Rule

__all__ = ["CONTENT", "Definition", "Position", "PositionAnchor", "Resolve", "checked_definition"]

ROLES: Final = ("preserve", "system", "user", "assistant")
LIFETIMES: Final = ("request", "snapshot")
STABILITIES: Final = ("asset", "conversation", "evaluation", "assembly", "snapshot")
_MAX_POSITIONS = 128

Resolve: TypeAlias = Callable[[SourceContext, Rule], Any | Awaitable[Any]]
"""Gives an `Output`, or JSON of its shape. It reads only; what it raises fails the request."""

Render: TypeAlias = Callable[[str, Mapping[str, str], str], str]
"""(text, literal macros, node id) -> the text as it is sent."""


@dataclass(frozen=True, slots=True)
class PositionAnchor:
    """Next to which content of a source a position belongs when resources are followed."""

    source_id: str
    side: str
    fields: tuple[str, ...] | None = None

    def to_wire(self) -> dict[str, Any]:
        """As diagnostics and lists show it."""
        wire: dict[str, Any] = {"sourceId": self.source_id}
        if self.fields is not None:
            wire["fields"] = list(self.fields)
        return {**wire, "side": self.side}


@dataclass(frozen=True, slots=True)
class Position:
    """A part of a source that people can switch off or drag by itself. `name` is (Chinese, English).

    A block is in it when it says so, or else when its field, group or having a depth match.
    """

    id: str
    name: tuple[str, str]
    field: str | None = None
    group: str | None = None
    depth: bool = False
    anchor: PositionAnchor | None = None
    macros: tuple[str, ...] = ()
    configurable: bool = True
    note: tuple[str, str] | None = None

    def matches(self, field: str | None, group: str | None, *, deep: bool) -> bool:
        """Whether a block with these is in it. One that asks for nothing takes what no other takes."""
        if self.field is not None:
            return self.field == field
        if self.group is not None:
            return self.group == group
        return self.depth and deep

    def to_wire(self) -> dict[str, Any]:
        """For lists; what was not said is left out."""
        match = {"field": self.field, "group": self.group, "depth": self.depth or None}
        optional = {
            "match": {name: value for name, value in match.items() if value is not None} or None,
            "anchor": self.anchor.to_wire() if self.anchor is not None else None,
            "macros": list(self.macros) or None,
            "configurable": None if self.configurable else False,
            "note": list(self.note) if self.note is not None else None,
        }
        said = {name: value for name, value in optional.items() if value is not None}
        return {"id": self.id, "name": list(self.name), **said}

    @property
    def residual(self) -> bool:
        """Whether it takes what no other position takes."""
        return self.field is None and self.group is None and not self.depth


CONTENT: Final = Position("content", ("内容", "Content"))
"""The position of a source that declares none."""


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A source. At least one of `resolve` and `parse_text` is needed.

    `owns_slots` makes its text and references the spine that slots are; `entry_roles` says that its blocks
    are entries with roles and depths of their own, which the standard back end keeps where it can.
    `validate_resolved` is asked again after all sources were resolved; `render_text` is given a context and
    hands out the renderer of one assembly. `text_parser_alias_for`, `content_guide` and
    `generation_requires_plugin` are for lists.
    """

    id: str
    plugin_id: str
    name: str
    resolve: Resolve | None = None
    parse_text: Resolve | None = None
    version: int = 1
    stability: str = "conversation"
    dependencies: Sequence[str] = ()
    multiple: bool = False
    roles: Sequence[str] = ROLES
    lifetimes: Sequence[str] = LIFETIMES
    depth: bool = True
    owns_slots: bool | None = None
    entry_roles: bool = False
    positions: Sequence[Position] = (CONTENT,)
    supports_module: bool = True
    module_available: Callable[[Any], bool] | None = None
    validate_resolved: Callable[[SourceContext], None] | None = None
    render_text: Callable[[SourceContext, Any], Render] | None = None
    text_parser_alias_for: str | None = None
    content_guide: str | None = None
    generation_requires_plugin: bool = True

    @cached_property
    def slot_owner(self) -> bool:
        """Whether its text is the spine."""
        return self.id == "preset" if self.owns_slots is None else self.owns_slots

    @property
    def module(self) -> bool:
        """Whether a rule can take its content without writing any text."""
        return self.supports_module and self.resolve is not None

    @cached_property
    def _positions(self) -> Mapping[str, Position]:
        return {position.id: position for position in self.positions}

    @cached_property
    def _only(self) -> Position | None:
        """The one position that takes everything, if that is all there is."""
        return self.positions[0] if len(self.positions) == 1 and self.positions[0].residual else None

    def position(self, position_id: str | None) -> Position | None:
        """The position of this id."""
        return self._positions.get(position_id or "")

    def position_of(self, block: Block) -> Position | None:
        """The position of a block. A reference is in none, unless there is but one."""
        if self._only is not None or isinstance(block, ReferenceBlock):
            return self._only
        field, group = block.id, None
        if isinstance(block, TextBlock):
            said = self._positions.get(block.position_id or "")
            if said is not None:
                return said
            field, group = block.field or field, block.group
        deep = block.depth is not None
        matching = (p for p in self.positions if p.matches(field, group, deep=deep))
        return next(matching, None) or next((p for p in self.positions if p.residual), None)

    def _available(self, scope: Any) -> bool:
        """What the source says of itself; one that fails at that is not available, and hides no other."""
        try:
            return self.module_available is None or self.module_available(scope)
        except Exception:
            return False

    def describe(self, scope: Any = None) -> dict[str, Any]:
        """A detached description for lists."""
        described: dict[str, Any] = {
            "id": self.id,
            "pluginId": self.plugin_id,
            "name": self.name,
            "version": self.version,
            "stability": self.stability,
            "dependencies": list(self.dependencies),
            "multiple": self.multiple,
            "roles": list(self.roles),
            "lifetimes": list(self.lifetimes),
            "depth": self.depth,
            "ownsSlots": self.slot_owner,
            "generationRequiresPlugin": self.generation_requires_plugin,
            "recordedContentSurvivesRemoval": True,
            "acceptsText": self.parse_text is not None,
            "supportsModule": self.module,
            "moduleAvailable": self.module and self._available(scope),
        }
        if tuple(self.positions) != (CONTENT,):
            described["positions"] = [position.to_wire() for position in self.positions]
        if self.text_parser_alias_for is not None:
            described["textParserAliasFor"] = self.text_parser_alias_for
        if self.content_guide is not None:
            described["contentGuide"] = self.content_guide
        return described


def checked_definition(definition: Definition) -> Definition:
    """The definition. Raises AssemblyError SOURCE_INVALID when it says what cannot be."""
    for what, holds in (
        ("an id, a plugin and a name", _names(definition)),
        ("resolve or parse_text", _callables(definition)),
        ("a version, a known stability and plain switches", _settings(definition)),
        ("roles and lifetimes that there are", _capabilities(definition)),
        ("other sources as dependencies", _ids(definition.dependencies)),
        ("positions of their own ids and names", _positions(definition.positions)),
        ("texts for its lists", _descriptions(definition)),
    ):
        if not holds:
            raise source_invalid(f"The source {definition.id!r} needs {what}.", "SOURCE_INVALID", status=400)
    return definition


def _names(it: Definition) -> bool:
    named = isinstance(it.name, str) and bool(it.name.strip())
    return named and _ids([it.id, it.plugin_id])


def _callables(it: Definition) -> bool:
    given = [it.resolve, it.parse_text]
    optional = (*given, it.module_available, it.validate_resolved, it.render_text)
    return any(call is not None for call in given) and all(
        call is None or callable(call) for call in optional
    )


def _settings(it: Definition) -> bool:
    version = isinstance(it.version, int) and not isinstance(it.version, bool) and it.version >= 1
    switches = (it.multiple, it.depth, it.supports_module, it.entry_roles, it.generation_requires_plugin)
    owns = it.owns_slots is None or isinstance(it.owns_slots, bool)
    return version and it.stability in STABILITIES and owns and all(isinstance(s, bool) for s in switches)


def _capabilities(it: Definition) -> bool:
    return _subset(it.roles, ROLES) and _subset(it.lifetimes, LIFETIMES)


def _descriptions(it: Definition) -> bool:
    texts = (it.text_parser_alias_for, it.content_guide)
    return all(text is None or isinstance(text, str) for text in texts)


def _subset(value: object, allowed: Sequence[str]) -> bool:
    if not isinstance(value, (list, tuple)) or not value or not all(item in allowed for item in value):
        return False
    return len(set(value)) == len(value)


def _ids(value: object) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    return all(isinstance(item, str) and SOURCE_ID.fullmatch(item) is not None for item in value)


def _positions(value: object) -> bool:
    if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= _MAX_POSITIONS:
        return False
    if not all(isinstance(position, Position) and _position(position) for position in value):
        return False
    return len({position.id for position in value}) == len(value)


def _position(it: Position) -> bool:
    named = isinstance(it.id, str) and bool(it.id) and _pair(it.name)
    matched = all(text is None or isinstance(text, str) for text in (it.field, it.group))
    switches = isinstance(it.depth, bool) and isinstance(it.configurable, bool)
    shown = _texts(it.macros) and (it.note is None or _pair(it.note))
    return named and matched and switches and shown and (it.anchor is None or _anchor(it.anchor))


def _anchor(it: object) -> bool:
    if not isinstance(it, PositionAnchor) or it.side not in ("before", "after") or not _ids([it.source_id]):
        return False
    return it.fields is None or _texts(it.fields)


def _texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(text, str) for text in value)


def _pair(value: object) -> bool:
    """Whether it says something in both languages."""
    return isinstance(value, tuple) and _texts(value) and len(value) == 2 and all(value)

"""The layout of a strategy: who owns placement, the automatic priorities, and what people dragged.

Source: assembler spec 1.3 and 11; seed 001.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from engine.assembler.faults import document_invalid, is_first
from engine.errors import AssemblyError

__all__ = ["AUTOMATIC", "SOURCE_ID", "Anchor", "Layout", "Override", "SavedPosition", "read_layout"]

SOURCE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,159}", re.ASCII)
"""What a source is called, and so the kind of a rule."""

AUTOMATIC: Final = ("preset", "resource", "default")
"""The automatic priorities, in their default order."""

_MAX_OVERRIDES = 128
_MAX_PRIORITY = 128
_MAX_POSITIONS = 512
_MAX_TEXT = 4096  # characters of a block's or position's name in a layout

Side: TypeAlias = Literal["before", "after"]


@dataclass(frozen=True, slots=True)
class Override:
    """A legacy move of one block next to another. `detach` takes it out of the slot that holds it."""

    target: str
    anchor: str
    side: Side
    detach: bool

    def to_wire(self) -> dict[str, Any]:
        """As in the document."""
        return {"target": self.target, "anchor": self.anchor, "side": self.side, "detach": self.detach}


@dataclass(frozen=True, slots=True)
class Anchor:
    """Next to what a position was dragged."""

    source_id: str
    position_id: str
    side: Side

    def to_wire(self) -> dict[str, Any]:
        """As in the document."""
        return {"sourceId": self.source_id, "positionId": self.position_id, "side": self.side}


@dataclass(frozen=True, slots=True)
class SavedPosition:
    """What a person decided about one position of a source. A `dragged` one wins over all automatic ones."""

    source_id: str
    position_id: str
    enabled: bool = True
    dragged: bool = False
    anchor: Anchor | Literal["end"] | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Whose position it is."""
        return (self.source_id, self.position_id)

    def to_wire(self) -> dict[str, Any]:
        """As in the document."""
        wire: dict[str, Any] = {
            "sourceId": self.source_id,
            "positionId": self.position_id,
            "enabled": self.enabled,
            "placement": "list" if self.dragged else "source",
        }
        if self.anchor is not None:
            wire["anchor"] = self.anchor if isinstance(self.anchor, str) else self.anchor.to_wire()
        return wire


@dataclass(frozen=True, slots=True)
class Layout:
    """Without a `priority` nothing is placed automatically; only what was dragged is."""

    source: Literal["manual", "preset-slots"]
    identity: Literal["preserve", "position"]
    fallback: Literal["source-order", "error"]
    overrides: tuple[Override, ...] = ()
    priority: tuple[str, ...] | None = None
    positions: tuple[SavedPosition, ...] | None = None

    def to_wire(self) -> dict[str, Any]:
        """As in the document, absent members absent."""
        wire: dict[str, Any] = {
            "version": 1,
            "source": self.source,
            "identity": self.identity,
            "fallback": self.fallback,
            "overrides": [override.to_wire() for override in self.overrides],
        }
        if self.priority is not None:
            wire["priority"] = list(self.priority)
        if self.positions is not None:
            wire["positions"] = [position.to_wire() for position in self.positions]
        return wire


def read_layout(value: object) -> Layout | None:
    """The layout of a document; None when it has none. Raises AssemblyError STRATEGY_INVALID."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not is_first(value.get("version")):
        raise _invalid("The layout is not one of version 1.")
    return Layout(
        source=cast("Any", _one_of(value, "source", ("manual", "preset-slots"))),
        identity=cast("Any", _one_of(value, "identity", ("preserve", "position"))),
        fallback=cast("Any", _one_of(value, "fallback", ("source-order", "error"))),
        overrides=_overrides(value.get("overrides")),
        priority=_priority(value.get("priority")),
        positions=_positions(value.get("positions")),
    )


def _invalid(message: str, **facts: Any) -> AssemblyError:
    return document_invalid(message, why="strategy-layout", **facts)


def _one_of(value: Mapping[str, Any], field: str, allowed: Sequence[str]) -> str:
    found = value.get(field)
    if not isinstance(found, str) or found not in allowed:
        raise _invalid(f"The layout's {field} must be one of: {', '.join(allowed)}.", field=field)
    return found


def _overrides(value: object) -> tuple[Override, ...]:
    overrides = []
    for item in _list(value, "overrides", _MAX_OVERRIDES):
        target, anchor, side = str(item.get("target")), str(item.get("anchor")), item.get("side")
        named = _name(item.get("target")) and _name(item.get("anchor")) and target != anchor
        if not named or side not in ("before", "after"):
            raise _invalid("An override names a target and another block as its anchor.")
        if not isinstance(item.get("detach"), bool):
            raise _invalid("An override's detach is true or false.")
        overrides.append(Override(target, anchor, side, item["detach"]))
    if len({override.target for override in overrides}) != len(overrides):
        raise _invalid("Each block has at most one override.")
    return tuple(overrides)


def _priority(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if value in ("user", "preset"):  # what two earlier versions wrote
        return AUTOMATIC
    if not isinstance(value, (list, tuple)):
        raise _invalid("The priority is a list of placement strategies.")
    # "user" had a place of its own once; what a person dragged wins always now
    order = tuple(item for item in value if item != "user")
    legal = all(isinstance(item, str) and SOURCE_ID.fullmatch(item) for item in order)
    if not legal or len(order) > _MAX_PRIORITY or len(set(order)) != len(order):
        raise _invalid("The priority names each placement strategy once.")
    if not set(AUTOMATIC) <= set(order):
        raise _invalid(f"The priority names {', '.join(AUTOMATIC)}.")
    return order


def _positions(value: object) -> tuple[SavedPosition, ...] | None:
    if value is None:
        return None
    positions = [_position(item) for item in _list(value, "positions", _MAX_POSITIONS)]
    if len({position.key for position in positions}) != len(positions):
        raise _invalid("Each position of a source is saved at most once.")
    return tuple(positions)


def _position(item: Mapping[str, Any]) -> SavedPosition:
    source_id, position_id, anchor = item.get("sourceId"), item.get("positionId"), item.get("anchor")
    enabled, placement = item.get("enabled"), item.get("placement")
    if not _source_id(source_id) or not _name(position_id):
        raise _invalid("A saved position names a source and one of its positions.")
    source_id, position_id = cast("str", source_id), cast("str", position_id)
    if not isinstance(enabled, bool) or placement not in ("source", "list"):
        raise _invalid("A saved position is enabled or not, and placed by its source or by the list.")
    if anchor is not None and anchor != "end":
        anchor = _anchor(anchor)
        if (anchor.source_id, anchor.position_id) == (source_id, position_id):
            raise _invalid("A position cannot be its own anchor.")
    return SavedPosition(source_id, position_id, enabled, placement == "list", anchor)


def _anchor(item: object) -> Anchor:
    if not isinstance(item, Mapping):
        raise _invalid("An anchor is “end” or another position.")
    source_id, position_id, side = item.get("sourceId"), item.get("positionId"), item.get("side")
    if not _source_id(source_id) or not _name(position_id) or side not in ("before", "after"):
        raise _invalid("An anchor names a position and a side of it.")
    return Anchor(cast("str", source_id), cast("str", position_id), side)


def _list(value: object, field: str, most: int) -> Sequence[Mapping[str, Any]]:
    if not isinstance(value, (list, tuple)) or len(value) > most:
        raise _invalid(f"The layout's {field} are a list of at most {most}.", field=field)
    if not all(isinstance(item, Mapping) for item in value):
        raise _invalid(f"The layout's {field} are objects.", field=field)
    return value


def _name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MAX_TEXT


def _source_id(value: object) -> bool:
    return isinstance(value, str) and SOURCE_ID.fullmatch(value) is not None

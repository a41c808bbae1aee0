"""What a source hands in: blocks of text, of native messages, and references to other sources' blocks.

Sources of this program hand in the types; others may hand in JSON, which is checked here. Source: assembler
spec 2.2 and 2.3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

from engine.assembler.faults import source_invalid
from engine.assembler.strategy import MAX_DEPTH
from engine.codec import JsonObject, dumps, loads

__all__ = ["Block", "NativeBlock", "Output", "ReferenceBlock", "TextBlock", "checked_output"]

MAX_BLOCKS: Final = 10_000
MAX_BYTES: Final = 8 * 1024 * 1024
"""Of one call of one source, as UTF-8 JSON: a bug of a source must not take the process down."""

_STABILITIES = frozenset({"asset", "conversation", "evaluation", "assembly", "snapshot"})
_ROLES = frozenset({"system", "user", "assistant"})
_OPTIONAL_ROLES = (None, *sorted(_ROLES, reverse=True))
_NO_LITERALS: Final[Mapping[str, str]] = {}


@dataclasses.dataclass(slots=True)
class TextBlock:
    """A text. `claims` name blocks (source, block) that it already contains; `reference_only` ones come out
    only where a reference names them; `target_source_id` puts the text into that module.

    Nobody changes one that was handed in. There are hundreds in a request: a tuple, as the others are, takes
    three times as long to read, and a frozen class to make.
    """

    id: str
    text: str
    role: str | None = None
    name: str | None = None
    depth: int | None = None
    order: float = 100
    group: str | None = None
    position_id: str | None = None
    stability: str | None = None
    resource_id: str | None = None
    field: str | None = None
    literals: Mapping[str, str] = dataclasses.field(default_factory=lambda: _NO_LITERALS)
    claims: tuple[tuple[str, str], ...] = ()
    target_source_id: str | None = None
    reference_only: bool = False
    children: tuple[JsonObject, ...] = ()


class NativeBlock(NamedTuple):
    """Messages of the conversation, carried unchanged."""

    id: str
    message_ids: tuple[str, ...]
    depth: int | None = None
    children: tuple[JsonObject, ...] = ()


class ReferenceBlock(NamedTuple):
    """A place that another source's blocks take. `owner` is what their lock is called after."""

    id: str
    source_id: str
    block_ids: tuple[str, ...] | None = None
    group: str | None = None
    role: str | None = None
    owner: str | None = None
    honor_enabled: bool = True
    use_owner_rule: bool = False
    lock: bool = True


Block: TypeAlias = TextBlock | NativeBlock | ReferenceBlock


class Output(NamedTuple):
    """The blocks of one call. `macros` name text blocks of it that other texts may insert."""

    blocks: tuple[Block, ...] = ()
    macros: Mapping[str, str] = _NO_LITERALS
    diagnostics: tuple[JsonObject, ...] = ()


def checked_output(value: object, source_id: str, dependencies: Sequence[str]) -> Output:
    """What a source handed in. Raises AssemblyError SOURCE_OUTPUT_INVALID or SOURCE_DEPENDENCY_UNDECLARED."""
    output = value if isinstance(value, Output) else _read(value, source_id)
    if len(output.blocks) > MAX_BLOCKS:
        raise source_invalid(f"{source_id} handed in more than {MAX_BLOCKS} blocks.", source_id=source_id)
    for block in output.blocks:
        if isinstance(block, TextBlock):
            if block.role not in _OPTIONAL_ROLES or type(block.text) is not str:
                raise source_invalid(f"The text or role of {block.id} cannot be sent.", source_id=source_id)
            if block.target_source_id is not None:
                _declared(block.target_source_id, source_id, dependencies)
            for claimed, _ in block.claims:
                _declared(claimed, source_id, dependencies)
        elif isinstance(block, ReferenceBlock):
            _declared(block.source_id, source_id, dependencies)
        elif not isinstance(block, NativeBlock):
            raise source_invalid(f"{source_id} handed in something that is no block.", source_id=source_id)
    if len({block.id for block in output.blocks}) != len(output.blocks):
        raise source_invalid(f"{source_id} handed in two blocks of the same id.", source_id=source_id)
    return output


def _declared(wanted: str, source_id: str, dependencies: Sequence[str]) -> None:
    if wanted != source_id and wanted not in dependencies:
        raise source_invalid(
            f"{source_id} uses {wanted} and does not declare it as a dependency.",
            "SOURCE_DEPENDENCY_UNDECLARED",
            source_id=source_id,
            dependency=wanted,
        )


def _read(value: object, source_id: str) -> Output:
    try:
        body = dumps(cast("JsonObject", value))
    except (TypeError, ValueError):
        raise source_invalid(f"{source_id} handed in something that is not JSON.") from None
    if len(body) > MAX_BYTES:
        raise source_invalid(f"{source_id} handed in more than {MAX_BYTES} bytes.", source_id=source_id)
    value = loads(body)
    if not isinstance(value, dict) or not isinstance(value.get("blocks"), list):
        raise source_invalid(f"{source_id} handed in no blocks.", source_id=source_id)
    reader = _Reader(source_id)
    macros, diagnostics = value.get("macros") or {}, value.get("diagnostics") or []
    if not _texts(macros) or not isinstance(diagnostics, list):
        raise source_invalid(f"The macros or diagnostics of {source_id} have another shape.")
    if not all(isinstance(item, dict) and isinstance(item.get("code"), str) for item in diagnostics):
        raise source_invalid(f"A diagnostic of {source_id} has no code.", source_id=source_id)
    return Output(tuple(reader.block(item) for item in value["blocks"]), macros, tuple(diagnostics))


def _texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


class _Reader:
    def __init__(self, source_id: str) -> None:
        self._source_id = source_id

    def block(self, item: object) -> Block:
        if not isinstance(item, dict) or not isinstance(item.get("id"), str) or not item["id"]:
            raise self._bad("A block has no id")
        match item.get("type"):
            case "text":
                return self._text(item)
            case "native":
                ids = self._names(item, "messageIds")
                return NativeBlock(item["id"], ids, self._depth(item), self._children(item))
            case "reference":
                return self._reference(item)
        raise self._bad(f"The block {item['id']} is of no known type")

    def _text(self, item: Mapping[str, Any]) -> TextBlock:
        text, literals, source = item.get("text"), item.get("literalMacros") or {}, item.get("source") or {}
        order, stability = item.get("order"), item.get("stability")
        if not isinstance(text, str):
            raise self._bad(f"The text block {item['id']} has no text")
        if not _texts(literals) or not isinstance(source, dict):
            raise self._bad(f"The literal macros or the source of {item['id']} have another shape")
        order = 100 if order is None else order
        if isinstance(order, bool) or not isinstance(order, (int, float)):
            raise self._bad(f"The order of {item['id']} is no number")
        if stability is not None and (not isinstance(stability, str) or stability not in _STABILITIES):
            raise self._bad(f"The stability of {item['id']} is not known")
        return TextBlock(
            id=item["id"],
            text=text,
            role=self._role(item),
            name=self._optional(item, "name"),
            depth=self._depth(item),
            order=order,
            group=self._optional(item, "group"),
            position_id=self._optional(item, "positionId"),
            stability=stability,
            resource_id=self._optional(source, "resourceId"),
            field=self._optional(source, "field"),
            literals=literals,
            claims=self._claims(item),
            target_source_id=self._optional(item, "targetSourceId"),
            reference_only=item.get("referenceOnly") is True,
            children=self._children(item),
        )

    def _reference(self, item: Mapping[str, Any]) -> ReferenceBlock:
        source_id = item.get("sourceId")
        if not isinstance(source_id, str) or not source_id:
            raise self._bad(f"The reference {item['id']} names no source")
        return ReferenceBlock(
            id=item["id"],
            source_id=source_id,
            block_ids=self._names(item, "blockIds") if item.get("blockIds") is not None else None,
            group=self._optional(item, "group"),
            role=self._role(item),
            owner=self._optional(item, "owner"),
            honor_enabled=item.get("honorEnabled") is not False,
            use_owner_rule=item.get("useOwnerRule") is True,
            lock=item.get("lock") is not False,
        )

    def _claims(self, item: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        claims = item.get("claims") or []
        if not isinstance(claims, list) or not all(_texts(claim) for claim in claims):
            raise self._bad(f"The claims of {item['id']} have another shape")
        if not all({"sourceId", "blockId"} <= claim.keys() for claim in claims):
            raise self._bad(f"A claim of {item['id']} names no block")
        return tuple((claim["sourceId"], claim["blockId"]) for claim in claims)

    def _children(self, item: Mapping[str, Any]) -> tuple[JsonObject, ...]:
        children = item.get("children") or []
        if not isinstance(children, list):
            raise self._bad(f"The children of {item['id']} are no list")
        return tuple(child for child in children if isinstance(child, dict))

    def _role(self, item: Mapping[str, Any]) -> str | None:
        role = item.get("role")
        if role is not None and (not isinstance(role, str) or role not in _ROLES):
            raise self._bad(f"The role of {item['id']} is not one of a message")
        return role

    def _depth(self, item: Mapping[str, Any]) -> int | None:
        depth = item.get("depth")
        if depth is None:
            return None
        if isinstance(depth, float) and depth.is_integer():
            depth = int(depth)
        if isinstance(depth, bool) or not isinstance(depth, int) or not 0 <= depth <= MAX_DEPTH:
            raise self._bad(f"The depth of {item['id']} is no whole number from 0 to {MAX_DEPTH}")
        return depth

    def _names(self, item: Mapping[str, Any], member: str) -> tuple[str, ...]:
        names = item.get(member)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self._bad(f"The {member} of {item['id']} are no list of ids")
        return tuple(names)

    def _optional(self, item: Mapping[str, Any], member: str) -> str | None:
        value = item.get(member)
        if value is not None and not isinstance(value, str):
            raise self._bad(f"The {member} of a block is no text")
        return value

    def _bad(self, what: str) -> Exception:
        return source_invalid(f"{what} ({self._source_id}).", source_id=self._source_id)

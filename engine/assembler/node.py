"""A node of the assembled request: one block where it came out, with how it got there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from engine.assembler.arrangement import HISTORY, INPUT, NATIVE_SYSTEM
from engine.assembler.strategy import Rule
from engine.codec import digest
from engine.session import Message, message_text

__all__ = ["Node", "NodeMessage", "Slot"]


class NodeMessage:
    """A message of the request: a native one as it is, or a text with the node that contributed it."""

    __slots__ = ("_id", "_text", "native", "node_id", "role")

    def __init__(self, role: str, text: str | None, node_id: str, native: Message | None = None) -> None:
        self.role = role
        self._text = text
        self.node_id = node_id
        self.native = native
        self._id: str | None = None

    @property
    def text(self) -> str:
        """What it says; of a native one it is read only when somebody asks."""
        if self._text is None:
            self._text = message_text(self.native) if self.native is not None else ""
        return self._text

    @property
    def id(self) -> str:
        """The message's id: the same for the same text of the same node."""
        if self._id is None:
            native = self.native
            self._id = native["id"] if native else derived_id(self.node_id, self.role, self.text)
        return self._id


class Slot:
    """A reference where it stands, and the nodes that it means."""

    __slots__ = ("duplicate", "group", "id", "node_ids", "target")

    def __init__(self, slot_id: str, target: str, group: str | None, node_ids: list[str]) -> None:
        self.id = slot_id
        self.target = target
        self.group = group
        self.node_ids = node_ids
        self.duplicate = False

    def to_wire(self) -> dict[str, Any]:
        """For metadata and previews."""
        return {
            "id": self.id,
            "target": self.target,
            "group": self.group,
            "nodeIds": list(self.node_ids),
            "duplicate": self.duplicate,
        }


@dataclass(slots=True, eq=False)
class Node:
    """Mutable while it is placed, handed out only afterwards. `rule` is the rule whose role, depth, retention
    and delivery hold; `job_rule_id` that of the source which it came from; `plan_rule_id` that whose place in
    the list it takes."""

    id: str
    rule: Rule
    source_id: str
    job_rule_id: str
    plugin_id: str
    plan_rule_id: str
    messages: Sequence[NodeMessage] = ()
    name: str = ""
    field: str = ""
    resource_id: str | None = None
    stability: str | None = None
    role: str = "preserve"
    original_role: str | None = "preserve"
    authored_role: str | None = None
    native: bool = False
    entry_roles: bool = False
    lifetime: str = "native"
    depth: int | None = None
    requested_depth: int | None = None
    order: float = 100
    lock_reason: str | None = None
    children: Sequence[Mapping[str, Any]] = ()
    position_id: str | None = None
    decision: str | None = None
    slot_id: str | None = None
    slot_owner: str | None = None
    group: str | None = None
    boundary: str | None = None
    placement: str | None = None
    delivery: str | None = None
    adjusted_for_tools: bool | None = None
    retained: bool = False
    changed: bool = True
    start: int = 0

    @property
    def module(self) -> str:
        """The source of the rule that holds."""
        return self.rule.kind

    @property
    def text(self) -> str:
        """What its messages say."""
        messages = self.messages
        return messages[0].text if len(messages) == 1 else "\n\n".join(message.text for message in messages)

    @property
    def anchor(self) -> bool:
        """Whether it is the history or the input, between which everything else is placed."""
        return self.native and self.source_id in (HISTORY, INPUT)

    @property
    def is_history(self) -> bool:
        """Whether it is the history."""
        return self.native and self.source_id == HISTORY

    @property
    def is_input(self) -> bool:
        """Whether it is this step's input."""
        return self.native and self.source_id == INPUT

    @property
    def is_native_system(self) -> bool:
        """Whether it is the program's own system text."""
        return self.native and self.source_id == NATIVE_SYSTEM

    def part(self, offset: int, messages: Sequence[NodeMessage]) -> Node:
        """The rest of a native node, from its message `offset` on."""
        rest = copy(self)
        rest.id = f"{self.id.split(':split:')[0]}:split:{offset}"
        rest.messages = messages
        return rest

    def to_wire(self) -> dict[str, Any]:
        """For metadata, previews and traces; what is absent is left out."""
        wire: dict[str, Any] = {
            "id": self.id,
            "ruleId": self.rule.id,
            "module": self.module,
            "name": self.name,
            "source": {"pluginId": self.plugin_id, "resourceId": self.resource_id, "field": self.field},
            "role": self.role,
            "text": self.text,
            "lifetime": self.lifetime,
            "start": self.start,
            "count": len(self.messages),
            "depth": self.depth,
            "locked": self.lock_reason is not None,
            "lockReason": self.lock_reason,
            "changed": self.changed,
            "inputMessageIds": [message.id for message in self.messages],
        }
        optional = {
            "originalRole": self.original_role,
            "authoredRole": self.authored_role,
            "positionId": self.position_id,
            "positionDecision": self.decision,
            "slotId": self.slot_id,
            "slotOwner": self.slot_owner,
            "layoutGroup": self.group,
            "stability": self.stability,
            "nativePlacement": self.placement,
            "nativeDelivery": self.delivery,
            "nativeDepthAnchor": self.boundary,
            "nativeRequestedDepth": self.requested_depth,
            "adjustedForTools": self.adjusted_for_tools,
            "children": list(self.children) or None,
        }
        return wire | {name: value for name, value in optional.items() if value is not None}


def derived_id(*parts: str) -> str:
    """An id that the parts determine."""
    return f"asm_{digest(chr(0).join(parts).encode()).hex()[:32]}"

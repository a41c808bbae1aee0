"""What one assembly works on: the conversation, the input of this step, the assets and what went before."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from engine.assembler.assets import Assets
from engine.assembler.strategy import Strategy
from engine.cancel import CancelToken
from engine.session import Message, freeze

__all__ = ["MAX_BYTES", "AssemblyRequest", "Retained", "SourceContext", "conversation"]

MAX_BYTES: Final = 2 * 1024 * 1024
"""The most that an assembly may add, whatever the settings say."""


@dataclass(frozen=True, slots=True)
class Retained:
    """A text of a `snapshot` rule as it was sent, and after which message it stands.

    `hash` is that of text and role, or "empty" for the remark that the entry has no text any more.
    """

    id: str
    node_id: str
    rule_id: str
    module: str
    name: str
    text: str
    role: str
    hash: str
    after_id: str | None
    native_after_id: str | None
    depth: int | None = None
    field: str | None = None
    resource_id: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """As it stands in the metadata of `request/assembly`."""
        return {
            "id": self.id,
            "nodeId": self.node_id,
            "ruleId": self.rule_id,
            "module": self.module,
            "name": self.name,
            "text": self.text,
            "role": self.role,
            "hash": self.hash,
            "afterId": self.after_id,
            "nativeAfterId": self.native_after_id,
            "depth": self.depth,
            "source": {"resourceId": self.resource_id, "field": self.field},
        }

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Retained:
        """Out of recorded metadata."""
        return cls(
            id=wire["id"],
            node_id=wire["nodeId"],
            rule_id=wire["ruleId"],
            module=wire["module"],
            name=wire["name"],
            text=wire["text"],
            role=wire["role"],
            hash=wire["hash"],
            after_id=wire["afterId"],
            native_after_id=wire["nativeAfterId"],
            depth=wire["depth"],
            field=wire["source"]["field"],
            resource_id=wire["source"]["resourceId"],
        )


@dataclass(frozen=True, slots=True)
class AssemblyRequest:
    """`native` is the conversation with its system messages, `input_ids` what of it is this step's input.

    `variables` are the program's own, for native texts; None is one without a value. `retained` and
    `previous` (text by node id) come from the last recorded request. A preview has no turn and no input.
    `now` is what macros of date and time say; `seed` makes chosen words the same each time.
    """

    session_id: str = ""
    native: Sequence[Message] = ()
    input_ids: frozenset[str] = frozenset()
    assets: Assets = field(default_factory=Assets)
    variables: Mapping[str, str | None] = field(default_factory=dict)
    turn: int | None = None
    step: int | None = None
    preview: bool = False
    max_bytes: int = MAX_BYTES
    retained: tuple[Retained, ...] = ()
    previous: Mapping[str, str] = field(default_factory=dict)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    seed: str = ""


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What a source may read: detached and frozen. `token` tells when nobody waits for the answer."""

    session_id: str
    turn: int | None
    step: int | None
    preview: bool
    strategy: Strategy
    assets: Assets
    native: tuple[Message, ...]
    input_ids: frozenset[str]
    variables: Mapping[str, str | None]
    token: CancelToken
    now: datetime
    seed: str

    @classmethod
    def of(cls, request: AssemblyRequest, strategy: Strategy, token: CancelToken) -> SourceContext:
        """The context of a request."""
        return cls(
            session_id=request.session_id,
            turn=request.turn,
            step=request.step,
            preview=request.preview,
            strategy=strategy,
            assets=request.assets,
            native=tuple(_frozen(message) for message in request.native),
            input_ids=request.input_ids,
            variables=MappingProxyType(dict(request.variables)),
            token=token,
            now=request.now,
            seed=request.seed,
        )

    def chance(self) -> random.Random:
        """The dice of this assembly: the same request rolls the same; a preview always rolls the middle."""
        return Middle() if self.preview else random.Random(f"{self.session_id}:{self.turn}:{self.step}")


class Middle(random.Random):
    """Dice that always fall on the middle (assembler spec 2.7)."""

    def random(self) -> float:
        return 0.5


def conversation(native: Sequence[Message]) -> list[Message]:
    """The messages that are no system messages."""
    return [message for message in native if message["role"] != "system"]


def _frozen(message: Message) -> Message:
    frozen: Any = freeze(message)
    return frozen  # type: ignore[no-any-return]

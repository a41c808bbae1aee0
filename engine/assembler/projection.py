"""Complete system snapshots: each later system message says all that holds up to there.

Sources contribute parts; a model is told whole instructions. A native system text replaces only the native
part before it. Recomputed for each request; nothing accumulates. Source: assembler spec 4.3; seed 001.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from engine.assembler.faults import note, refuse
from engine.assembler.node import NodeMessage, derived_id
from engine.codec import JsonObject, dumps
from engine.session import Message

__all__ = ["CEILING", "Carrier", "Projection", "project_system"]

CEILING: Final = 2 * 1024 * 1024
"""Bytes that carriers may add, however the settings loosen the logical limit (seed 001)."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """A system message of the request: which inputs became it, and whose texts it says."""

    index: int
    message_id: str
    input_ids: tuple[str, ...]
    inputs: tuple[str, ...]
    contributor_ids: tuple[str, ...]
    contributors: tuple[str, ...]
    replaced_native_ids: tuple[str, ...]
    original: bool

    def to_wire(self) -> dict[str, Any]:
        """For the metadata of `request/assembly`."""
        return {
            "index": self.index,
            "inputIds": list(self.input_ids),
            "messageId": self.message_id,
            "contributorIds": list(self.contributor_ids),
            "replacedNativeIds": list(self.replaced_native_ids),
        }


@dataclass(frozen=True)
class Projection:
    """The messages as they are sent. `carried`: the id of what carries it, by logical message id."""

    messages: tuple[Message, ...]
    carriers: tuple[Carrier, ...]
    carried: dict[str, str]
    capability: str
    max_bytes: int
    extra_bytes: int
    diagnostics: tuple[JsonObject, ...]

    def place(self, inputs: Sequence[NodeMessage]) -> tuple[int, list[str]]:
        """(index of the first message that carries one of the inputs, ids of all that do); several inputs may
        be in one. Nothing carries an empty text: then the index is that of the end."""
        carriers = [self.carried.get(message.id) for message in inputs]
        sent = list(dict.fromkeys(carrier for carrier in carriers if carrier is not None))
        return (self._places[sent[0]] if sent else len(self.messages)), sent

    @cached_property
    def _places(self) -> dict[str, int]:
        return {message["id"]: at for at, message in enumerate(self.messages)}

    def reduced(self, messages: Sequence[Message]) -> Projection:
        """The same for what is left of the messages: some may be gone, or say less than before."""
        places = {message["id"]: at for at, message in enumerate(messages)}
        return replace(
            self,
            messages=tuple(messages),
            carriers=tuple(
                replace(carrier, index=places[carrier.message_id])
                for carrier in self.carriers
                if carrier.message_id in places
            ),
            carried={given: sent for given, sent in self.carried.items() if sent in places},
        )

    def to_wire(self) -> dict[str, Any]:
        """For the metadata of `request/assembly`."""
        return {
            "version": 1,
            "semantics": "complete-snapshots",
            "capability": self.capability,
            "maxBytes": self.max_bytes,
            "messages": [carrier.to_wire() for carrier in self.carriers],
        }


def project_system(
    messages: Sequence[NodeMessage],
    source: dict[str, Any],
    *,
    in_history: bool,
    preview: bool = False,
    max_bytes: int = CEILING,
) -> Projection:
    """Turn contributions into complete system messages. `source` is that of contributed messages.

    Raises AssemblyError ASSEMBLY_SYSTEM_UPDATES_UNSUPPORTED when a later one is needed and the model takes
    none (a preview only remarks that it is needed), ASSEMBLY_SYSTEM_NOT_TEXT, and ASSEMBLY_TOO_LARGE.
    """
    walk = _Walk(source)
    for message in messages:
        walk.add(message)
    walk.close()
    most = min(max_bytes, CEILING)
    if walk.extra > most:
        raise refuse(
            "ASSEMBLY_TOO_LARGE",
            f"The complete system texts add {walk.extra} bytes; {most} are allowed.",
            status=413,
            bytes=walk.extra,
            most=most,
        )
    diagnostics: list[JsonObject] = []
    if any(carrier.index for carrier in walk.carriers):
        if preview:  # no model call is prepared, so nobody knows which model it will be
            diagnostics.append(note("SYSTEM_UPDATE_CAPABILITY_UNVERIFIED"))
        elif not in_history:
            raise refuse(
                "ASSEMBLY_SYSTEM_UPDATES_UNSUPPORTED",
                "The model takes no system texts inside the conversation. Put them before it, or choose "
                "another model.",
            )
    return Projection(
        messages=tuple(walk.messages),
        carriers=tuple(walk.carriers),
        carried=walk.carried,
        capability="unverified" if preview else "in-history" if in_history else "leading-only",
        max_bytes=most,
        extra_bytes=walk.extra,
        diagnostics=tuple(diagnostics),
    )


class _Walk:
    def __init__(self, source: dict[str, Any]) -> None:
        self._source = source
        self._parts: list[NodeMessage] = []
        self._run: list[NodeMessage] = []
        self._replaced: list[str] = []
        self.messages: list[Message] = []
        self.carriers: list[Carrier] = []
        self.carried: dict[str, str] = {}
        self.extra = 0

    def add(self, message: NodeMessage) -> None:
        if message.role != "system":
            self.close()
            self._send(message)
            return
        if message.native is not None:
            blocks = message.native["content"]
            if any(block.get("type") != "text" for block in blocks):
                raise refuse("ASSEMBLY_SYSTEM_NOT_TEXT", "A system message holds something that is no text.")
            self._replace(message)
        else:
            self._parts.append(message)
        self._run.append(message)

    def _replace(self, message: NodeMessage) -> None:
        for at, part in enumerate(self._parts):
            if part.native is not None:
                if part in self._run:
                    self._replaced.append(part.id)
                self._parts[at] = message
                return
        self._parts.append(message)

    def close(self) -> None:
        """End the run of system messages: one message says all that holds now."""
        run, self._run = self._run, []
        replaced, self._replaced = self._replaced, []
        if not run:
            return
        parts = [part for part in self._parts if part.text]
        text = "\n\n".join(part.text for part in parts)
        if not text:
            return
        original = next((message for message in run if message.text == text), None)
        if original is not None:
            sent = original.native or self._made(original.id, "system", text)
        else:
            sent = self._made(derived_id("carrier", *(m.id for m in run), text), "system", text)
        native = [message.native for message in run if message.native is not None]
        self._emit(sent, sum(len(dumps(message)) for message in native))
        self.carried.update({message.id: sent["id"] for message in run})
        self.carriers.append(
            Carrier(
                index=len(self.messages) - 1,
                message_id=sent["id"],
                input_ids=tuple(message.id for message in run),
                inputs=tuple(map(_label, run)),
                contributor_ids=tuple(part.id for part in parts),
                contributors=tuple(map(_label, parts)),
                replaced_native_ids=tuple(replaced),
                original=original is not None,
            )
        )

    def _send(self, message: NodeMessage) -> None:
        if message.native is not None:
            self._emit(message.native, len(dumps(message.native)))
        else:
            self._emit(self._made(message.id, message.role, message.text), 0)
        self.carried[message.id] = message.id

    def _made(self, message_id: str, role: str, text: str) -> Message:
        content = ({"type": "text", "text": text},)
        return {"id": message_id, "role": role, "content": content, "source": self._source}

    def _emit(self, message: Message, native_bytes: int) -> None:
        self.messages.append(message)
        self.extra += max(0, len(dumps(message)) - native_bytes)


def _label(message: NodeMessage) -> str:
    return message.id if message.native is not None else f"node:{message.node_id}"

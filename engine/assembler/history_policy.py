"""The history policy: which old messages, kinds of content and passages later requests do without.

The document, and what the standard back end does with it: old injections become tombstones in place, and come
back when the rule is gone. Off unless chosen. Source: assembler spec 7; seed 001.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, NoReturn, TypeAlias, cast

from engine.assembler.faults import is_first, refuse
from engine.codec import digest, dumps, json_hash
from engine.session import Message

__all__ = [
    "CONTEXT_KIND",
    "DEFAULT_POLICY",
    "TOMBSTONE_KIND",
    "Fragment",
    "HistoryPolicy",
    "StandardChange",
    "check_standard_policy",
    "is_tombstone",
    "read_policy",
    "standard_changes",
    "tombstone_source",
]

CONTEXT_KIND: Final = "runtime-context"
TOMBSTONE_KIND: Final = "history-policy"

_EXCLUDED = ("dsh-prompt-assembler", CONTEXT_KIND, "system-prompt", "ptc-mode", "tool")
_MOST = 100
_MAX_NAME = 160
_MAX_DELIMITER = 256
_FIELDS = {"version", "enabled", "sources", "contentTypes", "fragments"}
_FRAGMENT_FIELDS = {"id", "sourceKind", "start", "end", "mode", "enabled"}
_TYPES = ("text", "image", "reasoning")

Mode: TypeAlias = Literal["lines", "literal"]


@dataclass(frozen=True, slots=True)
class Fragment:
    """A passage between two delimiters: whole lines, or anywhere in the text."""

    id: str
    source_kind: str
    start: str
    end: str
    mode: Mode
    enabled: bool = True

    def to_wire(self) -> dict[str, Any]:
        """As in the document."""
        return {
            "id": self.id,
            "sourceKind": self.source_kind,
            "start": self.start,
            "end": self.end,
            "mode": self.mode,
            "enabled": self.enabled,
        }


@dataclass(frozen=True)
class HistoryPolicy:
    """`sources` says of kinds of sources whether their old messages stay; other kinds stay as unknown."""

    enabled: bool = False
    sources: Mapping[str, bool] = field(default_factory=lambda: dict.fromkeys(_EXCLUDED, False))
    text: bool = True
    image: bool = True
    reasoning: bool = False
    fragments: tuple[Fragment, ...] = ()

    @cached_property
    def revision(self) -> str:
        """SHA-256 of the document, hexadecimal."""
        return digest(dumps(self.to_wire())).hex()

    def excludes(self, kind: str) -> bool:
        """Whether old messages of that kind are left out."""
        return self.enabled and self.sources.get(kind) is False

    def to_wire(self) -> dict[str, Any]:
        """The document."""
        return {
            "version": 1,
            "enabled": self.enabled,
            "sources": [{"kind": kind, "include": include} for kind, include in self.sources.items()],
            "contentTypes": {"text": self.text, "image": self.image, "reasoning": self.reasoning},
            "fragments": [fragment.to_wire() for fragment in self.fragments],
        }


DEFAULT_POLICY: Final = HistoryPolicy()


def read_policy(value: object) -> HistoryPolicy:
    """The policy of a document. Raises AssemblyError HISTORY_POLICY_INVALID."""
    if not isinstance(value, Mapping) or set(value) - _FIELDS:
        _invalid("The history policy has fields that are not known.")
    if not is_first(value.get("version")) or not isinstance(value.get("enabled"), bool):
        _invalid("A history policy has the version 1 and is enabled or not.")
    types = value.get("contentTypes")
    if not isinstance(types, Mapping) or set(types) != set(_TYPES):
        _invalid("A history policy says of text, image and reasoning whether they stay.")
    if not all(isinstance(types[name], bool) for name in _TYPES):
        _invalid("A content type stays or not.")
    return HistoryPolicy(
        enabled=value["enabled"],
        sources=_sources(value.get("sources")),
        text=types["text"],
        image=types["image"],
        reasoning=types["reasoning"],
        fragments=_fragments(value.get("fragments")),
    )


def _sources(value: object) -> Mapping[str, bool]:
    sources: dict[str, bool] = {}
    for item in _objects(value, {"kind", "include"}):
        kind, include = item.get("kind"), item.get("include")
        if not _name(kind) or not isinstance(include, bool) or kind in sources:
            _invalid("Each kind of source stands once, with whether it stays.")
        sources[cast("str", kind)] = include
    return sources


def _fragments(value: object) -> tuple[Fragment, ...]:
    fragments: dict[str, Fragment] = {}
    for item in _objects(value, _FRAGMENT_FIELDS):
        fragment_id, kind, mode = item.get("id"), item.get("sourceKind"), item.get("mode")
        start, end, enabled = item.get("start"), item.get("end"), item.get("enabled")
        if not _name(fragment_id) or not _name(kind) or fragment_id in fragments:
            _invalid("Each fragment has an id of its own and a kind of source.")
        if mode not in ("lines", "literal") or not isinstance(enabled, bool):
            _invalid("A fragment is of lines or literal, and enabled or not.")
        if not _delimiter(start) or not _delimiter(end) or start == end:
            _invalid("A fragment has two different delimiters of one line each.")
        fragments[cast("str", fragment_id)] = Fragment(
            cast("str", fragment_id), cast("str", kind), cast("str", start), cast("str", end), mode, enabled
        )
    return tuple(fragments.values())


def _objects(value: object, fields: set[str]) -> Sequence[Mapping[str, Any]]:
    if not isinstance(value, (list, tuple)) or len(value) > _MOST:
        _invalid(f"A history policy has at most {_MOST} sources and as many fragments.")
    if not all(isinstance(item, Mapping) and not set(item) - fields for item in value):
        _invalid("The history policy has fields that are not known.")
    return value


def _name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MAX_NAME


def _delimiter(value: object) -> bool:
    if not isinstance(value, str) or not value.strip() or len(value) > _MAX_DELIMITER:
        return False
    return "\n" not in value and "\r" not in value


def _invalid(message: str) -> NoReturn:
    raise refuse("HISTORY_POLICY_INVALID", message, status=400)


# What the standard back end does


@dataclass(frozen=True, slots=True)
class StandardChange:
    """A node of the surface to replace in place: by a tombstone (`remove`) or by what it was (`restore`)."""

    seq: int
    action: Literal["remove", "restore"]
    message: Message


def check_standard_policy(policy: HistoryPolicy | None) -> None:
    """Raises AssemblyError HISTORY_ADVANCED_REQUIRED for what only a copy of the request can do."""
    if policy is None or not policy.enabled:
        return
    if not policy.text or not policy.image or any(fragment.enabled for fragment in policy.fragments):
        raise refuse(
            "HISTORY_ADVANCED_REQUIRED",
            "Leaving out kinds of content or passages of old messages needs the advanced back end.",
        )


def standard_changes(
    nodes: Sequence[tuple[int, Message]], policy: HistoryPolicy | None, step_seq: int
) -> list[StandardChange]:
    """What to change on the surface, given its (seq, message) nodes and the first seq of the current step.

    Only injected user messages go, never what people, the model or tools said; the runtime context that is in
    force stays. A tombstone whose message may stay again is restored.
    """
    check_standard_policy(policy)
    policy = policy or DEFAULT_POLICY
    contexts = [seq for seq, message in nodes if _kind(message) == CONTEXT_KIND]
    active = contexts[-1] if contexts else None
    changes: list[StandardChange] = []
    for seq, message in nodes:
        if is_tombstone(message):
            original = message["source"]["original"]
            if not policy.excludes(_kind(original)):
                changes.append(StandardChange(seq, "restore", original))
            continue
        if message["role"] != "user" or seq >= step_seq or seq == active or _kind(message) == "user":
            continue
        if policy.excludes(_kind(message)):
            changes.append(StandardChange(seq, "remove", message))
    return changes


def tombstone_source(message: Message, policy: HistoryPolicy) -> dict[str, Any]:
    """The source of the empty developer message that stands where the message was, with all it takes to
    bring it back."""
    return {
        "kind": TOMBSTONE_KIND,
        "form": "tombstone",
        "original": message,
        "originalHash": json_hash(message),
        "policyRevision": policy.revision,
    }


def is_tombstone(message: Message) -> bool:
    """Whether it stands for a message that was left out, and has it."""
    source = message.get("source", {})
    if source.get("kind") != TOMBSTONE_KIND or source.get("form") != "tombstone":
        return False
    return isinstance(source.get("original"), Mapping)


def _kind(message: Message) -> str:
    return str(message.get("source", {}).get("kind", ""))

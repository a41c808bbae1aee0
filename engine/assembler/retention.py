"""Texts that stay where they were first sent: the `snapshot` lifetime. Source: assembler spec 4.4; seed 001.

A text enters the request once and stays behind the message that it stood behind then; when it changes, the
new one is added. What was retained stands in the metadata of the last request, nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.assembler.faults import Remarks
from engine.assembler.node import Node, NodeMessage, derived_id
from engine.assembler.request import Retained
from engine.assembler.resolution import Resolution
from engine.assembler.transactions import calls, result_of
from engine.codec import digest

__all__ = ["EMPTY", "retain"]

EMPTY = "empty"
"""The hash of the remark that an entry has no text any more."""


def retain(
    nodes: list[Node], retained: Sequence[Retained], resolution: Resolution, remarks: Remarks
) -> tuple[list[Node], list[NodeMessage], tuple[Retained, ...]]:
    """(nodes with the retained ones, all messages in order, what to keep for the next request)."""
    records = [record for record in retained if _active(record.rule_id, resolution)]
    if not records and all(node.native or node.lifetime != "snapshot" for node in nodes):
        return nodes, [message for node in nodes for message in node.messages], ()
    emitted: list[NodeMessage] = []
    kept: list[Node] = []
    native_id: str | None = None
    latest = {record.node_id: record for record in records}
    present: set[str] = set()
    for node in nodes:
        if node.native or node.lifetime != "snapshot":
            kept.append(node)
            emitted += node.messages
            native_id = next((m.id for m in reversed(node.messages) if m.native is not None), native_id)
            continue
        present.add(node.id)
        last = latest.get(node.id)
        if last is None or last.hash != _hash(node):
            record = _record(node, emitted[-1].id if emitted else None, native_id, len(records))
            records.append(record)
    for last in latest.values():
        if last.node_id not in present and last.hash != EMPTY:
            records.append(_cleared(last, native_id, len(records)))
    messages, by_record = _inserted(emitted, records, remarks)
    nodes = _ordered(
        [
            *kept,
            *(_retained_node(r, by_record[r.id], nodes, resolution) for r in records if r.id in by_record),
        ],
        messages,
    )
    return nodes, messages, tuple(records)


def _active(rule_id: str, resolution: Resolution) -> bool:
    """Whether the rule still keeps its texts: on, of this lifetime, and with a source."""
    job = resolution.by_rule.get(rule_id)
    if job is None or job.rule.lifetime != "snapshot":
        return False
    return job.rule.enabled or not job.listed


def _hash(node: Node) -> str:
    return digest(f"{node.role}\0{node.text}".encode()).hex()


def _record(node: Node, after_id: str | None, native_id: str | None, number: int) -> Retained:
    return Retained(
        id=derived_id(node.id, _hash(node), after_id or "", str(number)),
        node_id=node.id,
        rule_id=node.rule.id,
        module=node.module,
        name=node.name,
        text=node.text,
        role=node.role,
        hash=_hash(node),
        after_id=after_id,
        native_after_id=native_id,
        depth=node.depth,
        field=node.field,
        resource_id=node.resource_id,
    )


def _cleared(last: Retained, native_id: str | None, number: int) -> Retained:
    text = f"Current context is empty for entry {last.name}. Its earlier snapshots are no longer current."
    return replace(
        last,
        id=derived_id(last.node_id, EMPTY, native_id or "", str(number)),
        text=text,
        role="system",
        hash=EMPTY,
        after_id=native_id,
    )


def _inserted(
    emitted: Sequence[NodeMessage], records: Sequence[Retained], remarks: Remarks
) -> tuple[list[NodeMessage], dict[str, NodeMessage]]:
    there = {message.id for message in emitted}
    behind: dict[str | None, list[Retained]] = {}
    for record in records:
        if record.after_id is None or record.after_id in there:
            behind.setdefault(record.after_id, []).append(record)
        elif record.native_after_id is None or record.native_after_id in there:
            remarks.add("SNAPSHOT_ANCHORED_TO_NATIVE_HISTORY", id=record.node_id)
            behind.setdefault(record.native_after_id, []).append(record)
        else:
            remarks.add("SNAPSHOT_ANCHOR_NO_LONGER_ACTIVE", id=record.node_id)
    by_record: dict[str, NodeMessage] = {}
    messages: list[NodeMessage] = []
    waiting: list[Retained] = behind.get(None, [])
    opened: set[str] = set()

    def settle() -> None:
        for record in waiting:
            message = NodeMessage(record.role, record.text, record.id)
            by_record[record.id] = message
            messages.append(message)

    settle()
    waiting = []
    for message in emitted:
        messages.append(message)
        if message.native is not None:
            opened |= calls(message.native)
            opened.discard(result_of(message.native) or "")
        waiting += behind.get(message.id, ())
        if waiting and not opened:  # never inside a tool transaction, whatever became of the history
            settle()
            waiting = []
    settle()
    return messages, by_record


def _retained_node(
    record: Retained, message: NodeMessage, nodes: Sequence[Node], resolution: Resolution
) -> Node:
    job = resolution.by_rule[record.rule_id]
    node = Node(
        f"{record.node_id}:retained:{record.id}",
        job.rule,
        job.rule.kind,
        job.rule.id,
        job.definition.plugin_id,
        job.rule.id,
    )
    node.name = record.name
    node.field = record.field or record.node_id
    node.resource_id = record.resource_id
    node.stability = "snapshot"
    node.role = record.role
    node.original_role = None
    node.messages = [message]
    node.lifetime = "snapshot"
    node.depth = record.depth
    node.lock_reason = "retained-snapshot"
    node.retained = True
    return node


def _ordered(nodes: list[Node], messages: Sequence[NodeMessage]) -> list[Node]:
    places = {id(message): at for at, message in enumerate(messages)}
    return sorted(nodes, key=lambda node: places[id(node.messages[0])] if node.messages else 0)

"""How an assembled prompt becomes logged messages: the system head, the runtime snapshot, new tools.

All write only what changed, so that an unchanged prompt keeps the model's cache
(spec agent-loop 4.4-4.6, session 3; decision 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.agent.prompt import Part
from engine.agent.standing import SNAPSHOT_KIND, standing
from engine.ids import new_id
from engine.session import (
    Event,
    Message,
    Session,
    developer_message,
    message_text,
    system_message,
    user_message,
)

__all__ = ["CLEARED", "SNAPSHOT_KIND", "admit_system", "announce_tools", "lacks", "propose_snapshot"]

_TOOLS_SOURCE = {"kind": "tool-registry"}

_HEADING = "Current facts; this list replaces every earlier one:"
CLEARED = "There are no current facts; earlier lists no longer apply."
"""What a snapshot says when nothing holds any more."""


def admit_system(
    session: Session, text: str, *, turn: int, step: int, in_history: bool, starts_series: bool
) -> None:
    """Make the surface's system text equal `text`.

    Without a system node one is appended, even when empty: it reserves the head. On a route
    that takes updates in history a continuing series appends the whole new text; on all
    others later nodes are emptied and the head is rewritten.
    """
    nodes = tuple(standing(session).system)
    if not nodes:
        _append(session, text, turn, step)
        return
    latest = next((_text(n) for n in reversed(nodes) if _text(n)), "")
    if in_history and not starts_series and text:
        if latest != text:
            _append(session, text, turn, step)
        return
    for node in nodes[1:]:
        if _text(node):
            _replace(session, node, "", turn, step)
    if _text(nodes[0]) != text:
        _replace(session, nodes[0], text, turn, step)


def propose_snapshot(session: Session, contexts: Sequence[Part]) -> Message | None:
    """The snapshot message that these contexts need now, or None when the retained one still says it."""
    text, stands = snapshot_text(contexts), standing(session)
    retained = None if stands.snapshot is None else message_text(stands.snapshot.data)
    if retained == text or (not text and not stands.had_snapshot) or (not text and retained == CLEARED):
        return None
    sections = [{"name": part.name, "text": part.text} for part in contexts]
    source: dict[str, Any] = {"kind": SNAPSHOT_KIND, "form": "snapshot", "sections": sections}
    return user_message(new_id("ctx"), text or CLEARED, source)


def lacks(session: Session, facts: Sequence[Part]) -> bool:
    """Whether the retained snapshot does not say one of these facts, or says another text for it."""
    retained = standing(session).snapshot
    said = retained.data["source"].get("sections", ()) if retained is not None else ()
    return any({"name": part.name, "text": part.text} not in said for part in facts)


def announce_tools(
    session: Session, told: Sequence[Any], tools: Sequence[Any], header: Event, *, turn: int, step: int
) -> None:
    """Tell a model that takes it in its history which tools came and went since it was told `told`.

    A tool whose schema changed goes and comes again. Added tools are looked up in `header`, the header of
    this request; a change of order alone is not told.
    """
    before, now = _by_name(told), _by_name(tools)
    gone = [name for name, tool in before.items() if now.get(name) != tool]
    new = [name for name, tool in now.items() if before.get(name) != tool]
    if not gone and not new:
        return
    blocks = [{"type": "tool-removal", "toolName": name} for name in gone]
    blocks += [{"type": "tool-addition", "toolName": name} for name in new]
    message = developer_message(new_id("dev"), blocks, _TOOLS_SOURCE)
    data: dict[str, Any] = {"turn": turn, "step": step, "message": message}
    if new:
        data["headerSeq"] = header.seq
    session.append("developer/message", data, surface_op="append")


def snapshot_text(contexts: Sequence[Part]) -> str:
    """Heading and texts joined by blank lines; empty without contexts."""
    texts = [part.text for part in contexts if part.text]
    return "\n\n".join([_HEADING, *texts]) if texts else ""


def _by_name(tools: Sequence[Any]) -> dict[str, Any]:
    return {tool["name"]: tool for tool in tools}


def _text(event: Event) -> str:
    return message_text(event.data["message"])


def _append(session: Session, text: str, turn: int, step: int) -> None:
    session.append("system/message", _data(text, turn, step), surface_op="append")


def _replace(session: Session, node: Event, text: str, turn: int, step: int) -> None:
    session.append(
        "system/message",
        _data(text, turn, step),
        surface_op={"op": "replace", "startSeq": node.seq, "endSeq": node.seq},
        source_event_seqs=[node.seq],
    )


def _data(text: str, turn: int, step: int) -> dict[str, Any]:
    return {"turn": turn, "step": step, "message": system_message(new_id("sys"), text)}

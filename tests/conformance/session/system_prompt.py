"""system_prompt: which writes make the surface say the rendered prompt."""

from typing import Any

from engine.agent.projection import admit_system
from engine.session import Event, Sessions, message_text
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    session = Sessions().create("s")
    for event_type, data, options in vector.body["given"]:
        session.append(
            event_type,
            data,
            surface_op=options.get("surfaceOp"),
            source_event_seqs=options.get("sourceEventSeqs"),
        )
    for number, step in enumerate(vector.body["steps"]):
        before = session.seq
        admit_system(
            session,
            step["rendered"],
            turn=1,
            step=1,
            in_history=step["input"]["inHistory"],
            starts_series=step["input"]["startsSeries"],
        )
        agree(f"step {number} updates", step["updates"], [_update(e) for e in session.events(before)])
        agree(f"step {number} nodes", step["nodesAfter"], list(session.surface.nodes))
        derived = [f"{m['role']}:{message_text(m)}" for m in session.derive()]
        agree(f"step {number} derived", step["derived"], derived)


def _update(event: Event) -> dict[str, Any]:
    text = message_text(event.data["message"])
    update: dict[str, Any] = {"text": text, "empty": text == "", "surfaceOp": event.to_wire()["surfaceOp"]}
    if event.source_event_seqs is not None:
        update["sourceEventSeqs"] = list(event.source_event_seqs)
    return update

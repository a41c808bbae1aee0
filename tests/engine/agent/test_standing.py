"""What stands of the prompt: the fold against a walk over the whole surface, whatever was logged."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.agent.standing import SNAPSHOT_KIND, Standing, standing
from engine.errors import AppendRefused
from engine.session import Event, Session, Sessions, StrictValidator, system_message, user_message


def fresh() -> Session:
    session = Sessions(validators=[StrictValidator]).create("s")
    session.append("turn/start", {"turn": 1})
    session.append("step/start", {"turn": 1, "step": 1})
    return session


def system(session: Session, text: str, op: Any = "append", sources: Any = None) -> None:
    message = system_message(f"m{session.seq}", text)
    data = {"turn": 1, "step": 1, "message": message}
    session.append("system/message", data, surface_op=op, source_event_seqs=sources)


def user(session: Session, kind: str, op: Any = "append", sources: Any = None) -> None:
    message = user_message(f"m{session.seq}", kind, {"kind": kind})
    session.append("user/message", message, surface_op=op, source_event_seqs=sources)


def walked(session: Session) -> tuple[list[Event], Event | None]:
    """The same, from nothing."""
    nodes = [session.event(seq) for seq in session.surface.nodes]
    snapshots = [
        node for node in nodes if node.type == "user/message" and node.data["source"]["kind"] == SNAPSHOT_KIND
    ]
    return [node for node in nodes if node.type == "system/message"], snapshots[-1] if snapshots else None


deeds = st.lists(
    st.tuples(
        st.sampled_from(["system", "snapshot", "words", "rewrite", "sum up", "look"]),
        st.integers(0, 20),
        st.integers(0, 3),
    ),
    max_size=40,
)


@given(deeds)
def test_it_is_what_a_walk_finds(deeds: list[tuple[str, int, int]]) -> None:
    session = fresh()
    for deed, place, length in deeds:
        nodes = list(session.surface.nodes)
        start = place % len(nodes) if nodes else 0
        span = nodes[start : start + 1 + length]
        op = {"op": "replace", "startSeq": span[0], "endSeq": span[-1]} if span else None
        try:
            if deed == "system":
                system(session, f"text {place}")
            elif deed == "snapshot":
                user(session, SNAPSHOT_KIND)
            elif deed == "words":
                user(session, "user")
            elif deed == "rewrite" and op is not None:
                system(session, "rewritten", op | {"endSeq": span[0]}, span[:1])
            elif deed == "sum up" and op is not None:
                user(session, "user", op, span)
            elif deed == "look":
                standing(session)  # sometimes often, sometimes after much has happened
        except AppendRefused:
            continue
    found, (nodes_found, snapshot) = standing(session), walked(session)
    assert (found.system, found.snapshot) == (nodes_found, snapshot)
    assert found.had_snapshot == any(
        event.type == "user/message" and event.data["source"]["kind"] == SNAPSHOT_KIND
        for event in session.events()
    )
    again = Standing(session)
    assert (again.system, again.snapshot) == (found.system, found.snapshot)


def test_it_is_forgotten_with_its_session() -> None:
    session = fresh()
    system(session, "Ada")
    known = weakref.ref(standing(session))
    assert known() is standing(session)
    del session
    gc.collect()
    assert known() is None

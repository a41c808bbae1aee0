"""Small logs, said shortly."""

from collections.abc import Iterable
from typing import Any

import pytest

from engine.errors import AppendRefused
from engine.session import (
    Event,
    FrozenDict,
    Header,
    Session,
    Sessions,
    assistant_message,
    freeze,
    system_message,
    tool_call_block,
    tool_message,
    user_message,
)

COMPLETED = {"kind": "completed"}


class Ticks:
    """A clock that says 1000, 1001, 1002, … milliseconds."""

    def __init__(self) -> None:
        self.now = 999

    def __call__(self) -> int:
        self.now += 1
        return self.now


def live(session_id: str = "s", **options: Any) -> Session:
    """A live session without validators."""
    return Sessions(clock=Ticks(), **options).create(session_id)


def say(session: Session, message_id: str, text: str = "hi", **metadata: Any) -> Event:
    """Append a user message, at the tail unless told otherwise."""
    return session.append(
        "user/message", user_message(message_id, text), **{"surface_op": "append", **metadata}
    )


def prompt(
    session: Session, message_id: str = "sys", text: str = "P", turn: int = 1, step: int = 1, **metadata: Any
) -> Event:
    data = {"turn": turn, "step": step, "message": system_message(message_id, text)}
    return session.append("system/message", data, **{"surface_op": "append", **metadata})


def reply(
    session: Session,
    message_id: str,
    text: str = "hello",
    turn: int = 1,
    step: int = 1,
    calls: Iterable[str] = (),
    **more: Any,
) -> Event:
    content = [tool_call_block(call, "dice", "{}") for call in calls] or text
    message = assistant_message(message_id, content, provider="p", model="m")
    data = {"turn": turn, "step": step, "message": message, "stream": [], **more}
    return session.append("assistant/message", data, surface_op="append")


def call(session: Session, call_id: str, turn: int = 1, step: int = 1) -> Event:
    data = {"turn": turn, "step": step, "callId": call_id, "name": "dice", "arguments": "{}"}
    return session.append("tool/call", data)


def result(
    session: Session,
    message_id: str,
    call_id: str,
    text: str = "6",
    turn: int = 1,
    step: int = 1,
    **metadata: Any,
) -> Event:
    data = {"turn": turn, "step": step, "message": tool_message(message_id, call_id, text)}
    return session.append("tool/result", data, **{"surface_op": "append", **metadata})


def replace(start: int, end: int) -> dict[str, Any]:
    return {"op": "replace", "startSeq": start, "endSeq": end}


def open_step(session: Session, turn: int = 1, step: int = 1) -> None:
    if step == 1:
        session.append("turn/start", {"turn": turn})
    session.append("step/start", {"turn": turn, "step": step})


def close_turn(session: Session, turn: int = 1, step: int = 1) -> None:
    session.append("step/end", {"turn": turn, "step": step})
    session.append("turn/end", {"turn": turn, "reason": COMPLETED})


def exchange(session: Session, turn: int = 1) -> None:
    """A whole turn: in the first one six events with the prompt at seq 2, later ones without it."""
    open_step(session, turn)
    if turn == 1:
        prompt(session)
    say(session, f"u{turn}", f"question {turn}")
    reply(session, f"a{turn}", f"answer {turn}", turn=turn)
    close_turn(session, turn)


def ids(session: Session) -> list[str]:
    """The ids of the model's history."""
    return [message["id"] for message in session.derive()]


def nodes(session: Session) -> list[int]:
    return list(session.surface.nodes)


def state(session: Session) -> tuple[Any, ...]:
    """Everything that a refused append must leave as it was."""
    surface = session.surface
    return (
        session.seq,
        list(session.events()),
        list(surface.nodes),
        surface.replace_generation,
        surface.content_generation,
        list(session.derive()),
        session.request_header(),
        session.request_context(),
    )


def header(session_id: str = "s", **fields: Any) -> Header:
    return Header(session_id, **{"created_at": 5, **fields})


def event(seq: int, type: str, data: dict[str, Any], **metadata: Any) -> Event:
    """An event as storage would hand it out, at time 100 + seq."""
    frozen = freeze(data)
    assert isinstance(frozen, FrozenDict)
    return Event(type, seq, 100 + seq, frozen, **metadata)


class refused:
    """`with refused(session, 'category'):` the append inside is refused for that, and changes nothing."""

    def __init__(self, session: Session, category: str) -> None:
        self._session = session
        self._category = category
        self._raises = pytest.raises(AppendRefused)

    def __enter__(self) -> None:
        self._before = state(self._session)
        self._info = self._raises.__enter__()

    def __exit__(self, *failure: Any) -> bool | None:
        handled = self._raises.__exit__(*failure)
        assert self._info.value.category == self._category
        assert state(self._session) == self._before
        return handled

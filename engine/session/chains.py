"""Small families of events that refer to each other: titles, commands, retries.

Source: session spec 1.3, 6.2, 11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.session.companion import Position
from engine.session.event import Event
from engine.session.frozen import is_seq
from engine.session.objection import object_to
from engine.session.surface import Surface

__all__ = ["Commands", "Retries", "Titles"]

Check = Callable[[Event], None]


def _earlier(surface: Surface, seq: object) -> Event | None:
    """The event of the log that a candidate names, if there is one."""
    log = surface.log
    return log[seq] if is_seq(seq) and seq < len(log) else None


class Titles:
    """A generated title cites the human messages it was made from; a person's own title cites none."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self.checks: Mapping[str, Check] = {"session/title": self._check_title}

    def _check_title(self, event: Event) -> None:
        cited = event.data["messageSeqs"]
        if len(set(cited)) != len(cited) or not all(map(self._is_human, cited)):
            object_to("messageSeqs must be distinct earlier messages of a person")
        if (event.data["source"]["kind"] == "user") is not (not cited):
            object_to("messageSeqs are empty exactly for a person's own title")

    def _is_human(self, seq: object) -> bool:
        event = _earlier(self._surface, seq)
        return event is not None and event.type == "user/message" and event.data["source"]["kind"] == "user"


class Commands:
    """A command runs once and is done once."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._done: dict[str, bool] = {}
        self.checks: Mapping[str, Check] = {"command/run": self._check_run, "command/done": self._check_done}
        self.followers: Mapping[str, Check] = {
            "command/run": self._follow_run,
            "command/done": self._follow_done,
        }

    def _check_run(self, event: Event) -> None:
        if event.data["commandId"] in self._done:
            object_to(f"the command {event.data['commandId']} ran already")

    def _check_done(self, event: Event) -> None:
        if self._done.get(event.data["commandId"]) is not False:
            object_to(f"no command {event.data['commandId']} runs")
        if "sourceEventSeq" in event.data:
            source = _earlier(self._surface, event.data["sourceEventSeq"])
            if event.data["kind"] != "success" or source is None or source.type in self.checks:
                object_to("sourceEventSeq names an earlier event that is no command, after a success")

    def _follow_run(self, event: Event) -> None:
        self._done[event.data["commandId"]] = False

    def _follow_done(self, event: Event) -> None:
        self._done[event.data["commandId"]] = True


class Retries:
    """The retries of a step count up from 1 and use the provider of the request they repeat."""

    def __init__(self, position: Position) -> None:
        self._position = position
        self._provider: str | None = None
        self._last: Mapping[str, Any] | None = None
        self._waiting = False
        self.checks: Mapping[str, Check] = {
            "request/header": self._check_header,
            "llm/retry": self._check_retry,
            "llm/retry-started": self._check_started,
        }
        self.followers: Mapping[str, Check] = {
            "request/header": self._follow_header,
            "llm/retry": self._follow_retry,
            "llm/retry-started": self._follow_started,
        }

    def _check_header(self, event: Event) -> None:
        if type(event.data["header"]["config"]["provider"]) is not str:
            object_to("a request goes to a provider")

    def _check_retry(self, event: Event) -> None:
        data, last = event.data, self._last
        if data["turn"] != self._position.turn or data["step"] != self._position.last_step:
            object_to("a retry belongs to the open turn and its last step")
        if data["provider"] != self._provider:
            object_to(f"the last request went to {self._provider}")
        again = last is not None and all(
            last[key] == data[key] for key in ("turn", "step", "provider", "policyKey")
        )
        if data["retry"] != (last["retry"] + 1 if again and last is not None else 1):
            object_to("retries of one request count up from 1")

    def _check_started(self, event: Event) -> None:
        if not self._waiting or self._last is None:
            object_to("no retry waits")
        if any(event.data[key] != self._last[key] for key in ("retryId", "turn", "step", "retry")):
            object_to("this is not the retry that waits")

    def _follow_header(self, event: Event) -> None:
        self._provider = event.data["header"]["config"]["provider"]

    def _follow_retry(self, event: Event) -> None:
        self._last, self._waiting = event.data, True

    def _follow_started(self, event: Event) -> None:
        self._waiting = False

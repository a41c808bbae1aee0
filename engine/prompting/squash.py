"""Runs of system messages made one. Source: sillytavern spec 3.3.13."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from engine.prompting.message import GROUP_NUDGE, NEW_CHAT, NEW_EXAMPLE, PromptMessage

__all__ = ["squash"]

_APART: Final = frozenset({NEW_CHAT, NEW_EXAMPLE, GROUP_NUDGE})


def squash(messages: Iterable[PromptMessage]) -> list[PromptMessage]:
    """Consecutive system messages joined by a line break. Named ones (examples), headers and the nudge of a
    group stay by themselves; empty system messages are left out."""
    found: list[PromptMessage] = []
    for message in messages:
        if message.role == "system" and not message.content:
            continue
        if found and _joins(found[-1]) and _joins(message):
            last = found[-1]
            found[-1] = replace(
                last,
                content=f"{last.content}\n{message.content}",
                parts=(*last.parts, *message.parts),
                lines=(*last.lines, *message.lines),
            )
        else:
            found.append(message)
    return found


def _joins(message: PromptMessage) -> bool:
    return message.role == "system" and not message.name and message.source not in _APART

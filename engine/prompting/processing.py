"""What is done to the messages for a provider's sake. Source: sillytavern spec 3.3.15.

`merge` joins consecutive messages of one role and says names in the text; `semi` also lets the system speak
only at the beginning; `strict` also lets the user speak first; `single` makes everything one message of the
user. The `_tools` variants keep calls of tools and their results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from engine.prompting.examples import Cast
from engine.prompting.message import PromptMessage, one
from engine.prompting.settings import PostProcessing

__all__ = ["PLACEHOLDER", "post_process"]

PLACEHOLDER: Final = "Let's get started."
"""What the user is made to say where a provider wants that and nobody has: SillyTavern's default."""

_FILLER: Final = "placeholder"


def post_process(
    messages: Sequence[PromptMessage], how: PostProcessing, cast: Cast, *, placeholder: str = PLACEHOLDER
) -> tuple[PromptMessage, ...]:
    """The messages as a provider gets them. `cast` gives the names that are said in the text."""
    if not how:
        return tuple(messages)
    kind, tools = how.removesuffix("_tools"), how.endswith("_tools")
    found = _merged(
        (_plain(message, cast, tools=tools, single=kind == "single") for message in messages), placeholder
    )
    if kind == "merge":
        return tuple(found)
    found = [
        replace(message, role="user") if at and message.role == "system" else message
        for at, message in enumerate(found)
    ]
    if kind == "strict":
        found = _user_first(found, placeholder)
    return tuple(_merged(found, placeholder))


def _plain(message: PromptMessage, cast: Cast, *, tools: bool, single: bool) -> PromptMessage:
    """Without a name, which stands in the text then."""
    text, role = message.content, message.role
    if role == "system":
        if message.name == "example_assistant":
            text = _as_character(text, cast)
        elif message.name == "example_user":
            text = _as(cast.user, text)
    elif message.name:
        text = _as(message.name, text)
    if role == "tool" and not tools:
        role = "user"
    if single:
        if role == "assistant":
            text = _as_character(text, cast)
        elif role == "user":
            text = _as(cast.user, text)
        role = "user"
    return replace(
        message,
        role=role,
        content=text,
        name="",
        tool_calls=message.tool_calls if tools else (),
        tool_call_id=message.tool_call_id if tools else "",
    )


def _as(name: str, text: str) -> str:
    return text if not name or text.startswith(f"{name}: ") else f"{name}: {text}"


def _as_character(text: str, cast: Cast) -> str:
    named = any(text.startswith(f"{member}: ") for member in cast.group)
    return text if named else _as(cast.char, text)


def _merged(messages: Iterable[PromptMessage], placeholder: str) -> list[PromptMessage]:
    """Consecutive messages of one role joined by a blank line; results of tools stay apart."""
    found: list[PromptMessage] = []
    for message in messages:
        last = found[-1] if found else None
        if last is not None and last.role == message.role and message.content and message.role != "tool":
            found[-1] = replace(
                last,
                content=f"{last.content}\n\n{message.content}",
                parts=(*last.parts, *message.parts),
                lines=(*last.lines, *message.lines),
            )
        else:
            found.append(message)
    return found or [one("user", placeholder, _FILLER)]


def _user_first(messages: list[PromptMessage], placeholder: str) -> list[PromptMessage]:
    """With the user as the first who is not the system."""
    filler = one("user", placeholder, _FILLER)
    first = messages[0].role
    if first == "system" and (len(messages) == 1 or messages[1].role != "user"):
        return [messages[0], filler, *messages[1:]]
    if first not in ("system", "user"):
        return [filler, *messages]
    return messages

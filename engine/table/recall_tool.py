"""The tool `recall`: finds what was said earlier in this story, and what its world books know.

The story is what people saw of it, also the part that a fork inherited and that a summary took the place
of. The turn that is being answered is left out: its words are what the model has before it anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from engine.agent.tools import Tool, ToolArguments, ToolCall, ToolOutcome
from engine.errors import InputError
from engine.session import Event, Message, message_text, transcript
from engine.table.books import Shelf, ShelfSource
from engine.table.search import Passage, excerpt, find, terms

__all__ = ["RECALL", "recall_tool"]

RECALL = "recall"
QUERY_LIMIT = 200
MOST_HITS = 6
EXCERPT = 240  # code points; six of them are some 400 tokens, 1,500 in Chinese
SEARCHED = 2_000_000
"""Code points of story, the newest, and as many of lore: about a thousand long evenings, searched in a
tenth of a second."""


class RecallArguments(ToolArguments):
    """What to look for, and where."""

    query: str = Field(
        min_length=1,
        max_length=QUERY_LIMIT,
        description="Words that stand in what you look for: names, places, things. Not a question.",
    )
    where: Literal["story", "lore", "both"] = Field(
        default="both", description="Search what was said in this story, its world books, or both."
    )


def recall_tool(shelf_of: ShelfSource) -> Tool:
    """The tool over the session's own log and the books that `shelf_of` gives."""

    async def body(arguments: RecallArguments, call: ToolCall) -> ToolOutcome:
        if not terms(arguments.query):
            raise InputError("The query needs at least one word.", code="RECALL_QUERY")
        shelf = await shelf_of(call.session_id)
        story = _story(call.events(), shelf) if arguments.where != "lore" else []
        searched = shelf if arguments.where != "story" else None
        # A long story takes a tenth of a second, and the loop has others to serve.
        return ToolOutcome(await asyncio.to_thread(_answer, arguments.query, story, searched))

    return Tool(
        name=RECALL,
        description="Search this story's past and its world books for names, places, promises or things that "
        "you are no longer sure of. Returns short excerpts and where they come from. The players do not see "
        "it.",
        body=body,
        arguments=RecallArguments,
        parallel=True,
    )


def _answer(query: str, story: Sequence[Passage], shelf: Shelf | None) -> str:
    passages = [*story, *(_lore(shelf) if shelf is not None else ())]
    hits = find(query, passages, MOST_HITS)
    if not hits:
        return f"Nothing was found for “{query}”."
    lines = [f"Found for “{query}”:"]
    for hit in hits:
        passage = passages[hit.index]
        lines.append(f"- [{passage.place}] {excerpt(passage.text, hit.first, EXCERPT)}")
    return "\n".join(lines)


def _story(events: Sequence[Event], shelf: Shelf) -> list[Passage]:
    """What was said before the open turn, oldest first; of a very long story the newest part."""
    opened = next((event.seq for event in reversed(events) if event.type == "turn/start"), len(events))
    said: list[tuple[int, Event]] = []
    turn = 0
    for event in events[:opened]:
        turn = event.data["turn"] if event.type == "turn/start" else turn
        if event.type in ("user/message", "assistant/message"):
            said.append((turn, event))
    shown = {event.seq for event in transcript(event for _, event in said)}
    passages: list[Passage] = []
    room = SEARCHED
    for turn, event in reversed(said):
        found = _said(event, shelf) if event.seq in shown else None
        if found is None:
            continue
        speaker, text = found
        room -= len(text)
        if room < 0:
            break
        passages.append(Passage(f"story, turn {turn}, {speaker}", text))
    passages.reverse()
    return passages


def _said(event: Event, shelf: Shelf) -> tuple[str, str] | None:
    """Who said what; None for what nobody said."""
    if event.type == "assistant/message":
        text = message_text(event.data["message"])
        return (shelf.char, text) if text.strip() else None
    if event.type != "user/message":
        return None
    message: Message = event.data
    source = message["source"]
    if source.get("kind") != "user":
        return None
    return str(source.get("persona") or shelf.user), str(source.get("text") or message_text(message))


def _lore(shelf: Shelf) -> list[Passage]:
    found: list[Passage] = []
    room = SEARCHED
    for book, entry in shelf.entries():
        room -= len(entry.content)
        if room < 0:
            break
        if entry.enabled and entry.content.strip():
            # An entry's title and keys say what it is about, often in words that its text leaves out.
            about = ", ".join(dict.fromkeys((entry.label, *entry.keys)))
            text = f"({about}) {shelf.spoken(entry.content)}"
            found.append(Passage(f"lore, {book.name}, {entry.label}", text))
    return found

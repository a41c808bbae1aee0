"""Chats as SillyTavern keeps them: a header and one JSON object a line.

A line's object is kept as it came, so that a chat that is written again is the one that was
read. Lines that are no JSON are counted and reported, never dropped in silence. Source:
spec sillytavern 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from engine.codec import JsonObject
from engine.errors import ResourceError
from engine.resources.chat_date import moment_of
from engine.resources.chat_dialect import chats_of, flattened
from engine.resources.diagnostic import Diagnostic, Diagnostics
from engine.resources.document import DocumentKind, check_shape, read_document

__all__ = ["CHAT", "Chat", "ChatLine", "read_chats", "write_chat"]

CHAT = DocumentKind(
    noun="a chat",
    invalid="CHAT_INVALID",
    too_large="CHAT_TOO_LARGE",
    max_bytes=32 * 1024 * 1024,  # a year of daily play with swipes is about 10 MiB
)

MAX_LINES = 100_000
_NAMELESS = "unused"  # what newer files write for both names


@dataclass(frozen=True, slots=True)
class ChatLine:
    """One message. `text` is what is shown; `swipes` are all answers, `swipe` the shown one's place.

    `sent_at` is epoch ms, None when the file says nothing that can be read. `hidden` ones were not
    part of the prompt. `speaker` is the file of a group member's card.
    """

    name: str
    is_user: bool
    text: str
    raw: JsonObject
    hidden: bool = False
    swipes: tuple[str, ...] = ()
    swipe: int = 0
    sent_at: int | None = None
    reasoning: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat: its header's metadata, and its lines. `header` is empty when the file had none."""

    header: JsonObject
    lines: tuple[ChatLine, ...]
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def metadata(self) -> JsonObject:
        """`chat_metadata` of the header."""
        found = self.header.get("chat_metadata")
        return found if isinstance(found, Mapping) else {}

    @property
    def character_name(self) -> str:
        """Who the chat is with: by the header, else whoever spoke first and is no user."""
        name = self.header.get("character_name")
        if isinstance(name, str) and name not in ("", _NAMELESS):
            return name
        return next((line.name for line in self.lines if not line.is_user and not line.hidden), "")


def read_chats(
    data: bytes, *, user: str = "User", character: str = "Character", now: str = ""
) -> tuple[Chat, ...]:
    """The chats of a file: one, except in exports that hold several.

    Reads JSONL and the exports of KoboldLite, Character.AI tools, text-generation-webui, Agnai, Risu
    and Chub. `user` and `character` name speakers whom the file does not name, `now` (ISO 8601) is
    the date of messages that have none there. Raises ResourceError CHAT_INVALID or CHAT_TOO_LARGE.
    """
    notes = Diagnostics()
    whole = _whole_document(data, notes)
    if whole is not None:
        found = chats_of(whole, user=user, character=character, now=now)
        if found is not None:
            return tuple(_chat(lines, notes) for lines in found)
    return (_chat(_lines(data, notes), notes),)


def write_chat(header: JsonObject, lines: Iterable[JsonObject]) -> bytes:
    """JSONL as SillyTavern writes it: the header, then a line each, no newline at the end."""
    return b"\n".join(orjson.dumps(item) for item in (header, *lines))


def _whole_document(data: bytes, notes: Diagnostics) -> Any:
    """The one JSON object that the file is, or None when it is lines."""
    first = data[: data.find(b"\n")] if b"\n" in data else data
    try:
        orjson.loads(first.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError:
        pass  # a pretty-printed document, or a first line that is broken
    else:
        if b"\n" in data.strip():
            return None
    try:
        found = read_document(data, CHAT, notes)
    except ResourceError as error:
        if error.error_code == CHAT.too_large:
            raise
        return None
    return found if isinstance(found, Mapping) else None


def _lines(data: bytes, notes: Diagnostics) -> list[JsonObject]:
    if len(data) > CHAT.max_bytes:
        raise ResourceError(
            f"A chat may have {CHAT.max_bytes // 1048576} MiB.", code=CHAT.too_large, bytes=len(data)
        )
    rows = [row for row in data.removeprefix(b"\xef\xbb\xbf").splitlines() if row.strip()]
    if len(rows) > MAX_LINES:
        raise ResourceError(f"A chat may have {MAX_LINES:,} lines.", code=CHAT.too_large, lines=len(rows))
    found, broken = [], []
    for number, row in enumerate(rows, 1):
        try:
            value = orjson.loads(row)
        except orjson.JSONDecodeError:
            value = None
        if isinstance(value, dict) and check_shape(value).depth <= CHAT.max_depth:
            found.append(flattened(value))
        else:
            broken.append(number)
    if broken:
        notes.warn(
            "chat-lines-broken",
            "{count} lines could not be read and were left out; the first is line {line}.",
            count=len(broken),
            line=broken[0],
        )
    if not any("mes" in line for line in found):
        raise ResourceError(
            "This is no chat: not one line of it is a message.", code=CHAT.invalid, lines=len(rows)
        )
    return found


def _chat(objects: Sequence[JsonObject], notes: Diagnostics) -> Chat:
    header: JsonObject = {}
    if objects and "mes" not in objects[0]:
        header, objects = objects[0], objects[1:]
    else:
        notes.info("chat-header-missing", "The chat has no header; it was read without one.")
    lines = tuple(_line(item, notes) for item in objects if "mes" in item)
    return Chat(header, lines, notes.all())


def _line(raw: JsonObject, notes: Diagnostics) -> ChatLine:
    text = _text(raw.get("mes"))
    swipes = tuple(_text(item) for item in _list(raw.get("swipes")))
    swipe = raw.get("swipe_id")
    swipe = swipe if isinstance(swipe, int) and not isinstance(swipe, bool) else 0
    if swipes:
        # One beyond the end means that it was being written when the file was saved.
        swipe = min(max(swipe, 0), len(swipes) - 1)
        swipes = (*swipes[:swipe], text, *swipes[swipe + 1 :])  # what stands there is what was read
    extra = raw.get("extra")
    extra = extra if isinstance(extra, Mapping) else {}
    sent = raw.get("send_date")
    moment = moment_of(sent)
    if moment is None and sent not in (None, ""):
        notes.info("chat-date-unknown", "A date could not be read: {date}.", date=str(sent)[:60])
    return ChatLine(
        name=_text(raw.get("name")),
        is_user=raw.get("is_user") is True,
        text=text,
        raw=raw,
        hidden=raw.get("is_system") is True,
        swipes=swipes,
        swipe=swipe if swipes else 0,
        sent_at=moment,
        reasoning=_text(extra.get("reasoning")),
        speaker=_text(raw.get("original_avatar")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()

"""The structure of message components: walking, finding, numbering, showing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bot.sandbox.store import Record

__all__ = [
    "ACTION_ROW", "BUTTON", "CHECKBOX", "CHECKBOX_GROUP", "CONTAINER", "FILE", "FILE_UPLOAD", "GALLERY",
    "LABEL", "RADIO_GROUP", "SECTION", "SELECTS", "SEPARATOR", "STRING_SELECT", "TEXT", "TEXT_INPUT",
    "THUMBNAIL", "find", "number", "show", "walk", "without_nulls", "words",
]  # fmt: skip

ACTION_ROW, BUTTON, STRING_SELECT, TEXT_INPUT = 1, 2, 3, 4
USER_SELECT, ROLE_SELECT, MENTIONABLE_SELECT, CHANNEL_SELECT = 5, 6, 7, 8
SECTION, TEXT, THUMBNAIL, GALLERY, FILE, SEPARATOR = 9, 10, 11, 12, 13, 14
CONTAINER, LABEL, FILE_UPLOAD = 17, 18, 19
RADIO_GROUP, CHECKBOX_GROUP, CHECKBOX = 21, 22, 23
SELECTS = (STRING_SELECT, USER_SELECT, ROLE_SELECT, MENTIONABLE_SELECT, CHANNEL_SELECT)

_ATTACHED = "attachment://"


def walk(components: list[Record], path: str = "components") -> Iterator[tuple[str, Record]]:
    """Every component with its dotted path, parents first; labels' and sections' parts too."""
    for index, component in enumerate(components):
        here = f"{path}.{index}"
        yield from _walk_one(here, component)


def _walk_one(path: str, component: Any) -> Iterator[tuple[str, Record]]:
    if not isinstance(component, dict):
        return
    yield path, component
    if isinstance(component.get("components"), list):
        yield from walk(component["components"], f"{path}.components")
    for key in ("accessory", "component"):
        if isinstance(component.get(key), dict):
            yield from _walk_one(f"{path}.{key}", component[key])


def find(components: list[Record], custom_id: str) -> Record | None:
    """The component with this custom_id."""
    return next((c for _, c in walk(components) if c.get("custom_id") == custom_id), None)


def words(components: list[Record]) -> str:
    """The text of all text displays, one a line."""
    return "\n".join(c["content"] for _, c in walk(components) if c.get("type") == TEXT)


def without_nulls(value: Any) -> Any:
    """The same components without null fields: Discord takes null for "not given"."""
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


def number(components: list[Record]) -> None:
    """Give every component a numeric id, keeping the sender's own ones (so Discord returns them)."""
    taken = {c["id"] for _, c in walk(components) if c.get("id")}
    free = 1
    for _, component in walk(components):
        if not component.get("id"):
            while free in taken:
                free += 1
            component["id"] = free
            taken.add(free)


def show(message: Record, link: Callable[[str], str]) -> list[Record]:
    """A message's components as sent out: media that point at attachments get their links."""
    attachments = {a["filename"]: a for a in message["attachments"]}

    def render(value: Any) -> Any:
        if isinstance(value, list):
            return [render(item) for item in value]
        if not isinstance(value, dict):
            return value
        url = value.get("url")
        if isinstance(url, str) and url.startswith(_ATTACHED):
            return _media(attachments.get(url[len(_ATTACHED) :]), value, link)
        return {key: render(item) for key, item in value.items()}

    shown: list[Record] = render(message["components"])
    for _, component in walk(shown):
        if component.get("type") == FILE and component["file"].get("attachment_id"):
            name = component["file"].pop("filename")
            component |= {"name": name, "size": attachments[name]["size"]}
    return shown


def _media(attachment: Record | None, value: Record, link: Callable[[str], str]) -> Record:
    if attachment is None:
        return value
    url = link(attachment["path"])
    return {
        "url": url,
        "proxy_url": url,
        "attachment_id": attachment["id"],
        "filename": attachment["filename"],
        "content_type": attachment["content_type"],
        "width": attachment.get("width"),
        "height": attachment.get("height"),
        "loading_state": 2,
        "placeholder": "",
    }

"""Chats of other programs, told by the shape of their JSON and made into SillyTavern's lines.

Source: spec sillytavern 7. Each maker takes the document and gives one list of lines a chat, the
header first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.codec import JsonObject
from engine.resources.chat_date import iso_of, moment_of

__all__ = ["chats_of", "flattened"]

_INPUT, _OUTPUT = "{{[INPUT]}}", "{{[OUTPUT]}}"  # KoboldLite's marks of who speaks
_NEXT_OPPONENT = "||$||"


@dataclass(frozen=True, slots=True)
class _Names:
    user: str
    character: str
    now: str

    def line(self, is_user: bool, text: Any, *, name: Any = None, at: Any = None) -> JsonObject:
        moment = moment_of(at)
        return {
            "name": name if isinstance(name, str) and name else self.user if is_user else self.character,
            "is_user": is_user,
            "send_date": self.now if moment is None else iso_of(moment),
            "mes": text if isinstance(text, str) else "",
            "extra": {},
        }


Lines: TypeAlias = list[JsonObject]
_Maker: TypeAlias = Callable[[Mapping[str, Any], _Names], list[Lines]]


def chats_of(document: Mapping[str, Any], *, user: str, character: str, now: str) -> list[Lines] | None:
    """The chats of a document of a known dialect; None for one that is none of them."""
    names = _Names(user, character, now)
    for made_by, maker in _DIALECTS:
        if made_by(document):
            return [[_header(), *lines] for lines in maker(document, names)]
    return None


def flattened(line: JsonObject) -> JsonObject:
    """A line as it is, or one of Chub's, whose texts are objects with a `message`."""
    changed = dict(line)
    if isinstance(line.get("mes"), Mapping):
        changed["mes"] = _message(line["mes"])
    swipes = line.get("swipes")
    if isinstance(swipes, list) and any(isinstance(swipe, Mapping) for swipe in swipes):
        changed["swipes"] = [_message(swipe) for swipe in swipes]
    return changed if changed != line else line


def _message(value: Any) -> Any:
    return value.get("message", "") if isinstance(value, Mapping) else value


def _header() -> JsonObject:
    return {"chat_metadata": {}, "user_name": "unused", "character_name": "unused"}


def _kobold(document: Mapping[str, Any], names: _Names) -> list[Lines]:
    saved = document["savedsettings"]
    named = _Names(
        str(saved.get("chatname") or names.user),
        str(saved.get("chatopponent") or names.character).split(_NEXT_OPPONENT)[0],
        names.now,
    )
    texts = [document.get("prompt") or None, *_items(document.get("actions"))]
    return [[_kobold_line(text, named) for text in texts if isinstance(text, str)]]


def _kobold_line(text: str, names: _Names) -> JsonObject:
    return names.line(_INPUT in text, text.replace(_INPUT, "").replace(_OUTPUT, "").strip())


def _character_ai(document: Mapping[str, Any], names: _Names) -> list[Lines]:
    return [
        [
            names.line(_object(message.get("src")).get("is_human") is True, message.get("text"))
            for message in _objects(history.get("msgs"))
        ]
        for history in _objects(document["histories"].get("histories"))
    ]


def _ooba(document: Mapping[str, Any], names: _Names) -> list[Lines]:
    lines = []
    for pair in _items(document["data_visible"]):
        said, answered = (*_items(pair), None, None)[:2]
        lines += [names.line(True, said)] if said else []
        lines += [names.line(False, answered)] if answered else []
    return [lines]


def _agnai(document: Mapping[str, Any], names: _Names) -> list[Lines]:
    messages = _objects(document["messages"])
    return [[names.line(bool(message.get("userId")), message.get("msg")) for message in messages]]


def _risu(document: Mapping[str, Any], names: _Names) -> list[Lines]:
    messages = _objects(_object(document.get("data")).get("message"))
    return [
        [
            names.line(
                message.get("role") == "user",
                message.get("data"),
                name=message.get("name"),
                at=message.get("time"),
            )
            for message in messages
        ]
    ]


_DIALECTS: tuple[tuple[Callable[[Mapping[str, Any]], bool], _Maker], ...] = (
    (lambda document: isinstance(document.get("savedsettings"), Mapping), _kobold),
    (lambda document: isinstance(document.get("histories"), Mapping), _character_ai),
    (lambda document: isinstance(document.get("data_visible"), list), _ooba),
    (lambda document: isinstance(document.get("messages"), list), _agnai),
    (lambda document: document.get("type") == "risuChat", _risu),
)


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    return (item for item in _items(value) if isinstance(item, Mapping))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

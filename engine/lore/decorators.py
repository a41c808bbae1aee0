"""Decorators: lines that begin with `@@` before an entry's text, and what they ask for.

`@@@` lines are fallbacks of the decorator above them that is not known here. SillyTavern
knows two decorators and drops the others; the V3 specification has many. Which set is in
force is a setting. Source: spec sillytavern 2.9, 12.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from engine.lore.rules import DecoratorSet, Quirk
from engine.resources import Entry

__all__ = ["NONE", "Decorated", "Decorators", "decorated"]


@dataclass(frozen=True, slots=True)
class Decorators:
    """What the decorators of an entry say. Counts are of assistant messages, greetings count from 0.

    `dropped_first` marks an entry to leave out when the context is full, `disables` names prompts that
    are not sent while the entry is active (`system_prompt`, `post_history_instructions`). `from_top` is
    a depth that counts from the first message. `unknown` were ignored.
    """

    activate: bool = False
    dont_activate: bool = False
    only_after: int | None = None
    only_every: int | None = None
    keep_after_match: bool = False
    not_after_match: bool = False
    greeting: int | None = None
    additional_keys: tuple[tuple[str, ...], ...] = ()
    exclude_keys: tuple[str, ...] = ()
    dropped_first: bool = False
    disables: frozenset[str] = frozenset()
    from_top: int | None = None
    unknown: tuple[str, ...] = ()


NONE: Final = Decorators()


@dataclass(frozen=True, slots=True)
class Decorated:
    """An entry as its decorators leave it: content without them, place and depth as they say."""

    entry: Entry
    decorators: Decorators


def decorated(entry: Entry, known: DecoratorSet, quirks: frozenset[Quirk]) -> Decorated:
    """Read the decorators of an entry. An entry without any comes back as it is."""
    content = entry.content
    if "@@" not in content:
        return Decorated(entry, NONE)
    if known == "sillytavern":
        return _sillytavern(entry, quirks)
    lines = content.lstrip("\n").split("\n")
    names, rest = _split(lines, blank_between=True)
    if not names:
        return Decorated(entry, NONE)
    entry = replace(entry, content="\n".join(rest).lstrip("\n"))
    return _applied(entry, names)


def _split(lines: Sequence[str], *, blank_between: bool) -> tuple[list[str], list[str]]:
    """The leading decorator lines, and what follows."""
    taken: list[str] = []
    for index, line in enumerate(lines):
        if line.startswith("@@"):
            taken.append(line)
        elif not (blank_between and taken and not line.strip()):
            return taken, list(lines[index:])
    return taken, []


def _sillytavern(entry: Entry, quirks: frozenset[Quirk]) -> Decorated:
    lines, rest = _split(entry.content.split("\n"), blank_between=False)
    if not lines:
        return Decorated(entry, NONE)
    if rest or Quirk.ONLY_DECORATORS_STAY not in quirks:
        entry = replace(entry, content="\n".join(rest))
    by_prefix = Quirk.DECORATOR_PREFIX in quirks

    def is_known(line: str) -> bool:
        return line.startswith(_SILLYTAVERN) if by_prefix else line in _SILLYTAVERN

    chosen, unknown = _chosen(lines, is_known)
    return Decorated(
        entry,
        Decorators(
            activate="@@activate" in chosen, dont_activate="@@dont_activate" in chosen, unknown=unknown
        ),
    )


_SILLYTAVERN: Final = ("@@activate", "@@dont_activate")


def _chosen(lines: Sequence[str], is_known: Callable[[str], bool]) -> tuple[list[str], tuple[str, ...]]:
    """The lines that count, fallbacks with two marks; and the names of those that nobody knows."""
    chosen: list[str] = []
    unknown: list[str] = []
    open_chain = False  # the decorator above is not known, so its fallback may stand in
    for line in lines:
        fallback = line.startswith("@@@")
        if fallback and not open_chain:
            continue
        plain = line[1:] if fallback else line
        open_chain = not is_known(plain)
        (unknown if open_chain else chosen).append(plain)
    return chosen, tuple(dict.fromkeys(_name(line)[:60] for line in unknown))


def _name(line: str) -> str:
    return line[2:].split(maxsplit=1)[0] if line[2:].strip() else ""


# -- the V3 set ------------------------------------------------------------------------------------


def _number(value: str) -> int | None:
    return int(value) if re.fullmatch(r"[0-9]{1,6}", value) else None


def _flag(value: str) -> bool | None:
    return True


def _keys(value: str) -> tuple[str, ...] | None:
    return tuple(part for key in value.split(",") if (part := key.strip())) or None


def _one_of(*names: str) -> Callable[[str], str | None]:
    return lambda value: value if value in names else None


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "activate": _flag,
    "dont_activate": _flag,
    "constant": _flag,
    "activate_only_after": _number,
    "activate_only_every": _number,
    "keep_activate_after_match": _flag,
    "dont_activate_after_match": _flag,
    "depth": _number,
    "reverse_depth": _number,
    "role": _one_of("assistant", "system", "user"),
    "scan_depth": _number,
    "is_greeting": _number,
    "position": _one_of("after_desc", "before_desc", "personality", "scenario"),
    "ignore_on_max_context": _flag,
    "additional_keys": _keys,
    "exclude_keys": _keys,
    "disable_ui_prompt": _one_of("system_prompt", "post_history_instructions"),
}
"""A value that its reader does not take makes the decorator an unknown one, so that a fallback may help.

Missing are `instruct_depth`, `reverse_instruct_depth`, `instruct_scan_depth` (a token count for text
completion, which we do not do) and `is_user_icon` (personas have no named pictures).
"""

_REPEATABLE: Final = ("additional_keys", "exclude_keys", "disable_ui_prompt")


def _read(line: str) -> Any:
    name, _, value = line[2:].strip().partition(" ")
    reader = _READERS.get(name)
    return None if reader is None else reader(value.strip())


def _applied(entry: Entry, lines: Sequence[str]) -> Decorated:
    chosen, unknown = _chosen(lines, lambda line: _read(line) is not None)
    said: dict[str, Any] = {}
    lists: dict[str, list[Any]] = {name: [] for name in _REPEATABLE}
    for line in chosen:
        name = _name(line)
        if name in lists:
            lists[name].append(_read(line))
        else:
            said.setdefault(name, _read(line))  # only the first of a repeated one counts
    decorators = Decorators(
        activate="activate" in said,
        dont_activate="dont_activate" in said,
        only_after=said.get("activate_only_after"),
        only_every=said.get("activate_only_every") or None,
        keep_after_match="keep_activate_after_match" in said,
        not_after_match="dont_activate_after_match" in said,
        greeting=said.get("is_greeting"),
        additional_keys=tuple(lists["additional_keys"]),
        exclude_keys=tuple(key for keys in lists["exclude_keys"] for key in keys),
        dropped_first="ignore_on_max_context" in said,
        disables=frozenset(lists["disable_ui_prompt"]),
        from_top=said.get("reverse_depth"),
        unknown=unknown,
    )
    return Decorated(replace(entry, **_changes(said)), decorators)


def _changes(said: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if "position" in said:
        changes["position"] = "before" if said["position"] == "before_desc" else "after"
    if "depth" in said or "reverse_depth" in said:
        changes |= {"position": "at_depth", "depth": said.get("depth", 0)}
    if "role" in said:
        changes["role"] = said["role"]
    if "scan_depth" in said:
        changes["scan_depth"] = said["scan_depth"]
    if "constant" in said:
        changes["constant"] = True
    return changes

"""Expands the macros of a trusted text: one pass, left to right, inner first, results are final.

A name that is unknown, or used with the wrong number of arguments, stays as it is written
(the finishing profile `keep`). Texts of users are never expanded: that is the caller's
promise. Source: spec sillytavern 4, decision 18.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone

from engine.macros.chance import roll, seeded_fraction, string_hash
from engine.macros.grammar import Macro, Node, Text, parse

__all__ = ["Expansion", "MacroContext", "evaluate", "expand"]

MAX_OUTPUT = 4 * 1024 * 1024  # characters of one expanded text; a profile may have 2 MiB in all
MAX_REPEAT = 1000  # of {{newline::n}} and {{space::n}}

_TRIM = "\ufdd0"  # a noncharacter: cannot come from a file that was read, and is taken out of the source
_TRIMMED = re.compile(f"(?:\r?\n)*{_TRIM}(?:\r?\n)*")
_ESCAPED = re.compile(r"\\([{}])")
_UTC_OFFSET = re.compile(r"UTC([+-][0-9]{1,2}(?:\.[0-9]{1,2})?)", re.IGNORECASE)
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


@dataclass(frozen=True, slots=True)
class MacroContext:
    """What macros stand for. Field texts are already expanded; `original` serves one use.

    `seed` makes `{{pick}}` stable (the chat id, in SillyTavern); `rng` serves `{{random}}` and `{{roll}}`.
    With `once`, persona and card fields too are empty at their second use in a text.
    """

    user: str = "User"
    char: str = "Assistant"
    persona: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    mes_examples: str = ""
    group: Sequence[str] = ()
    original: str | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    seed: str = ""
    once: bool = False
    rng: random.Random = field(default_factory=random.Random)


@dataclass(frozen=True, slots=True)
class Expansion:
    """The text, the names of the macros that were expanded, and those that stayed."""

    text: str
    used: frozenset[str]
    unknown: frozenset[str]
    cut: bool = False  # the output passed MAX_OUTPUT, and what came after was left out


def expand(text: str, context: MacroContext) -> str:
    """The text with its macros expanded."""
    return evaluate(text, context).text


def evaluate(text: str, context: MacroContext) -> Expansion:
    """As `expand`, telling what was used. Never raises; output and nesting are bounded."""
    if "{" not in text and "<" not in text:
        return Expansion(text, frozenset(), frozenset())
    evaluator = _Evaluator(text.replace(_TRIM, ""), context)
    return evaluator.run()


class _Evaluator:
    def __init__(self, source: str, context: MacroContext) -> None:
        self.source = source
        self.context = context
        self.used: set[str] = set()
        self.unknown: set[str] = set()
        self.original = context.original
        self.room = MAX_OUTPUT
        self.cut = False

    def run(self) -> Expansion:
        text = self.render(parse(self.source))
        text = _ESCAPED.sub(r"\1", _TRIMMED.sub("", text))
        return Expansion(text, frozenset(self.used), frozenset(self.unknown), self.cut)

    def render(self, nodes: Sequence[Node]) -> str:
        return "".join(
            self.source[node.start : node.end] if isinstance(node, Text) else self.macro(node)
            for node in nodes
        )

    def macro(self, macro: Macro) -> str:
        known = _MACROS.get(macro.name)
        if known is None:
            self.unknown.add(macro.name)
            return self.raw(macro)
        fewest, most, function = known
        if not fewest <= len(macro.args) <= most:
            return self.raw(macro)
        args = [self.render(arg).strip() for arg in macro.args]
        result = function(self, macro, args)
        if result is None:
            return self.raw(macro)
        self.used.add(_SAME.get(macro.name, macro.name))
        if len(result) > self.room:
            self.cut = True
            return ""
        self.room -= len(result)
        return result

    def raw(self, macro: Macro) -> str:
        """The macro as written, with the macros inside it expanded."""
        parts: list[str] = []
        at = macro.start
        for arg in macro.args:
            for node in arg:
                parts.append(self.source[at : node.start])
                parts.append(self.render((node,)))
                at = node.end
        parts.append(self.source[at : macro.end])
        return "".join(parts)


_Function = Callable[[_Evaluator, Macro, list[str]], str | None]


def _name(field_name: str) -> _Function:
    return lambda evaluator, macro, args: str(getattr(evaluator.context, field_name))


def _field(field_name: str) -> _Function:
    def read(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str:
        if evaluator.context.once and _SAME.get(macro.name, macro.name) in evaluator.used:
            return ""
        return str(getattr(evaluator.context, field_name))

    return read


def _nothing(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str:
    return ""


def _group(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str:
    return ", ".join(evaluator.context.group) or evaluator.context.char


def _not_char(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str:
    context = evaluator.context
    others = [name for name in context.group if name != context.char]
    return ", ".join(dict.fromkeys((*others, context.user)))


def _original(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str | None:
    """What would stand here; the second use is empty. Not in an override: as written."""
    if evaluator.context.original is None:
        return None
    text, evaluator.original = evaluator.original, ""
    return text


def _repeated(text: str) -> _Function:
    def repeat(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str | None:
        if not args or not args[0]:
            return text
        if not (args[0].isascii() and args[0].isdigit()):
            return None
        return text * min(int(args[0][:6]), MAX_REPEAT)

    return repeat


def _items(macro: Macro, args: list[str]) -> list[str]:
    """The choices: `a::b`, or in one argument `a::b` or a comma list where `\\,` is a comma."""
    if len(args) != 1:
        return args or [""]
    text = args[0]
    if "::" in text:
        return [item.strip() for item in text.split("::")]
    return [item.replace("\0", ",").strip() for item in text.replace("\\,", "\0").split(",")]


def _random(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str:
    items = _items(macro, args)
    return items[min(int(evaluator.context.rng.random() * len(items)), len(items) - 1)]


def _pick(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str:
    """The same choice each time: by the story's seed, the text around it and its place there."""
    items = _items(macro, args)
    whole = string_hash(evaluator.source)
    seed = string_hash(f"{string_hash(evaluator.context.seed)}-{whole}-{macro.start}")
    return items[int(seeded_fraction(str(seed)) * len(items))]


def _roll(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str:
    return roll(args[0], evaluator.context.rng)


def _time(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str | None:
    now = evaluator.context.now
    if args and args[0]:
        offset = _UTC_OFFSET.fullmatch(args[0])
        if offset is None or abs(float(offset[1])) > 16:
            return None
        now = now.astimezone(timezone(timedelta(hours=float(offset[1]))))
    return f"{now.hour % 12 or 12}:{now.minute:02} {'AM' if now.hour < 12 else 'PM'}"


def _date(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str:
    now = evaluator.context.now
    return f"{_MONTHS[now.month - 1]} {now.day}, {now.year}"


def _weekday(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str:
    return _DAYS[evaluator.context.now.weekday()]


def _isotime(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str:
    return f"{evaluator.context.now:%H:%M}"


def _isodate(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str:
    return evaluator.context.now.date().isoformat()


def _trim(evaluator: _Evaluator, macro: Macro, args: list[str]) -> str:
    return _TRIM


# Other names of the same thing.
_SAME: Mapping[str, str] = {
    "chardescription": "description",
    "charpersonality": "personality",
    "charscenario": "scenario",
    "charifnotgroup": "group",
    "comment": "//",
}

# name → (fewest arguments, most, function)
_MACROS: Mapping[str, tuple[int, int, _Function]] = {
    "user": (0, 0, _name("user")),
    "char": (0, 0, _name("char")),
    "group": (0, 0, _group),
    "charifnotgroup": (0, 0, _group),
    "notchar": (0, 0, _not_char),
    "persona": (0, 0, _field("persona")),
    "description": (0, 0, _field("description")),
    "chardescription": (0, 0, _field("description")),
    "personality": (0, 0, _field("personality")),
    "charpersonality": (0, 0, _field("personality")),
    "scenario": (0, 0, _field("scenario")),
    "charscenario": (0, 0, _field("scenario")),
    "mesexamples": (0, 0, _field("mes_examples")),
    "original": (0, 0, _original),
    "//": (0, 0, _nothing),
    "comment": (0, 999, _nothing),
    "noop": (0, 0, _nothing),
    "newline": (0, 1, _repeated("\n")),
    "space": (0, 1, _repeated(" ")),
    "trim": (0, 0, _trim),
    "random": (0, 999, _random),
    "pick": (1, 999, _pick),
    "roll": (1, 1, _roll),
    "time": (0, 1, _time),
    "date": (0, 0, _date),
    "weekday": (0, 0, _weekday),
    "isotime": (0, 0, _isotime),
    "isodate": (0, 0, _isodate),
}

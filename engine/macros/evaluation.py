"""Walks the tree of a text and says what each macro says, within the limits on steps, depth and growth."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from engine.macros.braces import MARKER
from engine.macros.chance import seeded_fraction, string_hash
from engine.macros.clock import CLOCK
from engine.macros.context import MacroContext
from engine.macros.definition import Definition, Table
from engine.macros.facts import FACTS
from engine.macros.grammar import parse
from engine.macros.layout import LAYOUT
from engine.macros.nodes import MAX_DEPTH, MAX_MACROS, Arg, Insert, Macro, Node, Text, Variable
from engine.macros.note import ERRORS, MacroNote
from engine.macros.numerals import BLANK
from engine.macros.pieces import NOOP, TRIM, Data, Lines, Made, Profile, joined, trim_edges
from engine.macros.scope_text import dedented
from engine.macros.stored import VARIABLES, operate
from engine.macros.variables import Variables

__all__ = ["MAX_OUTPUT", "MAX_STEPS", "Evaluator"]

MAX_OUTPUT = 4 * 1024 * 1024  # characters that macros may add to one text; a profile may have 2 MiB in all
MAX_STEPS = MAX_MACROS  # the expensive ones count more than once
_MAX_NOTES = 200  # nobody reads more, and a hostile text could need one for each macro

_BUILT_IN: Table = {**FACTS, **LAYOUT, **CLOCK, **VARIABLES}
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_OLD_TIME = re.compile(r"\{\{time_UTC[+-][0-9]+", re.IGNORECASE)
# SillyTavern rewrites `<USER>` to `{{user}}` before it counts places.
_REWRITTEN = {"user": 2, "bot": 3, "char": 2, "charifnotgroup": 2, "group": 2}


class Evaluator:
    """One evaluation of one text. `Run` in `definition` says what the macros use of it."""

    def __init__(
        self,
        source: str,
        context: MacroContext,
        variables: Variables,
        profile: Profile,
        inserts: Sequence[tuple[int, int, str]],
    ) -> None:
        self.source = source
        self.context = context
        self.variables = variables
        self.hidden_keys: list[str] = []
        self.used: set[str] = set()
        self.unknown: set[str] = set()
        self.notes: list[MacroNote] = []
        self.cut = False
        self._drops = profile == "assembly"
        self._inserts = inserts
        self._extra = {name.lower(): text for name, text in context.extra.items()}
        self._literals = {_inner_key(name): text for name, text in context.literals.items()}
        self._original = context.original
        self._room = MAX_OUTPUT
        self._steps = MAX_STEPS
        self._depth = 0
        self._places: tuple[list[int], list[int]] | None = None

    def pieces(self) -> list[str]:
        """The result before its last pass."""
        tree = parse(self.source, self._takes, [(start, end) for start, end, _ in self._inserts])
        for place in tree.too_deep[:1]:
            self._tell("MACRO_TOO_DEEP", "", place, min(place + 2, len(self.source)), most=MAX_DEPTH)
        if tree.too_many is not None:
            self._tell("MACRO_TOO_MANY", "", tree.too_many, len(self.source), most=MAX_MACROS)
        out: list[str] = []
        self._render(tree.nodes, out)
        return out

    # What macros may use

    def value(self, arg: Arg) -> str:
        """An argument evaluated and trimmed."""
        if len(arg.nodes) == 1 and type(arg.nodes[0]) is Text:
            return self.source[arg.start : arg.end].strip(BLANK)
        pieces: list[str] = []
        self._render(arg.nodes, pieces)
        trim_edges(pieces)
        return joined(pieces)

    def named(self, name: str, at: Arg) -> str | None:
        """What the macro of this name says without arguments."""
        definition = _BUILT_IN.get(name)
        if name not in self._extra and (definition is None or definition.fewest):
            return None
        pieces: list[str] = []
        self._render([Macro(name, at.start, at.end, [])], pieces)
        return joined(pieces)

    def branch(self, arg: Arg, out: list[str]) -> None:
        """Evaluate an argument as a text of its own."""
        pieces: list[str] = []
        self._render(arg.nodes, pieces)
        trim_edges(pieces)
        out.extend(_as_made(pieces))

    def scope(self, macro: Macro, first: int, last: int | None, out: list[str]) -> None:
        """Evaluate some nodes of a scope, trimmed and dedented unless its flags keep it as it is."""
        if macro.scope is None:
            return
        nodes = macro.scope.nodes[first:last]
        pieces: list[str] = []
        if "#" in macro.flags:
            self._render(nodes, pieces)
        else:
            for node, text in dedented(self.source, nodes):
                if text is None:
                    self._render((node,), pieces)
                else:
                    pieces.append(text)
            trim_edges(pieces)
        out.extend(_as_made(pieces))

    def once(self, field: str) -> bool:
        """Whether a field may be said (again) in this text."""
        return not (self.context.once and field in self.used)

    def original(self) -> str | None:
        """What is replaced here: at the first use, then empty."""
        if self.context.original is None:
            return None
        text, self._original = self._original, ""
        return text

    def stable_fraction(self, at: int) -> float:
        """A number that belongs to the story, this text and this place in it, as in SillyTavern."""
        seed = self.context.seed_hash
        chat = string_hash(self.context.seed) if seed is None else seed
        key = f"{chat}-{string_hash(self.source)}-{self._place(at)}"
        return seeded_fraction(str(string_hash(key)))

    def note(self, code: str, at: Macro | Variable, **facts: str | int) -> None:
        """Tell the author."""
        self._tell(code, at.name, at.start, at.end, **facts)

    # The walk

    def _render(self, nodes: Sequence[Node], out: list[str]) -> None:
        source = self.source
        for node in nodes:
            if isinstance(node, Text):
                out.append(source[node.start : node.end])
            elif isinstance(node, Macro):
                self._macro(node, out)
            elif isinstance(node, Variable):
                self._variable(node, out)
            else:
                self._put(self._inserts[node.number][2], node, out, Data)

    def _macro(self, macro: Macro, out: list[str]) -> None:
        if self._literals and self._literal(macro, out):
            return
        name = macro.name
        definition = _BUILT_IN.get(name)
        if not self._enter(macro, definition.cost if definition else 1, out):
            return
        if not name:
            self._as_written(macro, out)
        elif name not in self._extra and definition is None and not macro.closing:
            self.unknown.add(name)
            self._refuse("UNKNOWN_MACRO", macro, out)
        elif macro.closing or macro.spoilt:
            self._refuse("MACRO_SCOPE", macro, out)
        elif name in self._extra:
            self._extra_macro(macro, out)
        elif definition is not None:
            self._known(macro, definition, out)
        self._depth -= 1

    def _known(self, macro: Macro, definition: Definition, out: list[str]) -> None:
        count = len(macro.args) + (macro.scope is not None)
        if not definition.fewest <= count <= definition.most:
            self._refuse("MACRO_ARGUMENTS", macro, out, count=count)
            return
        if definition.form is not None:
            self.used.add(macro.name)
            definition.form(self, macro, out)
            return
        if definition.function is None:
            return
        args = [self.value(arg) for arg in macro.args] if macro.args else []
        if macro.scope is not None:
            content: list[str] = []
            self.scope(macro, 0, None, content)
            args.append(joined(content))
        result = definition.function(self, macro, args)
        if result is None:
            self._refuse("MACRO_VALUE", macro, out)
            return
        self.used.add(definition.field or macro.name)
        self._put(result, macro, out, Made)

    def _extra_macro(self, macro: Macro, out: list[str]) -> None:
        if macro.args or macro.scope is not None:
            self._refuse("MACRO_ARGUMENTS", macro, out, count=len(macro.args))
            return
        self.used.add(macro.name)
        self._put(self._extra[macro.name], macro, out, Made)

    def _literal(self, macro: Macro, out: list[str]) -> bool:
        if macro.scope is not None or self.source[macro.start : macro.start + 2] != "{{":
            return False
        text = self._literals.get(_inner_key(self.source[macro.start + 2 : macro.end - 2]))
        if text is None:
            return False
        self.used.add(macro.name)
        self._put(text, macro, out, Lines)
        return True

    def _variable(self, variable: Variable, out: list[str]) -> None:
        if self._enter(variable, 1, out):
            self._put(operate(self, variable), variable, out, Made)
            self._depth -= 1

    def _put(self, text: str, node: Macro | Variable | Insert, out: list[str], kind: type[Made]) -> None:
        if len(text) > self._room:
            if not self.cut:
                name = "" if isinstance(node, Insert) else node.name
                self._tell("MACRO_TOO_LONG", name, node.start, node.end, most=MAX_OUTPUT)
            self.cut = True
        elif text:
            self._room -= len(text)
            out.append(kind(text))

    def _enter(self, node: Macro | Variable, cost: int, out: list[str]) -> bool:
        """Whether there is a step and a level left; without one the node stays as written, once noted."""
        if self._steps >= cost and self._depth <= MAX_DEPTH:
            self._steps -= cost
            self._depth += 1
            return True
        code, most = ("MACRO_TOO_MANY", MAX_STEPS) if self._steps < cost else ("MACRO_TOO_DEEP", MAX_DEPTH)
        if self._steps < cost:
            self._steps = 0
        if all(note.code != code for note in self.notes):
            self._tell(code, node.name, node.start, node.end, most=most)
        out.append(self.source[node.start : _whole_end(node)])
        return False

    # What cannot be expanded

    def _refuse(self, code: str, macro: Macro, out: list[str], **facts: str | int) -> None:
        self._tell(code, macro.name, macro.start, macro.end, **facts)
        self._as_written(macro, out)

    def _as_written(self, macro: Macro, out: list[str]) -> None:
        """The tag with the macros inside it expanded; when unknown ones are dropped, only their effects."""
        drop = self._drops and bool(macro.name)
        kept: list[str] = [] if drop else out
        at = macro.start
        for arg in macro.args:
            kept.append(self.source[at : arg.start])
            self._render(arg.nodes, kept)
            at = arg.end
        kept.append(self.source[at : macro.end])
        if macro.scope is not None:
            self._render(macro.scope.nodes, out)
            if not drop:
                out.append(self.source[macro.scope.close.start : macro.scope.close.end])

    def _takes(self, name: str, count: int) -> bool:
        if name in self._extra:
            return False
        definition = _BUILT_IN.get(name)
        return definition is not None and count <= definition.most

    def _tell(self, code: str, name: str, start: int, end: int, **facts: str | int) -> None:
        if code in ERRORS or len(self.notes) < _MAX_NOTES:
            self.notes.append(MacroNote.of(code, name, start, end, **facts))

    def _place(self, at: int) -> int:
        """The place in UTF-16 units of the text as SillyTavern counts it."""
        if self._places is None:
            steps = [(found.end(), 1) for found in _ASTRAL.finditer(self.source)]
            steps += [(found.end(), _REWRITTEN[found[1].lower()]) for found in MARKER.finditer(self.source)]
            steps += [(found.end(), 1) for found in _OLD_TIME.finditer(self.source)]
            steps.sort()
            sums = [0]
            for _, step in steps:
                sums.append(sums[-1] + step)
            self._places = [end for end, _ in steps], sums
        ends, sums = self._places
        return at + sums[bisect_left(ends, at + 1)]


def _as_made(pieces: list[str]) -> list[str]:
    """A branch's pieces as the macro's own: its edges are not trimmed again."""
    if not any(piece is TRIM or piece is NOOP or isinstance(piece, Data) for piece in pieces):
        text = "".join(pieces)  # one piece, so that a nested branch is not walked at each level
        return [Made(text)] if text else []
    return [Made(piece) if type(piece) is str else piece for piece in pieces]


def _inner_key(inner: str) -> str:
    return inner.strip(BLANK).lower()


def _whole_end(node: Macro | Variable) -> int:
    scope = node.scope if isinstance(node, Macro) else None
    return scope.close.end if scope is not None else node.end

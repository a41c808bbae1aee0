"""Strategy documents: what of each source goes where, as data that people edit, share and apply.

A document is normalised once and is then immutable; `revision` names its content. Whether a source can do
what a rule asks is not checked here: a rule of an unknown source is kept. Source: assembler spec 1 and 11.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, cast

from engine.assembler.faults import document_invalid, is_first
from engine.assembler.history_policy import HistoryPolicy, read_policy
from engine.assembler.layout import SOURCE_ID, Layout, read_layout
from engine.codec import digest, dumps, loads
from engine.macros.numerals import BLANK

__all__ = [
    "FORMAT",
    "MAX_RULES",
    "MAX_TEXT",
    "Delivery",
    "Lifetime",
    "Placement",
    "Role",
    "Rule",
    "Strategy",
    "read_strategy",
    "strategy_from_bytes",
]

FORMAT: Final = "dsh-tavern-request-assembly"
MAX_RULES: Final = 128
MAX_TEXT: Final = 524_288
"""Characters of a rule's own text."""

_MAX_NAME = 200
_MARK = b"\xef\xbb\xbf"  # U+FEFF as UTF-8
_RULE_ID = re.compile(r"[A-Za-z0-9_-]{1,80}", re.ASCII)
_AUTHORED = ("custom", "dsh.text")
"""Kinds whose text a person writes into the rule: they have no role of their own to preserve."""

Role: TypeAlias = Literal["preserve", "system", "user", "assistant"]
Lifetime: TypeAlias = Literal["request", "snapshot"]
Delivery: TypeAlias = Literal["context", "pre-step"]
Placement: TypeAlias = Literal["modules", "st", "native-roles", "native-slots"]

_PLACEMENTS = ("modules", "st", "native-roles", "native-slots")
_DERIVED: Final[Mapping[tuple[bool, str], Placement]] = {
    (True, "preset-slots"): "native-slots",
    (True, "manual"): "native-roles",
    (False, "preset-slots"): "st",
    (False, "manual"): "modules",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One module of a strategy. `kind` is the id of its source; with `input_mode` "text" the source's
    parser reads `text`."""

    id: str
    kind: str
    enabled: bool = True
    role: Role = "preserve"
    lifetime: Lifetime = "request"
    depth: int | None = None
    text: str = ""
    name: str = ""
    delivery: Delivery | None = None
    input_mode: Literal["text"] | None = None

    def to_wire(self) -> dict[str, Any]:
        """As in the document."""
        wire: dict[str, Any] = {
            "id": self.id,
            "kind": self.kind,
            "enabled": self.enabled,
            "role": self.role,
            "lifetime": self.lifetime,
            "depth": self.depth,
            "text": self.text,
            "name": self.name,
        }
        if self.delivery is not None:
            wire["delivery"] = self.delivery
        if self.input_mode is not None:
            wire["inputMode"] = self.input_mode
        return wire


@dataclass(frozen=True)
class Strategy:
    """A normalised strategy. `backend` None is stored as absent and means core."""

    name: str
    rules: tuple[Rule, ...]
    backend: Literal["native", "core"] | None = None
    placement: Placement = "modules"
    layout: Layout | None = None
    history_policy: HistoryPolicy | None = None

    @property
    def standard(self) -> bool:
        """Whether the standard back end carries it out."""
        return self.backend == "native"

    @property
    def adaptive(self) -> bool:
        """Whether the standard back end may change roles and order to what it can deliver."""
        return self.standard and self.placement in ("native-roles", "native-slots")

    @property
    def listed(self) -> bool:
        """Whether the list of rules owns placement, so that references cannot move what is listed."""
        return self.placement == "modules" or (self.layout is not None and self.layout.source == "manual")

    @property
    def slots(self) -> bool:
        """Whether the preset's references own placement."""
        return self.layout is not None and self.layout.source == "preset-slots"

    @property
    def positional(self) -> bool:
        """Whether a role may follow from the place."""
        return self.layout is not None and self.layout.identity == "position"

    @property
    def strict(self) -> bool:
        """Whether a missing target refuses the assembly."""
        return self.layout is not None and self.layout.fallback == "error"

    @cached_property
    def revision(self) -> str:
        """SHA-256 of the normalised document, hexadecimal."""
        return digest(dumps(self.to_wire())).hex()

    @cached_property
    def by_kind(self) -> Mapping[str, tuple[Rule, ...]]:
        """The rules of each kind, in order."""
        kinds: dict[str, list[Rule]] = {}
        for rule in self.rules:
            kinds.setdefault(rule.kind, []).append(rule)
        return {kind: tuple(rules) for kind, rules in kinds.items()}

    def enabled(self, kind: str) -> Rule | None:
        """The first enabled rule of the kind."""
        return next((rule for rule in self.by_kind.get(kind, ()) if rule.enabled), None)

    def to_wire(self) -> dict[str, Any]:
        """The document. `read_strategy` of it gives an equal strategy."""
        wire: dict[str, Any] = {"format": FORMAT, "version": 1, "name": self.name}
        if self.backend is not None:
            wire["backend"] = self.backend
        wire["placement"] = self.placement
        if self.layout is not None:
            wire["layout"] = self.layout.to_wire()
        if self.history_policy is not None:
            wire["historyPolicy"] = self.history_policy.to_wire()
        wire["rules"] = [rule.to_wire() for rule in self.rules]
        return wire

    def to_bytes(self) -> bytes:
        """The document as a file."""
        return dumps(self.to_wire())


def read_strategy(value: object) -> Strategy:
    """Normalise a document. Unknown fields are dropped. Raises AssemblyError STRATEGY_INVALID."""
    if not isinstance(value, Mapping) or value.get("format") != FORMAT:
        message = f"This is no strategy: it does not say that its format is {FORMAT}."
        raise document_invalid(message, why="strategy-none", format=FORMAT)
    if not is_first(value.get("version")):
        raise document_invalid("This strategy is not of version 1.", why="strategy-version")
    name = value.get("name")
    name = name.strip(BLANK) if isinstance(name, str) else ""
    if not name or len(name) > _MAX_NAME:
        message = f"A strategy has a name of at most {_MAX_NAME} characters."
        raise document_invalid(message, why="strategy-name", most=_MAX_NAME)
    backend = value.get("backend")
    if backend not in (None, "native", "core"):
        raise document_invalid("The back end of a strategy is native or core.", why="strategy-backend")
    layout = read_layout(value.get("layout"))
    placement = value.get("placement")
    if layout is not None:
        placement = _DERIVED[(backend == "native", layout.source)]
    elif placement not in _PLACEMENTS:
        placement = "modules"
    policy = value.get("historyPolicy")
    strategy = Strategy(
        name=name,
        rules=_rules(value.get("rules")),
        backend=backend,
        placement=cast("Placement", placement),
        layout=layout,
        history_policy=None if policy is None else read_policy(policy),
    )
    try:
        strategy.to_bytes()
    except TypeError:  # half of a surrogate pair, which no UTF-8 can say
        message = "A strategy holds a character that cannot be written."
        raise document_invalid(message, why="strategy-character") from None
    return strategy


def strategy_from_bytes(data: bytes | str) -> Strategy:
    """A strategy out of a file. Raises AssemblyError STRATEGY_INVALID."""
    try:
        # editors of one system put a mark in front of what they save
        value = loads(data.removeprefix("\ufeff") if isinstance(data, str) else data.removeprefix(_MARK))
    except ValueError:
        raise document_invalid("This file is not JSON.", why="strategy-json") from None
    return read_strategy(value)


def _rules(value: object) -> tuple[Rule, ...]:
    if not isinstance(value, (list, tuple)) or len(value) > MAX_RULES:
        message = f"A strategy has a list of at most {MAX_RULES} rules."
        raise document_invalid(message, why="strategy-rules", most=MAX_RULES)
    rules = tuple(_rule(item) for item in value)
    if len({rule.id for rule in rules}) != len(rules):
        raise document_invalid("The ids of rules are unique.", why="strategy-rule-ids")
    return rules


def _rule(item: object) -> Rule:
    if not isinstance(item, Mapping):
        raise document_invalid("A rule is an object.", why="strategy-rule")
    rule_id, kind, text = item.get("id"), item.get("kind"), item.get("text")
    if not isinstance(rule_id, str) or not _RULE_ID.fullmatch(rule_id):
        message = "A rule's id is made of letters, digits, hyphens and underscores."
        raise document_invalid(message, why="strategy-rule-id")
    if not isinstance(kind, str) or not SOURCE_ID.fullmatch(kind):
        message = "A rule names the source that it takes from."
        raise document_invalid(message, why="strategy-rule-kind", rule_id=rule_id)
    text = "" if text is None else text
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        message = f"A rule's text has at most {MAX_TEXT} characters."
        raise document_invalid(message, why="strategy-rule-text", most=MAX_TEXT, rule_id=rule_id)
    name = item.get("name")
    mode = _choice(item, "inputMode", ("source", "text"), None)
    return Rule(
        id=rule_id,
        kind=kind,
        enabled=item.get("enabled") is not False,
        role=cast("Role", _role(item, kind)),
        lifetime=cast("Lifetime", _choice(item, "lifetime", ("request", "snapshot"), "request")),
        depth=_depth(item.get("depth"), rule_id),
        text=text,
        name=name[:_MAX_NAME] if isinstance(name, str) else "",
        delivery=cast("Delivery | None", _choice(item, "delivery", ("context", "pre-step"), None)),
        input_mode="text" if mode == "text" else None,
    )


def _role(item: Mapping[str, Any], kind: str) -> str:
    authored = kind in _AUTHORED
    role = _choice(
        item, "role", ("preserve", "system", "user", "assistant"), "user" if authored else "preserve"
    )
    # such rules were written with "preserve" once, and what was sent then was a system text
    return "system" if authored and role == "preserve" else cast("str", role)


def _choice(item: Mapping[str, Any], field: str, allowed: tuple[str, ...], default: str | None) -> str | None:
    found = item.get(field)
    if found is None:
        return default
    if not isinstance(found, str) or found not in allowed:
        values = ", ".join(allowed)
        raise document_invalid(
            f"A rule's {field} is one of: {values}.",
            why="strategy-rule-field",
            name=field,
            values=values,
            rule_id=item.get("id"),
        )
    return found


def _depth(value: object, rule_id: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_DEPTH:
        message = f"A depth is a whole number from 0 to {MAX_DEPTH}."
        raise document_invalid(message, why="strategy-rule-depth", most=MAX_DEPTH, rule_id=rule_id)
    return value


MAX_DEPTH: Final = 10_000
"""Messages from the end of the conversation."""

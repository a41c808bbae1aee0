"""Whether the standard back end can carry a strategy out: on applying, and again on what came out.

Source: assembler spec 3, "Module placement in standard"; seed 001.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.assembler.arrangement import HISTORY, INPUT
from engine.assembler.faults import unsupported
from engine.assembler.node import Node
from engine.assembler.resolution import CONTEXT_SWITCHES
from engine.assembler.strategy import Rule, Strategy

__all__ = ["check_standard", "check_standard_nodes"]


def check_standard(strategy: Strategy) -> None:
    """Raises AssemblyError ASSEMBLY_NATIVE_UNSUPPORTED with the rule in `detail`."""
    if not strategy.standard:
        raise unsupported(
            "This strategy needs the advanced back end.", why="advanced", detail={"backend": "core"}
        )
    if strategy.placement == "st":
        raise unsupported("Slots with depths need the advanced back end.", why="advanced")
    for kind in (HISTORY, INPUT):
        if strategy.enabled(kind) is None:
            listed = next(iter(strategy.by_kind.get(kind, ())), None)
            detail = {"kind": kind} if listed is None else {"ruleId": listed.id, "kind": kind}
            raise unsupported(f"The standard back end always sends the {kind}.", why="always", detail=detail)
    rules = [rule for rule in strategy.rules if rule.enabled]
    for rule in strategy.rules:
        if rule.kind in CONTEXT_SWITCHES and not _only_switched(rule):
            raise unsupported(
                "This rule can only be switched on and off.", why="switch", detail={"ruleId": rule.id}
            )
    for rule in rules:
        _check_rule(rule)
    if not strategy.adaptive:
        _check_order(rules)


def _only_switched(rule: Rule) -> bool:
    plain = rule.role == "preserve" and rule.lifetime == "request" and rule.depth is None
    return plain and not rule.text and rule.delivery is None and rule.input_mode is None


def _check_rule(rule: Rule) -> None:
    if rule.role == "assistant":
        raise unsupported(
            "Texts in the role of the assistant need the advanced back end.",
            why="assistant",
            detail={"ruleId": rule.id},
        )
    if rule.lifetime == "snapshot" or rule.depth is not None:
        raise unsupported(
            "Depths and texts that stay need the advanced back end.",
            why="depth",
            detail={"ruleId": rule.id},
        )


class _Walk:
    """Where in the order one is, and whether the next text may stand there."""

    def __init__(self) -> None:
        self._history = False
        self._input = False
        self._late = False  # a pre-step text stands behind the input already

    def anchor(self, kind: str) -> None:
        if kind == HISTORY:
            if self._input:
                raise unsupported(
                    "The history comes before this step's input.", why="order", detail={"kind": kind}
                )
            self._history = True
        else:
            self._input = True

    def system(self, detail: dict[str, str]) -> None:
        if self._history or self._input:
            raise unsupported("System texts come before the history.", why="system", detail=detail)

    def user(self, delivery: str | None, detail: dict[str, str]) -> None:
        if not self._history:
            raise unsupported("Texts of the user's role come after the history.", why="user", detail=detail)
        if delivery == "pre-step":
            self._late = self._late or self._input
            return
        if not self._input:
            raise unsupported(
                "Between history and input only pre-step texts can stand.", why="between", detail=detail
            )
        if self._late:
            raise unsupported(
                "Contexts come before pre-step texts behind the input.", why="late", detail=detail
            )


def _check_order(rules: Sequence[Rule]) -> None:
    walk = _Walk()
    for rule in rules:
        if rule.kind in (HISTORY, INPUT):
            walk.anchor(rule.kind)
        elif rule.kind in CONTEXT_SWITCHES:
            continue
        elif rule.role == "user":
            walk.user(rule.delivery, {"ruleId": rule.id})
        else:
            walk.system({"ruleId": rule.id})


def check_standard_nodes(nodes: Sequence[Node]) -> None:
    """The same for what sources handed in, whose roles a rule may preserve."""
    walk = _Walk()
    for node in nodes:
        detail = {"ruleId": node.rule.id}
        if node.anchor:
            walk.anchor(node.source_id)
        elif node.native or node.role == "system":
            walk.system(detail)
        elif node.role == "user":
            walk.user(node.delivery, detail)
        else:
            raise unsupported(
                "A source gave a text in a role that the standard back end cannot deliver.",
                why="role",
                detail={**detail, "role": node.role},
            )

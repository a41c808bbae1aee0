"""The standard back end: what goes into the program's system text, its facts and the messages of the step.

Nothing here is sent: the agent loop delivers sections, contexts and pre-step messages by its own interfaces.
Source: assembler spec 3, "Delivery plan", "Retention" and "Preview"; seed 001.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from engine.agent.standing import CONTRIBUTION_KIND
from engine.assembler.algorithms import Algorithm
from engine.assembler.assembly import Logical, assemble
from engine.assembler.definition import Definition
from engine.assembler.legality import check_standard, check_standard_nodes
from engine.assembler.node import Node
from engine.assembler.request import AssemblyRequest, conversation
from engine.assembler.resolution import CONTEXT_SWITCHES, resolve_sources
from engine.assembler.strategy import Strategy
from engine.cancel import CancelToken
from engine.session import Message, message_text, system_message

__all__ = [
    "ASSEMBLER_KIND",
    "OfficialPart",
    "PlannedPart",
    "PreStep",
    "StandardOutcome",
    "deliver_standard",
    "switched_contexts",
]

ASSEMBLER_KIND: Final = CONTRIBUTION_KIND
"""The source kind of pre-step messages; the history policy knows them by it."""

_SYSTEM_ID = "assembler-native-system"


@dataclass(frozen=True, slots=True)
class OfficialPart:
    """A section or a fact that other parts of the program contribute, its variables filled in."""

    name: str
    text: str


class PlannedPart(NamedTuple):
    """A section or a fact of the assembly. With `node_id` it is ours, and its text is literal; without, the
    program's part of that name stands there as it is."""

    name: str
    text: str
    node_id: str | None = None


class PreStep(NamedTuple):
    """A message of the user's role that the step admits; whoever admits it gives it an id of its own."""

    text: str
    source: Mapping[str, Any]
    node_id: str


@dataclass(frozen=True, slots=True)
class StandardOutcome:
    """What to hand to the agent loop.

    `reconcile_system` says that an old system text in the history contradicts the new one, so that the
    request begins a new series. `context_switches` are the facts that the strategy speaks of, with whether
    they stay.
    """

    logical: Logical
    sections: tuple[PlannedPart, ...]
    contexts: tuple[PlannedPart, ...]
    before_input: tuple[PreStep, ...]
    after_input: tuple[PreStep, ...]
    reconcile_system: bool
    context_switches: tuple[tuple[str, bool], ...]

    @property
    def system_text(self) -> str:
        """The sections joined by a blank line, empty ones left out."""
        return _system_text(self.sections)


async def deliver_standard(
    request: AssemblyRequest,
    strategy: Strategy,
    registered: Mapping[str, Definition],
    *,
    sections: Sequence[OfficialPart] = (),
    contexts: Sequence[OfficialPart] = (),
    algorithms: Mapping[str, Algorithm] | None = None,
    token: CancelToken | None = None,
) -> StandardOutcome:
    """Assemble for the standard back end. `request.native` is the history as it is, then this step's input;
    `sections` and `contexts` are what the program itself would send.

    Raises AssemblyError as `assemble` does, and ASSEMBLY_NATIVE_UNSUPPORTED.
    """
    check_standard(strategy)
    official = "\n\n".join(part.text for part in sections if part.text)
    native: list[Message] = [system_message(_SYSTEM_ID, official)] if official else []
    working = replace(request, native=(*native, *conversation(request.native)))
    resolution = await resolve_sources(working, strategy, registered, token)
    logical = assemble(working, resolution, algorithms)
    if not strategy.adaptive:
        check_standard_nodes(logical.nodes)
    plan = _Plan(logical.nodes, sections)
    switches = switched_contexts(strategy, [part.name for part in contexts])
    off = {name for name, stays in switches if not stays}
    planned = [PlannedPart(part.name, part.text) for part in contexts if part.name not in off]
    return StandardOutcome(
        logical=logical,
        sections=tuple(plan.sections),
        contexts=(*planned, *plan.contexts),
        before_input=tuple(plan.before),
        after_input=tuple(plan.after),
        context_switches=switches,
        reconcile_system=_stale(request.native, strategy, plan.sections),
    )


def switched_contexts(strategy: Strategy, names: Sequence[str]) -> tuple[tuple[str, bool], ...]:
    """Of the facts that rules can switch, those that there are, with whether they stay."""
    off = {
        name for rule in strategy.rules if not rule.enabled for name in CONTEXT_SWITCHES.get(rule.kind, ())
    }
    known = {name for switched in CONTEXT_SWITCHES.values() for name in switched}
    return tuple((name, name not in off) for name in names if name in known)


class _Plan:
    """The logical nodes, handed to the interface that delivers each."""

    def __init__(self, nodes: Sequence[Node], official: Sequence[OfficialPart]) -> None:
        self.sections: list[PlannedPart] = []
        self.contexts: list[PlannedPart] = []
        self.before: list[PreStep] = []
        self.after: list[PreStep] = []
        early = True
        number = 0
        for node in nodes:
            if node.native:
                if node.is_native_system and official:
                    self.sections += [PlannedPart(part.name, part.text) for part in official]
                    official = ()
                early = early and not node.is_input
            elif node.role != "system" and node.delivery != "context":
                (self.before if early else self.after).append(_pre_step(node))
            else:
                name = f"{node.plugin_id}:part:{str(number).zfill(4)}:{node.rule.kind}:{node.field}"
                parts = self.sections if node.role == "system" else self.contexts
                parts.append(PlannedPart(name, node.text, node.id))
                number += 1


def _pre_step(node: Node) -> PreStep:
    source = {
        "kind": ASSEMBLER_KIND,
        "form": "instructions",
        "delivery": "pre-step",
        "ruleId": node.rule.id,
        "blockId": node.id,
    }
    return PreStep(node.text, source, node.id)


def _stale(native: Sequence[Message], strategy: Strategy, sections: Sequence[PlannedPart]) -> bool:
    """Whether the history holds a system text that the new one does not continue."""
    rule = next(iter(strategy.by_kind.get("native-system", ())), None)
    if not strategy.adaptive and rule is not None and rule.enabled:
        return False
    systems = [(at, message) for at, message in enumerate(native) if message["role"] == "system"]
    if not systems:
        return False
    text = _system_text(sections)
    later = strategy.adaptive and any(at for at, _ in systems)
    return later or any(message_text(message) != text for _, message in systems)


def _system_text(sections: Sequence[PlannedPart]) -> str:
    return "\n\n".join([part.text for part in sections if part.text])

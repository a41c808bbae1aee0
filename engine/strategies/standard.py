"""The standard back end in the loop: what a strategy places becomes sections, facts and messages of the step.

All of it enters the history, as if the program itself had said it. Source: assembler spec 3, "Delivery plan".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.agent import Assembly, Part, PreStep
from engine.agent.standing import SNAPSHOT_KIND
from engine.assembler import (
    ASSEMBLER_KIND,
    Algorithms,
    AssemblyRequest,
    OfficialPart,
    PlannedPart,
    Sources,
    StandardOutcome,
    Strategy,
    deliver_standard,
)
from engine.assembler import PreStep as Contribution
from engine.cancel import CancelToken
from engine.ids import new_id
from engine.session import Message, user_message
from engine.tavern import Section
from engine.tavern.compilation import PART

__all__ = ["continues", "contributed", "deliver", "with_parts"]


async def deliver(
    request: AssemblyRequest,
    strategy: Strategy,
    sources: Sources,
    algorithms: Algorithms,
    accepted: Assembly,
    token: CancelToken,
) -> StandardOutcome:
    """What the strategy makes of a prompt as the program has accepted it. As `deliver_standard`."""
    outcome = await deliver_standard(
        request,
        strategy,
        sources.capture(),
        sections=[OfficialPart(part.name, part.text) for part in accepted.said],
        contexts=[OfficialPart(part.name, part.text) for part in accepted.facts],
        algorithms=algorithms.capture(),
        token=token,
    )
    token.check()
    return outcome


def with_parts(accepted: Assembly, outcome: StandardOutcome, greeting: Section | None) -> Assembly:
    """The prompt as the strategy has it; a greeting stands behind the story's own parts."""
    sections = _parts(accepted.sections, outcome.sections)
    if greeting is not None:
        sections = _with_greeting(sections, outcome, greeting)
    return replace(accepted, sections=sections, contexts=_parts(accepted.contexts, outcome.contexts))


def contributed(
    messages: Sequence[Message], outcome: StandardOutcome, *, continues: bool
) -> tuple[Message, ...]:
    """The batch of a step with what the strategy says before and after it, each time under new ids.

    Nothing is added to a batch that holds nothing but facts, unless the step goes on after a tool: a
    contribution never spends a model call.
    """
    enters = any(message["source"].get("kind") != SNAPSHOT_KIND for message in messages)
    if not enters and not continues:
        return tuple(messages)
    return (*map(_said, outcome.before_input), *messages, *map(_said, outcome.after_input))


def continues(step: PreStep) -> bool:
    """Whether the model is about to read the results of its tools."""
    said = step.session.derive()
    last = next((m for m in reversed(said) if m["source"].get("kind") != ASSEMBLER_KIND), None)
    return last is not None and last["role"] == "tool"


def _said(contribution: Contribution) -> Message:
    return user_message(new_id("asm"), contribution.text, dict(contribution.source))


def _parts(accepted: Sequence[Part], planned: Sequence[PlannedPart]) -> tuple[Part, ...]:
    official: Mapping[str, Part] = {part.name: part for part in accepted}
    return tuple(
        Part(part.name, part.text) if part.node_id is not None else official[part.name] for part in planned
    )


def _with_greeting(
    sections: tuple[Part, ...], outcome: StandardOutcome, greeting: Section
) -> tuple[Part, ...]:
    """The greeting behind the story's own parts: how it began, until the model has answered."""
    ours = {part.name for part in outcome.sections if part.node_id is not None}
    at = max((at for at, part in enumerate(sections, start=1) if part.name in ours), default=len(sections))
    number = len(ours) + len(outcome.contexts)
    part = Part(f"{PART}:{number:04}:{greeting.kind}:{greeting.field}", greeting.text)
    return (*sections[:at], part, *sections[at:])

"""The advanced back end in the loop: each request is put together anew, and only that request sees it.

What enters the history is what was said and the program's own instructions. Everything that a strategy adds
stands in the request alone: where the texts that stay were, the record of the last request tells. Scripts
that are for the prompt act on the model's earlier answers here, and a history policy leaves out what it
means. Source: assembler spec 4 and 7; seed 001.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.agent import ASSEMBLY, SETTLED, Assembled, Assembly, Part, last_assembly
from engine.agent.standing import SNAPSHOT_KIND
from engine.assembler import (
    AdvancedOutcome,
    Algorithms,
    Applied,
    AssemblyRequest,
    Recorded,
    Sources,
    apply_history_policy,
    deliver_advanced,
    read_metadata,
    switched_contexts,
)
from engine.cancel import CancelToken
from engine.session import Event, Message, Session, message_text, system_message
from engine.strategies.assets import amended, assets_of
from engine.strategies.units import utf16
from engine.tavern import Compilation, ScriptRunner

__all__ = [
    "SECTIONS",
    "Conversation",
    "Projector",
    "begins_series",
    "conversation_to_come",
    "newest_record",
    "recorded_of",
    "switched",
    "with_sections",
]

SECTIONS = "sections"
"""The key in the metadata of a request under which the program's own sections stand: `[{name, utf16Units}]`,
in the order in which its system text joins them."""

_COMING = "preview-native-system"


@dataclass(frozen=True, slots=True)
class Conversation:
    """The history with this step's input, as it would be sent. From `step_seq` on the log is of this step."""

    messages: Sequence[Message]
    input_ids: frozenset[str]
    step_seq: int

    @classmethod
    def of_step(cls, session: Session, messages: Sequence[Message]) -> Conversation:
        """That of the step that is open in a session: its input is what people said since it began."""
        begun = next(event.seq for event in reversed(session.events()) if event.type == "step/start")
        said = (
            event.data["id"]
            for event in session.events(begun)
            if event.type == "user/message" and event.surface_op == "append"
        )
        return cls(messages, frozenset(said), begun)


def conversation_to_come(
    session: Session,
    history: Sequence[Message],
    instructions: str,
    batch: Sequence[Message],
    *,
    goes_on: bool = False,
) -> Conversation:
    """What a step that finds this history would send once these instructions and this batch were admitted.
    Nothing is. `goes_on` says that new instructions are told behind earlier ones."""
    told = [message_text(message) for message in history if message["role"] == "system"]
    now = [system_message(_COMING, instructions)] if instructions else []
    if goes_on and told and now:
        history = history if told[-1] == instructions else [*history, *now]
    elif told != ([instructions] if instructions else []):
        history = [*now, *(message for message in history if message["role"] != "system")]
    ids = frozenset(message["id"] for message in batch)
    return Conversation((*history, *batch), ids, session.seq)


class Projector:
    """Makes the requests of one engine."""

    def __init__(self, sources: Sources, algorithms: Algorithms, scripts: ScriptRunner | None) -> None:
        self._sources = sources
        self._algorithms = algorithms
        self._scripts = scripts

    async def project(
        self,
        session: Session,
        applied: Applied,
        made: Compilation,
        accepted: Assembly,
        conversation: Conversation,
        token: CancelToken,
        *,
        step: tuple[int, int] | None = None,
        in_history: bool = False,
    ) -> tuple[AdvancedOutcome, Compilation]:
        """The request, and the compilation with what its texts made of variables. `step` is the turn and step
        that it is for; without, it is only looked at. `in_history` says what the model takes.

        Raises Cancelled, AssemblyError as `deliver_advanced` and `apply_history_policy` do.
        """
        # the greeting is how the story began, until the model has answered
        greeting = made.greeting if made.request.first_turn else ""
        native = conversation.messages
        if self._scripts is not None:
            native, greeting = await self._scripts.for_prompt(session, native, greeting)
            token.check()
        assets = assets_of(made, greeting=greeting)
        recorded = recorded_of(session)
        turn, number = step if step is not None else (None, None)
        request = AssemblyRequest(
            session_id=session.id,
            native=native,
            input_ids=conversation.input_ids,
            assets=assets,
            variables=accepted.variables,
            turn=turn,
            step=number,
            preview=step is None,
            max_bytes=made.profile.budget.max_bytes,
            retained=recorded.retained,
            previous=recorded.previous or {},
            now=made.request.now,
            seed=made.request.seed,
        )
        outcome = await deliver_advanced(
            request,
            applied.strategy,
            self._sources.capture(),
            strategy_id=applied.id,
            in_history=in_history,
            algorithms=self._algorithms.capture(),
            token=token,
        )
        token.check()
        policy = applied.strategy.history_policy
        if policy is not None and policy.enabled:
            seqs = _old(session, conversation)
            outcome = apply_history_policy(outcome, policy, seqs, step_seq=conversation.step_seq)
        return outcome, amended(made, assets, outcome.logical)


def with_sections(outcome: AdvancedOutcome, official: Sequence[Part]) -> Assembled:
    """The request as it is logged, with which sections the program's own system text is made of."""
    sections = [{"name": part.name, "utf16Units": utf16(part.text)} for part in official]
    return Assembled(outcome.messages, {**outcome.metadata, SECTIONS: sections})


def switched(accepted: Assembly, applied: Applied) -> Assembly:
    """The prompt without the facts that the strategy switches off. Nothing else of it is the strategy's."""
    stays = dict(switched_contexts(applied.strategy, [part.name for part in accepted.contexts]))
    return replace(accepted, contexts=tuple(part for part in accepted.contexts if stays.get(part.name, True)))


def begins_series(session: Session, applied: Applied | None) -> bool:
    """Whether the last request was put together otherwise than the next one, so that what instructed it need
    not hold any more: by another strategy, or only one of the two anew. So it is too when instructions have
    come into the history that nothing was sent with: they are of a strategy that was refused. The first
    request begins one by itself."""
    if session.request_header() is None:
        return False
    last = last_assembly(session, settled=True)
    if applied is None or applied.strategy.standard:
        return last is not None or _instructed_since(session)
    return last is None or read_metadata(last.data["metadata"]).revision != applied.strategy.revision


def _instructed_since(session: Session) -> bool:
    """Whether the last thing that was sent was sent with other instructions than those of now."""
    for event in reversed(session.events()):
        if event.type == "system/message":
            return True
        if event.type in SETTLED:
            return False
    return False


def newest_record(session: Session) -> Event | None:
    """The newest request that was put together anew in a session, inherited ones included."""
    return next((event for event in reversed(session.events()) if event.type == ASSEMBLY), None)


def recorded_of(session: Session) -> Recorded:
    """What the newest such request left for the next one."""
    event = newest_record(session)
    return read_metadata(None if event is None else event.data["metadata"])


def _old(session: Session, conversation: Conversation) -> Mapping[str, int]:
    """The log positions of the history's messages by id. What has none is no old message: what is about to be
    said, and the facts that hold, whenever they were told."""
    said = zip(session.surface.nodes, session.surface.node_messages(), strict=True)
    seqs = {message["id"]: seq for seq, message in said if message is not None}
    for message in reversed(conversation.messages):
        if message["source"].get("kind") == SNAPSHOT_KIND:
            seqs.pop(message["id"], None)
            break
    return seqs

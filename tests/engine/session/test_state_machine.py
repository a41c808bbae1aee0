"""Whatever is done to sessions, and in whatever order, these hold:

- seqs are contiguous from 0, and an event never changes once it is logged;
- the surface and the history are what a replay of the log from nothing gives;
- a refused append changes nothing;
- a held view never changes;
- a compaction replaces exactly its span or nothing, and never outlives its process;
- a fork shares its past exactly, and neither side sees what the other does later;
- what was flushed is what another process reads; opening it gives the same history and an ended turn.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as altered
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine.errors import AppendRefused, SessionError
from engine.session import (
    Event,
    Journal,
    MemoryEventStore,
    Message,
    Session,
    Sessions,
    StoredSession,
    StrictValidator,
    Summary,
    compact,
    is_compacting,
    select,
    span_between,
)
from tests.engine.session.build import (
    COMPLETED,
    call,
    prompt,
    replace,
    reply,
    result,
    say,
    state,
)

T = TypeVar("T")

texts = st.sampled_from(["", "a", "two words", "漢字"])
fractions = st.floats(0, 1)


@dataclass
class Oracle:
    """What a log means, worked out from nothing, as slowly and plainly as it can be said."""

    nodes: list[int] = field(default_factory=list)
    replaced: int = 0

    @classmethod
    def of(cls, events: Sequence[Event]) -> "Oracle":
        oracle = cls()
        for event in events:
            op = event.surface_op
            if op == "append":
                oracle.nodes.append(event.seq)
            elif op is not None:
                start, end = oracle.nodes.index(op["startSeq"]), oracle.nodes.index(op["endSeq"])
                oracle.nodes[start : end + 1] = [event.seq]
                oracle.replaced += 1
        return oracle

    def history(self, events: Sequence[Event]) -> list[Message]:
        messages = []
        for seq in self.nodes:
            data = events[seq].data
            message = data if events[seq].type == "user/message" else data["message"]
            silent = events[seq].type in ("system/message", "assistant/message") and not message["content"]
            if not silent:
                messages.append(message)
        return messages


@dataclass
class Model:
    """What the test knows of one session: where its turn stands, and the log as it was seen growing."""

    session: Session
    seen: list[Event] = field(default_factory=list)
    turn: int = 0
    step: int = 0
    in_turn: bool = False
    in_step: bool = False
    waiting: dict[str, bool] = field(default_factory=dict)
    flushed: int = 0

    def look(self) -> None:
        self.seen.extend(self.session.events(len(self.seen)))


async def forever(messages: Sequence[Message]) -> Summary:
    await asyncio.Event().wait()
    raise AssertionError("it waits for ever")


def _standing(session: Session, flushed: int) -> Model:
    """The model of a session whose turns are all closed."""
    turns = [event.data["turn"] for event in session.events() if event.type == "turn/start"]
    return Model(session, list(session.events()), turn=max(turns, default=0), flushed=flushed)


class ProvenStore(MemoryEventStore):
    """A store that vouches for its rows, so that they are taken over unread."""

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> StoredSession:
        return altered(await super().read(session_id, start, stop), proven=start == 0)


class SessionsMachine(RuleBasedStateMachine):
    store_type: type[MemoryEventStore] = MemoryEventStore

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.store = self.store_type()
        self.start_process()
        self.models: dict[str, Model] = {}
        self.names = 0
        self.held: list[tuple[Sequence[Any], list[Any]]] = []
        self.new_session()

    def start_process(self) -> None:
        self.sessions = Sessions(validators=[StrictValidator])
        self.journal = self.run(self._journal())

    async def _journal(self) -> Journal:
        return Journal(self.sessions, self.store, drain_after_s=60)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        self.run(self.journal.aclose())
        self.loop.close()

    def pick(self, fraction: float) -> Model:
        models = list(self.models.values())
        return models[min(int(fraction * len(models)), len(models) - 1)]

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    # -- what is done -----------------------------------------------------------------------------

    @precondition(lambda self: len(self.models) < 4)
    @rule()
    def new_session(self) -> None:
        name = self.fresh("s")
        self.models[name] = Model(self.run(self.journal.create(name)))

    @rule(which=fractions)
    def go_on(self, which: float) -> None:
        """Open the next turn or step, or close the open one."""
        model = self.pick(which)
        session = model.session
        if not model.in_turn:
            model.turn, model.step, model.in_turn = model.turn + 1, 0, True
            session.append("turn/start", {"turn": model.turn})
        elif not model.in_step:
            model.step, model.in_step = model.step + 1, True
            session.append("step/start", {"turn": model.turn, "step": model.step})
        elif not model.waiting:
            model.in_step = model.in_turn = False
            session.append("step/end", {"turn": model.turn, "step": model.step})
            session.append("turn/end", {"turn": model.turn, "reason": COMPLETED})

    @rule(which=fractions, text=texts)
    def speak(self, which: float, text: str) -> None:
        say(self.pick(which).session, self.fresh("u"), text)

    @rule(which=fractions, text=texts, calls=st.integers(0, 2))
    def answer(self, which: float, text: str, calls: int) -> None:
        model = self.pick(which)
        if model.in_step:
            ids = [self.fresh("c") for _ in range(calls)]
            reply(model.session, self.fresh("a"), text, turn=model.turn, step=model.step, calls=ids)
            model.waiting.update(dict.fromkeys(ids, False))

    @rule(which=fractions, text=texts)
    def set_prompt(self, which: float, text: str) -> None:
        model = self.pick(which)
        if not model.in_step:
            return
        nodes = list(model.session.surface.nodes)
        place: dict[str, Any] = {"turn": model.turn, "step": model.step}
        if not nodes:
            prompt(model.session, self.fresh("p"), text, **place)
        elif model.session.surface.has_system_head:
            prompt(
                model.session,
                self.fresh("p"),
                text,
                surface_op=replace(nodes[0], nodes[0]),
                source_event_seqs=[nodes[0]],
                **place,
            )

    @rule(which=fractions)
    def work_tools(self, which: float) -> None:
        model = self.pick(which)
        for call_id, started in list(model.waiting.items()):
            if started:
                result(model.session, self.fresh("r"), call_id, turn=model.turn, step=model.step)
                del model.waiting[call_id]
            else:
                call(model.session, call_id, turn=model.turn, step=model.step)
                model.waiting[call_id] = True

    @rule(which=fractions, start=fractions, length=fractions)
    def summarise(self, which: float, start: float, length: float) -> None:
        session = self.pick(which).session
        nodes = list(session.surface.nodes)
        first = 1 if session.surface.has_system_head else 0
        if len(nodes) > first:
            begin = first + int(start * (len(nodes) - first - 1))
            shadowed = nodes[begin : begin + 1 + int(length * 3)]
            place = replace(shadowed[0], shadowed[-1])
            say(session, self.fresh("sum"), surface_op=place, source_event_seqs=shadowed)

    @rule(which=fractions, start=fractions, length=fractions, wanted=st.booleans())
    def compact(self, which: float, start: float, length: float, wanted: bool) -> None:
        """Sum up a span, or try to and fail: then the history is as it was."""
        session = self.pick(which).session
        nodes = list(session.surface.nodes)
        first = 1 if session.surface.has_system_head else 0
        if len(nodes) <= first:
            return
        begin = first + int(start * (len(nodes) - first - 1))
        end = min(len(nodes) - 1, begin + int(length * 4))
        span = span_between(session, nodes[begin], nodes[end], price=lambda message: 100)
        if span is None or not span.tokens:
            return
        before = list(session.derive())

        async def summarise(messages: Sequence[Message]) -> Summary:
            return Summary("notes", "p", "m", truncated=not wanted)

        try:
            done = self.run(compact(session, span, summarise, price=lambda message: 1))
        except SessionError:
            assert list(session.derive()) == before
        else:
            assert session.surface.nodes[begin] == done.checkpoint.seq
        assert not is_compacting(session)

    @rule(which=fractions)
    def crash_in_a_compaction(self, which: float) -> None:
        """The process ends while a summary is being written, with the start already on the disk."""
        model = self.pick(which)
        span = select(model.session, keep_tokens=0)
        if span is not None:

            async def start() -> None:
                running = asyncio.ensure_future(compact(model.session, span, forever))
                await asyncio.sleep(0)
                await self.journal.flush(model.session.id)
                model.flushed = model.session.seq
                model.look()
                self.sessions.detach(model.session)  # a dead process writes no end
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

            self.run(start())
        self.crash()
        assert not any(is_compacting(model.session) for model in self.models.values())

    @rule(
        which=fractions,
        attempt=st.sampled_from(
            [
                ("user/message", {"id": 1}, "append"),
                ("turn/start", {"turn": 99}, None),
                ("step/end", {"turn": 1, "step": 99}, None),
                ("future/thing", {}, None),
                ("turn/start", float("nan"), None),
                ("tool/call", {"turn": 1, "step": 1, "callId": "ghost", "name": "n", "arguments": ""}, None),
            ]
        ),
    )
    def be_refused(self, which: float, attempt: tuple[str, object, str | None]) -> None:
        session = self.pick(which).session
        before = state(session)
        try:
            session.append(attempt[0], attempt[1], surface_op=attempt[2])
        except AppendRefused:
            assert state(session) == before
        else:
            raise AssertionError("this must be refused")

    @rule(which=fractions)
    def hold(self, which: float) -> None:
        session = self.pick(which).session
        for view in (session.events(), session.derive(), session.surface.nodes):
            self.held.append((view, list(view)))

    @precondition(lambda self: len(self.models) < 4)
    @rule(which=fractions, where=fractions)
    def fork(self, which: float, where: float) -> None:
        source = self.pick(which)
        boundary = int(where * (source.session.seq - 1)) if source.session.seq else None
        name = self.fresh("f")

        child = self.run(self.journal.fork(source.session.id, boundary, name))

        inherited = 0 if boundary is None else boundary + 1
        assert child.inherited_event_count == inherited
        assert list(child.events(0, inherited)) == list(source.session.events(0, inherited))
        source.flushed = max(source.flushed, inherited)
        self.models[name] = _standing(child, flushed=child.seq)

    @rule(which=fractions)
    def flush(self, which: float) -> None:
        model = self.pick(which)
        self.run(self.journal.flush(model.session.id))
        model.flushed = model.session.seq

    @rule()
    def crash(self) -> None:
        """Kill the process. What was flushed is there; more may be; nothing else is."""
        for model in self.models.values():
            model.look()
        self.start_process()
        for name, model in self.models.items():
            head = self.run(self.store.head(name))
            assert head >= model.flushed
            reopened = self.run(self.journal.open(name))
            assert list(reopened.events(0, head)) == model.seen[:head]
            closing = [event.type for event in reopened.events(head)]
            assert closing[-1:] in ([], ["session/end-seed"])
            self.models[name] = _standing(reopened, flushed=reopened.seq)

    # -- what always holds ------------------------------------------------------------------------

    @invariant()
    def seqs_are_contiguous_and_events_stay(self) -> None:
        for model in self.models.values():
            model.look()
            assert [event.seq for event in model.seen] == list(range(model.session.seq))
            assert list(model.session.events()) == model.seen

    @invariant()
    def the_surface_and_the_history_are_those_of_a_replay(self) -> None:
        for model in self.models.values():
            events = model.session.events()
            oracle = Oracle.of(events)
            assert list(model.session.surface.nodes) == oracle.nodes
            assert model.session.surface.replace_generation == oracle.replaced
            assert list(model.session.derive()) == oracle.history(events)

    @invariant()
    def held_views_do_not_change(self) -> None:
        for view, items in self.held:
            assert list(view) == items


class ProvenSessionsMachine(SessionsMachine):
    """The same over a store whose rows are taken over unread: nobody can tell the difference."""

    store_type = ProvenStore


TestSessions = SessionsMachine.TestCase
TestSessions.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)

TestProvenSessions = ProvenSessionsMachine.TestCase
TestProvenSessions.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)

"""Compaction: what is chosen, what may take its place, and that nothing is ever left half done
(session spec 7.5, agent-loop spec 6)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from engine.errors import LlmError, SessionError, StorageError
from engine.session import (
    Event,
    Journal,
    MemoryEventStore,
    Message,
    Session,
    Sessions,
    Span,
    StrictValidator,
    Summary,
    compact,
    estimate_tokens,
    is_compacting,
    is_pressed,
    message_text,
    message_tokens,
    oversized_results,
    prune,
    retained_tokens,
    select,
    span_between,
    summary_request,
    transcript,
)
from engine.session.compaction import HEAD_KEPT, LONG_RESULT, TAIL_KEPT
from engine.session.compaction_prompt import INSTRUCTION, checkpoint_text, instruction
from tests.engine.session.build import (
    Ticks,
    call,
    close_turn,
    exchange,
    ids,
    nodes,
    open_step,
    prompt,
    replace,
    reply,
    result,
    say,
)


def strict(session_id: str = "s") -> Session:
    return Sessions(validators=[StrictValidator], clock=Ticks()).create(session_id)


LONG = "It rained on the harbour town, and nobody was on the quay but the two of them. " * 20


def long_story(turns: int = 4) -> Session:
    """Nodes: the prompt, then a long question and a long answer for each turn."""
    session = strict()
    for turn in range(1, turns + 1):
        open_step(session, turn)
        if turn == 1:
            prompt(session)
        say(session, f"u{turn}", LONG)
        reply(session, f"a{turn}", LONG, turn=turn)
        close_turn(session, turn)
    return session


def everything(session: Session) -> Span:
    span = select(session, keep_tokens=0)
    assert span is not None
    return span


def writer(
    text: str = "They met on the quay.", **more: Any
) -> Callable[[Sequence[Message]], Awaitable[Summary]]:
    async def summarise(messages: Sequence[Message]) -> Summary:
        return Summary(text, "p", "m", **more)

    return summarise


def types(events: Sequence[Event]) -> list[str]:
    return [event.type for event in events]


# -- when -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "window", "reserved", "pressed"),
    [
        (6_399, 8_000, 0, False),
        (6_400, 8_000, 0, True),
        (199_999, 1_000_000, 734_464, False),
        (200_000, 1_000_000, 734_464, True),
        (54_399, 128_000, 60_000, False),
        (54_400, 128_000, 60_000, True),
        (62_463, 128_000, 0, False),
        (62_464, 128_000, 0, True),
    ],
)
def test_a_history_is_too_long_for_its_window(tokens: int, window: int, reserved: int, pressed: bool) -> None:
    assert is_pressed(tokens, context_window=window, reserved=reserved) is pressed


def test_a_share_of_the_room_is_kept_word_for_word() -> None:
    assert retained_tokens(context_window=100_000, reserved=20_000) == 12_800
    assert retained_tokens(context_window=1_000, reserved=2_000) == 0


# -- what -----------------------------------------------------------------------------------------------


def test_the_span_begins_after_the_system_head_and_leaves_the_newest() -> None:
    session = long_story()
    each = message_tokens(session.derive()[1])

    span = select(session, keep_tokens=3 * each)

    assert span is not None
    assert list(span.seqs) == nodes(session)[1:-3]
    assert span.tokens == 5 * each
    assert (span.start, span.end) == (nodes(session)[1], nodes(session)[-4])


def test_without_a_tail_to_keep_it_is_everything_but_the_head() -> None:
    session = long_story(2)

    assert list(everything(session).seqs) == nodes(session)[1:]


def test_without_a_system_head_it_begins_at_the_first_node() -> None:
    session = strict()
    say(session, "u1", LONG)
    say(session, "u2", LONG)

    assert list(everything(session).seqs) == [0, 1]


def test_when_nothing_is_left_there_is_no_span() -> None:
    session = long_story(1)

    assert select(session, keep_tokens=10**6) is None
    assert select(strict(), keep_tokens=0) is None


def test_the_cut_never_parts_a_call_from_its_result() -> None:
    session = strict()
    open_step(session)
    say(session, "u1", LONG)
    reply(session, "a1", calls=["c1", "c2"])
    for name in ("c1", "c2"):
        call(session, name)
        result(session, f"r-{name}", name, text=LONG)
    each = message_tokens(session.derive()[-1])

    span = select(session, keep_tokens=each + 1)

    assert span is not None
    assert list(span.seqs) == nodes(session)[:1]


def test_a_call_without_its_result_yet_is_left_where_it_is() -> None:
    session = strict()
    open_step(session)
    say(session, "u1")
    reply(session, "a1", calls=["c1"])

    assert list(everything(session).seqs) == nodes(session)[:1]


def test_a_person_may_choose_a_span_that_is_whole() -> None:
    session = long_story(2)
    _, first, second, third, _ = nodes(session)

    chosen = span_between(session, second, third)

    assert chosen is not None
    assert list(chosen.seqs) == [second, third]
    assert span_between(session, third, second) is None
    assert span_between(session, nodes(session)[0], first) is None
    assert span_between(session, 0, first) is None


# -- the transaction ------------------------------------------------------------------------------------


async def test_a_summary_takes_the_place_of_what_it_sums_up() -> None:
    session = long_story()
    before, tail = session.seq, ids(session)[-2:]
    span = select(session, keep_tokens=2 * message_tokens(session.derive()[1]))
    assert span is not None

    done = await compact(session, span, writer(usage={"inputTokens": 9, "outputTokens": 3}, max_tokens=99))

    start, summary, checkpoint, end = session.events(before)
    assert types([start, summary, checkpoint, end]) == [
        "compaction/start",
        "compaction/summary",
        "user/message",
        "compaction/end",
    ]
    assert ids(session) == ["sys", done.checkpoint.data["id"], *tail]
    assert done.checkpoint is checkpoint
    assert start.data["turn"] is None
    assert summary.data["shadowedSeqs"] == tuple(span.seqs)
    assert summary.data["shadowedTokenCount"] == span.tokens
    assert (summary.data["usage"]["outputTokens"], summary.data["maxTokens"]) == (3, 99)
    assert checkpoint.source_event_seqs == (start.seq, summary.seq, *span.seqs)
    assert checkpoint.data["source"] == {"kind": "compact-checkpoint", "compactionId": done.compaction_id}
    assert "They met on the quay." in message_text(checkpoint.data)
    assert "error" not in end.data
    assert len(transcript(session.events())) == 9


async def test_a_command_is_named_by_all_that_it_caused() -> None:
    session = long_story(1)
    before = session.seq

    await compact(session, everything(session), writer(), command_id="cmd")

    start, summary, checkpoint, end = session.events(before)
    assert [event.data["sourceCommandId"] for event in (start, summary, end)] == ["cmd"] * 3
    assert checkpoint.data["source"]["sourceCommandId"] == "cmd"


async def test_a_story_is_summed_up_again_with_its_earlier_summary() -> None:
    session = long_story()
    first = await compact(session, everything(session), writer("They met."))
    exchange(session, 5)
    say(session, "long", LONG)

    second = await compact(session, everything(session), writer("They met and parted."))

    assert second.span.start == first.checkpoint.seq
    assert len(ids(session)) == 2


def test_the_model_is_asked_with_what_it_was_sent_before() -> None:
    session = long_story(2)

    request = summary_request(session, everything(session), "Chinese")

    assert list(request[:-1]) == list(session.derive())
    assert request[0] is session.derive()[0]
    assert message_text(request[-1]) == instruction("Chinese")


async def test_an_automatic_compaction_belongs_to_the_open_turn() -> None:
    session = long_story()
    span = everything(session)
    session.append("turn/start", {"turn": 5})

    await compact(session, span, writer())

    assert session.event(session.seq - 1).data["turn"] == 5


class compaction_fails:
    """`with compaction_fails(session, 'SUMMARY'):` it does so, with one end and the history as it was."""

    def __init__(self, session: Session, code: str, *, ends: int = 1) -> None:
        self._session, self._code, self._ends = session, code, ends
        self._raises = pytest.raises(SessionError)

    def __enter__(self) -> None:
        self._before = list(self._session.derive())
        self._seq = self._session.seq
        self._info = self._raises.__enter__()

    def __exit__(self, *failure: Any) -> bool | None:
        handled = self._raises.__exit__(*failure)
        assert self._info.value.error_code == f"COMPACTION_{self._code}"
        fresh = self._session.events(self._seq)
        ends = [event for event in fresh if event.type == "compaction/end"]
        assert len(ends) == self._ends
        assert all(event.data["error"]["code"] == f"COMPACTION_{self._code}" for event in ends)
        assert list(self._session.derive())[: len(self._before)] == self._before
        assert not is_compacting(self._session)
        return handled


@pytest.mark.parametrize(
    "summarise",
    [writer("   "), writer("notes", truncated=True), writer(LONG * 3)],
    ids=["empty", "cut off", "no shorter"],
)
async def test_a_bad_summary_changes_nothing(summarise: Any) -> None:
    session = long_story(1)

    with compaction_fails(session, "SUMMARY"):
        await compact(session, everything(session), summarise)


async def test_a_model_that_fails_changes_nothing() -> None:
    session = long_story(1)

    async def fail(messages: Sequence[Message]) -> Summary:
        raise LlmError("no answer")

    with compaction_fails(session, "SUMMARY"):
        await compact(session, everything(session), fail)


async def test_an_error_of_the_program_closes_the_bracket_too() -> None:
    session = long_story(1)

    async def fail(messages: Sequence[Message]) -> Summary:
        raise RuntimeError("bug")

    with pytest.raises(RuntimeError):
        await compact(session, everything(session), fail)

    assert session.event(session.seq - 1).data["error"] == {"code": "COMPACTION_FAILED", "message": "bug"}


async def test_a_cancelled_compaction_is_ended_and_passes_the_cancellation_on() -> None:
    session = long_story(1)
    running = asyncio.ensure_future(compact(session, everything(session), forever))
    await asyncio.sleep(0)
    assert is_compacting(session)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert session.event(session.seq - 1).data["error"]["code"] == "COMPACTION_CANCELLED"
    assert not is_compacting(session)


async def forever(messages: Sequence[Message]) -> Summary:
    await asyncio.Event().wait()
    raise AssertionError("it waits for ever")


async def test_only_one_at_a_time() -> None:
    session = long_story(1)
    running = asyncio.ensure_future(compact(session, everything(session), forever))
    await asyncio.sleep(0)

    with pytest.raises(SessionError) as caught:
        await compact(session, everything(session), writer())

    assert caught.value.error_code == "COMPACTION_BUSY"
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await compact(session, everything(session), writer())


def meanwhile(do: Callable[[], object]) -> Callable[[Sequence[Message]], Awaitable[Summary]]:
    """A model during whose answer something happens."""

    async def summarise(messages: Sequence[Message]) -> Summary:
        do()
        return Summary("They met.", "p", "m")

    return summarise


async def test_a_manual_compaction_stands_when_only_the_rest_of_the_history_changed() -> None:
    session = long_story()
    span = span_between(session, nodes(session)[1], nodes(session)[2])
    assert span is not None

    await compact(session, span, meanwhile(lambda: say(session, "later")))

    assert len(ids(session)) == 9
    assert ids(session)[-1] == "later"


async def test_a_manual_compaction_falls_when_its_span_changed() -> None:
    session = long_story()
    span = everything(session)
    first, second = span.seqs[:2]

    def edit() -> None:
        say(session, "edit", surface_op=replace(first, second), source_event_seqs=[first, second])

    with pytest.raises(SessionError) as caught:
        await compact(session, span, meanwhile(edit))

    assert caught.value.error_code == "COMPACTION_CHANGED"
    assert not is_compacting(session)


async def test_an_automatic_compaction_falls_when_anything_changed() -> None:
    session = long_story()
    session.append("turn/start", {"turn": 5})
    span = span_between(session, nodes(session)[1], nodes(session)[2])
    assert span is not None

    with compaction_fails(session, "CHANGED"):
        await compact(session, span, meanwhile(lambda: say(session, "later")))


async def test_a_span_that_is_not_there_begins_nothing() -> None:
    session = long_story(1)

    with compaction_fails(session, "CHANGED", ends=0):
        await compact(session, Span((2, 99), 10), writer())


async def test_a_summary_that_the_log_does_not_take_is_ended() -> None:
    session = long_story(1)

    with compaction_fails(session, "COMMIT"):
        await compact(session, everything(session), writer(usage={"inputTokens": -1, "outputTokens": 0}))


# -- durability and crashes -----------------------------------------------------------------------------


async def durable_story(store: MemoryEventStore) -> tuple[Journal, Session]:
    journal = Journal(Sessions(validators=[StrictValidator], clock=Ticks()), store, drain_after_s=60)
    session = await journal.create("s")
    open_step(session)
    prompt(session)
    say(session, "u1", LONG)
    close_turn(session)
    await journal.flush("s")
    return journal, session


async def test_a_manual_compaction_is_durable_when_it_returns() -> None:
    store = MemoryEventStore()
    journal, session = await durable_story(store)

    await compact(session, everything(session), writer(), flush=lambda: journal.flush("s"))

    assert await store.head("s") == session.seq


async def test_one_that_could_not_be_made_durable_stands_and_says_so() -> None:
    store = MemoryEventStore()
    journal, session = await durable_story(store)
    store.faults.append(StorageError("no disk"))

    with pytest.raises(SessionError) as caught:
        await compact(session, everything(session), writer(), flush=lambda: journal.flush("s"))

    assert caught.value.error_code == "COMPACTION_PERSISTENCE"
    assert "error" not in session.event(session.seq - 1).data
    await journal.flush("s")


@pytest.mark.parametrize("turn", [None, 2], ids=["between turns", "in a turn"])
async def test_a_crash_inside_the_bracket_leaves_the_history_whole_and_compaction_free(
    turn: int | None,
) -> None:
    store = MemoryEventStore()
    journal, session = await durable_story(store)
    if turn is not None:
        session.append("turn/start", {"turn": turn})
    running = asyncio.ensure_future(compact(session, everything(session), forever))
    await asyncio.sleep(0)
    await journal.flush("s")

    after = Journal(Sessions(validators=[StrictValidator], clock=Ticks()), store)
    resumed = await after.open("s")

    assert list(resumed.derive()) == list(session.derive())
    assert not is_compacting(resumed)
    await compact(resumed, everything(resumed), writer())
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_one_whose_session_was_closed_writes_nothing_more() -> None:
    store = MemoryEventStore()
    journal, session = await durable_story(store)

    with pytest.raises(SessionError) as caught:
        await compact(session, everything(session), meanwhile(lambda: journal.sessions.detach(session)))

    assert caught.value.error_code == "COMPACTION_CHANGED"
    assert session.event(session.seq - 1).type == "compaction/start"


# -- pruning --------------------------------------------------------------------------------------------


def rolled(text: str) -> Session:
    session = strict()
    open_step(session)
    say(session, "u1")
    reply(session, "a1", calls=["c1"])
    call(session, "c1")
    result(session, "r1", "c1", text=text)
    return session


def test_a_result_that_is_too_long_keeps_its_beginning_and_its_end() -> None:
    session = rolled("a" * HEAD_KEPT + "b" * 5_000 + "c" * TAIL_KEPT)
    before = session.seq

    [rewrite] = prune(session)

    text = message_text(session.derive()[-1])
    assert text.startswith("a" * HEAD_KEPT + "\n[… 5000 characters")
    assert text.endswith("here …]\n" + "c" * TAIL_KEPT)
    assert estimate_tokens(text) < 1_400
    assert types(session.events(before)) == ["compaction/prune", "tool/result"]
    assert rewrite.data["message"]["id"] == "r1"
    assert prune(session) == []


def test_a_result_of_the_longest_length_is_left_alone() -> None:
    assert oversized_results(rolled("x" * LONG_RESULT)) == []
    assert [rewrite.seq for rewrite in oversized_results(rolled("雨" * (LONG_RESULT + 1)))] == [5]


def test_between_turns_nothing_can_be_pruned() -> None:
    session = rolled("x" * 10_000)
    close_turn(session)

    assert prune(session) == []
    assert len(oversized_results(session)) == 1


# -- the prompt -----------------------------------------------------------------------------------------


def test_the_summary_is_asked_for_as_a_game_masters_notes_in_the_storys_language() -> None:
    for heading in ("Scene", "Cast", "Relationships", "Facts", "Promises", "Open threads", "Tone"):
        assert f"## {heading}" in INSTRUCTION
    assert "in the language in which the story itself is told" in INSTRUCTION
    assert instruction("Chinese").endswith("The story is told in Chinese: write the notes in it.")


def test_a_checkpoint_wraps_the_notes() -> None:
    text = checkpoint_text("  ## Scene\nThe quay.\n")

    assert "<story-so-far>\n## Scene\nThe quay.\n</story-so-far>" in text

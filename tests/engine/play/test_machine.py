"""Any order of moves, stops, failures and crashes against a model of what a story is.

The model knows nothing of events, seqs or trees. A place is a path of exchanges with what was
said there and not answered, and what waits there; moving is going to another place, and taking
along what was never answered. After each step the story must be where the model is, and every
log must be sound by itself.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.play import Head
from engine.session import Event
from tests.engine.play.table import Pause, Table, breaking, fails, says

HOUR = 60 * 60 * 1000

Exchange: TypeAlias = tuple[tuple[str, ...], str]
Path_: TypeAlias = tuple[Exchange, ...]


@dataclass(eq=False)
class Place:
    """Where a story can stand: one continuation of a path."""

    path: Path_ = ()
    unanswered: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    def answered(self, word: str, answer: str) -> None:
        """A turn took up one word, with all that was not answered before it."""
        self.path += (((*self.unanswered, word), answer),)
        self.unanswered = []


class Story(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.table = Table(self.folder)
        self.words = 0
        self.answers = 0
        self.place = Place()
        self.left: dict[Path_, Place] = {}
        """Where the story had gone on to, when it last left a path that begins like this."""
        self.variants: dict[Path_, tuple[str, str]] = {}
        """(exchange, answer) in the tree, by the path that ends in it."""
        self.undo: tuple[Place, Head, Place] | None = None
        self.logs: dict[str, list[tuple[str, Any]]] = {}

    def teardown(self) -> None:
        with self.runner:
            self.run(self.table.close())
        shutil.rmtree(self.folder)

    # -- helpers -----------------------------------------------------------------------------------

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    @property
    def plays(self) -> Any:
        return self.table.plays

    def head(self) -> Head:
        head: Head = self.run(self.table.head(self.play))
        return head

    def fresh_words(self, count: int) -> list[str]:
        self.words += count
        return [f"w{number}" for number in range(self.words - count, self.words)]

    def will_say(self, count: int = 1) -> list[str]:
        """The next answers, planned one request each."""
        self.answers += count
        texts = [f"a{number}" for number in range(self.answers - count, self.answers)]
        self.table.voice.will(*(says(text) for text in texts))
        return texts

    def say(self, word: str) -> None:
        assert self.run(self.table.say(self.play, word)).state == "accepted"

    def settle(self) -> None:
        self.run(self.table.settle(self.play))
        assert not self.table.voice.plans, "an answer that the model expected was not asked for"

    def drain(self, answers: Sequence[str]) -> None:
        """The model's side of answering everything that waits here."""
        assert len(answers) == len(self.place.waiting)
        for word, answer in zip(self.place.waiting, answers, strict=True):
            self.place.answered(word, answer)
        self.place.waiting = []

    def go(self, place: Place) -> None:
        """Leave a place; from each exchange on the way one comes back to here."""
        for length in range(1, len(self.place.path) + 1):
            self.left[self.place.path[:length]] = self.place
        self.place = place

    def carry(self, old: Place) -> None:
        """What was never answered in the place that was left comes along, unless it was heard here."""
        here = [word for words, _ in self.place.path for word in words]
        here += [*self.place.unanswered, *self.place.waiting]
        moved = [word for word in (*old.unanswered, *old.waiting) if word not in here]
        self.place.waiting = [*moved, *self.place.waiting]
        old.waiting = []

    def learn(self) -> None:
        """Note under which ids the tree has the answers on the path."""
        nodes = self.run(self.table.nodes(self.play))
        assert len(nodes) == len(self.place.path)
        for length, node in enumerate(nodes, 1):
            known = (node.id, node.adopted_variant_id)
            assert self.variants.setdefault(self.place.path[:length], known) == known

    # -- saying ------------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        self.run(self.table.open())
        self.play = self.run(self.table.begin())

    @rule()
    def say_and_hear(self) -> None:
        (word,) = self.fresh_words(1)
        self.place.waiting.append(word)
        answers = self.will_say(len(self.place.waiting))
        self.say(word)
        self.settle()
        self.drain(answers)

    @rule()
    def say_and_fail(self) -> None:
        # what waited comes first, and its turn is the one that fails
        (word,) = self.fresh_words(1)
        self.place.waiting.append(word)
        self.table.voice.will(fails("AUTH", "some text"))
        answers = self.will_say(len(self.place.waiting) - 1)
        self.say(word)
        self.settle()
        self.place.unanswered.append(self.place.waiting.pop(0))
        self.drain(answers)

    @rule(text=st.sampled_from(["", "The door"]), more=st.integers(0, 2))
    def say_and_stop(self, text: str, more: int) -> None:
        first, *others = self.fresh_words(1 + more)
        self.place.waiting.append(first)
        self.interrupt(first, text)
        for word in others:
            self.say(word)
            self.place.waiting.append(word)
        assert self.run(self.plays.stop(self.play)) == len(self.place.waiting) - 1
        self.settle()
        self.cut(text)

    def interrupt(self, word: str, text: str) -> None:
        """Say something, and hold its answer after `text`."""
        pause = Pause()
        self.answers += 1
        self.table.voice.will(breaking(pause, f"{text} never", text))
        self.say(word)
        self.run(pause.reached.wait())

    def cut(self, text: str) -> None:
        """The model's side of an answer that ended after `text`."""
        word = self.place.waiting.pop(0)
        if text:
            self.place.answered(word, text)
        else:
            self.place.unanswered.append(word)

    @rule()
    def say_twice(self) -> None:
        if self.words:
            receipt = self.run(self.table.say(self.play, f"w{self.words - 1}"))
            assert receipt.state == "duplicate"
            self.settle()

    @precondition(lambda self: self.place.waiting)
    @rule()
    def resume(self) -> None:
        answers = self.will_say(len(self.place.waiting))
        assert self.run(self.plays.resume_queue(self.play)) == len(answers)
        self.settle()
        self.drain(answers)

    @precondition(lambda self: self.place.waiting or self.place.unanswered)
    @rule()
    def retry(self) -> None:
        old, again = self.place, tuple(self.place.unanswered)
        self.place = Place(old.path, [], list(old.waiting))
        (answer,) = self.will_say() if again else ("",)
        answers = self.will_say(len(self.place.waiting))
        self.run(self.plays.retry(self.play, self.head()))
        self.settle()
        old.waiting = []
        if again:
            self.place.path += ((again, answer),)
        self.drain(answers)

    # -- moving ------------------------------------------------------------------------------------

    @precondition(lambda self: self.place.path)
    @rule(
        data=st.data(),
        outcome=st.sampled_from(["whole", "whole", "fail", "stop", "crash"]),
        meanwhile=st.integers(0, 2),
    )
    def swipe(self, data: st.DataObject, outcome: str, meanwhile: int) -> None:
        kept = data.draw(st.integers(0, len(self.place.path) - 1))
        words, _ = self.place.path[kept]
        node_id, _ = self.variants[self.place.path[: kept + 1]]
        pause = Pause()
        self.answers += 1
        answer = f"a{self.answers}"
        ending = fails("AUTH") if outcome == "fail" else says(answer)[1:]
        self.table.voice.will([says("")[0], pause, *ending])
        self.run(self.plays.swipe(self.play, node_id, self.head()))
        self.run(pause.reached.wait())
        said = self.fresh_words(meanwhile)
        for word in said:
            self.say(word)
        if outcome == "whole":
            old = self.place
            self.go(Place((*old.path[:kept], (words, answer)), waiting=said))
            self.carry(old)
            answers = self.will_say(len(self.place.waiting))
        else:
            # what waits where the story stands is answered only when something new came to it
            self.place.waiting += said
            answers = self.will_say(len(self.place.waiting) if said or outcome == "crash" else 0)
        if outcome == "stop":
            self.run(self.plays.stop(self.play))
        if outcome == "crash":
            self.end_process("crash", bool(answers))
        else:
            pause.opened.set()
        self.settle()
        if answers:
            self.drain(answers)

    @precondition(lambda self: self.variants)
    @rule(data=st.data())
    def adopt(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.variants)))
        node_id, variant_id = self.variants[path]
        node = self.run(self.plays.timeline(self.play)).node(node_id)
        index = [variant.id for variant in node.variants].index(variant_id)
        self.run(self.plays.adopt(self.play, node_id, index, self.head()))
        if self.place.path[: len(path)] != path:
            old = self.place
            self.go(self.left[path])
            self.carry(old)

    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        kept = data.draw(st.integers(0, len(self.place.path)))
        node_id = self.variants[self.place.path[:kept]][0] if kept else None
        rewound = self.run(self.plays.rewind(self.play, node_id, self.head()))
        assert len(rewound.set_aside) == len(self.place.path) - kept
        aside = [word for words, _ in self.place.path[kept:] for word in words]
        said = [words.text for words in rewound.words]
        assert said == [*aside, *self.place.unanswered, *self.place.waiting]
        before = self.place
        self.go(Place(before.path[:kept]))
        self.undo = (before, rewound.previous, self.place)

    @precondition(lambda self: self.undo is not None and self.undo[2] is self.place)
    @rule()
    def take_back(self) -> None:
        assert self.undo is not None
        before, previous, _ = self.undo
        self.run(self.plays.restore_head(self.play, previous, self.head()))
        self.go(before)
        self.undo = None

    # -- dying -------------------------------------------------------------------------------------

    @rule(how=st.sampled_from(["crash", "restart"]))
    def end_at_rest(self, how: str) -> None:
        answers = self.will_say(len(self.place.waiting))
        self.end_process(how, bool(answers))
        self.settle()
        self.drain(answers)

    @rule(
        how=st.sampled_from(["crash", "restart"]),
        text=st.sampled_from(["", "The door"]),
        more=st.integers(0, 1),
    )
    def end_in_an_answer(self, how: str, text: str, more: int) -> None:
        first, *others = self.fresh_words(1 + more)
        self.place.waiting.append(first)
        self.interrupt(first, text)
        for word in others:
            self.say(word)
            self.place.waiting.append(word)
        # a crash knows nothing of what streamed; a shutdown keeps it
        self.cut(text if how == "restart" else "")
        answers = self.will_say(len(self.place.waiting))
        self.end_process(how, bool(answers))
        self.settle()
        self.drain(answers)

    def end_process(self, how: str, resumes: bool) -> None:
        plans = self.table.voice.plans
        self.run(self.table.crash() if how == "crash" else self.table.restart())
        self.table.voice.plans = plans
        found = self.run(self.table.engine.reconciler.recover(HOUR))
        assert any(recovered.resumed for recovered in found) is resumes

    # -- what always holds -------------------------------------------------------------------------

    @invariant()
    def the_story_is_where_the_model_is(self) -> None:
        path = [(tuple(said), answer) for said, answer in self.run(self.table.path(self.play))]
        assert tuple(path) == self.place.path
        assert self.run(self.table.waiting(self.play)) == self.place.waiting
        self.learn()

    @invariant()
    def the_model_is_told_what_the_tree_says(self) -> None:
        told = []
        for words, answer in self.place.path:
            told += [*(f"Ana: {word}" for word in words), answer]
        told += [f"Ana: {word}" for word in self.place.unanswered]
        assert self.run(self.table.history(self.play)) == told

    @invariant()
    def every_log_is_sound_and_only_grows(self) -> None:
        timeline = self.run(self.plays.timeline(self.play))
        ids = {variant.session_id for node in timeline.nodes for variant in node.variants}
        for session_id in {*ids, timeline.head.session_id, *self.logs}:
            if self.table.engine.journal.sessions.get(session_id) is not None:
                self.run(self.table.engine.journal.flush(session_id))
            events = self.run(self.table.log(session_id))
            before = self.logs.get(session_id, [])
            self.logs[session_id] = [(event.type, event.data) for event in events]
            assert self.logs[session_id][: len(before)] == before
            check_sound(events)
            for node in timeline.nodes:
                for variant in node.variants:
                    if variant.session_id == session_id:
                        assert 0 <= variant.start_seq <= variant.end_seq < len(events)
                        assert events[variant.start_seq].type == "turn/start"
                        assert events[variant.end_seq].type == "turn/end"


def check_sound(events: Sequence[Event]) -> None:
    """Turns and steps are balanced and numbered, and nothing is admitted twice."""
    turn: int | None = None
    step: int | None = None
    last = 0
    admitted: list[str] = []
    for event in events:
        if event.type == "turn/start":
            assert turn is None
            assert event.data["turn"] == last + 1
            turn = last = event.data["turn"]
        elif event.type == "turn/end":
            assert (turn, step) == (event.data["turn"], None)
            turn = None
        elif event.type == "step/start":
            assert (turn, step) == (event.data["turn"], None)
            step = event.data["step"]
        elif event.type == "step/end":
            assert step == event.data["step"]
            step = None
        elif event.type == "user/message" and event.surface_op == "append":
            assert step is not None
            admitted.append(event.data["source"].get("key", event.data["id"]))
    assert turn is None
    assert len(admitted) == len(set(admitted))


TestStory = Story.TestCase
# An example opens databases and syncs a disk some hundred times: more of them would hold up every run.
TestStory.settings = hypothesis.settings(
    max_examples=25,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)

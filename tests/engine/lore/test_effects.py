"""Timed effects: along one chat, over forks, and when entries change."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.lore import Effect, Situation, TimedEffects, activate
from engine.resources import Entry
from tests.engine.lore.build import book, changed, entry, never, reasons, uids, wake

ONE = changed(scan_depth=1)


class Story:
    """One branch: its messages, and the records that its log keeps."""

    def __init__(self, *entries: Entry, says: tuple[str, ...] = (), records: tuple[Any, ...] = ()) -> None:
        self.entries = entries
        self.says = list(says)
        self.records = list(records)

    def say(self, text: str) -> list[int]:
        """A message comes; the entries that are active then."""
        self.says.append(text)
        return self.scan()

    def scan(self, **more: Any) -> list[int]:
        found = activate(
            [book(*self.entries)],
            Situation(self.says, effects=TimedEffects.fold(self.records), **more),
            roll=never,
            settings=ONE,
        )
        if found.record is not None:
            self.records.append(found.record)
        assert TimedEffects.fold(self.records) == found.effects
        return uids(found)

    def fork(self, at: int, records: int) -> "Story":
        """A branch that shares the first messages, and the records that were logged by then."""
        return Story(*self.entries, says=tuple(self.says[:at]), records=tuple(self.records[:records]))


def test_sticky_cooldown_and_delay_over_nine_messages() -> None:
    story = Story(entry(1, "a", sticky=3, cooldown=2, delay=2))
    assert [len(story.say(f"a{n}")) for n in range(9)] == [0, 1, 1, 1, 0, 0, 1, 1, 1]


def test_a_sticky_entry_stays_without_its_key_and_without_a_roll() -> None:
    story = Story(entry(1, "cat", sticky=2))
    assert [story.say(text) for text in ("cat", "x", "x")] == [[1], [1], []]
    lucky = iter([0.1])
    chancy = entry(1, "cat", sticky=2, probability=50)
    first = wake(chancy, says=("cat",), roll=lambda _: next(lucky))
    again = wake(chancy, says=("cat", "x"), effects=first.effects, roll=never)
    assert [uids(first), uids(again)] == [[1], [1]]
    assert again.in_order_of_activation[0].why == "sticky"


def test_a_cooldown_rests_the_entry() -> None:
    story = Story(entry(1, "a", cooldown=2))
    assert [len(story.say("a")) for _ in range(5)] == [1, 0, 1, 0, 1]
    found = wake(entry(1, "a", cooldown=9), says=("a", "a"), effects=wake(
        entry(1, "a", cooldown=9), says=("a",)).effects, explain=True)  # fmt: skip
    assert reasons(found) == {1: "cooldown"}
    assert found.verdicts[0].text == "It rests until message 10."


def test_a_delay_holds_constants_too() -> None:
    late = entry(1, constant=True, delay=3)
    assert uids(wake(late, says=("a",))) == []
    assert uids(wake(late, says=("a",), message_count=3)) == [1]


def test_an_effect_of_a_chat_that_did_not_advance_is_gone() -> None:
    story = Story(entry(1, "cat", sticky=5))
    assert story.say("cat") == [1]
    story.says[-1] = "dog"  # the same length: a swipe
    assert story.scan() == []


def test_an_edited_entry_loses_its_effect_and_does_not_get_it_back_before_its_end() -> None:
    story = Story(entry(1, "cat", sticky=5))
    assert story.say("cat") == [1]
    before = story.entries
    story.entries = (replace(before[0], content="changed"),)
    assert story.say("x") == []
    assert story.say("cat") == [1]  # by its key; the old effect stands in the way of a new one
    assert story.say("x") == []
    story.entries = before
    assert story.say("x") == [1]


def test_a_sticky_that_ends_starts_a_protected_cooldown() -> None:
    story = Story(entry(1, "a", sticky=1, cooldown=3))
    assert story.say("a") == [1]
    assert story.say("a") == []
    effect = TimedEffects.fold(story.records).cooldown["w:1"]
    assert (effect.start, effect.end, effect.protected) == (2, 5, True)
    assert story.scan() == []  # also when the chat does not advance
    assert TimedEffects.fold(story.records).cooldown["w:1"].protected


def test_effects_of_books_that_are_not_here_wait_until_their_end() -> None:
    away = TimedEffects(sticky={"v:1": Effect("f", 1, 4)})
    assert wake(says=("a", "b"), effects=away).effects == away
    assert wake(says=("a",) * 4, effects=away).effects == TimedEffects()


def test_a_fork_has_the_effects_of_its_cut_and_goes_its_own_way() -> None:
    story = Story(entry(1, "cat", sticky=3), entry(2, "dog", sticky=3))
    assert story.say("cat") == [1]
    records = len(story.records)
    assert sorted(story.say("dog")) == [1, 2]
    branch = story.fork(at=1, records=records)
    assert branch.say("owl") == [1]
    assert sorted(story.say("owl")) == [1, 2]
    assert story.fork(at=0, records=0).say("owl") == []


def test_a_dry_run_neither_heeds_nor_starts() -> None:
    story = Story(entry(1, "cat", sticky=5), entry(2, "a", cooldown=5))
    assert story.say("a cat") == [1, 2]
    assert story.say("a") == [1]
    effects = TimedEffects.fold(story.records)
    found = wake(*story.entries, says=("a",), message_count=2, effects=effects, dry_run=True)
    assert (uids(found), found.effects, found.record) == ([2], effects, None)


def test_nothing_is_recorded_where_nothing_is_timed() -> None:
    assert wake(entry(1, "cat")).record is None


def test_records_are_json_and_what_is_no_record_changes_nothing() -> None:
    first = wake(entry(1, "cat", sticky=2, cooldown=4))
    assert json.loads(json.dumps(first.record)) == first.record
    assert TimedEffects.fold([{}, {"sticky": None}, json.loads(json.dumps(first.record))]) == first.effects


effects = st.dictionaries(
    st.sampled_from(["w:1", "w:2", "v:1"]),
    st.builds(Effect, st.sampled_from("fg"), st.integers(0, 9), st.integers(0, 20), st.booleans()),
)
states = st.builds(TimedEffects, effects, effects, effects)


@given(st.lists(states, min_size=1, max_size=5))
def test_the_records_of_any_way_fold_to_its_end(way: list[TimedEffects]) -> None:
    records = []
    at = TimedEffects()
    for state in way:
        record = at.record(state)
        records += [record] if record is not None else []
        at = state
    assert TimedEffects.fold(records) == way[-1]

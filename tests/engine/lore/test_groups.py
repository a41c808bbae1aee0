"""Inclusion groups: who of a group stays, and SillyTavern's defects, each both ways."""

from typing import Any

import pytest

from engine.lore import Effect, Quirk, TimedEffects
from engine.lore.index import BookIndex
from engine.lore.rules import KEPT
from engine.resources import Entry
from tests.engine.lore.build import PLAIN, RECURSIVE, book, changed, entry, never, reasons, uids, wake


def member(uid: int, key: str = "a", group: str = "g", **more: Any) -> Entry:
    return entry(uid, key, group=group, **more)


def running(kind: str, *entries: Entry) -> TimedEffects:
    """An effect on each entry that runs at message 5."""
    items = BookIndex(book(*entries).book, PLAIN).entries
    effects = {f"w:{item.entry.uid}": Effect(item.fingerprint("w"), 3, 9) for item in items}
    return TimedEffects(**{kind: effects})


@pytest.mark.parametrize(("roll", "winner"), [(0.1, 1), (0.25, 1), (0.26, 2), (0.5, 2), (0.9, 3), (0.999, 3)])
def test_weights_decide_by_one_roll(roll: float, winner: int) -> None:
    entries = (member(1), member(2), member(3, group_weight=200))
    found = wake(*entries, says=("a",), roll=lambda _: roll)
    assert uids(found) == [winner]


def test_the_roll_of_a_group_has_its_name() -> None:
    rolled: list[str] = []
    wake(member(1), member(2), says=("a",), roll=lambda what: rolled.append(what) or 0.1)
    assert rolled == ["group:g"]


def test_a_preferred_member_wins_by_the_highest_order_without_a_roll() -> None:
    entries = (
        member(1, order=500),
        member(2, order=10, group_override=True),
        member(3, order=20, group_override=True),
        member(4, order=20, group_override=True),
    )
    assert uids(wake(*entries, says=("a",))) == [3]


def test_a_single_member_stays_without_a_roll() -> None:
    assert uids(wake(member(1), member(2, "b"), says=("a",), roll=never)) == [1]


def test_an_entry_may_be_of_several_groups() -> None:
    entries = (member(1, group="g, h", group_override=True), member(2), member(3, group="h"))
    assert uids(wake(*entries, says=("a",))) == [1]


def test_a_group_that_was_won_is_closed_in_later_passes() -> None:
    entries = (member(1, content="b"), member(2, "b"))
    found = wake(*entries, says=("a",), settings=RECURSIVE, explain=True)
    assert uids(found) == [1]
    assert reasons(found)[2] == "group-taken"


def test_a_won_group_is_known_by_its_whole_field_or_by_each_name() -> None:
    entries = (member(1, content="b", group="g, h"), member(2, "b"))
    assert uids(wake(*entries, says=("a",), settings=RECURSIVE)) == [1, 2]
    names = changed(RECURSIVE, quirks=KEPT - {Quirk.ACTIVE_GROUP_BY_WHOLE_TEXT})
    assert uids(wake(*entries, says=("a",), settings=names)) == [1]


def test_a_winner_that_is_unlucky_leaves_its_group_empty() -> None:
    entries = (member(1, probability=10, group_override=True), member(2))
    assert uids(wake(*entries, says=("a",), roll=lambda _: 0.9)) == []


def test_scores_count_matching_keys() -> None:
    song = entry(1, "song", "ghosts", group="s")
    other = entry(2, "song", "sing", group="s")
    scored = changed(group_scoring=True)
    assert uids(wake(other, song, says=("a song of ghosts",), settings=scored)) == [1]
    # one member that asks for scores is enough; only those that use them can lose by them
    asking = entry(2, "song", group="s", group_scoring=True)
    assert uids(wake(asking, song, says=("a song of ghosts",))) == [1]
    deaf = entry(3, "song", group="s", group_scoring=False)
    assert uids(wake(deaf, song, says=("a song of ghosts",), settings=scored, roll=lambda _: 0.1)) == [3]


@pytest.mark.parametrize(
    ("logic", "given", "wins"),
    [("and_any", True, True), ("and_all", True, True), ("not_all", True, False), ("and_any", False, False)],
)
def test_secondary_keys_score_where_the_logic_is_a_positive_one(logic: str, given: bool, wins: bool) -> None:
    one = entry(1, "a", secondary_keys=("x", "y"), group="s", logic=logic, logic_given=given)
    two = entry(2, "a", "b", group="s")
    found = wake(one, two, says=("a b x y",), settings=changed(group_scoring=True))
    assert uids(found) == ([1] if wins else [2])


def test_all_secondary_keys_or_none_score_under_and_all() -> None:
    one = entry(1, "a", "b", secondary_keys=("x", "y"), group="s", logic="and_all", selective=False)
    two = entry(2, "a", "b", "c", group="s")
    assert uids(wake(one, two, says=("a b c x",), settings=changed(group_scoring=True))) == [2]
    assert uids(wake(one, two, says=("a b c x y",), settings=changed(group_scoring=True))) == [1]


def test_score_keys_are_read_as_they_are_matched_or_raw() -> None:
    one, two = entry(1, " a ", "b", group="s"), entry(2, "a", group="s", order=200)
    both = changed(group_scoring=True)
    assert uids(wake(one, two, says=("a b",), settings=both)) == [1]
    raw = changed(both, quirks=KEPT | {Quirk.SCORE_RAW_KEYS})
    blank = entry(3, "a", "", group="s")
    assert uids(wake(blank, two, says=("a b",), settings=raw)) == [3]
    assert uids(wake(blank, two, says=("a b",), settings=both, roll=lambda _: 0.1)) == [2]


def test_a_sticky_member_holds_the_group() -> None:
    entries = (member(1, "zz", sticky=9), member(2, group_override=True), member(3, sticky=9))
    effects = running("sticky", entries[0])
    found = wake(*entries, says=("a",), effects=effects, message_count=5, explain=True)
    assert uids(found) == [1]
    assert reasons(found)[2] == "group-sticky"


def test_a_member_that_is_sticky_and_rests_is_removed() -> None:
    one = member(1, "zz", sticky=9, cooldown=9)
    effects = TimedEffects(running("sticky", one).sticky, running("cooldown", one).cooldown)
    assert uids(wake(one, says=("a",), effects=effects, message_count=5)) == []
    alone = entry(1, "zz", sticky=9, cooldown=9)
    effects = TimedEffects(running("sticky", alone).sticky, running("cooldown", alone).cooldown)
    assert uids(wake(alone, says=("a",), effects=effects, message_count=5)) == [1]


def test_an_entry_that_two_groups_reject_is_removed_once_or_takes_the_last_with_it() -> None:
    entries = (
        member(1, group_override=True),
        member(2, group="h", group_override=True),
        member(3, group="g,h"),
        entry(4, "a"),
    )
    assert uids(wake(*entries, says=("a",))) == [1, 2, 4]
    twice = changed(quirks=KEPT | {Quirk.GROUP_DOUBLE_REMOVAL, Quirk.GROUP_REMOVED_STILL_WINS})
    assert uids(wake(*entries, says=("a",), settings=twice)) == [1, 2]


def test_an_entry_that_one_group_removed_cannot_win_another_unless_asked_for() -> None:
    entries = (
        member(1, group_override=True, order=9),
        member(2, group="g,h", group_override=True, order=5),
        member(3, group="h", order=1),
    )
    assert uids(wake(*entries, says=("a",))) == [1, 3]
    still = changed(quirks=KEPT | {Quirk.GROUP_REMOVED_STILL_WINS})
    assert uids(wake(*entries, says=("a",), settings=still)) == [1]


def test_groups_named_by_numbers_go_first_in_ascending_order() -> None:
    # group 2 removes the second entry before group 10 could let it win
    entries = (member(1, group="10"), member(2, group="10,2", group_override=True), member(3, group="2"))
    three = member(3, group="2", group_override=True, order=900)
    assert uids(wake(entries[0], entries[1], three, says=("a",))) == [3, 1]
    named = (member(1, group="x"), member(2, group="x,y", group_override=True))
    assert uids(wake(*named, member(3, group="y", group_override=True, order=900), says=("a",))) == [3, 1]
    # by name: y appears first, as its member has the highest order
    rolled: list[str] = []
    mixed = [member(uid, group=("b", "10", "9", "a")[uid // 2]) for uid in range(8)]
    wake(*mixed, says=("a",), roll=lambda what: rolled.append(what) or 0.1)
    assert rolled == ["group:9", "group:10", "group:b", "group:a"]

"""Where active entries go."""

from typing import Any

from engine.lore import Activation, Places, Reason, place
from engine.resources import Entry
from engine.resources.entry import POSITIONS
from tests.engine.lore.build import entry, wake


def woken(*entries: Entry) -> Activation:
    return wake(*entries, says=())


def always(uid: int, **more: Any) -> Entry:
    return entry(uid, constant=True, **more)


def test_every_position_has_its_container() -> None:
    places = place(woken(*[always(n, position=p, outlet="box") for n, p in enumerate(POSITIONS)]).entries)
    assert places.before_text == "e0"
    assert places.after_text == "e1"
    assert [piece.text for piece in places.note_top] == ["e2"]
    assert [piece.text for piece in places.note_bottom] == ["e3"]
    assert [(block.depth, block.role, block.text) for block in places.depths] == [(4, "system", "e4")]
    assert [(example.side, example.piece.text) for example in places.examples] == [
        ("bottom", "e6"),
        ("top", "e5"),
    ]
    assert places.outlet("box") == "e7"
    assert places.note("AN") == "e2\nAN\ne3"


def test_depths_are_grouped_by_depth_and_role_and_read_in_ascending_order() -> None:
    found = woken(
        always(0, position="at_depth", order=1),
        always(1, position="at_depth", order=2),
        always(2, position="at_depth", role="user"),
        always(3, position="at_depth", role="assistant", depth=0),
        always(4, position="at_depth", order=3),
    )
    assert [(block.depth, block.role, block.text) for block in place(found.entries).depths] == [
        (4, "user", "e2"),
        (0, "assistant", "e3"),
        (4, "system", "e0\ne1\ne4"),
    ]


def test_outlets_read_in_descending_order_and_need_a_name() -> None:
    found = woken(
        always(0, position="outlet", outlet="o", order=1),
        always(1, position="outlet", outlet="o", order=2),
        always(2, position="outlet"),
    )
    places = place(found.entries)
    assert places.outlet("o") == "e1\ne0"
    assert places.outlet("other") == ""
    assert places.unplaced == (("w:2", Reason.OUTLET_UNNAMED),)


def test_the_note_loses_one_line_break_at_each_end() -> None:
    assert Places().note("") == ""
    both = woken(always(0, position="note_top"), always(1, position="note_bottom"))
    assert place(both.entries).note("") == "e0\n\ne1"
    assert place(woken(always(0, position="note_top")).entries).note("AN") == "e0\nAN"


def test_what_is_not_in_the_prompt_is_told() -> None:
    found = woken(
        always(0, position="note_top"),
        always(1, position="outlet", outlet="used"),
        always(2, position="outlet", outlet="unused"),
        Entry(3, (), "", constant=True),
    )
    places = place(found.entries)
    assert places.unsaid(note_due=True, used_outlets={"used"}) == (
        ("w:3", Reason.EMPTY),
        ("w:2", Reason.OUTLET_UNUSED),
    )
    assert ("w:0", Reason.NOTE_NOT_DUE) in places.unsaid(note_due=False, used_outlets={"used"})


def test_scripts_may_change_a_text_at_the_last_moment_and_know_its_depth() -> None:
    found = woken(always(0), always(1, position="at_depth", depth=7), always(2, content="gone"))
    told: list[tuple[str, int | None]] = []

    def finish(text: str, depth: int | None) -> str:
        told.append((text, depth))
        return "" if text == "gone" else text.upper()

    places = place(found.entries, finish)
    assert (places.before_text, places.depths[0].text) == ("E0", "E1")
    assert sorted(told) == [("e0", None), ("e1", 7), ("gone", None)]
    assert places.unplaced == (("w:2", Reason.EMPTY),)

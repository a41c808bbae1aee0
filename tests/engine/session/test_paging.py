"""Pages of a log (session spec 7.4)."""

from typing import Any

import pytest

from engine.errors import InputError
from engine.session import Page, Session, TurnWindow, page
from tests.engine.session.build import exchange, live, replace, say

# Four turns; the first has the prompt: starts at 0, 7, 13, 19; u/a at 3/4, 9/10, 15/16, 21/22; ends at 24.
# Then a replacement copy at 25 and an appended message at 26 that cites 20.


@pytest.fixture
def session() -> Session:
    session = live()
    for turn in range(1, 5):
        exchange(session, turn)
    say(session, "copy", surface_op=replace(3, 4), source_event_seqs=[3, 4])
    say(session, "cited", source_event_seqs=[20])
    assert session.seq == 27
    return session


def span(found: Page) -> tuple[int, int, bool]:
    return found.events[0].seq, found.events[-1].seq, found.has_more


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"through_seq": 26}, (0, 26, False)),
        ({"through_seq": 4}, (0, 4, False)),
        ({"through_seq": 26, "max_messages": 1}, (20, 26, True)),
        ({"through_seq": 26, "max_messages": 2}, (22, 26, True)),
        ({"through_seq": 26, "before_seq": 13, "max_messages": 2}, (9, 12, True)),
        (
            {"through_seq": 26, "max_messages": 10, "turn_window": TurnWindow(2, 2)},
            (13, 26, True),
        ),
        ({"through_seq": 26, "max_messages": 3, "turn_window": TurnWindow(9, 9)}, (21, 26, True)),
    ],
    ids=str,
)
def test_a_page_begins_at_a_message_or_a_turn(
    session: Session, request_: dict[str, Any], expected: tuple[int, int, bool]
) -> None:
    assert span(page(session.events(), **request_)) == expected


def test_the_empty_snapshot_has_an_empty_page(session: Session) -> None:
    found = page(session.events(), through_seq=-1)

    assert (list(found.events), found.has_more) == ([], False)


def test_pages_join_without_a_gap(session: Session) -> None:
    seqs: list[int] = []
    before = 27
    while before > 0:
        found = page(session.events(), through_seq=26, before_seq=before, max_messages=2)
        seqs = [event.seq for event in found.events] + seqs
        before = found.events[0].seq

    assert seqs == list(range(27))


@pytest.mark.parametrize(
    "request_",
    [
        {"through_seq": 27},
        {"through_seq": -2},
        {"through_seq": 1.0},
        {"through_seq": 3, "before_seq": -1},
        {"through_seq": 3, "max_messages": 0},
        {"through_seq": 3, "turn_window": TurnWindow(1, 0)},
        {"through_seq": 3, "turn_window": TurnWindow(0, 1)},
    ],
    ids=str,
)
def test_a_bad_request_is_said_to_be_one(session: Session, request_: dict[str, Any]) -> None:
    with pytest.raises(InputError) as error:
        page(session.events(), **request_)
    assert error.value.error_code == "BAD_REQUEST"

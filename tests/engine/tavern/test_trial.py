"""Texts that are tried out: what they would wake, and what of that reaches the prompt."""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.lore import Book, Reason
from engine.resources import RegexScript, WorldBook, read_card, read_world_book
from engine.session import Journal, Sessions, StrictValidator
from engine.storage import EventTable, Store
from engine.tavern import LoreTrials, ProfileRequest, try_scripts


def world(entries: Sequence[dict[str, Any]]) -> WorldBook:
    return read_world_book(json.dumps({"entries": dict(enumerate(entries))}).encode(), "w.json")


class Profiles:
    """Gives the request that a test wants, and remembers what was asked."""

    def __init__(self, request: ProfileRequest) -> None:
        self._request = request
        self.sessions: list[Any] = []

    async def request(self, session: Any, claimed: Sequence[Any] = ()) -> ProfileRequest:
        self.sessions.append(session)
        return self._request


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with await Store.open(tmp_path / "log.db") as store:
        sessions = Sessions(validators=[StrictValidator])
        yield Journal(sessions, EventTable(store), clock=lambda: 1)


def trials(journal: Journal, request: ProfileRequest | None = None) -> tuple[LoreTrials, Profiles]:
    profiles = Profiles(request or ProfileRequest())
    return LoreTrials(journal, profiles), profiles  # type: ignore[arg-type]


async def test_every_entry_has_a_verdict(journal: Journal) -> None:
    book = Book("w", world([{"key": ["cat"], "content": "CAT"}, {"key": ["dog"], "content": "DOG"}]))
    trial = await trials(journal)[0].book(book, "a cat")
    assert {v.entry.content: (v.fired, v.reason) for v in trial.activation.verdicts} == {
        "CAT": (True, Reason.KEY),
        "DOG": (False, Reason.PRIMARY),
    }
    assert [held.id for held in trial.books] == ["w"]


async def test_what_is_active_and_not_said_is_told_with_the_reason(journal: Journal) -> None:
    entries = [
        {"key": ["x"], "content": "   "},
        {"key": ["x"], "content": "O", "position": 7, "outletName": "nobody"},
        {"key": ["x"], "content": "U", "position": 7},
        {"key": ["x"], "content": "SAID"},
    ]
    trial = await trials(journal)[0].book(Book("w", world(entries)), "x")
    assert trial.unsaid == {
        "w:0": Reason.EMPTY,
        "w:1": Reason.OUTLET_UNUSED,
        "w:2": Reason.OUTLET_UNNAMED,
    }


async def test_lore_that_has_no_room_is_a_remark(journal: Journal) -> None:
    request = ProfileRequest(
        books=(Book("w", world([{"key": ["x"], "content": "long " * 100, "order": n} for n in (1, 2)])),),
        messages=("x",),
        max_bytes=900,
    )
    made, _ = trials(journal, request)
    await journal.create("s1")
    trial = await made.in_session("s1", {})
    assert [note.code for note in trial.remarks] == ["TAVERN_PROFILE_LORE_LIMITED"]
    assert trial.unsaid == {}


async def test_texts_that_fill_the_prompt_alone_do_not_keep_a_trial_from_its_verdicts(
    journal: Journal,
) -> None:
    card = read_card(
        json.dumps({"name": "A", "description": "d" * 5_000, "first_mes": "m"}).encode(), "a.json"
    )
    request = ProfileRequest(
        card=card, books=(Book("w", world([{"key": ["x"], "content": "X"}])),), messages=("x",), max_bytes=900
    )
    await journal.create("s1")
    trial = await trials(journal, request)[0].in_session("s1", {})
    assert [entry.text for entry in trial.activation.entries] == ["X"]


async def test_a_session_that_rests_is_looked_at_without_being_opened(journal: Journal) -> None:
    # given a session that is not live
    await journal.create("s1")
    await journal.close("s1")
    made, profiles = trials(journal)

    # when a text is tried in it
    await made.in_session("s1", {})

    # then it was read as it stands, and is not live now
    assert profiles.sessions[0].id == "s1"
    assert journal.sessions.get("s1") is None


async def test_a_live_session_is_taken_as_it_is(journal: Journal) -> None:
    session = await journal.create("s1")
    made, profiles = trials(journal)
    await made.in_session("s1", {})
    assert profiles.sessions == [session]


# --- scripts


def script(find: str, put: str, **fields: Any) -> RegexScript:
    return RegexScript("", find, find, put, **fields)


def test_what_is_stored_shown_and_sent_is_told_apart() -> None:
    scripts = [
        script("/a/g", "b"),
        script("/b/g", "c", display_only=True),
        script("/b/g", "d", prompt_only=True),
        script("/x/g", "y", placements=frozenset({1})),
    ]
    trial = try_scripts("a x", scripts, 2)
    assert (trial.stored.text, trial.shown.text, trial.sent.text) == ("b x", "c x", "d x")
    assert trial.changed
    assert not try_scripts("q", scripts, 2).changed


def test_a_script_that_fails_is_one_problem() -> None:
    trial = try_scripts("a", [script("/(/", "b", display_only=True, prompt_only=True)], 2)
    assert [problem.code for problem in trial.problems] == ["PATTERN_INVALID"]

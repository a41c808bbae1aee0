"""Lore on its way from the library into the system text of a step."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine.agent import AssembleContext, SystemPrompt
from engine.cancel import CancelToken
from engine.hooks import Hooks, Scope
from engine.library import Library, Selection
from engine.lore import EFFECTS_RECORD
from engine.resources import Preset
from engine.session import Session, Sessions, StrictValidator, user_message
from engine.storage import Store
from engine.tavern import ProfileLoader, ProfileSection

ENTRIES = {
    "0": {"uid": 0, "key": ["clocktower"], "content": "THE TOWER HAS NO STAIRS", "sticky": 3},
    "1": {"uid": 1, "key": ["ferry"], "content": "THE FERRY IS LATE"},
}


class Parameters:
    def keep(self, session_id: str, parameters: Any) -> None:
        """Nothing here is sent."""


class Table:
    """A story with one book, and the loader that renders for it."""

    def __init__(self, library: Library, book_id: str) -> None:
        self.library = library
        self.sessions = Sessions(validators=[StrictValidator])
        self.hooks = Hooks()
        self.prompt = SystemPrompt(self.hooks)
        self.scope = Scope("table")
        self.book_id = book_id
        loader = ProfileLoader(library, Preset("P", (), {}), self.scope)
        parameters: Any = Parameters()
        ProfileSection(loader, self.hooks, self.prompt, parameters, library.variables, self.scope)

    async def story(self, session: Session) -> Session:
        await self.library.selections.set(session.id, Selection(book_ids=(self.book_id,), seed="s"))
        return session

    async def step(self, session: Session, *words: str, preview: bool = False, admitted: bool = True) -> str:
        """What the system text of a step is that claims these words."""
        count = session.seq
        claimed = [user_message(f"u{count}.{n}", word, {"kind": "user"}) for n, word in enumerate(words)]
        scope = None if preview else self.scope
        context = AssembleContext(session, claimed, CancelToken(), scope)
        text = (await self.prompt.assemble(context)).system_text
        if admitted:
            self.hooks.emit("agent/admitted", session, 1, 1, context)
        return text


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    async with await Store.open(tmp_path / "library.db") as store:
        library = Library(store)
        body = json.dumps({"name": "Town", "entries": ENTRIES}).encode()
        row = await library.import_book("guild", body, "town.json", "ana")
        yield Table(library, row.id)


async def test_the_words_that_are_claimed_wake_lore_in_the_very_first_request(table: Table) -> None:
    session = await table.story(table.sessions.create("one"))
    assert "STAIRS" in await table.step(session, "To the clocktower!")
    assert "STAIRS" not in await table.step(await table.story(table.sessions.create("two")), "To the inn!")


async def test_timed_lore_lives_in_the_log_of_its_branch(table: Table) -> None:
    session = await table.story(table.sessions.create("one"))
    session.append("plugin:test/begin", {}, ignorable=True)
    assert "STAIRS" not in await table.step(session, "Hello.")
    assert "STAIRS" in await table.step(session, "To the clocktower!")
    assert [event.type for event in session.events()] == ["plugin:test/begin", EFFECTS_RECORD]
    before = await table.story(table.sessions.fork(session.id, 0, "before"))
    after = await table.story(table.sessions.fork(session.id, 1, "after"))
    for branch, stays in ((session, True), (before, False), (after, True)):
        text = await table.step(branch, "x", "y")
        assert ("STAIRS" in text) is stays


async def test_a_preview_leaves_no_record(table: Table) -> None:
    session = await table.story(table.sessions.create("one"))
    assert "STAIRS" in await table.step(session, "To the clocktower!", preview=True, admitted=False)
    assert session.seq == 0


async def test_a_step_that_is_not_admitted_leaves_no_record(table: Table) -> None:
    session = await table.story(table.sessions.create("one"))
    assert "STAIRS" in await table.step(session, "To the clocktower!", admitted=False)
    assert session.seq == 0

"""Which regex scripts a story uses, and what they make of a text that is only tried out.

Its own lists first, then those of its preset and of its card, which run only with the consent of
whoever looks after the library. Source: spec sillytavern 5, tavern 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from engine.errors import NotFound, ResourceError
from engine.library import Library, Selection
from engine.resources import RegexScript
from engine.scripts import Applied, Macros, Occasion, Problem, ScriptBook, apply_scripts

__all__ = ["ScriptTrial", "StoryScripts", "story_scripts", "try_scripts"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StoryScripts:
    """`book` has all of them, in order. `lists` are the story's own lists (id, scripts); `waiting` are ids of
    the preset and card whose scripts nobody has allowed."""

    book: ScriptBook
    lists: tuple[tuple[str, tuple[RegexScript, ...]], ...] = ()
    waiting: tuple[str, ...] = ()


async def story_scripts(library: Library, selection: Selection, owner: str) -> StoryScripts:
    """The scripts of a selection in the library of `owner`. What cannot be read is left out."""
    lists = tuple(
        [(list_id, await _scripts(library, list_id)) for list_id in dict.fromkeys(selection.regex_ids)]
    )
    preset = await _scripts(library, selection.preset_id)
    card = await _scripts(library, selection.card_id)
    asked = {
        found: bool(await library.consents.given(owner, found))
        for found, scripts in ((selection.preset_id, preset), (selection.card_id, card))
        if found is not None and scripts
    }
    book = ScriptBook(
        everywhere=tuple(script for _, scripts in lists for script in scripts),
        preset=preset,
        character=card,
        preset_allowed=asked.get(selection.preset_id or "", False),
        character_allowed=asked.get(selection.card_id or "", False),
    )
    return StoryScripts(book, lists, tuple(found for found, allowed in asked.items() if not allowed))


async def _scripts(library: Library, resource_id: str | None) -> tuple[RegexScript, ...]:
    if resource_id is None:
        return ()
    try:
        return await library.scripts(resource_id)
    except (NotFound, ResourceError) as error:
        log.warning("scripts.unreadable", resource=resource_id, code=error.error_code)
        return ()


@dataclass(frozen=True, slots=True)
class ScriptTrial:
    """What becomes of a text: as it is `stored`, then as it is `shown` to people and `sent` to the model."""

    before: str
    stored: Applied
    shown: Applied
    sent: Applied

    @property
    def changed(self) -> bool:
        """Whether any script did anything."""
        return any(each.text != self.before for each in (self.stored, self.shown, self.sent))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The scripts that failed, each once."""
        found = (*self.stored.problems, *self.shown.problems, *self.sent.problems)
        return tuple({(problem.script.name, problem.code): problem for problem in found}.values())


def try_scripts(
    text: str, scripts: Sequence[RegexScript], placement: int, macros: Macros | None = None
) -> ScriptTrial:
    """What the scripts make of a text that was said just now at a placement. Slow scripts take their time:
    run it on a thread. Nobody gets a strike for it."""
    stored = apply_scripts(text, scripts, Occasion(placement), macros=macros)
    shown = apply_scripts(stored.text, scripts, Occasion(placement, display=True, depth=0), macros=macros)
    sent = apply_scripts(stored.text, scripts, Occasion(placement, prompt=True, depth=0), macros=macros)
    return ScriptTrial(text, stored, shown, sent)

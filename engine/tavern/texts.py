"""The authored texts of a request with their macros expanded, in one order and with one set of variables.

First the persona and the card's fields, then lore, then the preset's prompts, as SillyTavern goes
through them. What people and the model said comes in as values only: it is never expanded (spec
sillytavern 4.5). Source: spec tavern 5.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, overload

from engine.lore import Activation, ActiveEntry, Places, place
from engine.macros import Authored, Expansion, MacroContext, Variables, evaluate, expand
from engine.resources import Card, Diagnostic, Diagnostics
from engine.tavern.fields import FIELDS
from engine.tavern.lore_text import wake_lore
from engine.tavern.profile import LoreFinish, ProfileRequest
from engine.tavern.variables import VariableChanges, changes_of

__all__ = ["Texts", "greeting_text"]


def greeting_text(card: Card, index: int, user: str, *, seed: str = "") -> str:
    """A greeting as it is shown, macros expanded. The index is clamped; empty when there is none."""
    if not card.greetings:
        return ""
    text = card.greetings[min(max(index, 0), len(card.greetings) - 1)]
    rng = random.Random(f"{seed}:greeting:{index}")
    context = MacroContext(user=user, char=card.speaker, group=(card.speaker,), seed=seed, rng=rng)
    return expand(Authored(text), context).strip()


class _Outlets(dict[str, str]):
    """The texts of lore by outlet. Remembers which were asked for."""

    def __init__(self, places: Places) -> None:
        super().__init__({name: places.outlet(name) for name in places.outlets})
        self.read: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)


class Texts:
    """The expanded texts. Making one activates the request's lore; with `explain` every entry has a verdict.

    `names` expands what may name people and facts (keys, lore); `fields` has the card's texts as well, each
    of which comes once in a text.
    """

    def __init__(self, request: ProfileRequest, notes: Diagnostics, *, explain: bool = False) -> None:
        self.request = request
        self.notes = notes
        self.variables = Variables(request.local_variables, request.global_variables)
        self.names = self._names()
        persona = self.authored(request.persona.description) if request.persona else ""
        self.names = replace(self.names, persona=persona, **self._cited())
        self.fields = self._fields()
        self.fields_written = len(self.variables.effects)
        """How many of the variables' effects are those of the persona and the card's fields."""
        self.activation: Activation = wake_lore(
            request, self.names, self.fields, self.variables, explain=explain
        )
        notes.extend(self.activation.diagnostics)
        self.entries = _finished(self.activation.entries, request.finish)
        self.outlets = _Outlets(place(self.entries))
        self.fields = replace(self.fields, outlets=self.outlets, **self._with_outlets())

    def authored(self, text: str, **facts: Any) -> str:
        """A text of a card, a persona or a note, as it is said by itself."""
        context = replace(self.names, **facts) if facts else self.names
        return expand(Authored(text), context, variables=self.variables)

    def evaluated(self, text: str, done: Collection[str], *, original: str | None = None) -> Expansion:
        """A text of a preset, or one that may take its place. The fields in `done` are empty in it."""
        emptied: dict[str, Any] = {FIELDS[macro].attribute: "" for macro in FIELDS.keys() & done}
        context = replace(self.fields, original=original, **emptied)
        expansion = evaluate(Authored(text), context, variables=self.variables)
        self.notes.extend(
            tuple(
                Diagnostic(note.code, note.message, "info", note.name, note.data) for note in expansion.notes
            )
        )
        return expansion

    def changes(self) -> VariableChanges:
        """What the texts so far made of the variables."""
        request = self.request
        return changes_of(self.variables, request.local_variables, request.global_variables, self.notes)

    def _names(self) -> MacroContext:
        request, card = self.request, self.request.card
        return MacroContext(
            user=request.persona.name if request.persona else "User",
            char=card.speaker if card else "Assistant",
            group=(card.speaker,) if card else (),
            char_version=card.character_version if card else "",
            first_messages=_Greetings(request) if card else (),
            chat=request.chat,
            model=request.model,
            max_context=request.window,
            max_response=request.max_response,
            generation_type=request.trigger,
            now=request.now,
            seed=request.seed,
            rng=random.Random(f"{request.seed}:{request.turn}"),
        )

    def _cited(self) -> dict[str, Any]:
        """What a preset may cite of the card's instructions, as the session wants them. The creator's notes
        are never sent, so nothing cites them (seed 003)."""
        request, card = self.request, self.request.card
        if card is None:
            return {}
        return {
            "char_prompt": self._aside(card.system_prompt) if request.prefer_system else "",
            "char_instruction": self._aside(card.post_history_instructions)
            if request.prefer_post_history
            else "",
            "char_depth_prompt": self._aside(card.depth_prompt.prompt) if card.depth_prompt else "",
        }

    def _aside(self, text: str) -> str:
        """A text expanded for others to look at: what it writes into variables counts where it is said."""
        context = replace(self.names, original="", rng=random.Random(f"{self.request.seed}:aside"))
        return expand(Authored(text), context)

    def _fields(self) -> MacroContext:
        """The context of presets: the card's fields with their own macros expanded."""
        card = self.request.card
        if card is None:
            return replace(self.names, once=True)
        return replace(
            self.names,
            description=self.authored(card.description),
            personality=self.authored(card.personality),
            scenario=self.authored(card.scenario),
            mes_examples=self.authored(card.mes_example),
            once=True,
        )

    def _with_outlets(self) -> dict[str, Any]:
        """The card's fields that read an outlet, said again: lore was not there at the first time."""
        card = self.request.card
        if card is None or not self.outlets:
            return {}
        authored = {
            "description": card.description,
            "personality": card.personality,
            "scenario": card.scenario,
            "mes_examples": card.mes_example,
        }
        # What they write into variables has been written.
        rng = random.Random(f"{self.request.seed}:{self.request.turn}:outlets")
        context = replace(self.names, outlets=self.outlets, rng=rng)
        return {
            name: expand(Authored(text), context)
            for name, text in authored.items()
            if "outlet" in text.lower()
        }


class _Greetings(Sequence[str]):
    """The greetings as they are shown, each expanded when a macro asks for it."""

    def __init__(self, request: ProfileRequest) -> None:
        self._card = request.card
        self._user = request.persona.name if request.persona else "User"
        self._seed = request.seed

    def __len__(self) -> int:
        return len(self._card.greetings) if self._card else 0

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if self._card is None or not 0 <= index < len(self):
            raise IndexError(index)
        return greeting_text(self._card, index, self._user, seed=self._seed)


def _finished(entries: Sequence[ActiveEntry], finish: LoreFinish | None) -> tuple[ActiveEntry, ...]:
    """The entries with their texts as they are sent."""
    if finish is None:
        return tuple(entries)
    return tuple(
        replace(active, text=finish(active.text, entry.depth if entry.position == "at_depth" else None))
        for active in entries
        for entry in (active.entry,)
    )

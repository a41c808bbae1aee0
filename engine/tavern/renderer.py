"""Renders a story's system text when no strategy is applied: the compatibility renderer.

A preset's prompts in order, its markers filled once each, and what has no marker at a
stable place behind. No names, tags or headers are put around authored text; two things
are ours: the short cast section, which says who is at the table, and one sentence that
introduces the greeting. Source: spec tavern 5, seed 003, decisions 13, 14 and 19.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import ResourceError
from engine.lore import ActiveEntry, Book, activate
from engine.macros import MacroContext, evaluate, expand
from engine.resources import Card, Diagnostics, Persona, Prompt
from engine.tavern.lore_text import fit_lore
from engine.tavern.profile import HARD_MAX_BYTES, CallParameters, Profile, ProfileRequest, Section

__all__ = ["compile_profile", "greeting_text"]

_JOINT = "\n\n"


@dataclass(frozen=True, slots=True)
class _Source:
    """A field that is emitted at most once: by a marker, by its macro, or at the fallback place."""

    kind: str
    macro: str  # the canonical macro name, which also names the field
    attribute: str  # of MacroContext
    template: str
    format_key: str = ""  # where a preset may say how to write it


_PERSONA = _Source("user", "persona", "persona", "{{persona}}")
_DESCRIPTION = _Source("character", "description", "description", "{{description}}")
_PERSONALITY = _Source("character", "personality", "personality", "{{personality}}", "personality_format")
_SCENARIO = _Source("character", "scenario", "scenario", "{{scenario}}", "scenario_format")
_EXAMPLES = _Source("character", "mesexamples", "mes_examples", "{{mesExamples}}")

_FIELD_MARKERS = {
    "personaDescription": _PERSONA,
    "userDescription": _PERSONA,
    "userPersona": _PERSONA,
    "charDescription": _DESCRIPTION,
    "charPersonality": _PERSONALITY,
    "scenario": _SCENARIO,
    "dialogueExamples": _EXAMPLES,
}
_FORBIDDEN = {
    "main": "CHARACTER_SYSTEM_OVERRIDE_FORBIDDEN",
    "jailbreak": "CHARACTER_PHI_OVERRIDE_FORBIDDEN",
}
_LORE_MARKERS = {"worldInfoBefore": "before", "worldInfoAfter": "after"}
_ATTRIBUTES = {
    source.macro: source.attribute for source in (_PERSONA, _DESCRIPTION, _PERSONALITY, _SCENARIO, _EXAMPLES)
}


def compile_profile(request: ProfileRequest) -> Profile:
    """Render the system text.

    Raises ResourceError TAVERN_PROFILE_TOO_LARGE when the authored text alone passes the budget:
    it is never cut in its middle. Lore that does not fit is left out whole, lowest order first.
    """
    return _Renderer(request).profile()


def greeting_text(card: Card, index: int, user: str, *, seed: str = "") -> str:
    """A greeting as it is shown, macros expanded. The index is clamped; empty when there is none."""
    if not card.greetings:
        return ""
    text = card.greetings[min(max(index, 0), len(card.greetings) - 1)]
    rng = random.Random(f"{seed}:greeting:{index}")
    context = MacroContext(user=user, char=card.speaker, group=(card.speaker,), seed=seed, rng=rng)
    return expand(text, context).strip()


class _Renderer:
    def __init__(self, request: ProfileRequest) -> None:
        self.request = request
        self.card = request.card
        self.prompts = request.preset.prompts if request.preset else ()
        self.notes = Diagnostics()
        self.slots: list[Section | str] = []  # a text is the position of lore that goes there
        self.done: set[str] = set()
        self.placement = "none"
        names = MacroContext(
            user=request.persona.name if request.persona else "User",
            char=self.card.speaker if self.card else "Assistant",
            group=(self.card.speaker,) if self.card else (),
            now=request.now,
            seed=request.seed,
            rng=random.Random(f"{request.seed}:{request.turn}"),
        )
        self.names = replace(
            names, persona=expand(request.persona.description, names) if request.persona else ""
        )
        self.fields = self._with_fields()
        self.lore = self._activated()

    def profile(self) -> Profile:
        self._cast()
        for prompt in self.prompts:
            self._prompt(prompt)
        self._fallback()
        sections, lore = self._fitted()
        return Profile(
            system_text=_JOINT.join(section.text for section in sections),
            sections=sections,
            parameters=self._parameters(),
            character=self.names.char,
            user=self.names.user,
            lore=lore,
            persona_placement=self.placement,
            diagnostics=self.notes.all(),
        )

    def _parameters(self) -> CallParameters:
        preset = self.request.preset
        if preset is None:
            return CallParameters()
        return CallParameters(
            temperature=preset.temperature,
            max_tokens=preset.max_tokens,
            reasoning_effort=preset.reasoning_effort,
            stop=preset.stop,
        )

    # What there is

    def _with_fields(self) -> MacroContext:
        """The context of presets: the card's fields with their own macros expanded."""
        card = self.card
        if card is None:
            return replace(self.names, once=True)
        return replace(
            self.names,
            description=expand(card.description, self.names),
            personality=expand(card.personality, self.names),
            scenario=expand(card.scenario, self.names),
            mes_examples=expand(card.mes_example, self.names),
            once=True,
        )

    def _activated(self) -> tuple[ActiveEntry, ...]:
        books = list(self.request.books)
        if self.card is not None and self.card.book is not None:
            books.append(Book(f"character:{self.request.card_id}:embedded-world-book", self.card.book))
        rng = random.Random(f"{self.request.seed}:{self.request.turn}:lore")
        activation = activate(
            books,
            self.request.messages,
            roll=rng.random,
            settings=self.request.lore,
            trigger=self.request.trigger,
        )
        self.notes.extend(activation.diagnostics)
        return activation.entries

    # Sections

    def _cast(self) -> None:
        """Who is at the table. It stands first, so that no authored line can pose as it."""
        players = {player.name: player for player in self._players()}
        if self.card is None and not players:
            return
        lines = [f"Character: {self.names.char}"] if self.card else []
        if players:
            lines.append(f"Players: {', '.join(players)}")
        if self.request.preset is None:
            lines.append(
                "Each player's message begins with the player's name. "
                f"Write what {self.names.char} says and does next; "
                "what the players say, do and feel is theirs to write."
            )
        for player in players.values():
            if player.description.strip() and player != self.request.persona:
                about = expand(player.description, replace(self.names, user=player.name, persona=""))
                lines.append(f"About {player.name}: {about.strip()}")
        self._add("cast", "cast", "\n".join(lines))

    def _players(self) -> tuple[Persona, ...]:
        if self.request.players:
            return tuple(self.request.players)
        return (self.request.persona,) if self.request.persona else ()

    def _prompt(self, prompt: Prompt) -> None:
        name = prompt.identifier
        wanted = prompt.enabled and (not prompt.triggers or self.request.trigger in prompt.triggers)
        if name in _LORE_MARKERS:
            self._lore_slot(_LORE_MARKERS[name], wanted)
        elif name in _FIELD_MARKERS and (prompt.marker or not prompt.content.strip()):
            self._marker(name, _FIELD_MARKERS[name], wanted)
        elif name in ("main", "jailbreak"):
            self._override(prompt, wanted)
        elif wanted and name != "chatHistory":
            if prompt.marker:
                self.notes.info("UNKNOWN_MARKER", f"Nothing is known to go at the marker “{name}”.", name)
                return
            self._approximate(prompt)
            self._add("preset", name, self._evaluated(prompt.content, name))

    def _marker(self, name: str, source: _Source, wanted: bool) -> None:
        if not wanted:  # switched off in the preset: not sent, also not behind
            self.done.add(source.macro)
            return
        had = source.macro in self.done
        text = self._evaluated(self._template(source), name)
        self.done.add(source.macro)
        if source is _PERSONA and not had and text.strip():
            self.placement = f"preset-marker:{name}"
        self._add(source.kind, source.macro, text)

    def _template(self, source: _Source) -> str:
        """How the field is written: the preset's format when it has one, but only around a text."""
        if not str(getattr(self.fields, source.attribute)).strip() or source.macro in self.done:
            return ""
        preset = self.request.preset
        given = preset.raw.get(source.format_key) if preset and source.format_key else None
        return given if isinstance(given, str) and given.strip() else source.template

    def _override(self, prompt: Prompt, wanted: bool) -> None:
        """`main` and `jailbreak`: the card's own text may take the prompt's place, around `{{original}}`."""
        name = prompt.identifier
        text, preferred = self._card_text(name)
        self.done.add(name)
        if not wanted:
            return
        self._approximate(prompt)
        original = self._evaluated(prompt.content, name)
        if text and preferred and prompt.forbid_overrides:
            code = (
                "CHARACTER_SYSTEM_OVERRIDE_FORBIDDEN"
                if name == "main"
                else "CHARACTER_PHI_OVERRIDE_FORBIDDEN"
            )
            self.notes.info(code, "The preset keeps its own text; the card's is not used.", name)
        elif text and preferred:
            if name == "jailbreak":
                self._phi_note()
            self._add("character", name, self._evaluated(text, name, original=original))
            return
        self._add("preset", name, original)

    def _card_text(self, name: str) -> tuple[str, bool]:
        """(the card's text for this prompt, whether the session wants it)."""
        if self.card is None:
            return "", False
        if name == "main":
            return self.card.system_prompt.strip(), self.request.prefer_system
        return self.card.post_history_instructions.strip(), self.request.prefer_post_history

    def _lore_slot(self, position: str, wanted: bool) -> None:
        if position not in self.done and wanted:
            self.slots.append(position)
        self.done.add(position)

    def _fallback(self) -> None:
        """What no marker or macro has placed, in a fixed order."""
        self._fallback_field(_PERSONA, "USER_PERSONA_MARKER_FALLBACK")
        self._fallback_override("main")
        for source in (_DESCRIPTION, _PERSONALITY, _SCENARIO, _EXAMPLES):
            self._fallback_field(source, "CHARACTER_MARKER_FALLBACK")
        self._fallback_override("jailbreak")
        self._greeting()
        self._depth_prompt()
        for position in ("before", "after"):
            self._lore_slot(position, True)

    def _fallback_field(self, source: _Source, code: str) -> None:
        template = self._template(source)
        if not template:
            return
        if self.request.preset is not None:
            self.notes.info(
                code, f"The preset has no place for {source.macro}; it stands behind.", source.macro
            )
        text = self._evaluated(template, source.macro)
        self.done.add(source.macro)
        if source is _PERSONA:
            self.placement = "fallback"
        self._add(source.kind, source.macro, text)

    def _fallback_override(self, name: str) -> None:
        text, preferred = self._card_text(name)
        if name in self.done or not text or not preferred:
            return
        if name == "jailbreak":
            self._phi_note()
        self._add("character", name, self._evaluated(text, name, original=""))

    def _greeting(self) -> None:
        if self.card is None or not self.request.first_turn:
            return
        request = self.request
        text = greeting_text(self.card, request.greeting_index, self.names.user, seed=request.seed)
        if text:
            self.notes.info(
                "CHARACTER_GREETING_REFERENCE", "The greeting is sent as a reference.", "greeting"
            )
            lead = f"The story has begun with these words of {self.names.char}, which the players have read:"
            self._add("character", "greeting", f"{lead}\n{text}")

    def _depth_prompt(self) -> None:
        note = self.card.depth_prompt if self.card else None
        if note is not None:
            self.notes.info(
                "CHARACTER_DEPTH_APPROXIMATE",
                f"The card's note for depth {note.depth} stands in the system text.",
                "depth_prompt",
            )
            self._add("character", "depth_prompt", self._evaluated(note.prompt, "depth_prompt"))

    # Texts

    def _evaluated(self, text: str, name: str, *, original: str | None = None) -> str:
        """The text with macros expanded; fields that were used before are empty."""
        context = replace(self.fields, original=original)
        for macro in self.done & _ATTRIBUTES.keys():
            context = _without(context, _ATTRIBUTES[macro])
        expansion = evaluate(text, context)
        if "persona" in expansion.used - self.done and self.fields.persona.strip():
            self.placement = f"preset-macro:{name}"
        self.done |= expansion.used & _ATTRIBUTES.keys()
        for unknown in sorted(expansion.unknown):
            self.notes.info(
                "UNKNOWN_MACRO", f"{{{{{unknown[:40]}}}}} is not known; it stays as written.", unknown
            )
        return expansion.text

    def _add(self, kind: str, name: str, text: str) -> None:
        if text.strip():
            self.slots.append(Section(kind, name, text.strip()))

    def _approximate(self, prompt: Prompt) -> None:
        if prompt.in_chat:
            self.notes.info(
                "PRESET_DEPTH_APPROXIMATED",
                f"“{prompt.name or prompt.identifier}” wants a place between messages; "
                "without a strategy it stands in the system text.",
                prompt.identifier,
            )
        elif prompt.role != "system":
            self.notes.info(
                "PRESET_ROLE_APPROXIMATED",
                f"“{prompt.name or prompt.identifier}” wants the role {prompt.role}; "
                "without a strategy it stands in the system text.",
                prompt.identifier,
            )

    def _phi_note(self) -> None:
        self.notes.info(
            "CHARACTER_PHI_APPROXIMATE",
            "The card's post-history instructions stand in the system text, before the history.",
            "post_history_instructions",
        )

    # Budget

    def _fitted(self) -> tuple[tuple[Section, ...], tuple[ActiveEntry, ...]]:
        """The sections with as much lore as fits, and the entries that did."""
        limit = min(self.request.max_bytes, HARD_MAX_BYTES)
        used = _bytes(_JOINT.join(slot.text for slot in self.slots if isinstance(slot, Section)))
        if used > limit:
            raise ResourceError(
                f"The texts of the preset, the card and the persona have {used:,} bytes together; "
                f"{limit:,} are allowed. Switch off prompts of the preset or use a smaller card.",
                code="TAVERN_PROFILE_TOO_LARGE",
                actual_bytes=used,
                max_bytes=limit,
            )
        slots = {slot for slot in self.slots if isinstance(slot, str)}
        room = limit - used - len(slots) * _bytes(self._formatted(" "))
        texts = fit_lore(self.lore, self.names, room, self.notes) if slots else []
        sections: list[Section] = []
        for slot in self.slots:
            if isinstance(slot, Section):
                sections.append(slot)
            elif body := self._formatted("\n".join(lore.text for lore in texts if lore.place == slot)):
                sections.append(Section("lore", slot, body))
        return tuple(sections), tuple(lore.active for lore in texts if lore.place in slots)

    def _formatted(self, text: str) -> str:
        """Lore as the preset wants it written; an empty text stays empty."""
        preset = self.request.preset
        given = preset.raw.get("wi_format") if preset and text else None
        return given.replace("{0}", text, 1) if isinstance(given, str) and "{0}" in given else text


def _without(context: MacroContext, attribute: str) -> MacroContext:
    emptied: dict[str, Any] = {attribute: ""}
    return replace(context, **emptied)


def _bytes(text: str) -> int:
    return len(text.encode())

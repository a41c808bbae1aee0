"""Renders a story's system text when no strategy is applied: the compatibility renderer.

A preset's prompts in order, its markers filled once each, and what has no marker at a
stable place behind. No names, tags or headers are put around authored text; two things
are ours: the short cast section, which says who is at the table, and one sentence that
introduces the greeting. Source: spec tavern 5, seed 003, decisions 13, 14 and 19.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from engine.errors import ResourceError
from engine.lore import Activation
from engine.resources import Diagnostics, Persona, Preset, Prompt
from engine.tavern.fields import (
    DESCRIPTION,
    EXAMPLES,
    FIELD_MARKERS,
    FIELDS,
    LORE_MARKERS,
    PERSONA,
    PERSONALITY,
    SCENARIO,
    Field,
)
from engine.tavern.lore_text import LoreText, fit_lore, placed_lore
from engine.tavern.profile import (
    HARD_MAX_BYTES,
    CallParameters,
    LoreBudget,
    Profile,
    ProfileRequest,
    Section,
    UserInjection,
)
from engine.tavern.texts import Texts, greeting_text

__all__ = ["call_parameters", "compile_profile", "lore_of"]

_JOINT: Final = "\n\n"
_ORIGINAL = re.compile(r"\{\{\s*original\s*\}\}", re.IGNORECASE)
_FORBIDDEN: Final = {
    "main": "CHARACTER_SYSTEM_OVERRIDE_FORBIDDEN",
    "jailbreak": "CHARACTER_PHI_OVERRIDE_FORBIDDEN",
}


def compile_profile(request: ProfileRequest, *, resolve_only: bool = False) -> Profile:
    """Render the system text; with `resolve_only` all but that, for a strategy that places the sources.

    A pure function of the request, which takes milliseconds: run it on a thread.
    Raises ResourceError TAVERN_PROFILE_TOO_LARGE (data: actual_bytes, max_bytes) when the authored text
    alone passes the budget: it is never cut in its middle. Lore that does not fit is left out whole,
    lowest order first.
    """
    renderer = _Renderer(request)
    return renderer.resolved() if resolve_only else renderer.profile()


def lore_of(request: ProfileRequest) -> Activation:
    """What `compile_profile` would activate for the request, with a verdict for every entry."""
    return Texts(replace(request, finish=None), Diagnostics(), explain=True).activation


def call_parameters(preset: Preset | None) -> CallParameters:
    """What a preset asks of the model."""
    if preset is None:
        return CallParameters()
    return CallParameters(
        temperature=preset.temperature,
        max_tokens=preset.max_tokens,
        reasoning_effort=preset.reasoning_effort,
        stop=preset.stop,
    )


class _Renderer:
    def __init__(self, request: ProfileRequest) -> None:
        self.request = request
        self.card = request.card
        self.prompts = request.preset.prompts if request.preset else ()
        self.notes = Diagnostics()
        self.notes.extend(request.remarks)
        self.slots: list[Section | str] = []  # a text is the position of lore that goes there
        self.done: set[str] = set()
        self.placement = "none"
        self.texts = Texts(request, self.notes)
        self.limit = min(request.max_bytes, HARD_MAX_BYTES)

    def profile(self) -> Profile:
        self._cast()
        for prompt in self.prompts:
            self._prompt(prompt)
        self._fallback()
        return self._made(*self._fitted())

    def resolved(self) -> Profile:
        """Nothing is rendered but what is ours."""
        self._cast()
        self._greeting()
        ours = {slot.kind: slot for slot in self.slots if isinstance(slot, Section)}
        return replace(
            self._made((), (), LoreBudget(self.limit, 0, 0)),
            cast=ours.get("cast"),
            greeting=ours.get("character"),
            written=tuple(self.texts.variables.effects[self.texts.fields_written :]),
        )

    def _made(self, sections: Sequence[Section], lore: Sequence[LoreText], budget: LoreBudget) -> Profile:
        texts, persona = self.texts, self.request.persona
        described = len(persona.description.strip()) if persona else 0
        read = self.texts.outlets.read if sections else set()
        said = {item.active.id for item in lore}
        return Profile(
            system_text=_JOINT.join(section.text for section in sections),
            sections=tuple(sections),
            mode=self.request.preset.system_prompt_mode if self.request.preset else "append",
            parameters=call_parameters(self.request.preset),
            character=texts.names.char,
            user=texts.names.user,
            injection=UserInjection(persona is not None, described, self.placement),
            lore=tuple(
                active
                for active in texts.entries
                if active.id in said
                or (active.entry.position == "outlet" and active.entry.outlet in read and active.text)
            ),
            active=texts.entries,
            budget=budget,
            lore_record=texts.activation.record,
            variables=texts.changes(),
            macros=texts.fields,
            diagnostics=self.notes.all(),
        )

    # Sections

    def _cast(self) -> None:
        """Who is at the table. It stands first, so that no authored line can pose as it."""
        players = {player.name: player for player in self._players()}
        if self.card is None and not players:
            return
        lines = [f"Character: {self.texts.names.char}"] if self.card else []
        if players:
            lines.append(f"Players: {', '.join(players)}")
        if self.request.preset is None:
            lines.append(
                "Each player's message begins with the player's name. "
                f"Write what {self.texts.names.char} says and does next; "
                "what the players say, do and feel is theirs to write."
            )
        for player in players.values():
            if player.description.strip() and player != self.request.persona:
                about = self.texts.authored(player.description, user=player.name, persona="")
                lines.append(f"About {player.name}: {about.strip()}")
        self._add("cast", "cast", "\n".join(lines))

    def _players(self) -> tuple[Persona, ...]:
        if self.request.players:
            return tuple(self.request.players)
        return (self.request.persona,) if self.request.persona else ()

    def _prompt(self, prompt: Prompt) -> None:
        name = prompt.identifier
        wanted = prompt.enabled and (not prompt.triggers or self.request.trigger in prompt.triggers)
        if name in LORE_MARKERS:
            self._lore_slot(LORE_MARKERS[name], wanted)
        elif name in FIELD_MARKERS and (prompt.marker or not prompt.content.strip()):
            self._marker(name, FIELD_MARKERS[name], wanted)
        elif name in ("main", "jailbreak"):
            self._override(prompt, wanted)
        elif wanted and name != "chatHistory":
            if prompt.marker:
                self.notes.info(
                    "UNKNOWN_MARKER", "Nothing is known to go at the marker “{name}”.", name, name=name
                )
                return
            self._approximate(prompt)
            self._add("preset", name, self._evaluated(prompt.content, name))

    def _marker(self, name: str, source: Field, wanted: bool) -> None:
        if not wanted:  # switched off in the preset: not sent, also not behind
            self.done.add(source.macro)
            return
        had = source.macro in self.done
        text = self._evaluated(self._template(source), name)
        self.done.add(source.macro)
        if source is PERSONA and not had and text.strip():
            self.placement = f"preset-marker:{name}"
        self._add(source.kind, source.macro, text)

    def _template(self, source: Field) -> str:
        """How the field is written: the preset's format when it has one, but only around a text."""
        if not str(getattr(self.texts.fields, source.attribute)).strip() or source.macro in self.done:
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
        taken = bool(text and preferred and not prompt.forbid_overrides)
        # What nobody will read must not use up a field that it names.
        original = self._evaluated(prompt.content, name) if not taken or _ORIGINAL.search(text) else ""
        if taken:
            if name == "jailbreak":
                self._phi_note()
            self._add("character", name, self._evaluated(text, name, original=original))
            return
        if text and preferred:
            self.notes.info(_FORBIDDEN[name], "The preset keeps its own text; the card's is not used.", name)
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
        self._fallback_field(PERSONA, "USER_PERSONA_MARKER_FALLBACK")
        self._fallback_override("main")
        for source in (DESCRIPTION, PERSONALITY, SCENARIO, EXAMPLES):
            self._fallback_field(source, "CHARACTER_MARKER_FALLBACK")
        self._fallback_override("jailbreak")
        self._greeting()
        self._depth_prompt()
        for position in ("before", "after"):
            self._lore_slot(position, True)

    def _fallback_field(self, source: Field, code: str) -> None:
        template = self._template(source)
        if not template:
            return
        if self.request.preset is not None:
            self.notes.info(
                code,
                "The preset has no place for {field}; it stands behind.",
                source.macro,
                field=source.macro,
            )
        text = self._evaluated(template, source.macro)
        self.done.add(source.macro)
        if source is PERSONA:
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
        text = greeting_text(self.card, request.greeting_index, self.texts.names.user, seed=request.seed)
        if text:
            self.notes.info(
                "CHARACTER_GREETING_REFERENCE", "The greeting is sent as a reference.", "greeting"
            )
            char = self.texts.names.char
            lead = f"The story has begun with these words of {char}, which the players have read:"
            self._add("character", "greeting", f"{lead}\n{text}")

    def _depth_prompt(self) -> None:
        note = self.card.depth_prompt if self.card else None
        if note is not None:
            self.notes.info(
                "CHARACTER_DEPTH_APPROXIMATE",
                "The card's note for depth {depth} stands in the system text.",
                "depth_prompt",
                depth=note.depth,
            )
            self._add("character", "depth_prompt", self._evaluated(note.prompt, "depth_prompt"))

    def _evaluated(self, text: str, name: str, *, original: str | None = None) -> str:
        """The text with macros expanded; fields that were used before are empty."""
        expansion = self.texts.evaluated(text, self.done, original=original)
        if "persona" in expansion.used - self.done and self.texts.fields.persona.strip():
            self.placement = f"preset-macro:{name}"
        self.done |= expansion.used & FIELDS.keys()
        return expansion.text

    def _add(self, kind: str, name: str, text: str) -> None:
        if text.strip():
            self.slots.append(Section(kind, name, text.strip()))

    def _approximate(self, prompt: Prompt) -> None:
        if prompt.in_chat:
            self.notes.info(
                "PRESET_DEPTH_APPROXIMATED",
                "“{name}” wants a place between messages; without a strategy it stands in the system text.",
                prompt.identifier,
                name=prompt.name or prompt.identifier,
            )
        elif prompt.role != "system":
            self.notes.info(
                "PRESET_ROLE_APPROXIMATED",
                "“{name}” wants the role {role}; without a strategy it stands in the system text.",
                prompt.identifier,
                name=prompt.name or prompt.identifier,
                role=prompt.role,
            )

    def _phi_note(self) -> None:
        self.notes.info(
            "CHARACTER_PHI_APPROXIMATE",
            "The card's post-history instructions stand in the system text, before the history.",
            "post_history_instructions",
        )

    # Budget

    def _fitted(self) -> tuple[list[Section], list[LoreText], LoreBudget]:
        """The sections with as much lore as fits, that lore, and how much there was."""
        used = _bytes(_JOINT.join(slot.text for slot in self.slots if isinstance(slot, Section)))
        if used > self.limit:
            raise ResourceError(
                f"The texts of the preset, the card and the persona have {used:,} bytes together; "
                f"{self.limit:,} are allowed. Switch off prompts of the preset or use a smaller card.",
                code="TAVERN_PROFILE_TOO_LARGE",
                actual_bytes=used,
                max_bytes=self.limit,
            )
        slots = {slot for slot in self.slots if isinstance(slot, str)}
        ranked = placed_lore(self.texts.entries, self.texts.outlets.read, self.notes)
        ranked = [lore for lore in ranked if lore.place in slots]
        count = sum(isinstance(slot, Section) for slot in self.slots)

        def measured(lore: Sequence[LoreText]) -> int:
            bodies = [body for slot in slots if (body := self._body(reversed(lore), slot))]
            joints = max(0, count + len(bodies) - 1) - max(0, count - 1)
            return used + sum(map(_bytes, bodies)) + joints * len(_JOINT)

        lore, budget = fit_lore(ranked, measured, self.limit, self.notes)
        return list(self._with_lore(lore)), lore, budget

    def _with_lore(self, lore: Sequence[LoreText]) -> Iterator[Section]:
        for slot in self.slots:
            if isinstance(slot, Section):
                yield slot
            elif body := self._body(lore, slot):
                yield Section("lore", slot, body)

    def _body(self, lore: Iterable[LoreText], place: str) -> str:
        """The lore of a place as the preset wants it written; nothing stays nothing."""
        text = "\n".join(item.text for item in lore if item.place == place)
        preset = self.request.preset
        given = preset.raw.get("wi_format") if preset and text else None
        return given.replace("{0}", text, 1) if isinstance(given, str) and "{0}" in given else text


def _bytes(text: str) -> int:
    return len(text.encode())

"""Naming a persona of one's own, or one of the library's templates, in a command.

As `bot.choices` for resources: what is offered while typing, and what was meant in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import discord
from discord import app_commands

from bot.excerpts import clip, one_line
from bot.i18n import t
from bot.naming import CHOICES, LENGTH, Naming, engine_of, the_one
from bot.stories import library_owner
from engine.errors import NotFound
from engine.library import StoredPersona, Template
from engine.library.shelf import fold

__all__ = [
    "NOBODY",
    "PersonaOption",
    "PlayedOption",
    "TemplateOption",
    "persona_meant",
    "template_meant",
]

T = TypeVar("T")

NOBODY = "-"
"""The value that stands for playing nobody but oneself."""

_NAME = 60


class _Own(Naming):
    longest = 120  # of a template's name


class _Personas(_Own):
    async def offered(self, interaction: discord.Interaction, text: str) -> list[app_commands.Choice[str]]:
        own = await engine_of(interaction).library.personas.list(str(interaction.user.id))
        found = _fitting(own, text, lambda persona: persona.persona.name)
        return [
            app_commands.Choice(name=_choice(p.persona.name, p.persona.description), value=p.id)
            for p in found
        ]


class _Played(_Personas):
    async def offered(self, interaction: discord.Interaction, text: str) -> list[app_commands.Choice[str]]:
        name = t(interaction.locale, "persona.nobody", name=interaction.user.display_name)
        nobody = app_commands.Choice(name=one_line(name, LENGTH), value=NOBODY)
        found = (await super().offered(interaction, text))[: CHOICES - 1]
        return [*found, nobody] if not text.strip() or fold(text) in fold(name) else found


class _Templates(_Own):
    async def offered(self, interaction: discord.Interaction, text: str) -> list[app_commands.Choice[str]]:
        templates = await engine_of(interaction).library.templates.list(library_owner(interaction))
        found = _fitting(templates, text, lambda template: template.name)
        return [app_commands.Choice(name=one_line(each.name, LENGTH), value=each.id) for each in found]


PersonaOption = app_commands.Transform[str, _Personas]
"""The option of a command that names one of a person's own personas."""

PlayedOption = app_commands.Transform[str, _Played]
"""The same, and nobody (`NOBODY`)."""

TemplateOption = app_commands.Transform[str, _Templates]
"""The option of a command that names a template."""


async def persona_meant(interaction: discord.Interaction, text: str | None) -> StoredPersona:
    """One of a person's own by id or name; without a name the one they play.

    Raises NotFound PERSONA_UNKNOWN (data: name), PERSONA_NONE when they play nobody, NAME_SEVERAL.
    """
    personas = engine_of(interaction).library.personas
    user = str(interaction.user.id)
    if text is None:
        active = await personas.active(user)
        if active is None:
            raise NotFound("You play nobody but yourself.", code="PERSONA_NONE")
        return active
    own = await personas.list(user)
    found = _meant(own, text, lambda persona: persona.id, lambda persona: persona.persona.name)
    if found is None:
        raise NotFound("You have no such persona.", code="PERSONA_UNKNOWN", name=one_line(text, LENGTH))
    return found


async def template_meant(interaction: discord.Interaction, text: str) -> Template:
    """A template by id or name. Raises NotFound TEMPLATE_UNKNOWN (data: name), NAME_SEVERAL."""
    templates = await engine_of(interaction).library.templates.list(library_owner(interaction))
    found = _meant(templates, text, lambda template: template.id, lambda template: template.name)
    if found is None:
        raise NotFound("There is no such template.", code="TEMPLATE_UNKNOWN", name=one_line(text, LENGTH))
    return found


def _fitting(things: Sequence[T], text: str, name: Callable[[T], str]) -> list[T]:
    """Those whose name has the text, the ones that begin with it first."""
    wanted = fold(text)
    found = [thing for thing in things if wanted in fold(name(thing))]
    return sorted(found, key=lambda thing: not fold(name(thing)).startswith(wanted))


def _meant(things: Sequence[T], text: str, key: Callable[[T], str], name: Callable[[T], str]) -> T | None:
    """The one with this id or name, else the only one that begins so. Raises NotFound NAME_SEVERAL."""
    exact = [thing for thing in things if key(thing) == text.strip() or fold(name(thing)) == fold(text)]
    starting = [thing for thing in things if fold(text) and fold(name(thing)).startswith(fold(text))]
    return exact[0] if exact else the_one([(name(thing), thing) for thing in starting], text)


def _choice(name: str, about: str) -> str:
    line = one_line(about, LENGTH)
    return clip(f"{one_line(name, _NAME)} — {line}" if line else one_line(name, _NAME), LENGTH)

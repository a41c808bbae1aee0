"""Naming a persona of one's own, or one of the library's templates, in a command.

As `bot.choices` for resources: what is offered while typing, and what was meant in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import discord
import structlog
from discord import app_commands

from bot.excerpts import clip, one_line
from bot.i18n import t
from bot.stories import owner_of
from engine.errors import EngineError, NotFound
from engine.host import Engine
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

log = structlog.get_logger(__name__)

T = TypeVar("T")

NOBODY = "-"
"""The value that stands for playing nobody but oneself."""

_CHOICES = 25  # what Discord shows in one list
_LENGTH = 100  # characters of a choice's name
_NAME = 60


class _Own(app_commands.Transformer):
    @property
    def max_value(self) -> int:
        """The longest name of a template."""
        return 120

    async def transform(self, interaction: discord.Interaction, value: Any, /) -> str:
        """The text as it was typed; looking it up comes after deferring."""
        return str(value)

    async def autocomplete(  # type: ignore[override]  # the values are strings
        self, interaction: discord.Interaction, value: str, /
    ) -> list[app_commands.Choice[str]]:
        """What fits; nothing instead of an error, which would leave people with a spinner."""
        try:
            return (await self.offered(interaction, value))[:_CHOICES]
        except EngineError as error:
            log.warning("choices.failed", code=error.error_code)
            return []

    async def offered(self, interaction: discord.Interaction, text: str) -> list[app_commands.Choice[str]]:
        """Best first."""
        raise NotImplementedError


class _Personas(_Own):
    async def offered(self, interaction: discord.Interaction, text: str) -> list[app_commands.Choice[str]]:
        own = await _engine(interaction).library.personas.list(str(interaction.user.id))
        found = _fitting(own, text, lambda persona: persona.persona.name)
        return [
            app_commands.Choice(name=_choice(p.persona.name, p.persona.description), value=p.id)
            for p in found
        ]


class _Played(_Personas):
    async def offered(self, interaction: discord.Interaction, text: str) -> list[app_commands.Choice[str]]:
        name = t(interaction.locale, "persona.nobody", name=interaction.user.display_name)
        nobody = app_commands.Choice(name=one_line(name, _LENGTH), value=NOBODY)
        found = (await super().offered(interaction, text))[: _CHOICES - 1]
        return [*found, nobody] if not text.strip() or fold(text) in fold(name) else found


class _Templates(_Own):
    async def offered(self, interaction: discord.Interaction, text: str) -> list[app_commands.Choice[str]]:
        templates = await _engine(interaction).library.templates.list(_owner(interaction))
        found = _fitting(templates, text, lambda template: template.name)
        return [app_commands.Choice(name=one_line(each.name, _LENGTH), value=each.id) for each in found]


PersonaOption = app_commands.Transform[str, _Personas]
"""The option of a command that names one of a person's own personas."""

PlayedOption = app_commands.Transform[str, _Played]
"""The same, and nobody (`NOBODY`)."""

TemplateOption = app_commands.Transform[str, _Templates]
"""The option of a command that names a template."""


async def persona_meant(interaction: discord.Interaction, text: str | None) -> StoredPersona:
    """One of a person's own by id or name; without a name the one they play.

    Raises NotFound PERSONA_UNKNOWN (data: name), PERSONA_NONE when they play nobody.
    """
    personas = _engine(interaction).library.personas
    user = str(interaction.user.id)
    if text is None:
        active = await personas.active(user)
        if active is None:
            raise NotFound("You play nobody but yourself.", code="PERSONA_NONE")
        return active
    own = await personas.list(user)
    found = _meant(own, text, lambda persona: persona.id, lambda persona: persona.persona.name)
    if found is None:
        raise NotFound("You have no such persona.", code="PERSONA_UNKNOWN", name=one_line(text, _LENGTH))
    return found


async def template_meant(interaction: discord.Interaction, text: str) -> Template:
    """A template by id or name. Raises NotFound TEMPLATE_UNKNOWN (data: name)."""
    templates = await _engine(interaction).library.templates.list(_owner(interaction))
    found = _meant(templates, text, lambda template: template.id, lambda template: template.name)
    if found is None:
        raise NotFound("There is no such template.", code="TEMPLATE_UNKNOWN", name=one_line(text, _LENGTH))
    return found


def _fitting(things: Sequence[T], text: str, name: Callable[[T], str]) -> list[T]:
    """Those whose name has the text, the ones that begin with it first."""
    wanted = fold(text)
    found = [thing for thing in things if wanted in fold(name(thing))]
    return sorted(found, key=lambda thing: not fold(name(thing)).startswith(wanted))


def _meant(things: Sequence[T], text: str, key: Callable[[T], str], name: Callable[[T], str]) -> T | None:
    """The one with this id or name, else the only one that begins so."""
    exact = [thing for thing in things if key(thing) == text.strip() or fold(name(thing)) == fold(text)]
    if exact:
        return exact[0]
    starting = [thing for thing in things if fold(text) and fold(name(thing)).startswith(fold(text))]
    return starting[0] if len(starting) == 1 else None


def _choice(name: str, about: str) -> str:
    line = one_line(about, _LENGTH)
    return clip(f"{one_line(name, _NAME)} — {line}" if line else one_line(name, _NAME), _LENGTH)


def _engine(interaction: discord.Interaction) -> Engine:
    engine: Engine = interaction.client.engine  # type: ignore[attr-defined]
    return engine


def _owner(interaction: discord.Interaction) -> str:
    return owner_of(interaction.guild, interaction.user.id)

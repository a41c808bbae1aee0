"""Naming a card or preset in a command: what is offered while typing, and what was meant in the end.

Choices come from memory, since every key stroke asks and nothing may take three seconds. A value
can be typed freely, whatever was offered, so commands always `resolve` it, after they deferred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import discord
import structlog
from discord import app_commands

from bot.excerpts import clip, one_line
from bot.i18n import t
from bot.stories import owner_of
from engine.errors import EngineError, NotFound
from engine.host import Engine
from engine.library import Kind, ResourceRow

__all__ = [
    "BookOption",
    "CardOption",
    "PresetOption",
    "RegexOption",
    "choice_name",
    "gone_on",
    "resolve",
    "told_apart",
    "twins_of",
]

log = structlog.get_logger(__name__)

_CHOICES = 25  # what Discord shows in one list
_LENGTH = 100  # characters of a choice's name and value
_NAME = 55  # of those for the thing's own name, so that whose it is can still be read


class _Choices(app_commands.Transformer):
    kind: ClassVar[Kind]

    @property
    def max_value(self) -> int:
        """Discord's own limit for what a choice stands for; names in a library are longer at times."""
        return 200

    async def transform(self, interaction: discord.Interaction, value: Any, /) -> str:
        """The text as it was typed; looking it up is work, and work comes after deferring."""
        return str(value)

    async def autocomplete(  # type: ignore[override]  # the values are strings
        self, interaction: discord.Interaction, value: str, /
    ) -> list[app_commands.Choice[str]]:
        """At most 25 that fit, best first. An error would leave people with a spinner: none instead."""
        try:
            rows = await _suggest(_engine(interaction), _owner(interaction), self.kind, value)
        except EngineError as error:
            log.warning("choices.failed", code=error.error_code)
            return []
        twins = twins_of(rows)
        return [
            app_commands.Choice(name=choice_name(row, interaction.locale, twin=row.id in twins), value=row.id)
            for row in rows[:_CHOICES]
        ]


class _Cards(_Choices):
    kind = "card"


class _Presets(_Choices):
    kind = "preset"


class _Books(_Choices):
    kind = "world_book"


class _Regexes(_Choices):
    kind = "regex"


CardOption = app_commands.Transform[str, _Cards]
"""The option of a command that names a card: `card: CardOption`."""

PresetOption = app_commands.Transform[str, _Presets]
"""The option of a command that names a preset."""


BookOption = app_commands.Transform[str, _Books]
"""The option of a command that names a world book."""

RegexOption = app_commands.Transform[str, _Regexes]
"""The option of a command that names a list of regex scripts."""


def choice_name(row: ResourceRow, locale: discord.Locale | str | None, *, twin: bool = False) -> str:
    """`Mira — by Alice · 3 greetings`, at most 100 characters, on one line; a `twin` has the same name as
    another, and is told apart by when it came and the end of its id."""
    name = one_line(row.name, _NAME) + (" 🔞" if row.nsfw else "")
    facts = [told_apart(row)] if twin else []
    if row.kind == "card":
        if row.summary.get("creator"):
            facts.append(t(locale, "card.by", creator=one_line(row.summary["creator"], 25)))
        facts.append(t(locale, "card.greetings", n=row.summary.get("greetings", 0)))
    elif row.kind == "preset":
        facts.append(t(locale, "preset.prompts", n=row.summary.get("prompts", 0)))
    elif row.kind == "world_book":
        facts.append(t(locale, "card.entries", n=row.summary.get("entries", 0)))
    else:
        facts.append(t(locale, "library.scripts", n=row.summary.get("scripts", 0)))
    return clip(" — ".join(filter(None, (name, " · ".join(facts)))), _LENGTH)


def told_apart(row: ResourceRow) -> str:
    """What tells two things of one name apart: when it came, and the end of its id."""
    return f"{datetime.fromtimestamp(row.created_at / 1000, UTC):%Y-%m-%d} · {row.id[-4:]}"


def gone_on(row: ResourceRow) -> str:
    """The same for what was deleted: when that was."""
    return f"🗑 {datetime.fromtimestamp((row.deleted_at or 0) / 1000, UTC):%Y-%m-%d %H:%M} · {row.id[-4:]}"


def twins_of(rows: Sequence[ResourceRow]) -> frozenset[str]:
    """The ids of those whose name another one has as well."""
    names = Counter(_folded(row.name) for row in rows)
    return frozenset(row.id for row in rows if names[_folded(row.name)] > 1)


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


async def resolve(interaction: discord.Interaction, kind: Kind, text: str) -> ResourceRow:
    """The card or preset that was meant, by id or name.

    Raises NotFound CARD_UNKNOWN, PRESET_UNKNOWN (data: name) when none fits, or several do.
    """
    try:
        return await _engine(interaction).library.resolve(_owner(interaction), kind, text)
    except NotFound as error:
        raise NotFound(error.message, code=f"{kind.upper()}_UNKNOWN", name=one_line(text, _LENGTH)) from None


async def _suggest(engine: Engine, owner: str, kind: Kind, text: str) -> list[ResourceRow]:
    library = engine.library
    # Until a library was read once, nothing of it is in memory: then, and only then, it is read here.
    return list(library.suggest(owner, kind, text) or await library.search(owner, kind, text))


def _engine(interaction: discord.Interaction) -> Engine:
    engine: Engine = interaction.client.engine  # type: ignore[attr-defined]
    return engine


def _owner(interaction: discord.Interaction) -> str:
    return owner_of(interaction.guild, interaction.user.id)

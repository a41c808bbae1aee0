"""Naming a card or preset in a command: what is offered while typing, and what was meant in the end.

Choices come from memory, since every key stroke asks and nothing may take three seconds. A value
can be typed freely, whatever was offered, so commands always `resolve` it, after they deferred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import ClassVar

import discord
from discord import app_commands

from bot.excerpts import clip, one_line
from bot.i18n import t
from bot.naming import LENGTH, Naming, engine_of, the_one
from bot.stories import library_owner
from engine.errors import NotFound
from engine.host import Engine
from engine.library import Kind, ResourceRow
from engine.library.shelf import fold

__all__ = [
    "BookOption",
    "CardOption",
    "PresetOption",
    "RegexOption",
    "choice_name",
    "gone_on",
    "made_apart",
    "resolve",
    "told_apart",
    "twins_of",
]

_NAME = 55  # of those for the thing's own name, so that whose it is can still be read


class _Choices(Naming):
    kind: ClassVar[Kind]

    async def offered(self, interaction: discord.Interaction, text: str) -> list[app_commands.Choice[str]]:
        rows = await _suggest(engine_of(interaction), library_owner(interaction), self.kind, text)
        twins = twins_of(rows)
        return [
            app_commands.Choice(name=choice_name(row, interaction.locale, twin=row.id in twins), value=row.id)
            for row in rows
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
    return clip(" — ".join(filter(None, (name, " · ".join(facts)))), LENGTH)


def told_apart(row: ResourceRow) -> str:
    """What tells two things of one name apart: when it came, and the end of its id."""
    return made_apart(row.created_at, row.id)


def made_apart(created_at: int, id: str) -> str:
    """The same of anything that was made (epoch ms) and has an id."""
    return f"{datetime.fromtimestamp(created_at / 1000, UTC):%Y-%m-%d} · {id[-4:]}"


def gone_on(row: ResourceRow) -> str:
    """The same for what was deleted: when that was."""
    return f"🗑 {datetime.fromtimestamp((row.deleted_at or 0) / 1000, UTC):%Y-%m-%d %H:%M} · {row.id[-4:]}"


def twins_of(rows: Sequence[ResourceRow]) -> frozenset[str]:
    """The ids of those whose name another one has as well."""
    names = Counter(fold(row.name) for row in rows)
    return frozenset(row.id for row in rows if names[fold(row.name)] > 1)


async def resolve(interaction: discord.Interaction, kind: Kind, text: str) -> ResourceRow:
    """The card or preset that was meant, by id or name.

    Raises NotFound CARD_UNKNOWN, PRESET_UNKNOWN (data: name) when none fits, NAME_SEVERAL when several names
    begin so.
    """
    try:
        return await engine_of(interaction).library.resolve(library_owner(interaction), kind, text)
    except NotFound as error:
        the_one([(name, name) for name in error.data["fitting"]], text)
        raise NotFound(error.message, code=f"{kind.upper()}_UNKNOWN", name=one_line(text, LENGTH)) from None


async def _suggest(engine: Engine, owner: str, kind: Kind, text: str) -> list[ResourceRow]:
    library = engine.library
    # Until a library was read once, nothing of it is in memory: then, and only then, it is read here.
    return list(library.suggest(owner, kind, text) or await library.search(owner, kind, text))

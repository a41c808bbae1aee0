"""Changing a text of any length: in a form while it fits into one, by a file when it does not.

Discord's forms take 4000 characters, and cutting the rest off would lose it. So a longer text is
handed out as a file with a button that takes the changed file; and a form for a short one takes a
file as well, for the day when it grows. Both submissions go to the same op:

    await texts.edit(interaction, "card-text", (card_id, revision, "description"), Wording(…))
    …
    async def _text(self, interaction, card_id, revision, field): text = await texts.changed(interaction)
"""

from __future__ import annotations

from dataclasses import dataclass

import discord

from bot import forms
from bot.excerpts import plain
from bot.handout import hand_out
from bot.i18n import t
from bot.press import button, row
from bot.sheet import PRIMARY
from bot.uploads import read_upload
from engine.errors import InputError
from engine.resources import read_text

__all__ = ["MOST_BYTES", "TAKE_FILE", "Wording", "changed", "edit", "same", "take_file"]

MOST_BYTES = 2 * 1024 * 1024
"""The longest text that is taken: more than a whole preset or card may have."""

TAKE_FILE = "take-file"
"""The op of the button under a text that was handed out; its arguments are the op and ids of the form."""

_TEXT, _FILE = "text", "file"


@dataclass(frozen=True, slots=True)
class Wording:
    """What is changed: the text as it is, its name for people, the name of its file, a hint."""

    text: str
    label: str
    filename: str
    hint: str = ""
    required: bool = False


async def edit(
    interaction: discord.Interaction, op: str, args: tuple[str | int, ...], wording: Wording
) -> None:
    """Let somebody change the text: `op` gets the submission. Nothing may have been deferred."""
    locale = interaction.locale
    if len(wording.text) > forms.LONGEST:
        await interaction.response.defer(ephemeral=True, thinking=True)
        note = t(locale, "edit.long_text", label=wording.label, n=len(wording.text))
        take = button(TAKE_FILE, op, *args, label=t(locale, "button.upload"), style=PRIMARY)
        await hand_out(interaction, wording.text.encode(), wording.filename, note, row(take))
        return
    fields: list[forms.FormField] = [
        forms.TextField(_TEXT, wording.label, wording.text, long=True, hint=wording.hint),
        forms.FileField(_FILE, t(locale, "edit.file_label"), hint=t(locale, "edit.file_hint")),
    ]
    await forms.ask(interaction, forms.form(op, *args, title=wording.label, fields=fields))


async def take_file(interaction: discord.Interaction, op: str, *args: str) -> None:
    """The button under a text that was handed out: a form that takes the changed file."""
    locale = interaction.locale
    field = forms.FileField(
        _FILE, t(locale, "edit.file_again"), required=True, hint=t(locale, "edit.file_hint")
    )
    await forms.ask(interaction, forms.form(op, *args, title=t(locale, "edit.file_title"), fields=[field]))


async def changed(interaction: discord.Interaction) -> str:
    """The text of a submission; a file counts more than what stands in the field. It has been deferred.

    Raises InputError TEXT_NOT_READ for a file that is no UTF-8 text, and as `read_upload`.
    """
    file = forms.brought(interaction, _FILE)
    if file is None:
        return forms.entered(interaction).get(_TEXT, "")
    upload = await read_upload(file, MOST_BYTES)
    text = read_text(upload.body)
    if text is None:
        raise InputError("This file is no text.", code="TEXT_NOT_READ", file=plain(upload.filename, 100))
    return text


def same(before: str, after: str) -> bool:
    """Whether a text was left alone. Discord takes white space off both ends of what is typed, and nobody
    who only looked at a text wants it to lose that."""
    return before.strip() == after.strip()

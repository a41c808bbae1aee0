"""The panel of a persona, its form, and its line in the list. Pure, but for needing a running loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import discord

from bot import forms
from bot.excerpts import clip, one_line, plain, prose
from bot.i18n import t
from bot.press import button
from bot.sheet import DANGER, PRIMARY, Layout, Sheet
from engine.library import StoredPersona

__all__ = [
    "NAME",
    "SHOWN",
    "PersonaView",
    "persona_form",
    "persona_line",
    "persona_panel",
]

NAME = 80  # what a webhook can speak under
SHOWN = 1500  # of a description; the whole of a longer one goes along as a file


@dataclass(frozen=True, slots=True)
class PersonaView:
    """What a panel shows beside the persona: the file of its picture, the names of the books that come
    along here, whether this place has books and a story to bind it to, and lines to say above and below."""

    picture: str | None = None
    books: Sequence[str] = ()
    has_books: bool = False
    has_story: bool = False
    note: str = ""
    remarks: Sequence[str] = ()


def persona_panel(stored: StoredPersona, view: PersonaView, locale: str) -> Layout:
    """Who it is, and what can be done with it."""
    sheet = Sheet()
    lines = [f"## {plain(stored.persona.name, NAME)}"]
    if stored.active:
        lines.append(t(locale, "persona.played"))
    if view.note:
        lines.insert(0, view.note)
    head = "\n".join(lines)
    if view.picture is None:
        sheet.text(head, 1_600)
    else:
        sheet.section(head, 1_600, discord.ui.Thumbnail[Any](f"attachment://{view.picture}"))
    # Its author's own words, for its author: as they were written.
    sheet.text(clip(stored.persona.description, SHOWN) or "-# " + t(locale, "persona.no_description"), 5_000)
    if view.books:
        names = ", ".join(plain(name, 60) for name in view.books)
        sheet.text(t(locale, "persona.books", names=names), 800)
    sheet.text("\n".join(view.remarks), 800)
    play = (
        button("persona-rest", stored.id, label=t(locale, "button.rest"))
        if stored.active
        else button("persona-use", stored.id, label=t(locale, "button.play_as"), style=PRIMARY)
    )
    first = [play, button("persona-edit", stored.id, label=t(locale, "button.edit"))]
    if view.has_story:
        first.append(button("persona-bind", stored.id, label=t(locale, "button.bind")))
    second = [button("persona-export", stored.id, label=t(locale, "button.export"))]
    if view.has_books:
        second.append(button("persona-books", stored.id, label=t(locale, "button.books")))
    if stored.avatar is not None:
        second.append(
            button("persona-bare", stored.id, stored.revision, label=t(locale, "button.no_picture"))
        )
    second.append(button("persona-delete", stored.id, label=t(locale, "button.delete"), style=DANGER))
    sheet.row(*first)
    sheet.row(*second)
    return sheet.layout()


def persona_form(stored: StoredPersona, locale: str) -> discord.ui.Modal:
    """Name, description, picture; a description that is too long for a form is changed by a file."""
    persona = stored.persona
    fields: list[forms.FormField] = [
        forms.TextField("name", t(locale, "persona.form_name"), persona.name, required=True, most=NAME)
    ]
    label = t(locale, "persona.form_description")
    if len(persona.description) <= forms.LONGEST:
        hint = t(locale, "persona.form_hint")
        fields.append(forms.TextField("description", label, persona.description, long=True, hint=hint))
    fields.append(forms.FileField("text", t(locale, "edit.file_label"), hint=t(locale, "edit.file_hint")))
    fields.append(
        forms.FileField("picture", t(locale, "persona.form_picture"), hint=t(locale, "persona.picture_hint"))
    )
    title = t(locale, "persona.form_title", name=one_line(persona.name, 30))
    return forms.form("persona-edited", stored.id, stored.revision, title=title, fields=fields)


def persona_line(stored: StoredPersona, locale: str) -> str:
    """`**Vale** · you play them`, and the beginning of what is said of them."""
    line = f"**{plain(stored.persona.name, NAME)}**"
    if stored.active:
        line += " · " + t(locale, "persona.played_short")
    about = prose(stored.persona.description, 90)
    return f"{line}\n-# {about}" if about else line

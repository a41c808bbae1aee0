"""Forms to fill in (Discord's modals) that outlive a restart, as buttons do.

A form's custom_id is that of a button: an op and ids, among them the revision that was read when
the form was opened. Nothing about an open form is kept in memory: its submission comes to the
handler of its op (`press.PressTable`), which reads it with `entered` and `brought`. Whatever goes
wrong there, the person gets back what they wrote.

    await forms.ask(interaction, forms.form("card-names", row.id, row.revision, title=…, fields=[…]))
    …
    async def _named(self, interaction, card_id, revision): entered = forms.entered(interaction)
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import discord

from bot.excerpts import clip
from bot.press import custom_id

__all__ = [
    "LONGEST",
    "ChoiceField",
    "FileField",
    "FormField",
    "TextField",
    "ask",
    "brought",
    "entered",
    "form",
    "picked",
    "written",
]

LONGEST = 4_000  # characters that Discord takes in one field
_TITLE = 45
_LABEL = 45
_HINT = 100
_FIELDS = 5


@dataclass(frozen=True, slots=True)
class TextField:
    """A text to type, with what stands there now. `long` has several lines."""

    key: str
    label: str
    value: str = ""
    long: bool = False
    required: bool = False
    most: int = LONGEST
    hint: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class FileField:
    """A file to upload."""

    key: str
    label: str
    required: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ChoiceField:
    """One or more of up to 25 options (label, value, chosen)."""

    key: str
    label: str
    options: Sequence[tuple[str, str, bool]]
    required: bool = True
    most: int = 1
    hint: str = ""


FormField: TypeAlias = TextField | FileField | ChoiceField


def form(op: str, *args: str | int, title: str, fields: Sequence[FormField]) -> discord.ui.Modal:
    """A form whose submission goes to the handler of `op`.

    Titles, labels and hints are clipped to what Discord takes; a value that is too long raises
    ValueError, because clipping it would lose what somebody wrote (see `bot.texts` for long ones).
    """
    if not 1 <= len(fields) <= _FIELDS:
        raise ValueError("a form has one to five fields")
    modal = discord.ui.Modal(title=clip(title, _TITLE) or "…", custom_id=custom_id(op, args), timeout=900)
    for field in fields:
        modal.add_item(
            discord.ui.Label[Any](
                text=clip(field.label, _LABEL),
                description=clip(field.hint, _HINT) or None,
                component=_component(field),
            )
        )
    return modal


async def ask(interaction: discord.Interaction, modal: discord.ui.Modal) -> None:
    """Open the form. It must be the first answer to the click: nothing may have been deferred."""
    modal.stop()  # discord.py keeps no finished form: the answer comes to us, whoever we are by then
    await interaction.response.send_modal(modal)


def entered(interaction: discord.Interaction) -> Mapping[str, str]:
    """The typed texts of a submitted form by key."""
    return {part["custom_id"]: str(part["value"] or "") for part in _parts(interaction) if _typed(part)}


def picked(interaction: discord.Interaction, key: str) -> tuple[str, ...]:
    """What was chosen in a `ChoiceField`."""
    part = next((part for part in _parts(interaction) if part.get("custom_id") == key), {})
    return tuple(str(value) for value in part.get("values") or ())


def brought(interaction: discord.Interaction, key: str) -> discord.Attachment | None:
    """The file of a `FileField`; None when none was given."""
    files: Mapping[str, Any] = _data(interaction).get("resolved", {}).get("attachments", {})
    given = next((files[each] for each in picked(interaction, key) if each in files), None)
    if given is None:
        return None
    return discord.Attachment(data=given, state=interaction.client._connection)


def written(interaction: discord.Interaction) -> list[discord.File]:
    """What somebody typed into a form, as files to give it back when it could not be used."""
    return [
        discord.File(io.BytesIO(text.encode()), f"{key}.txt")
        for key, text in entered(interaction).items()
        if text.strip()
    ][:10]


def _component(field: FormField) -> discord.ui.Item[Any]:
    if isinstance(field, FileField):
        return discord.ui.FileUpload[Any](custom_id=field.key, required=field.required, min_values=1)
    if isinstance(field, ChoiceField):
        return discord.ui.Select[Any](
            custom_id=field.key,
            options=[
                discord.SelectOption(label=clip(label, 100), value=value, default=chosen)
                for label, value, chosen in field.options
            ],
            required=field.required,
            min_values=1 if field.required else 0,
            max_values=min(field.most, len(field.options)),
        )
    if len(field.value) > field.most:
        raise ValueError(f"the text of {field.key} is longer than its field")
    return discord.ui.TextInput[Any](
        custom_id=field.key,
        style=discord.TextStyle.paragraph if field.long else discord.TextStyle.short,
        default=field.value or None,
        placeholder=clip(field.example, _HINT) or None,
        required=field.required,
        max_length=field.most,
    )


def _data(interaction: discord.Interaction) -> Mapping[str, Any]:
    data: Any = interaction.data or {}
    return data  # type: ignore[no-any-return]


def _parts(interaction: discord.Interaction) -> Iterator[Mapping[str, Any]]:
    for outer in _data(interaction).get("components", ()):
        inner = outer.get("component")
        yield from (inner,) if inner is not None else outer.get("components", ())


def _typed(part: Mapping[str, Any]) -> bool:
    return "custom_id" in part and "value" in part

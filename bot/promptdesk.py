"""The prompts of a preset, changed one by one: the list, the panel of one, its text, place and switch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import discord

from bot import forms, texts
from bot.browse import LINES, Browser, Entry, Source, Spot
from bot.i18n import t
from bot.presetpanel import prompt_line, prompt_panel, prompt_token
from bot.press import Handler, button
from bot.shelfcog import ShelfCog
from bot.texts import Wording
from engine.codec import JsonObject
from engine.errors import InputError, ResourceError
from engine.library import ResourceRow
from engine.resources import Prompt, add_prompt, edit_prompt, move_prompt, remove_prompt

__all__ = ["PromptDesk", "whole_number"]

_ROLES = ("system", "user", "assistant")


class _Prompts(Source[Prompt]):
    """The prompts of a preset, in their order."""

    noun = "prompt"
    opens = "place"

    def __init__(self, desk: PromptDesk) -> None:
        self._desk = desk

    async def things(self, interaction: discord.Interaction, spot: Spot) -> Sequence[Prompt]:
        found = await self._desk.cog.editable(interaction, spot.within)
        prompts = (await self._desk.cog.library.preset(found.id)).prompts
        wanted = " ".join(spot.search.casefold().split())
        return [each for each in prompts if wanted in f"{each.name}\n{each.content}".casefold()]

    def entry(self, thing: Prompt, locale: str) -> Entry:
        mark = "🟢" if thing.enabled else "⚪"
        return Entry(
            prompt_token(thing.identifier),
            prompt_line(thing, locale),
            f"{mark} {thing.name or thing.identifier}",
            "" if thing.marker else thing.content,
        )

    async def open(self, interaction: discord.Interaction, spot: Spot, thing_id: str) -> None:
        found = await self._desk.cog.editable(interaction, spot.within)
        await self._desk.show_prompt(interaction, found, thing_id)

    async def title(self, interaction: discord.Interaction, spot: Spot) -> str:
        return t(interaction.locale, "preset.edit.prompts")

    def placeholder(self, locale: str) -> str:
        return t(locale, "edit.choose")

    def buttons(self, spot: Spot, locale: str) -> Sequence[discord.ui.Button[Any]]:
        return (
            button("prompt-add", spot.within, label=t(locale, "button.add")),
            button("preset-edit", spot.within, label=t(locale, "button.back")),
        )


class PromptDesk:
    """The handlers of everything that is done to prompts. `cog` says who may, and shows panels."""

    def __init__(self, cog: ShelfCog) -> None:
        self.cog = cog
        self.browser: Browser[Prompt] = Browser(_Prompts(self))

    def presses(self) -> Mapping[str, Handler]:
        """For `PressCog.presses_served`."""
        return {
            **self.browser.presses(),
            "prompt-add": self._add,
            "prompt-added": self._added,
            "prompt-text": self._prompt_text,
            "prompt-wrote": self._prompt_written,
            "prompt-props": self._prompt_settings,
            "prompt-set": self._prompt_set,
            "prompt-on": self._switch,
            "prompt-up": self._up,
            "prompt-down": self._down,
            "prompt-remove": self._remove,
        }

    async def show_prompt(
        self, interaction: discord.Interaction, found: ResourceRow, token: str, note: str = ""
    ) -> None:
        """One prompt in the place of what was pressed."""
        prompts = (await self.cog.library.preset(found.id)).prompts
        view = prompt_panel(
            found, prompts, _by_token(prompts, token), self.cog.reader(interaction, found), note
        )
        await self.cog.replace_panel(interaction, (view, []), note)

    async def _add(self, interaction: discord.Interaction, preset_id: str) -> None:
        found, locale = await self.cog.editable(interaction, preset_id), interaction.locale
        fields: list[forms.FormField] = [
            forms.TextField("name", t(locale, "preset.edit.prompt_name"), required=True, most=200),
            _role_field("system", locale),
            forms.TextField("content", t(locale, "preset.edit.prompt_text"), long=True),
        ]
        title = t(locale, "preset.edit.prompt_new")
        await forms.ask(
            interaction, forms.form("prompt-added", found.id, found.revision, title=title, fields=fields)
        )

    async def _added(self, interaction: discord.Interaction, preset_id: str, revision: str) -> None:
        await interaction.response.defer()
        found = await self.cog.editable(interaction, preset_id, revision)
        entered = forms.entered(interaction)
        patch = {"name": entered["name"], "content": entered["content"], "role": _role(interaction)}
        made: list[str] = []

        def change(raw: JsonObject) -> JsonObject:
            edited, identifier = add_prompt(raw, patch)
            made.append(identifier)
            return edited

        found = await self.cog.library.edit(found.id, change, expected_revision=found.revision)
        await self.show_prompt(
            interaction, found, prompt_token(made[-1]), t(interaction.locale, "edit.saved")
        )

    async def _prompt_text(
        self, interaction: discord.Interaction, preset_id: str, revision: str, token: str
    ) -> None:
        found, prompt = await self._prompt(interaction, preset_id, token, revision)
        name = prompt.name or prompt.identifier
        wording = Wording(prompt.content, name, f"prompt-{token}.txt")
        await texts.edit(interaction, "prompt-wrote", (found.id, found.revision, token), wording)

    async def _prompt_written(
        self, interaction: discord.Interaction, preset_id: str, revision: str, token: str
    ) -> None:
        await interaction.response.defer()
        text = await texts.changed(interaction)
        _, prompt = await self._prompt(interaction, preset_id, token, revision)
        patch = {} if texts.same(prompt.content, text) else {"content": text}
        await self._change_prompt(interaction, preset_id, revision, token, patch)

    async def _prompt_settings(
        self, interaction: discord.Interaction, preset_id: str, revision: str, token: str
    ) -> None:
        found, prompt = await self._prompt(interaction, preset_id, token, revision)
        locale = interaction.locale
        fields: list[forms.FormField] = [
            forms.TextField(
                "name", t(locale, "preset.edit.prompt_name"), prompt.name[:200], required=True, most=200
            ),
            _role_field(prompt.role, locale),
            forms.ChoiceField(
                "in_chat",
                t(locale, "preset.edit.prompt_where"),
                [
                    (t(locale, "preset.edit.prompt_in_order"), "0", not prompt.in_chat),
                    (t(locale, "preset.edit.prompt_in_chat"), "1", prompt.in_chat),
                ],
            ),
            forms.TextField(
                "depth",
                t(locale, "preset.edit.prompt_depth"),
                str(prompt.depth),
                most=6,
                hint=t(locale, "preset.edit.prompt_depth_hint"),
            ),
        ]
        title = prompt.name or prompt.identifier
        await forms.ask(
            interaction, forms.form("prompt-set", found.id, found.revision, token, title=title, fields=fields)
        )

    async def _prompt_set(
        self, interaction: discord.Interaction, preset_id: str, revision: str, token: str
    ) -> None:
        await interaction.response.defer()
        _, prompt = await self._prompt(interaction, preset_id, token, revision)
        entered = forms.entered(interaction)
        wanted: dict[str, object] = {
            "name": entered["name"],
            "role": _role(interaction),
            "in_chat": forms.picked(interaction, "in_chat") == ("1",),
            "depth": whole_number(entered["depth"], "depth", interaction.locale),
        }
        if wanted["depth"] is None:
            del wanted["depth"]
        patch = {key: value for key, value in wanted.items() if value != getattr(prompt, key)}
        await self._change_prompt(interaction, preset_id, revision, token, patch)

    async def _switch(
        self, interaction: discord.Interaction, preset_id: str, revision: str, token: str, on: str
    ) -> None:
        await interaction.response.defer()
        await self._change_prompt(interaction, preset_id, revision, token, {"enabled": on == "1"})

    async def _up(self, interaction: discord.Interaction, *args: str) -> None:
        await self._move(interaction, *args, step=-1)

    async def _down(self, interaction: discord.Interaction, *args: str) -> None:
        await self._move(interaction, *args, step=1)

    async def _move(
        self, interaction: discord.Interaction, preset_id: str, revision: str, token: str, *, step: int
    ) -> None:
        await interaction.response.defer()
        found, prompt = await self._prompt(interaction, preset_id, token, revision)
        place = (await self.cog.library.preset(found.id)).prompts.index(prompt) + step
        await self._write(
            interaction, found, token, lambda raw: move_prompt(raw, prompt.identifier, max(0, place))
        )

    async def _remove(
        self, interaction: discord.Interaction, preset_id: str, revision: str, token: str
    ) -> None:
        await interaction.response.defer()
        found, prompt = await self._prompt(interaction, preset_id, token, revision)
        place = (await self.cog.library.preset(found.id)).prompts.index(prompt)
        await self.cog.library.edit(
            found.id, lambda raw: remove_prompt(raw, prompt.identifier), expected_revision=found.revision
        )
        await self.browser.show(interaction, Spot(found.id, place // LINES))

    async def _change_prompt(
        self,
        interaction: discord.Interaction,
        preset_id: str,
        revision: str,
        token: str,
        patch: Mapping[str, object],
    ) -> None:
        found, prompt = await self._prompt(interaction, preset_id, token, revision)
        if not patch:
            await self.show_prompt(interaction, found, token, t(interaction.locale, "edit.unchanged"))
            return
        await self._write(interaction, found, token, lambda raw: edit_prompt(raw, prompt.identifier, patch))

    async def _write(
        self,
        interaction: discord.Interaction,
        found: ResourceRow,
        token: str,
        change: Callable[[JsonObject], JsonObject],
    ) -> None:
        found = await self.cog.library.edit(found.id, change, expected_revision=found.revision)
        await self.show_prompt(interaction, found, token, t(interaction.locale, "edit.saved"))

    async def _prompt(
        self, interaction: discord.Interaction, preset_id: str, token: str, revision: str
    ) -> tuple[ResourceRow, Prompt]:
        found = await self.cog.editable(interaction, preset_id, revision)
        return found, _by_token((await self.cog.library.preset(found.id)).prompts, token)


def _by_token(prompts: Sequence[Prompt], token: str) -> Prompt:
    found = next((each for each in prompts if prompt_token(each.identifier) == token), None)
    if found is None:
        raise ResourceError("This prompt is not in the preset (any more).", code="PROMPT_NOT_FOUND")
    return found


def _role_field(role: str, locale: discord.Locale) -> forms.ChoiceField:
    options = [(t(locale, f"preset.role.{each}"), each, each == role) for each in _ROLES]
    return forms.ChoiceField("role", t(locale, "preset.edit.prompt_role"), options)


def _role(interaction: discord.Interaction) -> str:
    return (forms.picked(interaction, "role") or ("system",))[0]


def whole_number(text: str, key: str, locale: discord.Locale) -> int | None:
    """What was typed as a whole number; None for nothing. Raises InputError WHOLE_NUMBER_INVALID (label)."""
    if not text.strip():
        return None
    digits = text.strip().replace(",", "").replace(" ", "")
    if not digits.isdecimal() or len(digits) > 9 or (key == "max_tokens" and int(digits) == 0):
        raise InputError(
            "This is no whole number.",
            code="WHOLE_NUMBER_INVALID",
            label=t(locale, f"preset.edit.number.{key}"),
        )
    return int(digits)

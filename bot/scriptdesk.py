"""Changing regex scripts, wherever they stand: the buttons and forms of their panels.

A script is named by its place in the list and the revision that was looked at, so a place always
means the script that was seen. Where somebody else was faster nothing is written: the panel is shown
as it stands now, and what was typed goes back to its author.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import discord

from bot import forms, texts
from bot.excerpts import plain
from bot.handout import text_file
from bot.i18n import t
from bot.press import Handler, chosen
from bot.scriptforms import (
    new_script,
    new_script_form,
    pattern_form,
    pattern_patch,
    rename_form,
    where_form,
    where_patch,
)
from bot.scriptpanel import (
    SCRIPTS,
    ListView,
    confirm_script_removal,
    list_panel,
    pattern_of,
    script_panel,
    scripts_details,
)
from bot.shelfcog import ShelfCog
from bot.texts import Wording
from engine.errors import Conflict, ResourceError
from engine.ids import new_id
from engine.library import ResourceRow
from engine.resources import RegexScript, edit_script, with_scripts
from engine.scripts import find_pattern
from engine.tavern import Watches

__all__ = ["ScriptDesk"]

Scripts = tuple[RegexScript, ...]


class ScriptDesk:
    """The handlers; `shelf` says who may change what, and replaces panels."""

    def __init__(self, shelf: ShelfCog, watches: Watches) -> None:
        self._shelf = shelf
        self._library = shelf.library
        self._watches = watches

    def presses(self) -> Mapping[str, Handler]:
        """The handlers, for `PressCog.presses_served`."""
        return {
            "script-show": self._shown,
            "script-details": self._details,
            "script-allow": self._allow,
            "script-leaf": self._leaf,
            "script-open": self._opened,
            "script-pattern": self._pattern,
            "script-patterned": self._patterned,
            "script-text": self._text,
            "script-said": self._said,
            "script-where": self._where,
            "script-placed": self._placed,
            "script-on": self._on,
            "script-up": self._up,
            "script-down": self._down,
            "script-remove": self._remove,
            "script-gone": self._gone,
            "script-kept": self._kept,
            "script-add": self._add,
            "script-added": self._added,
            "script-rename": self._rename,
            "script-renamed": self._renamed,
            "script-pardon": self._pardon,
        }

    # -- looking -----------------------------------------------------------------------------------

    async def view(self, found: ResourceRow) -> ListView:
        """What the panels of a list, preset or card show of its scripts."""
        allowed: bool | None = True
        if found.kind != "regex":
            allowed = await self._library.consents.given(found.owner, found.id)
        scripts = await self._library.scripts(found.id)
        return ListView(found, scripts, allowed, self._watches.stopped(found.owner))

    async def _shown(self, interaction: discord.Interaction, list_id: str) -> None:
        """From the panel of a preset or card: its scripts, as a new message."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        found = await self._shelf.row_of(interaction, list_id)
        view = list_panel(await self.view(found), self._shelf.reader(interaction, found))
        await interaction.followup.send(view=view, ephemeral=True)

    async def _details(self, interaction: discord.Interaction, list_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        found = await self._shelf.row_of(interaction, list_id)
        text = scripts_details(await self.view(found), str(interaction.locale))
        await interaction.followup.send(file=text_file(text.decode(), "details.md"), ephemeral=True)

    async def _allow(self, interaction: discord.Interaction, list_id: str, allowed: str) -> None:
        await interaction.response.defer()
        found = await self._shelf.editable(interaction, list_id)
        await self._library.consents.give(found.owner, found.id, allowed == "1", str(interaction.user.id))
        await self.show_list(interaction, found)

    async def _leaf(self, interaction: discord.Interaction, list_id: str, page: str) -> None:
        await interaction.response.defer()
        await self.show_list(interaction, await self._shelf.row_of(interaction, list_id), int(page))

    async def _opened(self, interaction: discord.Interaction, list_id: str, page: str) -> None:
        await interaction.response.defer()
        found = await self._shelf.row_of(interaction, list_id)
        await self._show(interaction, found, int(chosen(interaction)[0]))

    async def show_list(
        self, interaction: discord.Interaction, found: ResourceRow, page: int = 0, note: str = ""
    ) -> None:
        """Let the list's panel take the place of the message that was pressed."""
        view = list_panel(await self.view(found), self._shelf.reader(interaction, found), page, note)
        await self._shelf.replace_panel(interaction, (view, []), note)

    async def _show(
        self, interaction: discord.Interaction, found: ResourceRow, place: int, note: str = ""
    ) -> None:
        view = await self.view(found)
        if not 0 <= place < len(view.scripts):
            await self.show_list(interaction, found, 0, note)
            return
        panel = script_panel(view, place, self._shelf.reader(interaction, found), note)
        await self._shelf.replace_panel(interaction, (panel, []), note)

    # -- forms ---------------------------------------------------------------------------------------

    async def _pattern(self, interaction: discord.Interaction, *here: str) -> None:
        _, _, script = await self._at(interaction, *here)
        locale = str(interaction.locale)
        if len(script.find) > forms.LONGEST:
            raise ResourceError("This pattern is too long for a form.", code="PATTERN_TOO_LONG")
        await forms.ask(interaction, pattern_form("script-patterned", here, script, locale))

    async def _patterned(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()
        await self._edited(interaction, here, lambda script: pattern_patch(interaction, script))

    async def _text(self, interaction: discord.Interaction, *here: str) -> None:
        _, _, script = await self._at(interaction, *here)
        locale = interaction.locale
        hint = t(locale, "regex.form.put_hint")
        wording = Wording(script.replacement, t(locale, "regex.replacement"), "replacement.txt", hint)
        await texts.edit(interaction, "script-said", here, wording)

    async def _said(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()
        text = await texts.changed(interaction)
        await self._edited(
            interaction,
            here,
            lambda script: {} if texts.same(script.replacement, text) else {"replacement": text},
        )

    async def _where(self, interaction: discord.Interaction, *here: str) -> None:
        _, _, script = await self._at(interaction, *here)
        await forms.ask(interaction, where_form("script-placed", here, script, str(interaction.locale)))

    async def _placed(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()
        patch = where_patch(interaction)
        await self._edited(interaction, here, lambda _: patch)

    async def _add(self, interaction: discord.Interaction, list_id: str, revision: str) -> None:
        found = await self._shelf.editable(interaction, list_id, revision)
        form = new_script_form("script-added", (found.id, found.revision), str(interaction.locale))
        await forms.ask(interaction, form)

    async def _added(self, interaction: discord.Interaction, list_id: str, revision: str) -> None:
        await interaction.response.defer()
        script = new_script(interaction, new_id("x"))
        find_pattern(script)  # refused before it is kept
        found = await self._shelf.editable(interaction, list_id, revision)
        scripts = (*await self._library.scripts(found.id), script)
        changed = await self._written(found, scripts)
        await self._show(interaction, changed, len(scripts) - 1, t(interaction.locale, "regex.added"))

    async def _rename(self, interaction: discord.Interaction, list_id: str) -> None:
        found = await self._shelf.editable(interaction, list_id)
        form = rename_form("script-renamed", (found.id,), found.name, str(interaction.locale))
        await forms.ask(interaction, form)

    async def _renamed(self, interaction: discord.Interaction, list_id: str) -> None:
        await interaction.response.defer()
        found = await self._shelf.editable(interaction, list_id)
        renamed = await self._library.rename(found.id, forms.entered(interaction)["name"])
        await self._shelf.edited(interaction, renamed)

    # -- buttons -------------------------------------------------------------------------------------

    async def _on(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()
        await self._edited(interaction, here, lambda script: {"disabled": not script.disabled})

    async def _up(self, interaction: discord.Interaction, *here: str) -> None:
        await self._move(interaction, here, -1)

    async def _down(self, interaction: discord.Interaction, *here: str) -> None:
        await self._move(interaction, here, 1)

    async def _move(self, interaction: discord.Interaction, here: tuple[str, ...], step: int) -> None:
        await interaction.response.defer()

        async def move() -> None:
            found, scripts, script = await self._at(interaction, *here)
            before = int(here[2])
            after = min(max(before + step, 0), len(scripts) - 1)
            moved = [*scripts[:before], *scripts[before + 1 :]]
            moved.insert(after, script)
            changed = await self._written(found, tuple(moved))
            await self._show(interaction, changed, after, t(interaction.locale, "edit.saved"))

        await self._fresh_when_stale(interaction, here, move)

    async def _remove(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()
        found, _, _ = await self._at(interaction, *here)
        view = confirm_script_removal(await self.view(found), int(here[2]), str(interaction.locale))
        await self._shelf.replace_panel(interaction, (view, []))

    async def _gone(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()

        async def remove() -> None:
            found, scripts, script = await self._at(interaction, *here)
            place = int(here[2])
            changed = await self._written(found, (*scripts[:place], *scripts[place + 1 :]))
            note = t(interaction.locale, "regex.removed", script=plain(script.name, 100))
            await self.show_list(interaction, changed, place // SCRIPTS, note)

        await self._fresh_when_stale(interaction, here, remove)

    async def _kept(self, interaction: discord.Interaction, list_id: str, place: str) -> None:
        await interaction.response.defer()
        await self._show(interaction, await self._shelf.row_of(interaction, list_id), int(place))

    async def _pardon(self, interaction: discord.Interaction, list_id: str, place: str) -> None:
        await interaction.response.defer()
        found = await self._shelf.editable(interaction, list_id)
        scripts = await self._library.scripts(found.id)
        if int(place) < len(scripts) and pattern_of(scripts[int(place)]) is not None:
            pattern = find_pattern(scripts[int(place)])
            self._watches.pardon(found.owner, [(pattern.source, pattern.flags)])
        await self._show(interaction, found, int(place), t(interaction.locale, "regex.pardoned"))

    # -- inside --------------------------------------------------------------------------------------

    async def _at(
        self, interaction: discord.Interaction, list_id: str, revision: str, place: str
    ) -> tuple[ResourceRow, Scripts, RegexScript]:
        """The script of an id, when this person may change it and nobody has. Raises as `editable`."""
        found = await self._shelf.editable(interaction, list_id, revision)
        scripts = await self._library.scripts(found.id)
        if not 0 <= int(place) < len(scripts):
            raise Conflict("It has been changed meanwhile.", code="RESOURCE_CHANGED")
        return found, scripts, scripts[int(place)]

    async def _edited(
        self,
        interaction: discord.Interaction,
        here: tuple[str, ...],
        patch_of: Callable[[RegexScript], Mapping[str, Any]],
    ) -> None:
        """Change the script of an id and show what it is now. The interaction has been deferred."""

        async def edit() -> None:
            found, scripts, script = await self._at(interaction, *here)
            patch, place = patch_of(script), int(here[2])
            if patch:
                edited = edit_script(script, **patch)
                if edited.find != script.find and not edited.substitute:
                    find_pattern(edited)  # refused before it is kept
                found = await self._written(found, (*scripts[:place], edited, *scripts[place + 1 :]))
            note = t(interaction.locale, "edit.saved" if patch else "edit.unchanged")
            await self._show(interaction, found, place, note)

        await self._fresh_when_stale(interaction, here, edit)

    async def _written(self, found: ResourceRow, scripts: Scripts) -> ResourceRow:
        return await self._library.edit(
            found.id, lambda document: with_scripts(document, scripts), expected_revision=found.revision
        )

    async def _fresh_when_stale(
        self, interaction: discord.Interaction, here: tuple[str, ...], work: Callable[[], Awaitable[None]]
    ) -> None:
        """Do it; where somebody was faster, show what stands there now before saying so."""
        try:
            await work()
        except Conflict:
            await self._show(interaction, await self._shelf.row_of(interaction, here[0]), int(here[2]))
            raise

"""What holds for a whole strategy: its name, back end, placement, and what the history keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import discord

from bot import forms
from bot.excerpts import bare
from bot.i18n import t
from bot.presetpanel import prompt_token as token_of
from bot.press import Handler, chosen
from bot.strategy.draft import Draft
from bot.strategy.editor import DraftDesk, choice_options, picked, unsaved_note
from bot.strategy.menu import asked_for
from bot.strategy.passage import passage_panel
from bot.strategy.whole import NO_LAYOUT, NO_ORDER, history_panel, kind_name, kinds_of, whole_panel
from engine.assembler import Fragment, Strategy
from engine.assembler.editing import change_backend, change_strategy, set_priority
from engine.assembler.history_edits import (
    CONTENT_TYPES,
    add_fragment,
    change_fragment,
    leave_out_content,
    policy_of,
    remove_fragment,
    switch_tidying,
    take_out,
    without_advanced_history,
)
from engine.errors import AssemblyError

__all__ = ["WholeDesk"]

_MODES: Final = ("lines", "literal")
_DELIMITER: Final = 256
_CUT: Final = "model"  # whose texts passages are cut out of; those that people wrote stay as they are


class WholeDesk(DraftDesk):
    """The handlers of the settings of a whole strategy. Their arguments: strategy and draft, then what it is
    about."""

    def presses(self) -> Mapping[str, Handler]:
        """For `PressCog.presses_served`."""
        return {
            "strategy-props": self._shown,
            "strategy-whole": self._chosen,
            "strategy-name": self._name,
            "strategy-called": self._called,
            "strategy-history": self._history,
            "strategy-tidy": self._tidy,
            "strategy-kinds": self._kinds,
            "strategy-content": self._content,
            "strategy-plain": self._plain,
            "strategy-passage": self._passage,
            "strategy-passage-add": self._add,
            "strategy-passage-added": self._added,
            "strategy-passage-set": self._set,
            "strategy-passage-was-set": self._was_set,
            "strategy-passage-switch": self._switch,
            "strategy-passage-remove": self._remove,
        }

    # -- the whole -----------------------------------------------------------------------------------

    async def _shown(self, interaction: discord.Interaction, strategy_id: str, _token: str = "") -> None:
        await interaction.response.defer()
        await self._show_whole(interaction, await self._keeper.draft(interaction, strategy_id))

    async def _chosen(
        self, interaction: discord.Interaction, strategy_id: str, token: str, field: str
    ) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        strategy = _with(draft.strategy, field, chosen(interaction)[0])
        draft, note = await self._changing(interaction, draft, strategy)
        await self._show_whole(interaction, draft, note)

    async def _name(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        draft, locale = await self._keeper.draft(interaction, strategy_id, token), interaction.locale
        label, name = t(locale, "strategy.form.name"), draft.strategy.name
        fields = [forms.TextField("name", label, name, required=True, most=200)]
        title = t(locale, "strategy.form.title")
        await forms.ask(
            interaction, forms.form("strategy-called", draft.kept.id, draft.token, title=title, fields=fields)
        )

    async def _called(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        strategy = change_strategy(draft.strategy, name=forms.entered(interaction)["name"])
        draft, note = await self._changing(interaction, draft, strategy)
        await self._show_whole(interaction, draft, note)

    # -- the history ---------------------------------------------------------------------------------

    async def _history(self, interaction: discord.Interaction, strategy_id: str, _token: str = "") -> None:
        await interaction.response.defer()
        await self._show_history(interaction, await self._keeper.draft(interaction, strategy_id))

    async def _tidy(self, interaction: discord.Interaction, strategy_id: str, token: str, on: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        await self._changed_history(interaction, draft, switch_tidying(draft.strategy, on=on == "1"))

    async def _kinds(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        going = chosen(interaction)
        kinds = {kind: token_of(kind) in going for kind in kinds_of(draft.strategy)}
        known = policy_of(draft.strategy).sources
        # of a kind that was never named nothing is said as long as it stays
        said = {kind: goes for kind, goes in kinds.items() if goes or kind in known}
        await self._changed_history(interaction, draft, take_out(draft.strategy, said))

    async def _content(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        lost = {kind: kind in chosen(interaction) for kind in CONTENT_TYPES}
        await self._changed_history(interaction, draft, leave_out_content(draft.strategy, **lost))

    async def _plain(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        await self._changed_history(interaction, draft, without_advanced_history(draft.strategy))

    # -- passages ------------------------------------------------------------------------------------

    async def _passage(self, interaction: discord.Interaction, strategy_id: str, _token: str) -> None:
        await interaction.response.defer()
        draft, value = await self._keeper.draft(interaction, strategy_id), chosen(interaction)[0]
        first = asked_for(value)
        if first is not None:
            await self._show_history(interaction, draft, first=first)
            return
        await self._show_passage(interaction, draft, value)

    async def _add(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        draft = await self._keeper.draft(interaction, strategy_id, token)
        await self._ask(interaction, draft, "strategy-passage-added", (), None)

    async def _added(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        written = _written(interaction)
        strategy, fragment_id = add_fragment(
            draft.strategy, written["source_kind"], written["start"], written["end"], written["mode"]
        )
        draft = await self._keeper.change(interaction, draft, strategy)
        await self._show_passage(interaction, draft, token_of(fragment_id))

    async def _set(self, interaction: discord.Interaction, *args: str) -> None:
        draft = await self._keeper.draft(interaction, *args[:2])
        fragment = _fragment(draft.strategy, args[2])
        await self._ask(interaction, draft, "strategy-passage-was-set", args[2:3], fragment)

    async def _was_set(self, interaction: discord.Interaction, *args: str) -> None:
        await self._write_passage(interaction, args, _written(interaction))

    async def _switch(self, interaction: discord.Interaction, *args: str) -> None:
        await self._write_passage(interaction, args, {"enabled": args[3] == "1"})

    async def _remove(self, interaction: discord.Interaction, *args: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, *args[:2])
        fragment = _fragment(draft.strategy, args[2])
        await self._changed_history(interaction, draft, remove_fragment(draft.strategy, fragment.id))

    # -- inside --------------------------------------------------------------------------------------

    async def _show_whole(self, interaction: discord.Interaction, draft: Draft, note: str = "") -> None:
        view = await self._view(interaction, draft, note or unsaved_note(draft, interaction.locale))
        await self._replace(interaction, whole_panel(draft, view, advanced=self._keeper.advanced()))

    async def _show_history(
        self, interaction: discord.Interaction, draft: Draft, note: str = "", first: int = 0
    ) -> None:
        view = await self._view(interaction, draft, note or unsaved_note(draft, interaction.locale))
        await self._replace(interaction, history_panel(draft, view, first))

    async def _changed_history(
        self, interaction: discord.Interaction, draft: Draft, strategy: Strategy
    ) -> None:
        draft, note = await self._changing(interaction, draft, strategy)
        await self._show_history(interaction, draft, note)

    async def _show_passage(
        self, interaction: discord.Interaction, draft: Draft, fragment_token: str, note: str = ""
    ) -> None:
        fragment = _fragment(draft.strategy, fragment_token)
        view = await self._view(interaction, draft, note or unsaved_note(draft, interaction.locale))
        await self._replace(interaction, passage_panel(draft, fragment, view))

    async def _write_passage(
        self, interaction: discord.Interaction, args: Sequence[str], patch: Mapping[str, object]
    ) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, *args[:2])
        fragment = _fragment(draft.strategy, args[2])
        strategy = change_fragment(draft.strategy, fragment.id, patch)
        draft, note = await self._changing(interaction, draft, strategy)
        await self._show_passage(interaction, draft, args[2], note)

    @staticmethod
    async def _ask(
        interaction: discord.Interaction,
        draft: Draft,
        op: str,
        about: Sequence[str],
        now: Fragment | None,
    ) -> None:
        locale = interaction.locale
        known = now.source_kind if now is not None else _CUT
        kinds = dict.fromkeys([_CUT, known, *(it.source_kind for it in policy_of(draft.strategy).fragments)])
        whose = [(bare(kind_name(it, str(locale))), it, it == known) for it in kinds]
        start, end = (now.start, now.end) if now is not None else ("", "")
        modes = choice_options("mode", _MODES, now.mode if now is not None else _MODES[0], locale)
        fields: list[forms.FormField] = [
            forms.TextField(
                "start", t(locale, "strategy.passage.start"), start, required=True, most=_DELIMITER
            ),
            forms.TextField("end", t(locale, "strategy.passage.end"), end, required=True, most=_DELIMITER),
            forms.ChoiceField("mode", t(locale, "strategy.passage.mode"), modes),
            forms.ChoiceField("source_kind", t(locale, "strategy.passage.kind"), whose[:25]),
        ]
        title = t(locale, "strategy.passage.title")
        args = (draft.kept.id, draft.token, *about)
        await forms.ask(interaction, forms.form(op, *args, title=title, fields=fields))


def _with(strategy: Strategy, field: str, value: str) -> Strategy:
    """With what was chosen in one of the menus of the whole."""
    if field == "backend":
        return change_backend(strategy, value)
    if field == "priority":
        return set_priority(strategy, None if value == NO_ORDER else tuple(value.split(",")))
    if field not in ("source", "identity", "fallback") or value == NO_LAYOUT:
        return strategy
    return change_strategy(strategy, **{field: value})


def _written(interaction: discord.Interaction) -> dict[str, str]:
    """A passage as it was entered."""
    entered = forms.entered(interaction)
    chosen_ = {key: picked(interaction, key) or "" for key in ("mode", "source_kind")}
    return {"start": entered["start"], "end": entered["end"], **chosen_}


def _fragment(strategy: Strategy, token: str) -> Fragment:
    found = next((it for it in policy_of(strategy).fragments if token_of(it.id) == token), None)
    if found is None:
        raise AssemblyError("This passage is gone.", code="HISTORY_FRAGMENT_NOT_FOUND")
    return found

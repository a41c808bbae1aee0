"""What every desk of a strategy's editor does: finds what somebody looks at, keeps what they changed, and
shows the panel that comes next with what would happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import discord

from bot import forms
from bot.i18n import t
from bot.presetpanel import prompt_token as token_of
from bot.sheet import Layout
from bot.strategy.draft import Draft
from bot.strategy.keeper import DraftKeeper
from bot.strategy.module import rule_panel
from bot.strategy.panel import StrategyView, strategy_editor
from engine.assembler import Rule, Strategy
from engine.errors import AssemblyError

__all__ = ["DraftDesk", "by_token", "choice_options", "picked", "unsaved_note"]


class DraftDesk:
    """What panels of a draft have in common."""

    def __init__(self, keeper: DraftKeeper) -> None:
        self._keeper = keeper

    async def panel(
        self, interaction: discord.Interaction, draft: Draft, note: str = "", page: int = 0
    ) -> Layout:
        """All modules."""
        view = await self._view(interaction, draft, note)
        return strategy_editor(draft, self._keeper.sources(), view, page)

    async def _view(self, interaction: discord.Interaction, draft: Draft, note: str = "") -> StrategyView:
        """Who looks, and what would happen with the draft as it is. Without another note it says that
        something is not saved."""
        return await self._keeper.view(interaction, draft.kept, note, trying=draft.strategy)

    async def _show(
        self, interaction: discord.Interaction, draft: Draft, note: str = "", page: int = 0
    ) -> None:
        await self._replace(interaction, await self.panel(interaction, draft, note, page))

    async def _show_rule(
        self, interaction: discord.Interaction, draft: Draft, rule_token: str, note: str = "", first: int = 0
    ) -> None:
        rule = by_token(draft.strategy, rule_token)
        view = await self._view(interaction, draft, note or unsaved_note(draft, interaction.locale))
        await self._replace(interaction, rule_panel(draft, rule, self._keeper.sources(), view, first))

    async def _found(self, interaction: discord.Interaction, args: Sequence[str]) -> tuple[Draft, Rule]:
        strategy_id, token, rule_token = args[:3]
        draft = await self._keeper.draft(interaction, strategy_id, token)
        return draft, by_token(draft.strategy, rule_token)

    async def _write(
        self,
        interaction: discord.Interaction,
        args: tuple[str, ...],
        change: Callable[[Strategy, Rule], Strategy],
    ) -> None:
        await interaction.response.defer()
        draft, rule = await self._found(interaction, args)
        await self._changed(interaction, draft, change(draft.strategy, rule), args[2])

    async def _changed(
        self, interaction: discord.Interaction, draft: Draft, strategy: Strategy, rule_token: str
    ) -> None:
        draft, note = await self._changing(interaction, draft, strategy)
        await self._show_rule(interaction, draft, rule_token, note)

    async def _changing(
        self, interaction: discord.Interaction, draft: Draft, strategy: Strategy
    ) -> tuple[Draft, str]:
        """The next state of a draft, and a note when it is the same."""
        if strategy.revision == draft.strategy.revision:
            return draft, t(interaction.locale, "edit.unchanged")
        return await self._keeper.change(interaction, draft, strategy), ""

    @staticmethod
    async def _replace(interaction: discord.Interaction, view: Layout) -> None:
        await interaction.edit_original_response(view=view, attachments=[])


def by_token(strategy: Strategy, token: str) -> Rule:
    """The module that a custom_id means. Raises AssemblyError STRATEGY_RULE_NOT_FOUND."""
    found = next((rule for rule in strategy.rules if token_of(rule.id) == token), None)
    if found is None:
        raise AssemblyError("This module is not in the strategy.", code="STRATEGY_RULE_NOT_FOUND")
    return found


def unsaved_note(draft: Draft, locale: discord.Locale) -> str:
    """That something is not saved, on a panel that shows only a part."""
    return t(locale, "strategy.unsaved") if draft.unsaved and not draft.gone else ""


def choice_options(
    what: str, values: Sequence[str], now: str, locale: discord.Locale
) -> list[tuple[str, str, bool]]:
    """The options of a form's choice, called `strategy.<what>.<value>`."""
    keys = {value: f"strategy.{what}.{value.replace('-', '_')}" for value in values}
    return [(t(locale, keys[value]), value, value == now) for value in values]


def picked(interaction: discord.Interaction, key: str) -> str | None:
    """What was chosen in a form; None where it had no such choice."""
    return next(iter(forms.picked(interaction, key)), None)

"""Single parts of a module: left out, put somewhere of their own, given back to their resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import discord

from bot.press import Handler, chosen
from bot.strategy.draft import Draft
from bot.strategy.editor import DraftDesk, unsaved_note
from bot.strategy.menu import asked_for
from bot.strategy.parts import END, anchor_by_token, part_panel, position_id_by_token, side_panel
from engine.assembler import Anchor, Rule, Strategy
from engine.assembler.layout import Side
from engine.assembler.position_edits import follow_resource, forget_position, put_position, switch_position
from engine.errors import AssemblyError

__all__ = ["PartDesk"]


class PartDesk(DraftDesk):
    """The handlers of parts. Their arguments: strategy, draft, module, and the part where there is one."""

    def presses(self) -> Mapping[str, Handler]:
        """For `PressCog.presses_served`."""
        return {
            "strategy-spot": self._chosen,
            "strategy-spot-show": self._shown,
            "strategy-spot-where": self._where,
            "strategy-spot-put": self._put,
            "strategy-spot-switch": self._switch,
            "strategy-spot-follow": self._follow,
            "strategy-spot-forget": self._forget,
        }

    async def _chosen(self, interaction: discord.Interaction, *args: str) -> None:
        await interaction.response.defer()
        draft, rule = await self._found(interaction, (args[0], "", args[2]))
        value = chosen(interaction)[0]
        first = asked_for(value)
        if first is not None:
            await self._show_rule(interaction, draft, args[2], first=first)
            return
        await self._show_part(interaction, draft, rule, self._position(draft.strategy, rule, value))

    async def _shown(self, interaction: discord.Interaction, *args: str) -> None:
        await interaction.response.defer()
        draft, rule, position_id = await self._part(interaction, (args[0], "", *args[2:]))
        await self._show_part(interaction, draft, rule, position_id)

    async def _where(self, interaction: discord.Interaction, *args: str) -> None:
        """At the end at once; next to another part once it is said on which side."""
        await interaction.response.defer()
        draft, rule, position_id = await self._part(interaction, args)
        sources, value = self._keeper.sources(), chosen(interaction)[0]
        first = asked_for(value)
        if first is not None:
            await self._show_part(interaction, draft, rule, position_id, first=first)
        elif value == END:
            strategy = put_position(draft.strategy, rule.kind, position_id, "end", sources)
            await self._changed_part(interaction, draft, rule, position_id, strategy)
        else:
            anchor = anchor_by_token(draft.strategy, (rule.kind, position_id), sources, value)
            if anchor is None:
                raise _gone()
            locale = str(interaction.locale)
            await self._replace(interaction, side_panel(draft, rule, position_id, anchor, sources, locale))

    async def _put(self, interaction: discord.Interaction, *args: str) -> None:
        def put(strategy: Strategy, rule: Rule, position_id: str) -> Strategy:
            sources = self._keeper.sources()
            to = anchor_by_token(strategy, (rule.kind, position_id), sources, args[4])
            if to is None or args[5] not in ("before", "after"):
                raise _gone()
            anchor = Anchor(*to, cast("Side", args[5]))
            return put_position(strategy, rule.kind, position_id, anchor, sources)

        await self._write_part(interaction, args, put)

    async def _switch(self, interaction: discord.Interaction, *args: str) -> None:
        on, sources = args[4] == "1", self._keeper.sources()
        await self._write_part(
            interaction,
            args,
            lambda s, rule, position: switch_position(s, rule.kind, position, sources, on=on),
        )

    async def _follow(self, interaction: discord.Interaction, *args: str) -> None:
        sources = self._keeper.sources()
        await self._write_part(
            interaction, args, lambda s, rule, position: follow_resource(s, rule.kind, position, sources)
        )

    async def _forget(self, interaction: discord.Interaction, *args: str) -> None:
        await interaction.response.defer()
        draft, rule, position_id = await self._part(interaction, args)
        strategy = forget_position(draft.strategy, rule.kind, position_id)
        await self._changed(interaction, draft, strategy, args[2])

    # -- inside --------------------------------------------------------------------------------------

    async def _write_part(
        self,
        interaction: discord.Interaction,
        args: tuple[str, ...],
        change: Callable[[Strategy, Rule, str], Strategy],
    ) -> None:
        await interaction.response.defer()
        draft, rule, position_id = await self._part(interaction, args)
        strategy = change(draft.strategy, rule, position_id)
        await self._changed_part(interaction, draft, rule, position_id, strategy)

    async def _changed_part(
        self, interaction: discord.Interaction, draft: Draft, rule: Rule, position_id: str, strategy: Strategy
    ) -> None:
        draft, note = await self._changing(interaction, draft, strategy)
        await self._show_part(interaction, draft, rule, position_id, note)

    async def _show_part(
        self,
        interaction: discord.Interaction,
        draft: Draft,
        rule: Rule,
        position_id: str,
        note: str = "",
        first: int = 0,
    ) -> None:
        view = await self._view(interaction, draft, note or unsaved_note(draft, interaction.locale))
        panel = part_panel(draft, rule, position_id, self._keeper.sources(), view, first)
        await self._replace(interaction, panel)

    async def _part(self, interaction: discord.Interaction, args: tuple[str, ...]) -> tuple[Draft, Rule, str]:
        draft, rule = await self._found(interaction, args)
        return draft, rule, self._position(draft.strategy, rule, args[3])

    def _position(self, strategy: Strategy, rule: Rule, wanted: str) -> str:
        found = position_id_by_token(strategy, rule, self._keeper.sources(), wanted)
        if found is None:
            raise _gone()
        return found


def _gone() -> AssemblyError:
    return AssemblyError("This part is not there any more.", code="STRATEGY_POSITION_NOT_FOUND")

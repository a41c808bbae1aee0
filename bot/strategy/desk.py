"""The modules of a strategy, changed one by one in somebody's draft: the list, the panel of one, its text."""

from __future__ import annotations

from collections.abc import Mapping

import discord

from bot import forms, texts
from bot.excerpts import bare
from bot.i18n import t
from bot.presetpanel import prompt_token as token_of
from bot.press import Handler, chosen
from bot.previewdesk import PreviewDesk
from bot.promptdesk import whole_number
from bot.strategy.editor import DraftDesk, choice_options, picked
from bot.strategy.keeper import DraftKeeper
from bot.strategy.panel import module_name, strategy_name, strategy_panel
from bot.strategy.partdesk import PartDesk
from bot.strategy.wholedesk import WholeDesk
from bot.texts import Wording
from engine.assembler import KeptStrategy
from engine.assembler.editing import (
    AUTHORED,
    add_text,
    change_rule,
    lifetimes_of,
    remove_rule,
    roles_of,
    takes_depth,
)
from engine.assembler.position_edits import move_rule, place_by_list
from engine.errors import EngineError

__all__ = ["StrategyDesk"]

_WAYS = ("context", "pre-step")


class StrategyDesk(DraftDesk):
    """The handlers of everything that is done in the editor: to modules here, to their parts and to the whole
    at desks of their own."""

    def __init__(self, keeper: DraftKeeper, previews: PreviewDesk) -> None:
        super().__init__(keeper)
        self._previews = previews
        self._parts = PartDesk(keeper)
        self._whole = WholeDesk(keeper)

    def presses(self) -> Mapping[str, Handler]:
        """For `PressCog.presses_served`."""
        return {
            **self._parts.presses(),
            **self._whole.presses(),
            "strategy-edit": self._edit,
            "strategy-part": self._part,
            "strategy-keep": self._keep,
            "strategy-copy": self._copy,
            "strategy-drop": self._drop,
            "strategy-try": self._try,
            "strategy-add": self._add,
            "strategy-added": self._added,
            "strategy-rule": self._rule,
            "strategy-open": self._open,
            "strategy-switch": self._switch,
            "strategy-up": self._up,
            "strategy-down": self._down,
            "strategy-place": self._place,
            "strategy-text": self._text,
            "strategy-wrote": self._wrote,
            "strategy-set": self._settings,
            "strategy-was-set": self._was_set,
            "strategy-remove": self._remove,
        }

    # -- the whole -----------------------------------------------------------------------------------

    async def _edit(self, interaction: discord.Interaction, strategy_id: str) -> None:
        await interaction.response.defer()
        await self._show(interaction, await self._keeper.draft(interaction, strategy_id))

    async def _part(self, interaction: discord.Interaction, strategy_id: str, page: str) -> None:
        await interaction.response.defer()
        number = int(page) if page.isdecimal() else 0
        await self._show(interaction, await self._keeper.draft(interaction, strategy_id), page=number)

    async def _keep(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        """Save. Who was too late sees at once what there is now, and that theirs is kept."""
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        try:
            kept, copied = await self._keeper.keep(interaction, draft)
        except EngineError as error:
            if error.error_code in ("STRATEGY_CHANGED", "STRATEGY_NOT_FOUND"):
                await self._show(interaction, await self._keeper.draft(interaction, strategy_id))
            raise
        await self._show_kept(interaction, kept, copied=copied)

    async def _copy(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        """Save what somebody was too late with as a strategy of its own."""
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        kept, copied = await self._keeper.keep(interaction, draft, copy=True)
        await self._show_kept(interaction, kept, copied=copied)

    async def _show_kept(self, interaction: discord.Interaction, kept: KeptStrategy, *, copied: bool) -> None:
        done = "copied" if copied else "saved"
        note, hint = (t(interaction.locale, f"strategy.{key}") for key in (done, f"{done}_hint"))
        view = await self._keeper.view(interaction, kept, note, hint)
        await self._replace(interaction, strategy_panel(kept, view))

    async def _drop(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        draft = await self._keeper.discard(interaction, draft)
        await self._show(interaction, draft, t(interaction.locale, "strategy.discarded"))

    async def _try(self, interaction: discord.Interaction, strategy_id: str, token: str = "") -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        draft = await self._keeper.draft(interaction, strategy_id, token)
        name = strategy_name(draft.kept, str(interaction.locale))
        if draft.unsaved:
            name = t(interaction.locale, "strategy.draft_of", name=name)
        await self._previews.try_out(interaction, draft.strategy, name, draft.kept.id)

    async def _add(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        draft, locale = await self._keeper.draft(interaction, strategy_id, token), interaction.locale
        offered = ("system", "user") if draft.strategy.standard else ("system", "user", "assistant")
        roles = choice_options("role", offered, "user", locale)
        fields: list[forms.FormField] = [
            forms.TextField("name", t(locale, "strategy.form.name"), required=True, most=200),
            forms.ChoiceField("role", t(locale, "strategy.fact.role"), roles),
            forms.TextField(
                "text",
                t(locale, "strategy.form.text"),
                long=True,
                required=True,
                hint=t(locale, "strategy.form.text_hint"),
            ),
        ]
        title = t(locale, "button.add_text")
        await forms.ask(
            interaction, forms.form("strategy-added", draft.kept.id, draft.token, title=title, fields=fields)
        )

    async def _added(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        entered = forms.entered(interaction)
        role = (forms.picked(interaction, "role") or ("user",))[0]
        strategy, rule_id = add_text(draft.strategy, entered["name"], entered["text"], role)
        draft = await self._keeper.change(interaction, draft, strategy)
        await self._show_rule(interaction, draft, token_of(rule_id))

    # -- one module ----------------------------------------------------------------------------------

    async def _rule(self, interaction: discord.Interaction, strategy_id: str, _token: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id)
        await self._show_rule(interaction, draft, chosen(interaction)[0])

    async def _open(self, interaction: discord.Interaction, strategy_id: str, _token: str, rule: str) -> None:
        await interaction.response.defer()
        await self._show_rule(interaction, await self._keeper.draft(interaction, strategy_id), rule)

    async def _switch(self, interaction: discord.Interaction, *args: str) -> None:
        on = args[3] == "1"
        await self._write(interaction, args, lambda s, rule: change_rule(s, rule.id, {"enabled": on}))

    async def _up(self, interaction: discord.Interaction, *args: str) -> None:
        await self._move(interaction, args, -1)

    async def _down(self, interaction: discord.Interaction, *args: str) -> None:
        await self._move(interaction, args, 1)

    async def _move(self, interaction: discord.Interaction, args: tuple[str, ...], step: int) -> None:
        sources = self._keeper.sources()
        await self._write(
            interaction, args, lambda s, rule: move_rule(s, rule.id, s.rules.index(rule) + step, sources)
        )

    async def _place(self, interaction: discord.Interaction, *args: str) -> None:
        sources, listed = self._keeper.sources(), args[3] == "1"
        await self._write(
            interaction, args, lambda s, rule: place_by_list(s, rule.id, sources, by_list=listed)
        )

    async def _text(self, interaction: discord.Interaction, *args: str) -> None:
        draft, rule = await self._found(interaction, args)
        name = bare(module_name(rule, str(interaction.locale)))
        wording = Wording(rule.text, name, "text.txt", t(interaction.locale, "strategy.form.text_hint"))
        await texts.edit(interaction, "strategy-wrote", (draft.kept.id, draft.token, args[2]), wording)

    async def _wrote(self, interaction: discord.Interaction, *args: str) -> None:
        await interaction.response.defer()
        text = await texts.changed(interaction)
        draft, rule = await self._found(interaction, args)
        strategy = draft.strategy
        if not texts.same(rule.text, text):
            strategy = change_rule(strategy, rule.id, {"text": text})
        await self._changed(interaction, draft, strategy, args[2])

    async def _settings(self, interaction: discord.Interaction, *args: str) -> None:
        """Only what back end and source can do, and what it already is, so that it can be changed."""
        draft, rule = await self._found(interaction, args)
        locale, sources, strategy = interaction.locale, self._keeper.sources(), draft.strategy
        roles = roles_of(strategy, rule, sources)
        lifetimes = lifetimes_of(strategy, rule, sources)
        fields: list[forms.FormField] = []
        if rule.kind in AUTHORED:
            name = t(locale, "strategy.form.name")
            fields.append(forms.TextField("name", name, rule.name, most=200))
        if len(roles) > 1:
            options = choice_options("role", roles, rule.role, locale)
            fields.append(forms.ChoiceField("role", t(locale, "strategy.fact.role"), options))
        if strategy.standard:
            options = choice_options("delivery", ("usual", *_WAYS), rule.delivery or "usual", locale)
            hint, label = t(locale, "strategy.form.delivery_hint"), t(locale, "strategy.fact.delivery")
            fields.append(forms.ChoiceField("delivery", label, options, hint=hint))
        if len(lifetimes) > 1:
            options = choice_options("lifetime", lifetimes, rule.lifetime, locale)
            fields.append(forms.ChoiceField("lifetime", t(locale, "strategy.fact.lifetime"), options))
        if takes_depth(strategy, rule, sources):
            depth = "" if rule.depth is None else str(rule.depth)
            hint, label = t(locale, "strategy.form.depth_hint"), t(locale, "strategy.fact.depth")
            fields.append(forms.TextField("depth", label, depth, most=6, hint=hint))
        title = bare(module_name(rule, str(locale)))
        op_args = (draft.kept.id, draft.token, args[2])
        await forms.ask(interaction, forms.form("strategy-was-set", *op_args, title=title, fields=fields))

    async def _was_set(self, interaction: discord.Interaction, *args: str) -> None:
        entered = forms.entered(interaction)
        patch: dict[str, object] = {}
        if "name" in entered:
            patch["name"] = entered["name"]
        for field in ("role", "lifetime"):
            if value := picked(interaction, field):
                patch[field] = value
        if way := picked(interaction, "delivery"):
            patch["delivery"] = None if way == "usual" else way
        if "depth" in entered:
            patch["depth"] = whole_number(entered["depth"], "depth", interaction.locale)
        await self._write(interaction, args, lambda s, rule: change_rule(s, rule.id, patch))

    async def _remove(self, interaction: discord.Interaction, *args: str) -> None:
        await interaction.response.defer()
        draft, rule = await self._found(interaction, args)
        draft = await self._keeper.change(interaction, draft, remove_rule(draft.strategy, rule.id))
        await self._show(interaction, draft)

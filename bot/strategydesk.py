"""The modules of a strategy, changed one by one in somebody's draft: the list, the panel of one, its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import discord

from bot import forms, texts
from bot.i18n import t
from bot.presetpanel import prompt_token as token_of
from bot.press import Handler, chosen
from bot.previewdesk import PreviewDesk
from bot.promptdesk import whole_number
from bot.sheet import Layout
from bot.strategydraft import Draft
from bot.strategypanel import (
    StrategyView,
    module_name,
    rule_panel,
    strategy_editor,
    strategy_name,
    strategy_panel,
)
from bot.texts import Wording
from engine.assembler import Definition, KeptStrategy, Rule, Strategy
from engine.assembler.editing import (
    AUTHORED,
    add_text,
    change_rule,
    change_strategy,
    move_rule,
    place_by_list,
    remove_rule,
)
from engine.errors import AssemblyError

__all__ = ["StrategyDesk"]

_ROLES = ("preserve", "system", "user", "assistant")
_LIFETIMES = ("request", "snapshot")
_WAYS = ("context", "pre-step")


class DraftKeeper(Protocol):
    """Whose desk it is: says who may, keeps drafts, shows panels."""

    async def draft(self, interaction: discord.Interaction, strategy_id: str, token: str = "") -> Draft: ...
    async def change(self, interaction: discord.Interaction, draft: Draft, strategy: Strategy) -> Draft: ...
    async def keep(self, interaction: discord.Interaction, draft: Draft) -> tuple[KeptStrategy, bool]: ...
    async def discard(self, interaction: discord.Interaction, draft: Draft) -> Draft: ...
    async def view(
        self, interaction: discord.Interaction, kept: KeptStrategy, note: str = ""
    ) -> StrategyView: ...
    def sources(self) -> Mapping[str, Definition]: ...


class StrategyDesk:
    """The handlers of everything that is done to modules."""

    def __init__(self, keeper: DraftKeeper, previews: PreviewDesk) -> None:
        self._keeper = keeper
        self._previews = previews

    def presses(self) -> Mapping[str, Handler]:
        """For `PressCog.presses_served`."""
        return {
            "strategy-edit": self._edit,
            "strategy-part": self._part,
            "strategy-keep": self._keep,
            "strategy-drop": self._drop,
            "strategy-try": self._try,
            "strategy-add": self._add,
            "strategy-added": self._added,
            "strategy-props": self._props,
            "strategy-called": self._called,
            "strategy-rule": self._rule,
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

    async def panel(
        self, interaction: discord.Interaction, draft: Draft, note: str = "", page: int = 0
    ) -> Layout:
        """All modules."""
        view = await self._keeper.view(interaction, draft.kept, note)
        return strategy_editor(draft, self._keeper.sources(), view, page)

    # -- the whole -----------------------------------------------------------------------------------

    async def _edit(self, interaction: discord.Interaction, strategy_id: str) -> None:
        await interaction.response.defer()
        await self._show(interaction, await self._keeper.draft(interaction, strategy_id))

    async def _part(self, interaction: discord.Interaction, strategy_id: str, page: str) -> None:
        await interaction.response.defer()
        number = int(page) if page.isdecimal() else 0
        await self._show(interaction, await self._keeper.draft(interaction, strategy_id), page=number)

    async def _keep(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        kept, copied = await self._keeper.keep(interaction, draft)
        note = t(interaction.locale, "strategy.copied" if copied else "strategy.saved")
        view = await self._keeper.view(interaction, kept, note)
        await interaction.edit_original_response(view=strategy_panel(kept, view), attachments=[])

    async def _drop(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        draft = await self._keeper.discard(interaction, draft)
        await self._show(interaction, draft, t(interaction.locale, "strategy.discarded"))

    async def _try(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        draft = await self._keeper.draft(interaction, strategy_id, token)
        name = strategy_name(draft.kept, str(interaction.locale))
        if draft.unsaved:
            name = t(interaction.locale, "strategy.draft_of", name=name)
        await self._previews.try_out(interaction, draft.strategy, name, draft.kept.id)

    async def _add(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        draft, locale = await self._keeper.draft(interaction, strategy_id, token), interaction.locale
        fields: list[forms.FormField] = [
            forms.TextField("name", t(locale, "strategy.form.name"), required=True, most=200),
            forms.ChoiceField(
                "role", t(locale, "strategy.fact.role"), _options("role", _ROLES[1:3], "user", locale)
            ),
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

    async def _props(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        draft, locale = await self._keeper.draft(interaction, strategy_id, token), interaction.locale
        strategy = draft.strategy
        fields: list[forms.FormField] = [
            forms.TextField("name", t(locale, "strategy.form.name"), strategy.name, required=True, most=200)
        ]
        if strategy.layout is not None:
            sources = ("preset-slots", "manual")
            fallbacks = ("source-order", "error")
            fields += [
                forms.ChoiceField(
                    "source",
                    t(locale, "strategy.form.source"),
                    _options("owner", sources, strategy.layout.source, locale),
                ),
                forms.ChoiceField(
                    "fallback",
                    t(locale, "strategy.form.fallback"),
                    _options("fallback", fallbacks, strategy.layout.fallback, locale),
                ),
            ]
        tidy = strategy.history_policy is not None and strategy.history_policy.enabled
        fields.append(
            forms.ChoiceField(
                "tidy",
                t(locale, "strategy.form.tidy"),
                _options("history", ("stays", "tidied"), "tidied" if tidy else "stays", locale),
                hint=t(locale, "strategy.form.tidy_hint"),
            )
        )
        title = t(locale, "strategy.form.title")
        await forms.ask(
            interaction, forms.form("strategy-called", draft.kept.id, draft.token, title=title, fields=fields)
        )

    async def _called(self, interaction: discord.Interaction, strategy_id: str, token: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id, token)
        strategy = change_strategy(
            draft.strategy,
            name=forms.entered(interaction)["name"],
            source=_picked(interaction, "source"),
            fallback=_picked(interaction, "fallback"),
            tidy_history=_picked(interaction, "tidy") == "tidied",
        )
        await self._show(interaction, await self._keeper.change(interaction, draft, strategy))

    # -- one module ----------------------------------------------------------------------------------

    async def _rule(self, interaction: discord.Interaction, strategy_id: str, _token: str) -> None:
        await interaction.response.defer()
        draft = await self._keeper.draft(interaction, strategy_id)
        await self._show_rule(interaction, draft, chosen(interaction)[0])

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
        name = discord.utils.remove_markdown(module_name(rule, str(interaction.locale)))
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
        draft, rule = await self._found(interaction, args)
        locale, source = interaction.locale, self._keeper.sources().get(rule.kind)
        roles = [each for each in (source.roles if source is not None else _ROLES) if _offered(rule, each)]
        lifetimes = source.lifetimes if source is not None else _LIFETIMES
        fields: list[forms.FormField] = []
        if rule.kind in AUTHORED:
            name = t(locale, "strategy.form.name")
            fields.append(forms.TextField("name", name, rule.name, most=200))
        if len(roles) > 1:
            options = _options("role", roles, rule.role, locale)
            fields.append(forms.ChoiceField("role", t(locale, "strategy.fact.role"), options))
        options = _options("delivery", ("usual", *_WAYS), rule.delivery or "usual", locale)
        hint = t(locale, "strategy.form.delivery_hint")
        fields.append(forms.ChoiceField("delivery", t(locale, "strategy.fact.delivery"), options, hint=hint))
        if len(lifetimes) > 1:
            options = _options("lifetime", lifetimes, rule.lifetime, locale)
            fields.append(forms.ChoiceField("lifetime", t(locale, "strategy.fact.lifetime"), options))
        if source is None or source.depth:
            depth = "" if rule.depth is None else str(rule.depth)
            hint = t(locale, "strategy.form.depth_hint")
            fields.append(
                forms.TextField("depth", t(locale, "strategy.fact.depth"), depth, most=6, hint=hint)
            )
        title = discord.utils.remove_markdown(module_name(rule, str(locale)))
        op_args = (draft.kept.id, draft.token, args[2])
        await forms.ask(interaction, forms.form("strategy-was-set", *op_args, title=title, fields=fields))

    async def _was_set(self, interaction: discord.Interaction, *args: str) -> None:
        entered = forms.entered(interaction)
        patch: dict[str, object] = {}
        if "name" in entered:
            patch["name"] = entered["name"]
        for field in ("role", "lifetime"):
            if picked := _picked(interaction, field):
                patch[field] = picked
        if way := _picked(interaction, "delivery"):
            patch["delivery"] = None if way == "usual" else way
        if "depth" in entered:
            patch["depth"] = whole_number(entered["depth"], "depth", interaction.locale)
        await self._write(interaction, args, lambda s, rule: change_rule(s, rule.id, patch))

    async def _remove(self, interaction: discord.Interaction, *args: str) -> None:
        await interaction.response.defer()
        draft, rule = await self._found(interaction, args)
        draft = await self._keeper.change(interaction, draft, remove_rule(draft.strategy, rule.id))
        await self._show(interaction, draft)

    # -- inside --------------------------------------------------------------------------------------

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
        if strategy.revision == draft.strategy.revision:
            await self._show_rule(interaction, draft, rule_token, t(interaction.locale, "edit.unchanged"))
            return
        draft = await self._keeper.change(interaction, draft, strategy)
        await self._show_rule(interaction, draft, rule_token)

    async def _found(self, interaction: discord.Interaction, args: tuple[str, ...]) -> tuple[Draft, Rule]:
        strategy_id, token, rule_token = args[:3]
        draft = await self._keeper.draft(interaction, strategy_id, token)
        return draft, _by_token(draft.strategy, rule_token)

    async def _show(
        self, interaction: discord.Interaction, draft: Draft, note: str = "", page: int = 0
    ) -> None:
        view = await self.panel(interaction, draft, note, page)
        await interaction.edit_original_response(view=view, attachments=[])

    async def _show_rule(
        self, interaction: discord.Interaction, draft: Draft, rule_token: str, note: str = ""
    ) -> None:
        rule, locale = _by_token(draft.strategy, rule_token), str(interaction.locale)
        if not note and draft.unsaved:
            note = t(locale, "strategy.unsaved")
        view = rule_panel(draft, rule, self._keeper.sources(), locale, note)
        await interaction.edit_original_response(view=view, attachments=[])


def _by_token(strategy: Strategy, token: str) -> Rule:
    found = next((rule for rule in strategy.rules if token_of(rule.id) == token), None)
    if found is None:
        raise AssemblyError("This module is not in the strategy.", code="STRATEGY_RULE_NOT_FOUND")
    return found


def _offered(rule: Rule, role: str) -> bool:
    """A text of one's own has no role that could be preserved."""
    return role != "preserve" or rule.kind not in AUTHORED


def _options(
    what: str, values: Sequence[str], now: str, locale: discord.Locale
) -> list[tuple[str, str, bool]]:
    keys = {value: f"strategy.{what}.{value.replace('-', '_')}" for value in values}
    return [(t(locale, keys[value]), value, value == now) for value in values]


def _picked(interaction: discord.Interaction, key: str) -> str | None:
    return next(iter(forms.picked(interaction, key)), None)

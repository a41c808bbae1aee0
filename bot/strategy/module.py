"""The panel of one module of a strategy. Pure, in a running loop."""

from __future__ import annotations

from collections.abc import Mapping

from bot.excerpts import clip, plain
from bot.i18n import t
from bot.presetpanel import prompt_token as token
from bot.press import button
from bot.sheet import DANGER, PRIMARY, Layout, Sheet
from bot.strategy.draft import Draft
from bot.strategy.panel import PAGE, StrategyView, about_module, fixed, module_name, rule_facts, switch_only
from bot.strategy.parts import part_lines, part_menu
from engine.assembler import Definition, Rule, Strategy
from engine.assembler.editing import AUTHORED
from engine.assembler.position_edits import by_list, movable_positions, placed_apart

__all__ = ["rule_panel"]


def rule_panel(
    draft: Draft, rule: Rule, sources: Mapping[str, Definition], view: StrategyView, first_part: int = 0
) -> Layout:
    """One module: whether it is on, where it stands and who says so, role, way and retention, its parts.
    `first_part` is the first that its menu offers."""
    sheet, strategy, locale = Sheet(), draft.strategy, view.locale
    place = strategy.rules.index(rule)
    sheet.text("\n".join(_head(draft, rule, sources, view)), 2_400)
    if rule.kind in AUTHORED:
        shown = clip(rule.text, 1_400) if rule.text.strip() else t(locale, "edit.nothing")
        length = t(locale, "edit.chars", n=len(rule.text))
        sheet.text(f"```\n{shown.replace('```', '`​``')}\n```\n-# {length}", 3_600)
    parts = [] if switch_only(rule) else part_lines(strategy, rule, sources, locale)
    sheet.text("\n".join(parts), 2_000)
    sheet.text(view.outlook, 2_200)
    args = (draft.kept.id, draft.token, token(rule.id))
    if not switch_only(rule) and (parts_menu := part_menu(draft, rule, sources, locale, first_part)):
        sheet.row(parts_menu)
    switch = "button.off" if rule.enabled else "button.on"
    last = place == len(strategy.rules) - 1
    sheet.row(
        button("strategy-switch", *args, int(not rule.enabled), label=t(locale, switch)),
        button("strategy-up", *args, label=t(locale, "button.up"), disabled=place == 0),
        button("strategy-down", *args, label=t(locale, "button.down"), disabled=last),
    )
    second = []
    if rule.kind in AUTHORED:
        second.append(button("strategy-text", *args, label=t(locale, "button.text"), style=PRIMARY))
    if not fixed(strategy, rule, sources):
        second.append(button("strategy-set", *args, label=t(locale, "button.settings")))
    if movable_positions(strategy, rule, sources):
        listed = by_list(strategy, rule)
        label = t(locale, "strategy.to_preset" if listed else "strategy.to_list")
        second.append(button("strategy-place", *args, int(not listed), label=label))
    if rule.kind in AUTHORED:
        second.append(button("strategy-remove", *args, label=t(locale, "button.remove"), style=DANGER))
    second.append(button("strategy-part", draft.kept.id, place // PAGE, label=t(locale, "button.back")))
    sheet.row(*second)
    return sheet.layout()


def _head(draft: Draft, rule: Rule, sources: Mapping[str, Definition], view: StrategyView) -> list[str]:
    strategy, locale = draft.strategy, view.locale
    place, count = strategy.rules.index(rule), len(strategy.rules)
    on = t(locale, "strategy.on" if rule.enabled else "strategy.off")
    lines = [
        f"## {module_name(rule, locale)}",
        f"{t(locale, 'strategy.place_of', place=place + 1, count=count)} · {on}",
    ]
    if about := about_module(rule, locale):
        lines.append(f"-# {about}")
    if not switch_only(rule):
        facts = rule_facts(strategy, rule, locale)
        lines += [f"{t(locale, f'strategy.fact.{fact}')}: {words}" for fact, words in facts]
    if _role_unused(draft.strategy, rule):
        lines.append(t(locale, "strategy.role_unused"))
    if placed := placed_apart(strategy, rule):
        lines.append(t(locale, "strategy.part.placed", n=placed))
    if sources and rule.kind not in sources and not switch_only(rule):
        lines.append(t(locale, "strategy.source_gone", kind=plain(rule.kind, 80)))
    if view.note:
        lines.append(view.note)
    return lines


def _role_unused(strategy: Strategy, rule: Rule) -> bool:
    """Whether each part keeps its own role anyway; a text that somebody wrote has the one it is given."""
    kept = strategy.layout is not None and not strategy.positional
    return kept and rule.role != "preserve" and rule.input_mode != "text"

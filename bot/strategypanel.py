"""The panels of a strategy: what it is, its modules while they are changed, and one module. Pure, in a
running loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import discord

from bot.excerpts import clip, plain, prose
from bot.i18n import FALLBACK, catalogue, t
from bot.presetpanel import prompt_token as token
from bot.press import button, menu
from bot.sheet import DANGER, PRIMARY, Layout, Sheet
from bot.strategydraft import Draft
from engine.assembler import Definition, KeptStrategy, Rule, Strategy
from engine.assembler.editing import AUTHORED, by_list, movable_positions

__all__ = [
    "StrategyView",
    "known_name",
    "module_name",
    "rule_line",
    "rule_panel",
    "strategy_editor",
    "strategy_line",
    "strategy_name",
    "strategy_panel",
    "switch_only",
]

_PAGE = 10  # modules of the editor: what a phone shows without much scrolling
_LINE_BYTES = 420


@dataclass(frozen=True, slots=True)
class StrategyView:
    """Where a strategy is looked at: in which language, whether there is a story that the reader may let
    use it, whether that story uses it, whether they may save over it, and a line to say above."""

    locale: str
    can_apply: bool = False
    in_use: bool = False
    can_change: bool = False
    note: str = ""


def strategy_panel(kept: KeptStrategy, view: StrategyView) -> Layout:
    """A strategy as it is kept."""
    sheet, locale, strategy = Sheet(), view.locale, kept.strategy
    head = [f"## {strategy_name(kept, locale)}", " · ".join(_facts(strategy, locale, kept=kept))]
    if view.note:
        head.insert(0, view.note)
    if view.in_use:
        head.append(t(locale, "strategy.in_use"))
    sheet.text("\n".join(head), 1_600)
    sheet.text(_about(kept, locale), 900)
    shown = strategy.rules[: 2 * _PAGE]
    lines = [clip(rule_line(strategy, rule, {}, locale), 300, _LINE_BYTES) for rule in shown]
    if len(strategy.rules) > len(shown):
        lines.append(t(locale, "strategy.more", n=len(strategy.rules) - len(shown)))
    sheet.text("\n".join(lines), 5_000)
    first = []
    if view.can_apply:
        label = t(locale, "button.apply")
        first.append(button("strategy-apply", kept.id, label=label, style=PRIMARY))
        first.append(button("strategy-preview", kept.id, label=t(locale, "button.preview")))
    first.append(button("strategy-edit", kept.id, label=t(locale, "button.edit")))
    second = [button("strategy-export", kept.id, label=t(locale, "button.export"))]
    if view.can_change and not kept.built_in:
        second.append(button("strategy-delete", kept.id, label=t(locale, "button.delete"), style=DANGER))
    sheet.row(*first)
    sheet.row(*second)
    return sheet.layout()


def strategy_editor(
    draft: Draft, sources: Mapping[str, Definition], view: StrategyView, page: int = 0
) -> Layout:
    """The modules in their order; what is not saved is said."""
    sheet, locale, strategy = Sheet(), view.locale, draft.strategy
    pages = max(1, -(-len(strategy.rules) // _PAGE))
    page = min(max(0, page), pages - 1)
    # Until it has another name, the draft of a built-in one is called as that is in the reader's language.
    named = draft.kept.built_in and strategy.name == draft.kept.strategy.name
    name = strategy_name(draft.kept, locale) if named else plain(strategy.name, 120)
    head = [f"## ✏️ {name}", " · ".join(_facts(strategy, locale))]
    if view.note:
        head.append(view.note)
    if not view.can_change:
        head.append(t(locale, "strategy.will_copy"))
    if draft.overtaken:
        head.append(t(locale, "strategy.overtaken"))
    elif draft.unsaved:
        head.append(t(locale, "strategy.unsaved"))
    sheet.text("\n".join(head), 2_000)
    shown = strategy.rules[page * _PAGE : (page + 1) * _PAGE]
    lines = [clip(rule_line(strategy, rule, sources, locale), 300, _LINE_BYTES) for rule in shown]
    sheet.text("\n".join(lines), 4_600)
    args = (draft.kept.id, draft.token)
    if shown:
        options = [_option(strategy, rule, locale) for rule in shown]
        sheet.row(menu("strategy-rule", *args, options=options, placeholder=t(locale, "strategy.choose")))
    if pages > 1:
        sheet.row(
            button("strategy-part", draft.kept.id, page - 1, label="◀", disabled=page == 0),
            button("strategy-part", draft.kept.id, page + 1, label="▶", disabled=page == pages - 1),
        )
    ready = not draft.unsaved
    first = [
        button("strategy-keep", *args, label=t(locale, "button.save"), style=PRIMARY, disabled=ready),
        button("strategy-drop", *args, label=t(locale, "button.discard"), disabled=ready),
    ]
    if view.can_apply:
        first.append(
            button("strategy-apply", draft.kept.id, label=t(locale, "button.apply"), disabled=not ready)
        )
        first.append(button("strategy-try", *args, label=t(locale, "button.preview")))
    sheet.row(*first)
    sheet.row(
        button("strategy-add", *args, label=t(locale, "button.add_text")),
        button("strategy-props", *args, label=t(locale, "button.settings")),
        button("strategy-show", draft.kept.id, label=t(locale, "button.back")),
    )
    return sheet.layout()


def rule_panel(
    draft: Draft, rule: Rule, sources: Mapping[str, Definition], locale: str, note: str = ""
) -> Layout:
    """One module: whether it is on, where it stands and who says so, role, way and retention."""
    sheet, strategy = Sheet(), draft.strategy
    place, count = strategy.rules.index(rule), len(strategy.rules)
    on = t(locale, "strategy.on" if rule.enabled else "strategy.off")
    lines = [
        f"## {module_name(rule, locale)}",
        f"{t(locale, 'strategy.place_of', place=place + 1, count=count)} · {on}",
    ]
    if about := _known(f"strategy.about.{rule.kind}"):
        lines.append(f"-# {t(locale, about)}")
    if not switch_only(rule):
        lines += [
            f"{t(locale, f'strategy.fact.{fact}')}: {words}"
            for fact, words in _told(strategy, rule, sources, locale)
        ]
    if sources and rule.kind not in sources and not switch_only(rule):
        lines.append(t(locale, "strategy.source_gone", kind=plain(rule.kind, 80)))
    if note:
        lines.append(note)
    sheet.text("\n".join(lines), 2_400)
    if rule.kind in AUTHORED:
        shown = clip(rule.text, 1_400) if rule.text.strip() else t(locale, "edit.nothing")
        length = t(locale, "edit.chars", n=len(rule.text))
        sheet.text(f"```\n{shown.replace('```', '`​``')}\n```\n-# {length}", 4_400)
    args = (draft.kept.id, draft.token, token(rule.id))
    switch = "button.off" if rule.enabled else "button.on"
    sheet.row(
        button("strategy-switch", *args, int(not rule.enabled), label=t(locale, switch)),
        button("strategy-up", *args, label=t(locale, "button.up"), disabled=place == 0),
        button("strategy-down", *args, label=t(locale, "button.down"), disabled=place == count - 1),
    )
    second = []
    if rule.kind in AUTHORED:
        second.append(button("strategy-text", *args, label=t(locale, "button.text"), style=PRIMARY))
    if not _fixed(rule, sources):
        second.append(button("strategy-set", *args, label=t(locale, "button.settings")))
    if movable_positions(strategy, rule, sources):
        listed = by_list(strategy, rule)
        label = t(locale, "strategy.to_preset" if listed else "strategy.to_list")
        second.append(button("strategy-place", *args, int(not listed), label=label))
    if rule.kind in AUTHORED:
        second.append(button("strategy-remove", *args, label=t(locale, "button.remove"), style=DANGER))
    second.append(button("strategy-part", draft.kept.id, place // _PAGE, label=t(locale, "button.back")))
    sheet.row(*second)
    return sheet.layout()


def strategy_name(kept: KeptStrategy, locale: str) -> str:
    """Its name; that of a built-in one in the reader's language. Fit for Markdown."""
    return known_name(kept.id, kept.strategy.name, locale)


def known_name(strategy_id: str, name: str, locale: str) -> str:
    """The same, for one of which only this is known."""
    key = _known(f"strategy.builtin.{strategy_id}")
    return t(locale, key) if key else plain(name, 120)


def strategy_line(kept: KeptStrategy, locale: str, *, in_use: bool = False) -> str:
    """A strategy in a list."""
    facts = _facts(kept.strategy, locale, kept=kept)
    mark = "▶ " if in_use else ""
    return f"{mark}**{strategy_name(kept, locale)}**\n-# {' · '.join(facts)}"


def module_name(rule: Rule, locale: str) -> str:
    """What a module is called: a text by its own name, others by their source. Fit for Markdown."""
    if rule.name.strip():
        return plain(rule.name, 80)
    key = _known(f"strategy.module.{rule.kind}")
    return t(locale, key) if key else plain(rule.kind, 80)


def rule_line(strategy: Strategy, rule: Rule, sources: Mapping[str, Definition], locale: str) -> str:
    """`3. 🟢 **World books** · each part's own role · placed by this list`."""
    number = strategy.rules.index(rule) + 1
    mark = "🟢" if rule.enabled else "⚪"
    facts = []
    if not switch_only(rule):
        facts = [words for fact, words in _told(strategy, rule, sources, locale) if _telling(fact, rule)]
    if rule.kind in AUTHORED and (begins := prose(rule.text, 50)):
        facts.append(begins)
    return " · ".join([f"{number}. {mark} **{module_name(rule, locale)}**", *facts])


def switch_only(rule: Rule) -> bool:
    """Whether a rule is only on or off: no source stands behind it."""
    return rule.kind in ("dsh.runtime-context", "dsh.sandbox-policy", "dsh.approval-policy")


def _fixed(rule: Rule, sources: Mapping[str, Definition]) -> bool:
    """Whether there is nothing to set about it."""
    source = sources.get(rule.kind)
    return switch_only(rule) or (
        source is not None and tuple(source.roles) == ("preserve",) and not source.depth
    )


def _telling(fact: str, rule: Rule) -> bool:
    """Whether a list says it: what is as usual goes without saying."""
    return {
        "role": rule.role != "preserve",
        "place": True,
        "delivery": rule.delivery is not None,
        "lifetime": rule.lifetime != "request",
        "depth": rule.depth is not None,
    }[fact]


def _told(
    strategy: Strategy, rule: Rule, sources: Mapping[str, Definition], locale: str
) -> Sequence[tuple[str, str]]:
    told = [("role", t(locale, f"strategy.role.{rule.role}")), ("place", _place(strategy, rule, locale))]
    if rule.delivery is not None or rule.role == "user":
        told.append(("delivery", t(locale, f"strategy.delivery.{_way(rule)}")))
    told.append(("lifetime", t(locale, f"strategy.lifetime.{rule.lifetime}")))
    if rule.depth is not None:
        told.append(("depth", t(locale, "strategy.depth", n=rule.depth)))
    return told


def _way(rule: Rule) -> str:
    return {"context": "context", "pre-step": "pre_step"}.get(rule.delivery or "", "usual")


def _place(strategy: Strategy, rule: Rule, locale: str) -> str:
    if by_list(strategy, rule) or strategy.listed or rule.kind in AUTHORED:
        return t(locale, "strategy.by.list")
    if rule.kind in ("native-system", "history", "input"):
        return t(locale, "strategy.by.fixed")
    if rule.kind == "preset":
        return t(locale, "strategy.by.own")
    return t(locale, "strategy.by.preset" if strategy.slots else "strategy.by.roles")


def _facts(strategy: Strategy, locale: str, *, kept: KeptStrategy | None = None) -> list[str]:
    facts = []
    if kept is not None and kept.built_in:
        facts.append(t(locale, "strategy.built_in"))
    facts.append(t(locale, "strategy.standard" if strategy.standard else "strategy.advanced"))
    facts.append(t(locale, f"strategy.placement.{strategy.placement.replace('-', '_')}"))
    on = sum(rule.enabled for rule in strategy.rules)
    facts.append(t(locale, "strategy.modules", n=len(strategy.rules), on=on))
    if strategy.history_policy is not None and strategy.history_policy.enabled:
        facts.append(t(locale, "strategy.tidy"))
    return facts


def _about(kept: KeptStrategy, locale: str) -> str:
    key = _known(f"strategy.does.{kept.id}")
    return t(locale, key) if key else ""


def _option(strategy: Strategy, rule: Rule, locale: str) -> discord.SelectOption:
    number = strategy.rules.index(rule) + 1
    mark = "🟢" if rule.enabled else "⚪"
    name = discord.utils.remove_markdown(module_name(rule, locale))
    return discord.SelectOption(label=clip(f"{number}. {mark} {name}", 100), value=token(rule.id))


def _known(key: str) -> str:
    """The key, if there is a text for it."""
    return key if key in catalogue(FALLBACK) else ""

"""The panels of a strategy: what it is, and its modules while they are changed. Pure, in a running loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import discord

from bot.excerpts import bare, clip, plain, prose
from bot.i18n import FALLBACK, catalogue, t
from bot.presetpanel import prompt_token as token
from bot.press import button, menu
from bot.sheet import DANGER, PRIMARY, Layout, Sheet
from bot.strategy.draft import Draft, token_of
from engine.assembler import Definition, KeptStrategy, Rule, Strategy
from engine.assembler.editing import AUTHORED, roles_of, takes_depth
from engine.assembler.position_edits import listed, placed_apart

__all__ = [
    "PAGE",
    "StrategyView",
    "about_module",
    "fixed",
    "known_name",
    "module_name",
    "rule_facts",
    "rule_line",
    "strategy_editor",
    "strategy_line",
    "strategy_name",
    "strategy_panel",
    "switch_only",
]

PAGE = 10  # modules of the editor: what a phone shows without much scrolling
_LINE_BYTES = 420


@dataclass(frozen=True, slots=True)
class StrategyView:
    """Where a strategy is looked at: in which language, whether there is a story that the reader may let
    use it, whether that story uses it, whether they may save over it, a line to say above (with a hint for
    whoever may let the story use it), what would happen with it as it is, and the sources that there are
    (none: not known)."""

    locale: str
    can_apply: bool = False
    in_use: bool = False
    earlier: bool = False
    can_change: bool = False
    note: str = ""
    hint: str = ""
    outlook: str = ""
    sources: Mapping[str, Definition] = field(default_factory=dict)


def strategy_panel(kept: KeptStrategy, view: StrategyView) -> Layout:
    """A strategy as it is kept."""
    sheet, locale, strategy = Sheet(), view.locale, kept.strategy
    head = [f"## {strategy_name(kept, locale)}", " · ".join(_facts(strategy, locale, kept=kept))]
    if view.note:
        head.insert(0, f"{view.note} {view.hint}" if view.hint and view.can_apply else view.note)
    if view.in_use:
        head.append(t(locale, "strategy.in_use_earlier" if view.earlier else "strategy.in_use"))
    sheet.text("\n".join(head), 1_600)
    sheet.text(_about(kept, locale), 900)
    shown = strategy.rules[: 2 * PAGE]
    lines = [clip(rule_line(strategy, rule, view.sources, locale), 300, _LINE_BYTES) for rule in shown]
    if len(strategy.rules) > len(shown):
        lines.append(t(locale, "strategy.more", n=len(strategy.rules) - len(shown)))
    sheet.text("\n".join(lines), 5_000)
    first = []
    if view.can_apply:
        label = t(locale, "button.apply")
        first.append(button("strategy-apply", kept.id, token_of(strategy), label=label, style=PRIMARY))
        first.append(button("strategy-preview", kept.id, label=t(locale, "button.preview")))
    first.append(button("strategy-edit", kept.id, label=t(locale, "button.edit")))
    second = [button("strategy-export", kept.id, label=t(locale, "button.export"))]
    if view.can_change and not kept.built_in:
        label = t(locale, "button.delete")
        second.append(button("strategy-delete", kept.id, token_of(strategy), label=label, style=DANGER))
    sheet.row(*first)
    sheet.row(*second)
    return sheet.layout()


def strategy_editor(
    draft: Draft, sources: Mapping[str, Definition], view: StrategyView, page: int = 0
) -> Layout:
    """The modules in their order; what is not saved is said."""
    sheet, locale, strategy = Sheet(), view.locale, draft.strategy
    pages = max(1, -(-len(strategy.rules) // PAGE))
    page = min(max(0, page), pages - 1)
    # Until it has another name, the draft of a built-in one is called as that is in the reader's language.
    named = draft.kept.built_in and strategy.name == draft.kept.strategy.name
    name = strategy_name(draft.kept, locale) if named else plain(strategy.name, 120)
    head = [f"## ✏️ {name}", " · ".join(_facts(strategy, locale))]
    if view.note:
        head.append(view.note)
    if draft.gone:
        head.append(t(locale, "strategy.gone"))
    elif not view.can_change:
        head.append(t(locale, "strategy.will_copy"))
    if draft.overtaken:
        head.append(t(locale, "strategy.overtaken"))
    elif draft.unsaved and not draft.gone:
        head.append(t(locale, "strategy.unsaved"))
    sheet.text("\n".join(head), 2_000)
    shown = strategy.rules[page * PAGE : (page + 1) * PAGE]
    lines = [clip(rule_line(strategy, rule, sources, locale), 220, _LINE_BYTES) for rule in shown]
    sheet.text("\n".join(lines), 4_200)
    sheet.text(view.outlook, 2_200)
    args = (draft.kept.id, draft.token)
    if shown:
        options = [_option(strategy, rule, locale) for rule in shown]
        sheet.row(menu("strategy-rule", *args, options=options, placeholder=t(locale, "strategy.choose")))
    if pages > 1:
        sheet.row(
            button("strategy-part", draft.kept.id, page - 1, label="◀", disabled=page == 0),
            button("strategy-part", draft.kept.id, page + 1, label="▶", disabled=page == pages - 1),
        )
    sheet.row(*_draft_buttons(draft, view))
    last = [
        button("strategy-add", *args, label=t(locale, "button.add_text")),
        button("strategy-props", *args, label=t(locale, "button.settings")),
    ]
    if not draft.gone:
        last.append(button("strategy-show", draft.kept.id, label=t(locale, "button.back")))
    sheet.row(*last)
    return sheet.layout()


def _draft_buttons(draft: Draft, view: StrategyView) -> list[discord.ui.Button[discord.ui.View]]:
    """Save and discard; apply, which takes what is saved, and a preview of what is not."""
    locale, args, ready = view.locale, (draft.kept.id, draft.token), not draft.unsaved
    if draft.overtaken or draft.gone:
        save = button("strategy-copy", *args, label=t(locale, "button.save_copy"), style=PRIMARY)
    else:
        label = t(locale, "button.save")
        save = button("strategy-keep", *args, label=label, style=PRIMARY, disabled=ready)
    buttons = [save]
    if not draft.gone:
        label = t(locale, "button.discard")
        buttons.append(button("strategy-drop", *args, label=label, disabled=ready))
    if view.can_apply:
        label = t(locale, "button.apply")
        buttons.append(button("strategy-apply", *args, label=label, disabled=not ready))
        buttons.append(button("strategy-try", *args, label=t(locale, "button.preview")))
    return buttons


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
        facts = [words for fact, words in rule_facts(strategy, rule, locale) if _telling(fact, rule)]
    if placed := placed_apart(strategy, rule):
        facts.append(t(locale, "strategy.part.placed", n=placed))
    if rule.kind in AUTHORED and (begins := prose(rule.text, 50)):
        facts.append(begins)
    if sources and rule.kind not in sources and not switch_only(rule):
        facts.append(t(locale, "strategy.sourceless"))
    return " · ".join([f"{number}. {mark} **{module_name(rule, locale)}**", *facts])


def switch_only(rule: Rule) -> bool:
    """Whether a rule is only on or off: no source stands behind it."""
    return rule.kind in ("dsh.runtime-context", "dsh.sandbox-policy", "dsh.approval-policy")


def fixed(strategy: Strategy, rule: Rule, sources: Mapping[str, Definition]) -> bool:
    """Whether there is nothing to set about it."""
    if switch_only(rule):
        return True
    roles = roles_of(strategy, rule, sources)
    return tuple(roles) == ("preserve",) and not takes_depth(strategy, rule, sources)


def about_module(rule: Rule, locale: str) -> str:
    """What a module is; empty for what is not known."""
    key = _known(f"strategy.about.{rule.kind}")
    return t(locale, key) if key else ""


def _telling(fact: str, rule: Rule) -> bool:
    """Whether a list says it: what is as usual goes without saying."""
    return {
        "role": rule.role != "preserve",
        "place": True,
        "delivery": rule.delivery is not None,
        "lifetime": rule.lifetime != "request",
        "depth": rule.depth is not None,
    }[fact]


def rule_facts(strategy: Strategy, rule: Rule, locale: str) -> Sequence[tuple[str, str]]:
    """What is set about a module: each fact with the words for it."""
    told = [("role", t(locale, f"strategy.role.{rule.role}")), ("place", _place(strategy, rule, locale))]
    if strategy.standard and (rule.delivery is not None or rule.role == "user"):
        told.append(("delivery", t(locale, f"strategy.delivery.{_way(rule)}")))
    told.append(("lifetime", t(locale, f"strategy.lifetime.{rule.lifetime}")))
    if rule.depth is not None:
        told.append(("depth", t(locale, "strategy.depth", n=rule.depth)))
    return told


def _way(rule: Rule) -> str:
    return {"context": "context", "pre-step": "pre_step"}.get(rule.delivery or "", "usual")


def _place(strategy: Strategy, rule: Rule, locale: str) -> str:
    if rule.kind in ("native-system", "history", "input"):
        return t(locale, "strategy.by.fixed" if strategy.standard else "strategy.by.list")
    if rule.kind == "preset" and not strategy.listed:
        return t(locale, "strategy.by.own")
    if listed(strategy, rule) or strategy.listed or rule.kind in AUTHORED:
        return t(locale, "strategy.by.list")
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
    name = bare(module_name(rule, locale))
    return discord.SelectOption(label=clip(f"{number}. {mark} {name}", 100), value=token(rule.id))


def _known(key: str) -> str:
    """The key, if there is a text for it."""
    return key if key in catalogue(FALLBACK) else ""

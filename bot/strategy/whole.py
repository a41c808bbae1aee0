"""What holds for a whole strategy: its back end, who decides, the automatic order, and what the history
keeps. Panels; pure, in a running loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import discord

from bot.excerpts import bare, clip, plain
from bot.i18n import FALLBACK, catalogue, t
from bot.presetpanel import prompt_token as token
from bot.press import button, menu
from bot.sheet import Layout, Sheet
from bot.strategy.draft import Draft
from bot.strategy.menu import paged
from bot.strategy.panel import StrategyView, strategy_name
from engine.assembler import AUTOMATIC, DEFAULT_POLICY, Strategy
from engine.assembler.history_edits import CONTENT_TYPES, advanced_history, policy_of

__all__ = [
    "NO_LAYOUT",
    "NO_ORDER",
    "history_panel",
    "kind_name",
    "kinds_of",
    "order_name",
    "order_value",
    "whole_panel",
]

NO_ORDER = "off"
NO_LAYOUT = "none"
_FRAGMENTS = 10  # that a panel shows
_MENU = 25  # kinds in a menu: as many as Discord takes

_ADDED = ("dsh-prompt-assembler", "runtime-context")
_SAID = ("system-prompt", "user", "model")


def whole_panel(draft: Draft, view: StrategyView, *, advanced: bool) -> Layout:
    """The settings of the whole. `advanced` says whether the advanced back end is switched on here."""
    sheet, strategy, locale = Sheet(), draft.strategy, view.locale
    named = draft.kept.built_in and strategy.name == draft.kept.strategy.name
    name = strategy_name(draft.kept, locale) if named else plain(strategy.name, 120)
    back_end = "standard" if strategy.standard else "advanced_on" if advanced else "advanced_off"
    lines = [
        f"## {t(locale, 'strategy.whole.title', name=name)}",
        t(locale, f"strategy.whole.{back_end}"),
        _order_line(strategy, locale),
        *_override_lines(strategy, locale),
        t(locale, "strategy.whole.history", summary=history_summary(strategy, locale)),
    ]
    if view.note:
        lines.append(view.note)
    sheet.text("\n".join(lines), 3_600)
    sheet.text(view.outlook, 2_200)
    args = (draft.kept.id, draft.token)
    for field, options in _choices(strategy, locale, advanced=advanced):
        placeholder = t(locale, f"strategy.whole.choose_{field}")
        sheet.row(menu("strategy-whole", *args, field, options=options, placeholder=placeholder))
    sheet.row(
        button("strategy-name", *args, label=t(locale, "button.rename")),
        button("strategy-history", *args, label=t(locale, "button.history")),
        button("strategy-part", draft.kept.id, 0, label=t(locale, "button.back")),
    )
    return sheet.layout()


def _choices(
    strategy: Strategy, locale: str, *, advanced: bool
) -> Sequence[tuple[str, list[discord.SelectOption]]]:
    """What can be chosen, with what holds now."""
    layout, on = strategy.layout, "core_about" if advanced else "core_about_off"
    backends = [
        _option(locale, "backend.native", "backend.native_about", "native", strategy.standard),
        _option(locale, "backend.core", f"backend.{on}", "core", not strategy.standard),
    ]
    now = layout.source if layout is not None else None
    slots = "source.preset_slots" if strategy.standard else "source.preset_slots_core"
    sources = [
        _option(locale, slots, "source.preset_slots_about", "preset-slots", now == "preset-slots"),
        _option(locale, "source.manual", "source.manual_about", "manual", now == "manual"),
    ]
    if layout is None:
        none = f"source.none_{_key(strategy.placement)}"
        sources.insert(0, _option(locale, none, "source.none_about", NO_LAYOUT, True))
        return [("backend", backends), ("source", sources)]
    identities = _options(locale, "identity", ("position", "preserve"), layout.identity)
    fallbacks = _options(locale, "missing", ("source-order", "error"), layout.fallback)
    return [
        ("backend", backends),
        ("source", sources),
        ("priority", _orders(layout.priority, locale)),
        ("identity", identities),
        ("fallback", fallbacks),
    ]


def _key(value: str) -> str:
    return value.replace("-", "_")


def _options(locale: str, what: str, values: Sequence[str], now: str | None) -> list[discord.SelectOption]:
    keys = [(value, f"{what}.{_key(value)}") for value in values]
    return [_option(locale, key, f"{key}_about", value, value == now) for value, key in keys]


def _option(locale: str, label: str, about: str, value: str, now: bool) -> discord.SelectOption:
    return discord.SelectOption(
        label=clip(t(locale, f"strategy.{label}"), 100),
        description=clip(t(locale, f"strategy.{about}"), 100),
        value=value,
        default=now,
    )


def _orders(priority: Sequence[str] | None, locale: str) -> list[discord.SelectOption]:
    """All orders of the three, and none."""
    now = order_value(priority)
    options = [
        discord.SelectOption(
            label=t(locale, "strategy.priority.label", order=order_name(order, locale)),
            value=order_value(order),
            default=order_value(order) == now,
        )
        for order in permutations(AUTOMATIC)
    ]
    off = _option(locale, "priority.off", "priority.off_about", NO_ORDER, now == NO_ORDER)
    return [*options, off]


def order_value(priority: Sequence[str] | None) -> str:
    """Names an order in a menu: those of the three, in order."""
    if priority is None:
        return NO_ORDER
    return ",".join(name for name in priority if name in AUTOMATIC)


def order_name(priority: Sequence[str], locale: str) -> str:
    """`preset › resource › list`; those of plug-ins as they call themselves."""
    names = [
        t(locale, f"strategy.priority.{name}") if name in AUTOMATIC else plain(name, 60) for name in priority
    ]
    return t(locale, "strategy.priority.then").join(names)


def _order_line(strategy: Strategy, locale: str) -> str:
    if strategy.layout is None:
        return t(locale, "strategy.whole.no_layout")
    if strategy.layout.priority is None:
        return t(locale, "strategy.whole.no_order")
    return t(locale, "strategy.whole.order", order=order_name(strategy.layout.priority, locale))


def _override_lines(strategy: Strategy, locale: str) -> list[str]:
    overrides = strategy.layout.overrides if strategy.layout is not None else ()
    return [t(locale, "strategy.whole.overrides", n=len(overrides))] if overrides else []


# The history


def history_summary(strategy: Strategy, locale: str) -> str:
    """What goes, in one line."""
    policy = policy_of(strategy)
    if not policy.enabled:
        return t(locale, "strategy.tidying.summary_off")
    kinds = [kind_name(kind, locale) for kind in kinds_of(strategy) if policy.excludes(kind)]
    if not kinds:
        return t(locale, "strategy.tidying.summary_none")
    return t(locale, "strategy.tidying.summary_on", kinds=", ".join(kinds))


def kinds_of(strategy: Strategy) -> Sequence[str]:
    """The kinds of sources about which something can be said: what the program adds to a story, what it says
    itself where the back end lets it go, and what the strategy names besides, as many as a menu holds."""
    policy = policy_of(strategy)
    known = _ADDED if strategy.standard else (*_ADDED, *_SAID)
    usual = {*DEFAULT_POLICY.sources, *_SAID}
    return (*known, *(kind for kind in policy.sources if kind not in usual))[:_MENU]


def kind_name(kind: str, locale: str) -> str:
    """What people call it; fit for Markdown."""
    key = f"strategy.kind.{kind}"
    return t(locale, key) if key in catalogue(FALLBACK) else plain(kind, 60)


def history_panel(draft: Draft, view: StrategyView, first: int = 0) -> Layout:
    """Which old texts go; with the advanced back end also which content and which passages of the others.
    `first` is the first passage that the menu offers."""
    sheet, strategy, locale = Sheet(), draft.strategy, view.locale
    policy = policy_of(strategy)
    kinds = kinds_of(strategy)
    lines = [
        f"## {t(locale, 'strategy.tidying.title')}",
        f"-# {t(locale, 'strategy.tidying.about')}",
        t(locale, "strategy.tidying.on" if policy.enabled else "strategy.tidying.off"),
    ]
    for kind in kinds:
        fate = "goes" if policy.sources.get(kind) is False else "stays"
        lines.append(t(locale, f"strategy.tidying.{fate}", name=kind_name(kind, locale)))
    if view.note:
        lines.append(view.note)
    sheet.text("\n".join(lines), 3_400)
    sheet.text("\n".join(_advanced_lines(strategy, locale)), 2_200)
    sheet.text(view.outlook, 2_000)
    args = (draft.kept.id, draft.token)
    options = [
        discord.SelectOption(
            label=clip(_kind_option(kind, locale), 100),
            description=_about(kind, locale),
            value=token(kind),
            default=policy.sources.get(kind) is False,
        )
        for kind in kinds
    ]
    placeholder = t(locale, "strategy.tidying.kinds")
    sheet.row(
        menu("strategy-kinds", *args, options=options, placeholder=placeholder, least=0, most=len(options))
    )
    label = t(locale, "button.off" if policy.enabled else "button.on")
    switch = button("strategy-tidy", *args, int(not policy.enabled), label=label)
    back = button("strategy-props", draft.kept.id, label=t(locale, "button.back"))
    if strategy.standard:
        needed = advanced_history(strategy)
        plain_ = [button("strategy-plain", *args, label=t(locale, "button.leave_out"))] if needed else []
        sheet.row(switch, *plain_, back)
        return sheet.layout()
    _advanced_rows(sheet, draft, locale, first)
    sheet.row(switch, button("strategy-passage-add", *args, label=t(locale, "button.add_passage")), back)
    return sheet.layout()


def _advanced_lines(strategy: Strategy, locale: str) -> list[str]:
    policy = policy_of(strategy)
    asked = advanced_history(strategy)
    if strategy.standard and not asked:
        return [t(locale, "strategy.tidying.standard")]
    kept: Mapping[str, bool] = {kind: getattr(policy, kind) for kind in CONTENT_TYPES}
    lost = [t(locale, f"strategy.content.{kind}") for kind, stays in kept.items() if not stays]
    kinds = ", ".join(lost) or t(locale, "strategy.tidying.nothing")
    lines = [t(locale, "strategy.tidying.content_line", kinds=kinds)]
    fragments = policy.fragments
    if not fragments:
        lines.append(t(locale, "strategy.tidying.no_passages"))
    else:
        lines.append(t(locale, "strategy.tidying.passages", n=len(fragments)))
    for fragment in fragments[:_FRAGMENTS]:
        mark = "✂️" if fragment.enabled else "⚪"
        ends = {"start": _literal(fragment.start), "end": _literal(fragment.end)}
        mode = t(locale, f"strategy.mode.{fragment.mode}")
        whose = kind_name(fragment.source_kind, locale)
        lines.append(f"{mark} {t(locale, 'strategy.tidying.from_to', **ends)} · {mode} · {whose}")
    if len(fragments) > _FRAGMENTS:
        lines.append(t(locale, "strategy.more", n=len(fragments) - _FRAGMENTS))
    if strategy.standard:
        lines += [t(locale, "strategy.tidying.standard"), t(locale, "strategy.tidying.advanced_needed")]
    return lines


def _advanced_rows(sheet: Sheet, draft: Draft, locale: str, first: int) -> None:
    policy, args = policy_of(draft.strategy), (draft.kept.id, draft.token)
    options = [
        discord.SelectOption(
            label=t(locale, f"strategy.content_option.{kind}"), value=kind, default=not getattr(policy, kind)
        )
        for kind in CONTENT_TYPES
    ]
    placeholder = t(locale, "strategy.tidying.content")
    sheet.row(
        menu("strategy-content", *args, options=options, placeholder=placeholder, least=0, most=len(options))
    )
    if policy.fragments:
        passages = [(f"{it.start} … {it.end}", token(it.id)) for it in policy.fragments]
        label = t(locale, "strategy.tidying.choose")
        options = paged(passages, first, locale)
        sheet.row(menu("strategy-passage", *args, options=options, placeholder=label))


def _literal(delimiter: str) -> str:
    """A delimiter in a code span."""
    return clip(delimiter.replace("`", "ˋ"), 60)


def _kind_option(kind: str, locale: str) -> str:
    """A chosen one stands alone on the panel, so that it has to say what it is."""
    name = bare(kind_name(kind, locale))
    return t(locale, "strategy.tidying.kind_option", name=name)


def _about(kind: str, locale: str) -> str | None:
    key = f"strategy.kind_about.{kind}"
    return t(locale, key) if key in catalogue(FALLBACK) else None

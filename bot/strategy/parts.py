"""The parts of a module: what each is called, where it stands, and its panel. Pure, in a running loop.

A part is a position of a source (`engine.assembler.Position`); what people say of it is kept in the layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import discord

from bot.excerpts import bare, plain
from bot.i18n import FALLBACK, catalogue, language, t
from bot.presetpanel import prompt_token as token
from bot.press import button, menu
from bot.sheet import DANGER, PRIMARY, Layout, Sheet
from bot.strategy.draft import Draft
from bot.strategy.menu import paged
from bot.strategy.panel import StrategyView, module_name
from engine.assembler import Anchor, Definition, Position, Rule, SavedPosition, Strategy
from engine.assembler.position_edits import (
    anchors_of,
    positions_of,
    saved_position,
    strays_of,
    unplaceable,
)

__all__ = [
    "END",
    "Key",
    "anchor_by_token",
    "part_lines",
    "part_menu",
    "part_panel",
    "position_id_by_token",
    "side_panel",
    "spot_token",
]

Key = tuple[str, str]

END = "end"
_LINES = 10


def part_lines(
    strategy: Strategy, rule: Rule, sources: Mapping[str, Definition], locale: str
) -> Sequence[str]:
    """The parts of a module with what was said of them, or why there is nothing to say."""
    why = unplaceable(strategy, rule, sources)
    strays = [
        t(locale, "strategy.part.stray", id=plain(it.position_id, 60))
        for it in _strays(strategy, rule, sources)
    ]
    if why in ("layout", "source"):
        return [t(locale, f"strategy.part.no_{why}"), *strays]
    if why is not None:
        return strays
    lines = []
    for position in positions_of(rule, sources):
        saved = saved_position(strategy, rule.kind, position.id)
        mark = "🟢" if saved.enabled else "⚪"
        place = f" · {_place(saved, strategy, sources, locale)}" if saved.dragged else ""
        lines.append(f"{mark} {_position_name(position, locale)}{place}")
    if len(lines) > _LINES:
        lines[_LINES:] = [t(locale, "strategy.part.more_lines", n=len(lines) - _LINES)]
    return [t(locale, "strategy.part.title"), *lines, *strays]


def part_menu(
    draft: Draft, rule: Rule, sources: Mapping[str, Definition], locale: str, first: int = 0
) -> discord.ui.Select[discord.ui.View] | None:
    """The menu that opens one of them; None where there are none."""
    strategy, options = draft.strategy, []
    if unplaceable(strategy, rule, sources) is None:
        for position in positions_of(rule, sources):
            mark = "🟢" if saved_position(strategy, rule.kind, position.id).enabled else "⚪"
            options.append((f"{mark} {bare(_position_name(position, locale))}", token(position.id)))
    options += [
        (f"⚠️ {bare(plain(it.position_id, 60))}", token(it.position_id))
        for it in _strays(strategy, rule, sources)
    ]
    if not options:
        return None
    args = (draft.kept.id, draft.token, token(rule.id))
    placeholder = t(locale, "strategy.part.choose")
    return menu("strategy-spot", *args, options=paged(options, first, locale), placeholder=placeholder)


def part_panel(
    draft: Draft,
    rule: Rule,
    position_id: str,
    sources: Mapping[str, Definition],
    view: StrategyView,
    first: int = 0,
) -> Layout:
    """One part: whether it is in, where it stands and who says so, and where it could stand. `first` is the
    first place that the menu offers."""
    sheet, strategy, locale = Sheet(), draft.strategy, view.locale
    saved = saved_position(strategy, rule.kind, position_id)
    position = next((it for it in positions_of(rule, sources) if it.id == position_id), None)
    lines = [f"## {spot_name((rule.kind, position_id), strategy, sources, locale)}"]
    if position is None:
        lines.append(t(locale, "strategy.part.stray", id=plain(position_id, 60)))
    else:
        lines.append(t(locale, "strategy.on") if saved.enabled else f"⚪ {t(locale, 'strategy.part.off')}")
        lines.append(
            f"{t(locale, 'strategy.fact.place')}: {_told(saved, position, strategy, sources, locale)}"
        )
        if position.note is not None:
            lines.append(f"-# {plain(_own(position.note, locale), 300)}")
    if view.note:
        lines.append(view.note)
    sheet.text("\n".join(lines), 2_400)
    sheet.text(view.outlook, 2_200)
    args = (draft.kept.id, draft.token, token(rule.id), token(position_id))
    back = button("strategy-open", *args[:3], label=t(locale, "button.back"))
    if position is None:
        sheet.row(button("strategy-spot-forget", *args, label=t(locale, "button.forget"), style=DANGER), back)
        return sheet.layout()
    options = [
        (
            t(locale, "strategy.part.next_to", name=bare(spot_name(key, strategy, sources, locale))),
            spot_token(key),
        )
        for key in anchors_of(strategy, (rule.kind, position_id), sources)
    ]
    end = discord.SelectOption(label=t(locale, "strategy.part.at_end"), value=END)
    placeholder = t(locale, "strategy.part.where")
    options_shown = [end, *paged(options, first, locale)]
    sheet.row(menu("strategy-spot-where", *args, options=options_shown, placeholder=placeholder))
    switch = "button.off" if saved.enabled else "button.on"
    row = [button("strategy-spot-switch", *args, int(not saved.enabled), label=t(locale, switch))]
    if saved.dragged:
        label = t(locale, "strategy.part.follow")
        row.append(button("strategy-spot-follow", *args, label=label, style=PRIMARY))
    sheet.row(*row, back)
    return sheet.layout()


def side_panel(
    draft: Draft, rule: Rule, position_id: str, anchor: Key, sources: Mapping[str, Definition], locale: str
) -> Layout:
    """Before or behind another one?"""
    sheet, strategy = Sheet(), draft.strategy
    names = [spot_name(key, strategy, sources, locale) for key in ((rule.kind, position_id), anchor)]
    sheet.text(t(locale, "strategy.part.which_side", name=names[0], other=names[1]))
    args = (draft.kept.id, draft.token, token(rule.id), token(position_id))
    to = (*args, spot_token(anchor))
    sheet.row(
        button("strategy-spot-put", *to, "before", label=t(locale, "button.before"), style=PRIMARY),
        button("strategy-spot-put", *to, "after", label=t(locale, "button.behind"), style=PRIMARY),
        button("strategy-spot-show", *args, label=t(locale, "button.back")),
    )
    return sheet.layout()


def spot_name(key: Key, strategy: Strategy, sources: Mapping[str, Definition], locale: str) -> str:
    """`World books / Before the character`; of a module with one part only the module. Fit for Markdown."""
    kind, position_id = key
    rules = strategy.by_kind.get(kind, ())
    module = module_name(rules[0], locale) if len(rules) == 1 else _kind_name(kind, locale)
    source = sources.get(kind)
    position = next((it for it in source.positions if it.id == position_id), None) if source else None
    if position is None:
        return f"{module} / {plain(position_id, 60)}"
    if source is not None and len(source.positions) == 1:
        return module
    return f"{module} / {_position_name(position, locale)}"


def spot_token(key: Key) -> str:
    """What stands for it in a custom_id."""
    return token("/".join(key))


def position_id_by_token(
    strategy: Strategy, rule: Rule, sources: Mapping[str, Definition], wanted: str
) -> str | None:
    """Which position of a module is meant, whether it is there or was only said something of."""
    ids = [it.id for it in positions_of(rule, sources)]
    ids += [it.position_id for it in strays_of(strategy, rule, sources)]
    return next((position_id for position_id in ids if token(position_id) == wanted), None)


def anchor_by_token(
    strategy: Strategy, key: Key, sources: Mapping[str, Definition], wanted: str
) -> Key | None:
    """Next to what it is to be put."""
    return next((it for it in anchors_of(strategy, key, sources) if spot_token(it) == wanted), None)


def _strays(strategy: Strategy, rule: Rule, sources: Mapping[str, Definition]) -> Sequence[SavedPosition]:
    first = strategy.by_kind[rule.kind][0] is rule  # of several modules of one kind, one shows them
    return strays_of(strategy, rule, sources) if first else ()


def _told(
    saved: SavedPosition,
    position: Position,
    strategy: Strategy,
    sources: Mapping[str, Definition],
    locale: str,
) -> str:
    place = _place(saved, strategy, sources, locale)
    if saved.dragged and saved.anchor is not None:
        return t(locale, "strategy.part.yours", place=place)
    if saved.dragged or position.anchor is None:
        return place
    anchor = position.anchor
    source = sources.get(anchor.source_id)
    names = [
        _position_name(each, locale)
        for each in (source.positions if source is not None else ())
        if anchor.fields is not None and each.field in anchor.fields
    ]
    module = _kind_name(anchor.source_id, locale)
    name = f"{module} / {', '.join(names)}" if names else module
    return t(locale, f"strategy.part.follows_{anchor.side}", name=name)


def _place(saved: SavedPosition, strategy: Strategy, sources: Mapping[str, Definition], locale: str) -> str:
    if not saved.dragged:
        return t(locale, "strategy.part.follows")
    if saved.anchor == END:
        return t(locale, "strategy.part.end")
    if isinstance(saved.anchor, Anchor):
        name = spot_name((saved.anchor.source_id, saved.anchor.position_id), strategy, sources, locale)
        side = {"before": "before", "after": "behind"}[saved.anchor.side]
        return t(locale, f"strategy.part.{side}", name=name)
    return t(locale, "strategy.part.listed")


def _position_name(position: Position, locale: str) -> str:
    return plain(_own(position.name, locale), 60)


def _own(both: tuple[str, str], locale: str) -> str:
    """Of a Chinese and an English text the reader's."""
    return both[1] if language(locale) == FALLBACK else both[0]


def _kind_name(kind: str, locale: str) -> str:
    key = f"strategy.module.{kind}"
    return t(locale, key) if key in catalogue(FALLBACK) else plain(kind, 80)

"""The panel of one passage that is cut out of old answers. Pure, in a running loop."""

from __future__ import annotations

from bot.i18n import t
from bot.presetpanel import prompt_token as token
from bot.press import button
from bot.sheet import DANGER, PRIMARY, Layout, Sheet
from bot.strategy.draft import Draft
from bot.strategy.panel import StrategyView
from bot.strategy.whole import kind_name
from engine.assembler import Fragment

__all__ = ["passage_panel"]


def passage_panel(draft: Draft, fragment: Fragment, view: StrategyView) -> Layout:
    """Where it begins and ends, how it is found and in whose texts."""
    sheet, locale = Sheet(), view.locale
    facts = {
        "start": _code(fragment.start),
        "end": _code(fragment.end),
        "mode": t(locale, f"strategy.mode.{fragment.mode}"),
        "kind": kind_name(fragment.source_kind, locale),
    }
    lines = [
        f"## {t(locale, 'strategy.passage.title')}",
        t(locale, "strategy.on" if fragment.enabled else "strategy.off"),
        *(f"{t(locale, f'strategy.passage.{fact}')}: {words}" for fact, words in facts.items()),
        f"-# {t(locale, 'strategy.passage.about')}",
    ]
    if view.note:
        lines.append(view.note)
    sheet.text("\n".join(lines), 3_000)
    sheet.text(view.outlook, 2_200)
    args = (draft.kept.id, draft.token, token(fragment.id))
    switch = "button.off" if fragment.enabled else "button.on"
    sheet.row(
        button("strategy-passage-set", *args, label=t(locale, "button.change"), style=PRIMARY),
        button("strategy-passage-switch", *args, int(not fragment.enabled), label=t(locale, switch)),
        button("strategy-passage-remove", *args, label=t(locale, "button.remove"), style=DANGER),
        button("strategy-history", draft.kept.id, label=t(locale, "button.back")),
    )
    return sheet.layout()


def _code(delimiter: str) -> str:
    return f"`{delimiter.replace('`', 'ˋ')}`"

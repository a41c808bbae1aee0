"""The panel behind ⋯ under the newest answer: what else can be done with it. Pure."""

from __future__ import annotations

from bot.i18n import t
from bot.press import button
from bot.sheet import Layout, Sheet

__all__ = ["MORE", "SHOW", "more_panel"]

MORE = "more"
"""The op of ⋯; its arguments are story, exchange and answer."""

SHOW = "sent-show"
"""The op of *Show prompt*; its arguments are those of ⋯."""


def more_panel(
    answer: tuple[str, str, str],
    place: int,
    count: int,
    locale: str,
    *,
    prompt: bool,
    prompts_for_all: bool,
) -> Layout:
    """`place` of `count` is that of the answer, from 1; `prompt` is for whoever may see what was sent."""
    sheet = Sheet()
    who = t(locale, "prompts.all" if prompts_for_all else "prompts.leaders")
    sheet.text(f"### {t(locale, 'more.title', place=place, count=count)}\n-# {who}")
    if prompt:
        sheet.row(button(SHOW, *answer, label=t(locale, "button.show_prompt")))
    return sheet.layout()

"""The rows of buttons that stand under messages of a story. Pure: ids and counts in, a view out.

At most four things to press, labels of one word or sign (`ux`: phones first).
"""

from __future__ import annotations

import discord

from bot.answerpanel import MORE
from bot.i18n import t
from bot.press import button, row
from engine.play import Head

__all__ = [
    "answer_row",
    "confirm_row",
    "failure_row",
    "greeting_row",
    "stop_row",
    "undo_row",
    "waiting_row",
]

_PRIMARY = discord.ButtonStyle.primary
_DANGER = discord.ButtonStyle.danger


def answer_row(play_id: str, node_id: str, variant_id: str, position: int, count: int) -> discord.ui.View:
    """◀ n/m ▶ ⟳ ⋯ under the newest answer. ▶ on the last one writes a new one."""
    here = (play_id, node_id, variant_id)
    return row(
        button("prev", *here, label="◀", disabled=position == 0),
        button("count", *here, label=f"{position + 1}/{count}", disabled=True),
        button("next", *here, label="▶"),
        button("again", *here, label="⟳"),
        button(MORE, *here, label="⋯"),
    )


def greeting_row(play_id: str, index: int, count: int) -> discord.ui.View | None:
    """◀ n/m ▶ under a greeting that can still be switched; None when there is only one."""
    if count < 2:
        return None
    return row(
        button("greet", play_id, index - 1, label="◀", disabled=index == 0),
        button("greet-count", play_id, label=f"{index + 1}/{count}", disabled=True),
        button("greet", play_id, index + 1, label="▶", disabled=index == count - 1),
    )


def stop_row(play_id: str, locale: str, *, op: str = "stop") -> discord.ui.View:
    """The one button while something is written: an answer, unless `op` says what else it stops."""
    return row(button(op, play_id, label=t(locale, "button.stop"), emoji="⏹"))


def failure_row(play_id: str, locale: str) -> discord.ui.View:
    """Under a failure: say the words again."""
    return row(button("retry", play_id, label=t(locale, "button.retry"), style=_PRIMARY))


def waiting_row(play_id: str, locale: str) -> discord.ui.View:
    """After a restart or a stop, when words wait."""
    return row(
        button("answer", play_id, label=t(locale, "button.answer_now"), style=_PRIMARY),
        button("skip", play_id, label=t(locale, "button.skip")),
    )


def undo_row(play_id: str, previous: Head, head: Head, locale: str) -> discord.ui.View:
    """Under "Rewound to …": take it back. Carries where the story stood and where it must still stand."""
    args = (play_id, previous.session_id, previous.node_id or "", previous.variant_id or "", head.session_id)
    return row(button("undo", *args, label=t(locale, "button.undo")))


def confirm_row(op: str, args: tuple[str, ...], locale: str) -> discord.ui.View:
    """Ask once before something that concerns others."""
    return row(
        button(op, *args, label=t(locale, "button.confirm"), style=_DANGER),
        button("cancel", label=t(locale, "button.cancel")),
    )

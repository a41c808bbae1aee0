"""What would happen with a strategy as it is now, in a few lines under whatever somebody changes of it.

In a story that the reader leads it is the story's own preview; elsewhere only what can be told of the
strategy alone: that it would be refused, and why (`ux` 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.excerpts import bare, plain
from bot.failures import explain
from bot.i18n import t
from bot.promptpanel import budget, remark_lines
from bot.strategy.panel import module_name
from engine.assembler import Strategy
from engine.errors import EngineError
from engine.host import Engine
from engine.strategies import APPLIED, Wanted

__all__ = ["culprit", "outlook", "refused_now", "undone", "with_refusal"]

_REMARKS = 3  # the whole preview has them all


async def outlook(engine: Engine, play_id: str | None, strategy: Strategy, locale: str) -> str:
    """The lines; empty where there is nothing to say. `play_id` is that of a story whose preview the reader
    may see."""
    try:
        engine.strategies.check(strategy)
        if play_id is None:
            return ""
        preview = await engine.preview(play_id, strategy=strategy)
        await engine.check_sendable(play_id, strategy=strategy)
    except EngineError as error:
        return undone(strategy, error, locale)
    worth = [remark for remark in preview.diagnostics if remark.get("severity") != "info"]
    lines = [t(locale, "strategy.outlook"), budget(preview, locale)]
    told = remark_lines(worth, locale)
    lines += [f"-# – {line}" for line in told[:_REMARKS]]
    if len(told) > _REMARKS:
        lines.append(f"-# {t(locale, 'prompt.more', n=len(told) - _REMARKS)}")
    return "\n".join(lines)


async def refused_now(
    engine: Engine, play_id: str, locale: str, strategy: Strategy | Wanted | None = APPLIED
) -> str:
    """That the story's next request could not be sent, as it is now or with a strategy, and why; empty where
    it could."""
    try:
        await engine.check_sendable(play_id, strategy=strategy)
    except EngineError as error:
        if isinstance(strategy, Wanted):
            applied = await engine.plays.strategy(play_id)
            strategy = applied.strategy if applied is not None else None
        return explain(locale, error) if strategy is None else undone(strategy, error, locale)
    return ""


async def with_refusal(text: str, engine: Engine, play_id: str, locale: str) -> str:
    """What was done in a story, and the line that now nothing could be sent there."""
    return "\n".join(filter(None, [text, await refused_now(engine, play_id, locale)]))


def undone(strategy: Strategy, error: EngineError, locale: str) -> str:
    """That nothing could be sent with it, why, and which module it is about."""
    why, name = explain(locale, error), culprit(strategy, error, locale)
    if name is not None:
        return t(locale, "strategy.refused_at", name=name, why=why)
    return t(locale, "strategy.refused", why=why)


def culprit(strategy: Strategy, error: EngineError, locale: str) -> str | None:
    """The module that an error is about, fit for Markdown; None where it names none."""
    detail = error.data.get("detail")
    facts: Mapping[str, Any] = detail if isinstance(detail, Mapping) else error.data
    rule_id = facts.get("ruleId", facts.get("rule_id"))
    rule = next((rule for rule in strategy.rules if rule.id == rule_id), None)
    if rule is None:
        return None
    name = bare(module_name(rule, locale))
    part = facts.get("name")
    return plain(f"{name} / {part}" if part else name, 120)

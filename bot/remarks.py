"""What a reader noticed in a file, or why it refused it, in the language of the person who brought it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import discord

from bot.excerpts import plain
from bot.i18n import FALLBACK, catalogue, language, t
from engine.errors import AssemblyError, ResourceError
from engine.resources import Diagnostic

__all__ = ["refusal_text", "remark_text", "remarks_text"]

_TOLD = 5  # kinds of remarks on a panel; the rest stands in the details


def remark_text(locale: discord.Locale | str | None, remark: Diagnostic) -> str:
    """The remark's sentence. English is the reader's own, which may be more exact than the catalogue's;
    a code that has no text in another language is told in English too."""
    key = f"diagnostics.{remark.code}"
    if language(locale) == FALLBACK or key not in catalogue(language(locale)):
        return remark.message
    return t(locale, key, **remark.data)


def remarks_text(remarks: Iterable[Diagnostic], locale: str) -> str:
    """The warnings for a panel, each kind once; what is only worth knowing stands in the details."""
    warnings = [remark for remark in remarks if remark.severity == "warning"]
    if not warnings:
        return ""
    # A book of a hundred entries with the same slip was put right in one way, a hundred times.
    kinds = Counter(remark_text(locale, remark) for remark in warnings).most_common()
    lines = [t(locale, "card.warnings", n=len(warnings))]
    lines += [
        f"- {plain(message, 240)}" + (f" (×{times})" if times > 1 else "") for message, times in kinds[:_TOLD]
    ]
    if left := sum(times for _, times in kinds[_TOLD:]):
        lines.append(t(locale, "card.warnings_more", n=left))
    return "\n".join(lines)


def refusal_text(locale: discord.Locale | str | None, error: ResourceError | AssemblyError) -> str:
    """Why a file was refused. English is the reader's own sentence; another language says it by the code
    and the facts: `refusal.<why>` where the error has such a fact, else `refusal.<CODE>`."""
    if language(locale) == FALLBACK:
        return error.message
    texts = catalogue(language(locale))
    facts = {name: _shown(fact) for name, fact in error.data.items()}
    names = (str(error.data.get("why", "")), error.error_code + _fact(error), error.error_code)
    key = next((f"refusal.{name}" for name in names if f"refusal.{name}" in texts), "refusal.OTHER")
    return t(locale, key, **facts)


def _fact(error: ResourceError | AssemblyError) -> str:
    """The fact that makes one code two sentences: where JSON breaks off, or which field is wrong."""
    return next((f"_{name}" for name in ("line", "field") if name in error.data), "")


def _shown(fact: object) -> str:
    if isinstance(fact, str):
        return plain(fact, 100)
    return f"{fact:,}" if isinstance(fact, int) else str(fact)

"""What the bot says, in the language of the person it says it to.

The texts are the catalogues `config/locale/*.toml`: one key path per text, `{name}` for what is
filled in. A table with the keys `one` and `other` is one text whose form depends on the parameter
`n`. English is complete; a text missing elsewhere appears in English.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

import discord
import structlog
from discord import app_commands

__all__ = ["FALLBACK", "LANGUAGES", "CommandTranslator", "by_code", "catalogue", "label", "language", "t"]

log = structlog.get_logger(__name__)

FALLBACK = "en"
LANGUAGES = ("en", "zh-CN")

_PLURAL = {"one", "other"}


def language(locale: discord.Locale | str | None) -> str:
    """The catalogue for a Discord locale: Chinese of any kind reads zh-CN, everybody else English."""
    return "zh-CN" if str(locale or "").lower().startswith("zh") else FALLBACK


def t(locale: discord.Locale | str | None, key: str, /, **params: object) -> str:
    """The text `key`, filled in. Never raises: a key that is nowhere is returned as it is, and logged."""
    name = language(locale)
    found = catalogue(name).get(key) or catalogue(FALLBACK).get(key)
    if found is None:
        log.error("text.missing", text_id=key)
        return key
    if isinstance(found, Mapping):
        # Chinese has one form for every number; its catalogue then only has `other`.
        found = found.get("one" if params.get("n") == 1 else "other") or found["other"]
    return found.format_map(_Filled(params))


def by_code(locale: discord.Locale | str | None, section: str, code: str, /, **params: object) -> str:
    """The text for a machine code: `section.CODE`, or `section.OTHER` for a code without one."""
    key = f"{section}.{code}"
    return t(locale, key if key in catalogue(FALLBACK) else f"{section}.OTHER", **params)


def label(key: str) -> app_commands.locale_str:
    """A command's name or description: English from the catalogue, other languages by the translator."""
    return app_commands.locale_str(t(FALLBACK, key), key=key)


class CommandTranslator(app_commands.Translator):
    """Translates command names and descriptions at sync.

    A string from `label` carries its key. One without a key stays as it is. Never raises: an
    exception here would fail the whole sync.
    """

    async def translate(
        self,
        string: app_commands.locale_str,
        locale: discord.Locale,
        context: app_commands.TranslationContextTypes,
    ) -> str | None:
        key = string.extras.get("key")
        name = language(locale)
        if name == FALLBACK or not isinstance(key, str):
            return None
        found = catalogue(name).get(key)
        return found if isinstance(found, str) else None


@cache
def catalogue(name: str) -> Mapping[str, str | Mapping[str, str]]:
    """All texts of one language by dotted key. Shipped with the program, so read once."""
    source = resources.files("config") / "locale" / f"{name}.toml"
    texts: dict[str, str | Mapping[str, str]] = {}
    _flatten(tomllib.loads(source.read_text(encoding="utf-8")), "", texts)
    return texts


def _flatten(table: Mapping[str, object], prefix: str, into: dict[str, str | Mapping[str, str]]) -> None:
    for key, value in table.items():
        if isinstance(value, str):
            into[prefix + key] = value
        elif isinstance(value, Mapping):
            if value.keys() <= _PLURAL and "other" in value:
                into[prefix + key] = value
            else:
                _flatten(value, f"{prefix}{key}.", into)
        else:
            raise TypeError(f"{prefix}{key} is not a text")


class _Filled(dict[str, object]):
    """Parameters; one that was not given stays visible as `{name}` instead of failing the message."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"

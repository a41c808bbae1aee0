"""How an error is told to the person who caused it: one line, in their language, once.

Machine codes choose the text. What is our own fault gets an incident id, which stands in
the log beside the traceback; people never see a traceback (`ux` 1.4).
"""

from __future__ import annotations

import secrets

import discord
import structlog
from discord import app_commands

from bot import forms
from bot.excerpts import plain
from bot.i18n import FALLBACK, by_code, catalogue, language, t
from engine.errors import EngineError, InputError, NotFound, PlayError

__all__ = ["answer", "dismiss", "explain", "give_back", "tell", "unanswered"]

log = structlog.get_logger(__name__)

_TEXTS = {
    "PLAY_HEAD_MOVED": "swipe.stale",
    "PLAY_BUSY": "swipe.busy",
    "PRESET_AGENT_RUNNING": "swipe.busy",
    "CHARACTER_AGENT_RUNNING": "swipe.busy",
    "USER_AGENT_RUNNING": "swipe.busy",
    "WORLD_BOOK_AGENT_RUNNING": "swipe.busy",
    "SESSION_CONFIGURATION_AGENT_RUNNING": "swipe.busy",
    "PLAY_VARIANT_UNKNOWN": "swipe.gone",
    "PLAY_NODE_UNKNOWN": "swipe.not_answer",
    "PLAY_NO_INPUT": "swipe.nothing",
    "PLAY_NOT_ON_PATH": "rewind.not_story",
    "PLAY_GREETING_LOCKED": "play.greeting_fixed",
    "PLAY_ENDED": "play.ended_here",
    "PLAY_NONE_HERE": "play.none_here",
    "NOT_HERE": "permission.not_here",
    "IMPORTER_ONLY": "permission.importer_only",
    "CARD_UNKNOWN": "card.none_matches",
    "PRESET_UNKNOWN": "preset.none_matches",
    "IMPORT_TOO_LARGE": "import.too_large",
    "IMPORT_DOWNLOAD_FAILED": "import.download_failed",
    "IMPORT_LIBRARY_FULL": "import.library_full",
    "IMPORT_NOT_CARD": "import.not_card",
    "IMPORT_NOT_PRESET": "import.not_preset",
    "IMPORT_NOT_WORLD": "import.not_world",
    "IMPORT_NOT_REGEX": "import.not_regex",
    "IMPORT_NOT_PERSONA": "import.not_persona",
    "IMPORT_NOT_TEMPLATE": "import.not_template",
    "IMPORT_NOT_STRATEGY": "import.not_strategy",
    "STRATEGY_RUNNING": "swipe.busy",
    "WORLD_BOOK_UNKNOWN": "world.none_matches",
    "REGEX_UNKNOWN": "regex.none_matches",
    "LIBRARY_ONLY": "permission.library_only",
    "CHANNEL_ONLY": "permission.channel_only",
}
_STRATEGY = ("ASSEMBLY_", "HISTORY_", "LAYOUT_", "NATIVE_", "POSITION_", "SOURCE_", "TAVERN_TEMPLATE_")
"""What the codes begin with of strategies that cannot be carried out: no fault of the model's."""

_EXPIRED = {10062, 10015, 50027}  # unknown interaction, unknown or invalid webhook token


def unanswered(locale: discord.Locale | str | None, code: str) -> str:
    """The line under words that have got no answer, for the code that their turn ended with."""
    if f"failure.{code}" not in catalogue(FALLBACK) and code.startswith(_STRATEGY):
        return t(locale, "failure.STRATEGY", why=by_code(locale, "error", code))
    return by_code(locale, "failure", code)


def explain(locale: discord.Locale | str | None, error: BaseException) -> str:
    """The line for an error; unexpected ones are logged here."""
    error = _cause(error)
    if isinstance(error, EngineError):
        code = error.error_code
        if code == "MISSING_PERMISSION":
            names = ", ".join(t(locale, f"permission.name.{need}") for need in error.data["needs"])
            return t(locale, "permission.missing", n=len(error.data["needs"]), names=names)
        if code == "NSFW_CHANNEL":
            return t(locale, "permission.nsfw_channel", name=plain(error.data["name"], 100))
        if code == "ASSEMBLY_NATIVE_UNSUPPORTED":
            return t(locale, f"error.{code}", why=_why(locale, error))
        key = _TEXTS.get(code, f"error.{code}")
        if key in catalogue(FALLBACK):
            return t(locale, key, **error.data)
        if isinstance(error, InputError | PlayError | NotFound):
            return error.message
    if isinstance(error, discord.Forbidden):
        return t(locale, "error.forbidden")
    if isinstance(error, app_commands.CheckFailure):
        return t(locale, "permission.library_only")
    if isinstance(error, discord.DiscordServerError):
        log.warning("discord.failed", status=error.status, code=error.code)
        return t(locale, "error.expired")
    incident = secrets.token_hex(4)
    log.error("incident", incident=incident, exc_info=error)
    return t(locale, "error.incident", incident=incident)


def _why(locale: discord.Locale | str | None, error: EngineError) -> str:
    """Why a strategy cannot be carried out. The engine's sentence is exact, names included; other languages
    have one for each kind of reason."""
    if language(locale) == FALLBACK:
        return plain(error.message, 300)
    return by_code(locale, "unsupported", str(error.data.get("why", "")))


async def tell(interaction: discord.Interaction, error: BaseException) -> None:
    """Answer a failed interaction, only for the person who made it."""
    cause = _cause(error)
    if getattr(interaction.client, "closing", False):
        log.info("interaction.cut_off", error=repr(cause))
        return
    if isinstance(cause, discord.HTTPException) and cause.code in _EXPIRED:
        log.info("interaction.expired", code=cause.code)
        return
    await answer(interaction, explain(interaction.locale, error))


async def answer(interaction: discord.Interaction, text: str) -> None:
    """Say something only to this person, whether or not the interaction was answered before."""
    try:
        if interaction.response.is_done():
            await interaction.followup.send(text, ephemeral=True)
        else:
            await interaction.response.send_message(text, ephemeral=True)
    except discord.HTTPException as error:
        log.warning("interaction.unanswered", code=error.code, status=error.status)


async def give_back(interaction: discord.Interaction) -> None:
    """After a form that could not be used: what was typed into it, as files, so that nothing is lost."""
    files = forms.written(interaction)
    if not files:
        return
    try:
        await interaction.followup.send(t(interaction.locale, "form.given_back"), files=files, ephemeral=True)
    except discord.HTTPException as error:
        log.warning("interaction.not_given_back", code=error.code, status=error.status)


async def dismiss(interaction: discord.Interaction) -> None:
    """Take away the message that was pressed, or the "thinking" of a command; it may be gone already."""
    try:
        await interaction.delete_original_response()
    except discord.HTTPException as error:
        log.info("interaction.not_dismissed", code=error.code, status=error.status)


def _cause(error: BaseException) -> BaseException:
    while isinstance(error, app_commands.CommandInvokeError | app_commands.TransformerError):
        inner = getattr(error, "original", None) or error.__cause__
        if inner is None:
            return error
        error = inner
    return error

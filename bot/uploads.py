"""Files that people give to a command: read within limits, refused in words that help.

The size that Discord reports is checked before anything is downloaded; what comes is checked
again. A refusal is an InputError whose code names the text `import.*` and whose data fills it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal, TypeAlias

import aiohttp
import discord
import structlog

from bot.excerpts import clip, plain, size
from bot.i18n import t
from bot.remarks import refusal_text
from engine.errors import AssemblyError, InputError, ResourceError
from engine.library import Kind, recognised

__all__ = ["Noun", "Upload", "check_size", "read_upload", "refusal", "refused"]

log = structlog.get_logger(__name__)

Noun: TypeAlias = Literal["card", "preset", "world", "regex", "persona", "template", "strategy"]
"""What somebody meant to bring, by the name of the command."""

_SECONDS = 60.0  # 32 MiB at half a megabyte a second; an interaction can be answered for 15 minutes
_TRIES = 2
_PAUSE = 0.5  # seconds before the second try: the CDN's hiccups are short
_NAME = 100  # characters of a file name that a message shows


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it came."""

    filename: str
    body: bytes


async def read_upload(attachment: discord.Attachment, limit: int) -> Upload:
    """Download an attachment of at most `limit` bytes.

    Raises InputError IMPORT_TOO_LARGE (data: file, size, limit), before the download when Discord
    says the size, or IMPORT_DOWNLOAD_FAILED (data: file).
    """
    check_size(attachment.filename, attachment.size, limit)
    body = await _download(attachment)
    check_size(attachment.filename, len(body), limit)
    return Upload(attachment.filename, body)


def refusal(
    error: ResourceError | AssemblyError,
    filename: str,
    noun: Noun,
    locale: discord.Locale | str | None = None,
    *,
    like: Kind | None = None,
) -> InputError:
    """What the library refused, as an error that says so of this file in the reader's language; `like` says
    what the file is instead.

    Codes IMPORT_LIBRARY_FULL (data: limit), IMPORT_NOT_CARD, IMPORT_NOT_PRESET and so on, by the noun
    (data: file, reason).
    """
    code = error.error_code
    if code == "LIBRARY_LIMIT_REACHED":
        return InputError(error.message, code="IMPORT_LIBRARY_FULL", limit=error.data["limit"])
    if code == "LIBRARY_STORAGE_LIMIT_REACHED":
        return InputError(error.message, code="IMPORT_LIBRARY_FULL", limit=size(error.data["limit"]))
    reason = refusal_text(locale, error)
    if like is not None:
        reason = t(locale, f"refusal.like-{like.replace('_', '-')}")
    return InputError(
        error.message,
        code=f"IMPORT_NOT_{noun.upper()}",
        file=plain(filename, _NAME),
        reason=clip(reason, 500),  # the readers' messages quote the file
    )


async def refused(
    error: ResourceError | AssemblyError, upload: Upload, noun: Noun, locale: discord.Locale | str | None
) -> InputError:
    """`refusal` of a file that is looked at once more: it may be something else that the library takes."""
    like = await asyncio.to_thread(recognised, upload.body, upload.filename)
    return refusal(error, upload.filename, noun, locale, like=like)


def check_size(filename: str, count: int, limit: int) -> None:
    """Raises InputError IMPORT_TOO_LARGE (data: file, size, limit) for more than `limit` bytes."""
    if count > limit:
        raise InputError(
            "The file is too large.",
            code="IMPORT_TOO_LARGE",
            file=plain(filename, _NAME),
            size=size(count),
            limit=size(limit),
        )


async def _download(attachment: discord.Attachment) -> bytes:
    for attempt in range(_TRIES):
        if attempt:
            await asyncio.sleep(_PAUSE)
        try:
            async with asyncio.timeout(_SECONDS):
                return await attachment.read()
        except (discord.NotFound, discord.Forbidden) as error:
            log.info("upload.gone", status=error.status)
            break
        except (discord.HTTPException, aiohttp.ClientError, OSError) as error:  # TimeoutError is an OSError
            log.info("upload.not_read", attempt=attempt, error=type(error).__name__)
    raise InputError(
        "The file could not be downloaded.",
        code="IMPORT_DOWNLOAD_FAILED",
        file=plain(attachment.filename, _NAME),
    )

"""What people attach to their words: fetched from Discord, told by its content, made fit for the story.

A file's name and type are claims of whoever uploaded it. The first bytes say whether it is a picture; what
is none is read only when it is short enough for a text, and left after those bytes when it is not. Whatever
cannot be read is named to the model (decision 36), and where a person must have meant it to be read, they
are told why it was not.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TypeAlias

import aiohttp
import discord
import structlog
from yarl import URL

from bot.excerpts import plain, size
from bot.settings import AttachmentSettings
from engine.errors import ResourceError
from engine.play import Attachment, Kept, Named, ShownImage, TextFile
from engine.resources import is_picture, make_picture, read_text

__all__ = ["AttachmentReader", "Brought", "Problem", "has_more_than_words", "is_discords", "without_pictures"]

log = structlog.get_logger(__name__)

_NAME = 100  # characters of a file's name that a message shows
_AT_ONCE = 4  # messages whose files are fetched at the same time: each may hold one large picture in memory
_TRIES = 2
_PAUSE = 0.5  # seconds before the second try: the CDN's hiccups are short
_CONNECT = 5.0  # seconds
_PIECE = 64 * 1024
_TELLING = 12  # bytes that say whether it is a picture
_DISCORD = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
_TEXTS = ("text/", "application/json", "application/x-ndjson", "application/xml", "application/yaml")
_SPOILER = "SPOILER_"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something was not read: a text of the catalogue, and what fills it."""

    text: str
    facts: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, text: str, **facts: str) -> Problem:
        return cls(f"attachment.{text}", tuple(facts.items()))


@dataclass(frozen=True, slots=True)
class Brought:
    """What a message brings besides its words, in its order."""

    attachments: tuple[Attachment, ...] = ()
    problems: tuple[Problem, ...] = ()


class _Unread(Exception):
    """A file that is only named; with a problem when its sender has to know."""

    def __init__(self, problem: Problem | None = None) -> None:
        self.problem = problem


_One: TypeAlias = tuple[Attachment, Problem | None]


def has_more_than_words(message: discord.Message) -> bool:
    """Whether it says something although nothing is written in it."""
    return bool(message.attachments or message.stickers or message.poll)


def without_pictures(brought: Brought, limit: int) -> Brought:
    """The same with every picture only named, because the server keeps no more of them."""
    named = tuple(
        Named(each.ref, each.name, size=len(each.picture.body)) if isinstance(each, ShownImage) else each
        for each in brought.attachments
    )
    return Brought(named, (*brought.problems, Problem.of("full", limit=size(limit))))


class AttachmentReader:
    """Reads what messages bring. `aclose` it; what is being read then fails."""

    def __init__(self, settings: AttachmentSettings) -> None:
        self._settings = settings
        self._session: aiohttp.ClientSession | None = None
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._decoding = asyncio.Semaphore(1)  # one picture unpacked may take 200 MB

    async def read(self, message: discord.Message, known: frozenset[str] = frozenset()) -> Brought:
        """Everything besides the words. `known` are the refs of what need not be brought again.

        Never raises for a file; ends within the settings' seconds and the time that decoding takes.
        """
        found: list[_One] = []
        async with self._slots:
            deadline = asyncio.get_running_loop().time() + self._settings.seconds
            for position, attachment in enumerate(message.attachments):
                ref = f"discord:{attachment.id}"
                if ref in known:
                    found.append((Kept(ref), None))
                else:
                    found.append(await self._read(attachment, ref, position, deadline))
        found += [(named, None) for named in _others(message)]
        problems = dict.fromkeys(problem for _, problem in found if problem is not None)
        return Brought(tuple(attachment for attachment, _ in found), tuple(problems))

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    # -- one file ----------------------------------------------------------------------------------

    async def _read(self, attachment: discord.Attachment, ref: str, position: int, deadline: float) -> _One:
        name = _name(attachment)
        try:
            if position >= self._settings.count:
                raise _Unread(Problem.of("too_many", limit=str(self._settings.count)))
            body = await self._fetch(attachment, deadline)
            return await self._told(attachment, ref, name, body), None
        except _Unread as unread:
            why = unread.problem.text if unread.problem is not None else None
            log.info("attachment.named_only", why=why, size=attachment.size)
            return Named(ref, name, size=attachment.size), unread.problem

    async def _told(
        self, attachment: discord.Attachment, ref: str, name: str, body: bytes
    ) -> ShownImage | TextFile:
        """The file as what its content is."""
        if is_picture(body[:_TELLING]):
            try:
                async with self._decoding:
                    return ShownImage(ref, name, await asyncio.to_thread(make_picture, body))
            except ResourceError as error:
                kind = "picture_pixels" if error.error_code == "IMAGE_TOO_LARGE" else "picture_broken"
                raise _unread(kind, attachment) from error
        text = read_text(body)
        if text is not None and text.strip():
            return TextFile(ref, name, text)
        if text is not None:
            raise _unread("empty", attachment)
        if _claims_picture(attachment):
            raise _unread("picture_broken", attachment)
        raise _unread("text_broken", attachment) if _claims_text(attachment) else _Unread()

    # -- the way here ------------------------------------------------------------------------------

    async def _fetch(self, attachment: discord.Attachment, deadline: float) -> bytes:
        limits = self._settings
        if attachment.size > max(limits.picture_bytes, limits.text_bytes):
            raise self._too_large(attachment, picture=_claims_picture(attachment))
        if not is_discords(attachment.url):
            log.warning("attachment.foreign_address", attachment=attachment.id)
            raise _unread("not_got", attachment)
        try:
            async with asyncio.timeout_at(deadline):
                return await self._insist(attachment)
        except TimeoutError:
            raise _unread("not_got", attachment) from None

    async def _insist(self, attachment: discord.Attachment) -> bytes:
        for attempt in range(_TRIES):
            if attempt:
                await asyncio.sleep(_PAUSE)
            try:
                return await self._download(attachment)
            except (aiohttp.ClientError, OSError) as error:
                log.info("attachment.not_got", attempt=attempt, error=type(error).__name__)
        raise _unread("not_got", attachment)

    async def _download(self, attachment: discord.Attachment) -> bytes:
        if self._session is None:
            # Nothing is unpacked on the way: what comes is counted as it comes.
            self._session = aiohttp.ClientSession(
                auto_decompress=False, timeout=aiohttp.ClientTimeout(connect=_CONNECT)
            )
        address = URL(attachment.url, encoded=True)
        headers = {"Accept-Encoding": "identity"}
        async with self._session.get(address, headers=headers, allow_redirects=False) as response:
            if response.status >= 500:
                raise aiohttp.ClientError
            if response.status != 200:
                log.info("attachment.refused", status=response.status)
                raise _unread("not_got", attachment)
            body = bytearray()
            limit: int | None = None
            async for piece in response.content.iter_chunked(_PIECE):
                body += piece
                if limit is None and len(body) >= _TELLING:
                    limit = self._limit(attachment, bytes(body[:_TELLING]))
                if limit is not None and len(body) > limit:
                    raise self._too_large(attachment, picture=is_picture(bytes(body[:_TELLING])))
            return bytes(body)

    def _limit(self, attachment: discord.Attachment, start: bytes) -> int:
        if is_picture(start):
            return self._settings.picture_bytes
        if attachment.size > self._settings.text_bytes:
            raise self._too_large(attachment, picture=False)
        return self._settings.text_bytes

    def _too_large(self, attachment: discord.Attachment, *, picture: bool) -> _Unread:
        if not picture and not _claims_text(attachment):
            return _Unread()  # nobody expects a program or a film to be read
        limit = self._settings.picture_bytes if picture else self._settings.text_bytes
        kind = "picture_heavy" if picture else "text_long"
        return _unread(kind, attachment, size=size(attachment.size), limit=size(limit))


def _unread(kind: str, attachment: discord.Attachment, **facts: str) -> _Unread:
    return _Unread(Problem.of(kind, file=plain(attachment.filename, _NAME), **facts))


def _others(message: discord.Message) -> list[Named]:
    """Stickers, previews of links and polls, which are named."""
    named = [Named(f"discord:{sticker.id}", sticker.name, "sticker") for sticker in message.stickers]
    for position, embed in enumerate(message.embeds):
        title = embed.title or embed.author.name or embed.provider.name
        if title:
            named.append(Named(f"embed:{position}", title, "embed"))
    if message.poll is not None:
        named.append(Named("poll", message.poll.question, "poll"))
    return named


def _name(attachment: discord.Attachment) -> str:
    """The file's name, with the description that its sender gave it: it is for whoever cannot see."""
    name = attachment.filename.removeprefix(_SPOILER)
    return f"{name} ({attachment.description})" if attachment.description else name


def _claims_picture(attachment: discord.Attachment) -> bool:
    return _type(attachment).startswith("image/")


def _claims_text(attachment: discord.Attachment) -> bool:
    return _type(attachment).startswith(_TEXTS)


def _type(attachment: discord.Attachment) -> str:
    return (attachment.content_type or "").lower()


def is_discords(address: str) -> bool:
    """Whether a file is where Discord keeps files: no other address is ever asked for one."""
    base = URL(discord.Asset.BASE)
    try:
        url = URL(address)
        place = (url.scheme, url.host, url.port)
    except ValueError:
        return False
    if base.host in _DISCORD:
        return url.host in _DISCORD and place == ("https", url.host, 443)
    return place == (base.scheme, base.host, base.port)

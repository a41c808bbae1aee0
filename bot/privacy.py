"""What of a prompt is kept from somebody who looks at it: what personas say of other people (`ux` 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import discord

from bot.i18n import t
from engine.errors import InputError
from engine.host import Engine
from engine.play import Playthrough
from engine.strategies import (
    Preview,
    PreviewBlock,
    PreviewMessage,
    description_hash,
    telling,
)

__all__ = ["Private", "private_at", "redacted", "sees_all", "veiled", "with_evidence"]

_ABOUT = "\nAbout "  # how the list of who is at the table goes on to what they are like


@dataclass(frozen=True, slots=True)
class Private:
    """Descriptions, or pieces of them: those that are kept from the reader, and the reader's own."""

    others: tuple[str, ...] = ()
    own: tuple[str, ...] = ()


def sees_all(interaction: discord.Interaction, play: Playthrough) -> bool:
    """Whether nothing of a story is private to somebody: to whoever began it."""
    return str(interaction.user.id) == play.created_by


async def veiled(
    engine: Engine,
    interaction: discord.Interaction,
    play: Playthrough,
    preview: Preview,
    said: Mapping[str, frozenset[str]] | None,
) -> Preview:
    """A prompt fit for the eyes of somebody who does not see all; `said` as `with_evidence` takes it.

    Raises InputError PROMPT_STARTER_ONLY where nobody knows which words are somebody's persona.
    """
    private = with_evidence(await private_at(engine, play, interaction.user.id), said)
    if private is None:
        raise InputError("Only whoever began the story sees it.", code="PROMPT_STARTER_ONLY")
    return redacted(preview, private, str(interaction.locale))


async def private_at(engine: Engine, play: Playthrough, reader: int) -> Private:
    """What the personas at a story's table say now."""
    request = await engine.profiles.request(await engine.journal.look(play.head.session_id))
    at_table = [*request.players, *([request.persona] if request.persona is not None else [])]
    own = tuple(stored.persona.description for stored in await engine.library.personas.list(str(reader)))
    others = (persona.description for persona in at_table if persona.description not in own)
    return Private(tuple(filter(str.strip, others)), tuple(filter(str.strip, own)))


def with_evidence(private: Private, said: Mapping[str, frozenset[str]] | None) -> Private | None:
    """With what personas said when something was sent: their words by the hash of the description, as
    `ActualRequest.private` has them. None when nobody knows what that was."""
    if said is None:
        return None
    mine = {description_hash(description) for description in private.own}
    own = [word for key, words in said.items() if key in mine for word in words]
    others = [word for key, words in said.items() if key not in mine for word in words]
    return Private((*private.others, *others), (*private.own, *own))


def redacted(preview: Preview, private: Private, locale: str) -> Preview:
    """Without what personas of others say.

    What stands between the macros of a description is looked for wherever it may have come: in a part of its
    own, in the list of players, in a text of the preset that names it. Rather too much is left out than too
    little: of a part that is a persona's only what is plainly the reader's own is shown.
    """
    veil = _Veil(telling(private.others), telling(private.own), t(locale, "prompt.private"))
    return replace(
        preview,
        messages=tuple(map(veil.message, preview.messages)),
        contexts=tuple(map(veil.block, preview.contexts)),
    )


class _Veil:
    def __init__(self, secrets: Sequence[str], own: Sequence[str], mark: str) -> None:
        self._secrets = secrets
        self._own = own
        self._mark = mark

    def message(self, message: PreviewMessage) -> PreviewMessage:
        text = message.text
        for part in message.blocks:
            if part.text:
                text = text.replace(part.text, self._shown(part))
        return replace(message, text=self._without(text), blocks=tuple(map(self.block, message.blocks)))

    def block(self, block: PreviewBlock) -> PreviewBlock:
        return replace(block, text=self._without(self._shown(block)))

    def _without(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, self._mark)
        return text

    def _shown(self, block: PreviewBlock) -> str:
        if block.module == "persona":
            return block.text if self._is_own(block.text) else self._mark
        if block.module == "cast":
            names, *told = block.text.split(_ABOUT)
            about = [each for each in told if self._is_own(each.partition(": ")[2])]
            kept_back = [self._mark] if len(about) < len(told) else []
            return "\n".join([_ABOUT.join([names, *about]), *kept_back])
        return block.text

    def _is_own(self, text: str) -> bool:
        """Mostly the reader's own words, and none of another's."""
        if any(secret in text for secret in self._secrets):
            return False
        left = text
        for piece in self._own:
            left = left.replace(piece, "")
        return 2 * len(left) <= len(text)

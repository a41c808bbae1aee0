"""*Show prompt*: what the model was sent for an answer, for whoever may see that.

Who may is asked at every press, since panels and buttons outlive what was allowed when they were made.
"""

from __future__ import annotations

from collections.abc import Mapping

import discord

from bot.answerpanel import MORE, SHOW, more_panel
from bot.moves import Moves
from bot.outbox import Outbox
from bot.press import Handler, chosen
from bot.privacy import sees_all, veiled
from bot.promptpanel import STEP_CHOSEN, Sent, as_preview, prompt_panel
from bot.sheet import Layout
from bot.stage import ANSWER
from bot.stories import Stories, leads
from bot.strategy.panel import known_name
from bot.tablerules import TableRules
from engine.errors import InputError, PlayError
from engine.host import Engine
from engine.play import Playthrough
from engine.storage import Store
from engine.strategies import ActualRequest, Missing

__all__ = ["MISSING", "SentDesk", "sent_panel"]

MISSING: Mapping[Missing, str] = {
    "imported": "PROMPT_IMPORTED",
    "not-recorded": "PROMPT_NOT_RECORDED",
    "version-unknown": "PROMPT_VERSION_UNKNOWN",
    "hash-mismatch": "PROMPT_UNPROVED",
    "derivation-unavailable": "PROMPT_UNPROVED",
}
"""What people are told, by why the log does not say what was sent."""

Answer = tuple[str, str, str]
"""Story, exchange and answer."""


async def sent_panel(
    engine: Engine,
    interaction: discord.Interaction,
    play: Playthrough,
    sent: ActualRequest,
) -> tuple[Layout, discord.File]:
    """The panel of a request, fit for the eyes of whoever asks; that they may see it at all was checked.

    Raises InputError PROMPT_UNPROVED and others where the log has no evidence, PROMPT_STARTER_ONLY where
    nobody knows which words are somebody's persona.
    """
    if sent.reason is not None:
        raise InputError("The log does not say what was sent.", code=MISSING[sent.reason])
    locale, preview = str(interaction.locale), as_preview(sent)
    shown = preview
    if not sees_all(interaction, play):
        shown = await veiled(engine, interaction, play, preview, sent.private)
    used = sent.strategy or {}
    name = known_name(str(used.get("id", "")), str(used.get("name", "")), locale) if used else ""
    place = (play.id, *map(str, sent.place))
    facts = Sent(sent.time, place, sent.steps, sent.step, leads(interaction, play), shown != preview)
    return prompt_panel(shown, name, "", locale, sent=facts)


class SentDesk:
    """*Show prompt* in the menu of a message and in the panel behind ⋯, which is here too."""

    def __init__(
        self, engine: Engine, store: Store, stories: Stories, moves: Moves, outbox: Outbox, rules: TableRules
    ) -> None:
        self._engine = engine
        self._store = store
        self._stories = stories
        self._moves = moves
        self._outbox = outbox
        self._rules = rules

    def presses(self) -> Mapping[str, Handler]:
        """For `PressCog.presses_served`."""
        return {MORE: self._more, SHOW: self._show, STEP_CHOSEN: self._step}

    async def of_message(self, interaction: discord.Interaction, message: discord.Message) -> None:
        """The prompt of the answer that a message shows, or that answered it. The interaction was deferred.

        Raises PlayError PLAY_NONE_HERE, PLAY_NOT_ON_PATH, PROMPT_LEADERS_ONLY, InputError PROMPT_GREETING,
        PROMPT_NOT_YET, and as `sent_panel`.
        """
        play = await self._allowed(interaction)
        answer = await self._answer(play, message)
        view, file = await self._panel(interaction, play, answer)
        await interaction.followup.send(view=view, file=file, ephemeral=True)

    async def _answer(self, play: Playthrough, message: discord.Message) -> Answer:
        post = await self._outbox.posts.by_message(message.id)
        ours = post is not None and post.play_id == play.id
        try:
            target = await self._moves.target(message.channel.id, message.id)
        except PlayError as error:
            said = await self._store.fetch_one("intake_get", message_id=message.id)
            waits = said is not None and said["play_id"] == play.id
            if error.error_code == "PLAY_NOT_ON_PATH" and (
                waits or (ours and post is not None and post.kind == ANSWER)
            ):
                raise InputError("There is no answer yet.", code="PROMPT_NOT_YET") from None
            raise
        if target.node_id is None:
            raise InputError("Nothing was sent for a greeting.", code="PROMPT_GREETING")
        if await self._engine.plays.swiping(play.id) == target.node_id:
            raise InputError("Another answer is being written.", code="PROMPT_NOT_YET")
        shown = post.variant_id if ours and post is not None and post.kind == ANSWER else None
        answer = await self._engine.plays.variant(play.id, target.node_id, shown or None)
        return play.id, target.node_id, answer.id

    async def _more(self, interaction: discord.Interaction, play_id: str, node_id: str, variant: str) -> None:
        """⋯: what else can be done with the newest answer."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        play = await self._stories.here(interaction.channel_id, play_id)
        await self._engine.plays.variant(play_id, node_id, variant)
        node = (await self._engine.plays.timeline(play_id)).node(node_id)
        assert node is not None  # nodes are never deleted, and this one has a variant
        place = next(at for at, each in enumerate(node.variants, 1) if each.id == variant)
        view = more_panel(
            (play_id, node_id, variant),
            place,
            len(node.variants),
            str(interaction.locale),
            prompt=await self._rules.may_see_prompts(interaction, play),
            prompts_for_all=await self._rules.prompts_for_all(play.id),
        )
        await interaction.followup.send(view=view, ephemeral=True)

    async def _show(self, interaction: discord.Interaction, *answer: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        play_id, node_id, variant = answer
        play = await self._allowed(interaction, play_id)
        view, file = await self._panel(interaction, play, (play_id, node_id, variant))
        await interaction.followup.send(view=view, file=file, ephemeral=True)

    async def _step(
        self, interaction: discord.Interaction, play_id: str, session_id: str, start: str, end: str
    ) -> None:
        """Another request of the same turn, in the place of the one that is shown."""
        await interaction.response.defer()
        play = await self._allowed(interaction, play_id)
        (step,) = chosen(interaction)
        sent = await self._engine.requests.of_answer(session_id, int(start), int(end), int(step))
        view, file = await sent_panel(self._engine, interaction, play, sent)
        await interaction.edit_original_response(view=view, attachments=[file])

    async def _panel(
        self, interaction: discord.Interaction, play: Playthrough, answer: Answer
    ) -> tuple[Layout, discord.File]:
        sent = await self._engine.actual_request(*answer)
        assert sent is not None  # of an answer there is always a request, or a reason why not
        return await sent_panel(self._engine, interaction, play, sent)

    async def _allowed(self, interaction: discord.Interaction, play_id: str | None = None) -> Playthrough:
        play = await self._stories.here(interaction.channel_id, play_id)
        await self._rules.check_prompts(interaction, play)
        return play

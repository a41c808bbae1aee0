"""What is written down of a message, on a real database."""

from __future__ import annotations

from pathlib import Path

from bot.posts import Place, Posts
from engine.storage import Store

PLACE = Place(channel_id=7, play_id="p1", session_id="s1", turn=3)


async def test_a_text_on_its_way_does_not_settle_what_was_called_into_doubt_meanwhile(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "posts.db") as store:
        posts = Posts(store, lambda: 1000)
        # given a message whose last text is being sent
        planned = await posts.plan(PLACE, "spot", 0)
        sent = await posts.sent(planned, 99, None)
        # when the story moves before Discord has answered
        await posts.unsettle(PLACE)
        await posts.shown(sent, "old words", buttons=True)
        # then a restart will look at the message again
        (unfinished,) = await posts.unfinished()
        assert (unfinished.nonce, unfinished.body_hash, unfinished.buttons) == (sent.nonce, None, True)
        # and what is shown afterwards settles it
        await posts.shown(unfinished, "new words", buttons=True)
        assert await posts.unfinished() == []

"""Which permissions are needed for what."""

from __future__ import annotations

import discord
import pytest

from bot.i18n import catalogue
from bot.permissions import NEEDS, Need, invite_url, missing, requested


def names(needs: tuple[Need, ...]) -> list[str]:
    return [need.name for need in needs]


def test_nothing_is_missing_when_everything_that_is_asked_for_is_granted() -> None:
    assert missing(requested(), "parent") == ()
    assert missing(requested(), "story") == ()


def test_an_administrator_lacks_nothing() -> None:
    assert missing(discord.Permissions.all(), "parent") == ()


def test_what_lacks_is_named_the_vital_first() -> None:
    granted = requested()
    granted.update(manage_messages=False, manage_webhooks=False)

    assert names(missing(granted, "story")) == ["manage_webhooks", "manage_messages"]
    assert names(missing(granted, "story", vital_only=True)) == ["manage_webhooks"]


def test_opening_a_thread_matters_only_where_threads_are_opened() -> None:
    granted = requested()
    granted.update(create_public_threads=False)

    assert names(missing(granted, "parent")) == ["create_public_threads"]
    assert missing(granted, "story") == ()


@pytest.mark.parametrize("need", NEEDS, ids=lambda need: need.name)
def test_each_is_a_permission_of_discord_and_has_its_words(need: Need) -> None:
    assert need.name in discord.Permissions.VALID_FLAGS
    assert need.text_key in catalogue("en")
    assert need.purpose_key in catalogue("en")


def test_the_invitation_asks_for_exactly_that() -> None:
    assert invite_url(42) == (
        "https://discord.com/oauth2/authorize?client_id=42"
        f"&scope=bot+applications.commands&permissions={requested().value}"
    )

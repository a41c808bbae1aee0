"""`/persona`: who a person plays."""

from __future__ import annotations

import pytest

from tests.cogs.test_card_import import content_of
from tests.e2e.scene import Scene


async def test_without_a_persona_one_plays_oneself(scene: Scene) -> None:
    done = await scene.human("Ana").slash("general", "persona show")
    assert done.message.ephemeral
    assert done.text == "You play under your own name, **Ana**. `/persona set` gives you another."


async def test_a_persona_is_set_and_shown_also_after_a_restart(scene: Scene) -> None:
    ana = scene.human("Ana")
    done = await ana.slash("general", "persona set", name="Captain  Vale", description="Tall, tired.")
    assert done.text == (
        "You play **Captain Vale** now. What you already wrote keeps its name.\nTall, tired."
    )
    await scene.running.restart()
    shown = await ana.slash("general", "persona show")
    assert shown.text == "You play **Captain Vale**.\nTall, tired."
    # and it is hers alone
    ben = await scene.human("Ben").slash("general", "persona show")
    assert ben.text.startswith("You play under your own name, **Ben**.")


async def test_the_table_knows_people_by_their_personas(scene: Scene) -> None:
    # given a story, and a persona that is set after the first words
    story = await scene.open_story()
    await story.exchange("Ana", "Hello.", "Welcome in.")
    await scene.human("Ana").slash(story.thread, "persona set", name="Vale", description="A tired captain.")

    # when Ana and Ben go on
    await story.exchange("Ana", "It is me.", "I see.")
    await story.exchange("Ben", "And me.", "And you.")

    # then each message has the name it was said under
    assert [line for line in scene.model.calls[-1].heard if not line.startswith(("Wel", "I see"))] == [
        "Ana: Hello.",
        "Vale: It is me.",
        "Ben: And me.",
    ]
    assert "A tired captain." in scene.model.calls[-1].system


async def test_the_same_name_again_keeps_its_description(scene: Scene) -> None:
    ana = scene.human("Ana")
    await ana.slash("general", "persona set", name="Vale", description="Tall.")
    kept = await ana.slash("general", "persona set", name="Vale")
    other = await ana.slash("general", "persona set", name="Wren")
    assert kept.text.endswith("\nTall.")
    assert other.text.endswith("-# Nothing is said about them yet.")


async def test_a_long_description_goes_along_as_a_file(scene: Scene) -> None:
    # given a description as long as Discord takes one
    ana = scene.human("Ana")
    long = "漫长的故事。" * 1000

    # when it is set
    done = await ana.slash("general", "persona set", name="Vale", description=long)

    # then its beginning is shown and the whole is in a file
    assert done.message.files == ("persona.md",)
    assert len(done.text) < 2000
    assert content_of(scene.wire, done.message.raw) == long


@pytest.mark.parametrize(
    ("who", "text"),
    [
        ("Ana", "A persona needs a name of 1 to 80 characters."),
        ("Chen", "用户设定需要一个 1 到 80 个字符的名字。"),
    ],
)
async def test_a_name_of_nothing_is_refused(scene: Scene, who: str, text: str) -> None:
    done = await scene.human(who).slash("general", "persona set", name="  ")
    assert done.text == text


async def test_a_persona_can_be_set_in_a_direct_message(scene: Scene) -> None:
    ana = scene.human("Ana")
    done = await ana.slash(ana.direct(), "persona set", name="Vale")
    assert done.text.startswith("You play **Vale** now.")

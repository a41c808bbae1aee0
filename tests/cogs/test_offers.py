"""The *Import* button under a posted file: only where it is wanted, only under what is something."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from bot.sandbox.limits import Upload
from bot.sandbox.wire import WireDiscord
from bot.settings import ImportSettings, Settings
from engine.codec import dumps
from tests.cogs.test_card import becomes, promote
from tests.cogs.test_card_import import SAMPLE, png_card
from tests.cogs.test_preset import preset_json
from tests.e2e.running import running_bot
from tests.e2e.scene import Scene, Story, card_json, labels_of, until
from tests.engine.resources.pngs import picture

CARD = Upload("mira.png", png_card())
PHOTO = Upload("holiday.png", picture())


async def allowed(scene: Scene) -> None:
    """Ana, who owns the server, switches the offers on."""
    ana = scene.human("Ana")
    asked = await ana.slash("general", "settings imports")
    assert "This is **off** in this server." in asked.text
    await ana.click(asked.message, "Switch on")
    await becomes(ana, asked.message, "This is **on** in this server.")


async def settled(scene: Scene, channel: str = "general") -> list[str]:
    """The offers in a channel once the bot has looked at everything: a card that comes last is one."""
    ben = scene.human("Ben")
    before = len([m for m in ben.screen(channel) if "Import" in labels_of(m)])
    last = Upload("last.json", card_json("Last"))
    await ben.say(channel, "", [last])
    await until(lambda: len([m for m in ben.screen(channel) if "Import" in labels_of(m)]) > before)
    return [m.text for m in ben.screen(channel) if m.buttons][:-1]


async def test_nothing_is_offered_until_somebody_wants_it(scene: Scene) -> None:
    ben = scene.human("Ben")
    await ben.say("general", "Look!", [CARD])
    await asyncio.sleep(0.3)
    assert [m.author for m in ben.screen("general")] == ["Ben"]
    # and Ben, who is nobody, cannot switch it on
    done = await ben.slash("general", "settings imports")
    assert done.text == "Only people who may manage the server can change its library."


async def test_a_posted_card_is_imported_by_whoever_presses_also_after_a_restart(scene: Scene) -> None:
    # given a server that wants offers
    await allowed(scene)
    ben, chen = scene.human("Ben"), scene.human("Chen")

    # when Ben posts a card
    await ben.say("general", "Look!", [CARD])

    # then a small button stands under it for everybody
    offer = await chen.sees("general", lambda m: "Import" in labels_of(m))
    assert offer.text == "-# This looks like something for the library."
    assert not offer.ephemeral
    assert offer.raw["message_reference"] is not None
    assert await scene.bot.engine.library.list(scene.owner) == []
    # when the bot restarts and Chen presses it
    await scene.running.restart()
    done = await chen.click(offer, "Import")
    # then it is Chen's import, told only to Chen
    assert done.message.ephemeral
    assert done.text.startswith("### **Ada** 来了。")
    (row,) = await scene.bot.engine.library.list(scene.owner, "card")
    assert row.created_by == chen.id


async def test_presets_and_books_are_offered_and_other_files_are_left_alone(scene: Scene) -> None:
    await allowed(scene)
    ben = scene.human("Ben")
    package = dumps({"name": "left-pad", "version": "1.0", "description": "Pads.", "main": "index.js"})
    await ben.say("general", "1", [PHOTO])
    await ben.say("general", "2", [Upload("package.json", package)])
    await ben.say("general", "3", [Upload("notes.txt", b"Dear diary")])
    await ben.say("general", "4", [Upload("broken.json", b"{")])
    await ben.say("general", "5", [Upload("list.json", b"[1, 2, 3]")])
    assert await settled(scene) == []
    await ben.say("general", "6", [Upload("Rain.json", preset_json())])
    book = dumps({"entries": {"0": {"uid": 0, "key": ["a"], "content": "b"}}})
    await ben.say("general", "7", [Upload("Book.json", book)])
    await until(lambda: len([m for m in ben.screen("general") if "Import" in labels_of(m)]) == 3)


async def test_several_files_are_told_apart(scene: Scene) -> None:
    await allowed(scene)
    ben = scene.human("Ben")
    await ben.say("general", "", [CARD, PHOTO, Upload("b.json", card_json("Bea"))])
    offer = await ben.sees("general", lambda m: bool(m.buttons) and not m.ephemeral)
    assert labels_of(offer) == ["Import: mira.png", "Import: b.json"]
    done = await ben.click(offer, "Import: b.json")
    assert done.text.startswith("### **Bea** is here.")


async def test_in_a_story_only_cards_are_offered(scene: Scene) -> None:
    # given a story in a server that wants offers
    await allowed(scene)
    story: Story = await scene.open_story()

    # when people show a picture and a preset in it, and then a card
    for file in (PHOTO, Upload("Rain.json", preset_json()), Upload("maren.png", SAMPLE.read_bytes())):
        scene.model.will_say("Nice.")
        await story.say("Ben", "See here.", file)

    # then only the card is offered
    await until(lambda: any("Import" in labels_of(m) for m in story.messages()))
    offers = [m for m in story.messages() if "Import" in labels_of(m)]
    assert len(offers) == 1


async def test_a_file_that_is_gone_is_said_to_be(scene: Scene) -> None:
    await allowed(scene)
    ben = scene.human("Ben")
    said = await ben.say("general", "Look!", [CARD])
    offer = await ben.sees("general", lambda m: "Import" in labels_of(m))
    await ben.delete(said)
    done = await ben.click(offer, "Import")
    assert done.text == "The message with this file is not there any more."


async def test_who_may_switch_it_is_asked_again_at_the_click(scene: Scene) -> None:
    role = promote(scene, "Ben")
    ben = scene.human("Ben")
    asked = await ben.slash("general", "settings imports")
    world = scene.wire.world
    guild = next(iter(world.guilds.values()))
    world.set_member(world.members[f"{guild['id']}:{ben.id}"], roles=[])
    assert role
    await ben.click(asked.message, "Switch on")
    await ben.sees("general", "Only people who may manage the server can change its library.")
    assert not await scene.bot.offers.wanted(int(guild["id"]))


# --- by address


@pytest.mark.parametrize(
    ("who", "line"),
    [
        (
            "Ana",
            "I fetch nothing from **evil.example**. These are allowed: avatars.charhub.io, "
            "cdn.discordapp.com, files.catbox.moe, raw.githubusercontent.com. Or upload the file.",
        ),
        (
            "Chen",
            "不会从 **evil.example** 下载。允许的有：avatars.charhub.io, cdn.discordapp.com, "
            "files.catbox.moe, raw.githubusercontent.com。也可以直接上传文件。",
        ),
    ],
)
async def test_an_address_elsewhere_is_refused(scene: Scene, who: str, line: str) -> None:
    done = await scene.human(who).slash("general", "card import", url="https://evil.example/a.png")
    assert done.text == line


async def test_a_file_or_an_address_and_not_both(scene: Scene) -> None:
    options = {"file": CARD, "url": "https://files.catbox.moe/a.png"}
    done = await scene.human("Ana").slash("general", "card import", options)
    assert done.text == "Give me a file or an address: one of the two."


async def test_a_command_without_either_opens_a_form_that_outlives_a_restart(scene: Scene) -> None:
    # given the form of a bare command
    ana = scene.human("Ana")
    form = await ana.slash("general", "card import")
    assert form.modal is not None
    assert form.modal["title"] == "Bring in a card"

    # when she sends it with a file after a restart, with nothing, and with an address elsewhere
    await scene.running.restart()
    done = await ana.submit(form, {"file": [CARD]})
    nothing = await ana.submit(await ana.slash("general", "card import"), {})
    wrong = await ana.submit(await ana.slash("general", "card import"), {"url": "http://a.example/x.png"})

    # then the card is here, and the others say what is missing
    assert done.text.startswith("### **Ada** is here.")
    assert nothing.text == "Give me a file or an address: one of the two."
    assert wrong.messages[0].text == "This is no https address of a file."


async def test_a_card_comes_in_by_its_address(wire: WireDiscord, settings: Settings) -> None:
    # given a bot that may ask a server on this machine, which has a card and a page
    async def give(request: web.Request) -> web.StreamResponse:
        if request.path == "/page":
            return web.Response(text="<html>", content_type="text/html")
        return web.Response(body=png_card(), content_type="image/png")

    app = web.Application()
    app.router.add_get("/{name}", give)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base = f"http://localhost:{runner.addresses[0][1]}"
    imports = ImportSettings(hosts=("localhost",), loopback=True)
    try:
        async with running_bot(wire, settings.model_copy(update={"imports": imports})) as running:
            ana = Scene(wire, running, None).human("Ana")  # type: ignore[arg-type]  # no model is asked

            # when she gives the addresses
            done = await ana.slash("general", "card import", url=f"{base}/ada.png")
            page = await ana.slash("general", "card import", url=f"{base}/page")

            # then the card comes in as an uploaded one would, and the page is told as one
            assert done.text.startswith("### **Ada** is here.")
            assert page.text.startswith(
                "This address at **localhost** is a web page and not the file itself."
            )
    finally:
        await runner.cleanup()

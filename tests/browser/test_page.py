"""Acting on the page: messages, commands, components, modals, several people."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Page, expect

from bot.sandbox.human import Human
from bot.sandbox.wire import WireDiscord
from tests.browser.conftest import NARROW, Open
from tests.browser.smallbot import SmallBot, picture


async def command(page: Page, name: str) -> None:
    """Pick a slash command as a person does."""
    await page.get_by_role("combobox", name="Message").fill(f"/{name}")
    await page.get_by_role("option", name=f"/{name}").first.click()


async def run(page: Page, name: str) -> None:
    """Run a command that needs no option."""
    await command(page, name)
    await page.get_by_role("button", name="Run the command").click()


async def test_a_message_is_written_edited_reacted_to_and_deleted(wire: WireDiscord, open_page: Open) -> None:
    # given two people in the same channel
    ana = await open_page("Ana")
    ben = await open_page("Ben")
    # when Ana writes two lines and sends them with Enter
    box = ana.get_by_role("combobox", name="Message")
    await box.fill("**Hello** there")
    await box.press("Shift+Enter")
    await box.type("friends :tada:")
    await box.press("Enter")
    # then both read it, drawn, with the emoji
    for page in (ana, ben):
        message = page.locator(".message", has_text="Hello there")
        await expect(message.locator("strong", has_text="Hello")).to_be_visible()
        await expect(message).to_contain_text("friends 🎉")
    await expect(box).to_have_value("")
    # when she edits it with the up arrow
    await box.press("ArrowUp")
    editor = ana.get_by_role("textbox", name="Edit the message")
    await editor.fill("Good evening")
    await editor.press("Enter")
    # then Ben sees the new words and that they are new
    message = ben.locator(".message", has_text="Good evening")
    await expect(message).to_contain_text("(edited)")
    # when Ben reacts
    await message.hover()
    await message.get_by_role("button", name="Add reaction").click()
    await ben.get_by_role("button", name="fire", exact=True).click()
    # then it is his reaction, and to Ana somebody's
    await expect(message.get_by_role("button", name="🔥: 1")).to_have_attribute("aria-pressed", "true")
    hers = ana.locator(".message", has_text="Good evening")
    await expect(hers.get_by_role("button", name="🔥: 1")).to_have_attribute("aria-pressed", "false")
    # when Ana deletes it
    await hers.hover()
    await hers.get_by_role("button", name="Delete").click()
    await ana.get_by_role("menuitem", name="Delete this message").click()
    # then it is gone for both
    await expect(hers).to_have_count(0)
    await expect(message).to_have_count(0)


async def test_buttons_change_whisper_ask_and_fail(
    wire: WireDiscord, bot: SmallBot, open_page: Open, tmp_path: Path, shots: Path | None
) -> None:
    # given a greeting with buttons, made by a command with a choice and a switch
    page = await open_page("Ben")
    other = await open_page("Ana")
    await command(page, "hello")
    await page.get_by_role("button", name="+2 optional").click()
    await page.get_by_role("option", name="style").click()
    await page.get_by_role("option", name="Cold").click()
    await page.keyboard.press("Enter")
    message = page.locator(".message", has_text="A cold welcome, Ben!")
    await expect(message).to_contain_text("Ben used /hello")
    await expect(message.locator(".tag")).to_have_text("APP")
    # when a button edits its message
    await message.get_by_role("button", name="Count 0").click()
    # then everybody sees it
    await expect(message.get_by_role("button", name="Count 1")).to_be_visible()
    await expect(other.get_by_role("button", name="Count 1")).to_be_visible()
    await expect(message.get_by_role("button", name="Closed")).to_be_disabled()
    # when a button whispers
    await message.get_by_role("button", name="Whisper").click()
    # then only Ben hears it, and he can dismiss it
    whisper = page.locator(".message.ephemeral", has_text="Nobody else hears this.")
    await expect(whisper).to_contain_text("Only you can see this")
    await expect(other.locator(".message", has_text="Nobody else hears this.")).to_have_count(0)
    await whisper.get_by_role("button", name="Dismiss message").click()
    await expect(whisper).to_have_count(0)
    # when a button opens a form that is sent without its words
    await message.get_by_role("button", name="Ask me").click()
    form = page.get_by_role("dialog", name="How was the evening?")
    await form.get_by_role("button", name="Submit").click()
    # then it says what is missing
    await expect(form).to_contain_text("This field is required")
    # when it is filled in, with a choice and a file
    await form.get_by_role("textbox", name="In your words").fill("Lovely rain")
    await form.locator(".select").click()
    await page.get_by_role("option", name="Splendid").click()
    file = tmp_path / "rain.png"
    file.write_bytes(picture())
    await form.locator("input[type=file]").set_input_files(file)
    if shots:
        await page.screenshot(path=shots / "modal.png")
    await form.get_by_role("button", name="Submit").click()
    # then the bot got all three
    await expect(page.locator(".message.ephemeral")).to_contain_text("Splendid: Lovely rain (rain.png)")
    # when two drinks are chosen in a menu
    await message.get_by_role("button", name="What will it be").click()
    await page.get_by_role("option", name="Tea").click()
    await page.get_by_role("option", name="Ale").click()
    if shots:
        await page.screenshot(path=shots / "select.png")
    await page.keyboard.press("Escape")
    # then both arrive at once
    await expect(page.locator(".message.ephemeral").last).to_contain_text("Coming: Ale, Tea")
    # when a button is never answered
    await message.get_by_role("button", name="Nothing", exact=True).click()
    # then the page says so after Discord's three seconds
    await expect(message.get_by_role("alert")).to_contain_text("This interaction failed")


async def test_a_press_counts_although_the_message_changes_under_it(
    wire: WireDiscord, bot: SmallBot, open_page: Open
) -> None:
    # given a button that Ben holds down
    ben = await open_page("Ben")
    ana = await open_page("Ana")
    await run(ben, "hello")
    await ben.get_by_role("button", name="Count 0").hover()
    await ben.mouse.down()
    # when Ana presses it meanwhile, and the news of it has come to Ben
    await ana.get_by_role("button", name="Count 0").click()
    await expect(ana.get_by_role("button", name="Count 1")).to_be_visible()
    await Human(wire, "Ana").say("welcome", "I was quicker")
    await expect(ben.get_by_role("button", name="welcome, channel, unread")).to_be_visible()
    # then the button stays under his finger, and his press counts
    await expect(ben.get_by_role("button", name="Count 0")).to_be_visible()
    await ben.mouse.up()
    await expect(ben.get_by_role("button", name="Count 2")).to_be_visible()
    await expect(ana.get_by_role("button", name="Count 2")).to_be_visible()


async def test_options_complete_and_files_arrive(
    wire: WireDiscord, bot: SmallBot, open_page: Open, tmp_path: Path, shots: Path | None
) -> None:
    page = await open_page("Ana")
    # given the list of commands
    box = page.get_by_role("combobox", name="Message")
    await box.fill("/")
    await expect(page.get_by_role("option")).to_have_count(6)
    if shots:
        await page.screenshot(path=shots / "commands.png")
    # when a required option is left empty
    await command(page, "pick")
    await page.get_by_role("button", name="Run the command").click()
    await expect(page.get_by_role("alert").filter(has_text="card:")).to_contain_text("required")
    # and the command given up and taken again
    await page.keyboard.press("Escape")
    await page.keyboard.press("Escape")
    await command(page, "pick")
    await expect(page.get_by_role("option")).to_have_count(3)
    await page.keyboard.press("Enter")
    # then Enter took the first completion, which the bot offered
    await expect(page.locator(".pill-input")).to_have_value("Maren of the Marsh")
    await page.locator(".pill-input").fill("thorn")
    await expect(page.get_by_role("option")).to_have_count(1)
    if shots:
        await page.screenshot(path=shots / "autocomplete.png")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    embed = page.locator(".embed", has_text="Old Thorn")
    await expect(embed).to_contain_text("Greetings")
    # when a file is wanted and not given
    await command(page, "upload")
    await page.get_by_role("button", name="Run the command").click()
    await expect(page.get_by_role("alert").filter(has_text="file:")).to_contain_text("required")
    # and then chosen
    file = tmp_path / "card.json"
    file.write_bytes(b"{}" * 700)
    await page.locator(".command-form input[type=file]").set_input_files(file)
    await page.get_by_role("button", name="Run the command").click()
    # then the bot could download it
    await expect(page.locator(".message.ephemeral")).to_contain_text("card.json: 1400 bytes")


async def test_thinking_webhooks_panels_and_menus(
    wire: WireDiscord, bot: SmallBot, open_page: Open, shots: Path | None
) -> None:
    page = await open_page("Ana")
    # when the bot thinks, the page shows it until the answer replaces it
    await run(page, "slow")
    thinking = page.locator(".message", has_text="Inglenook is thinking…")
    await expect(thinking).to_be_visible()
    await expect(page.locator(".message", has_text="I have thought.")).to_be_visible()
    await expect(thinking).to_have_count(0)
    # when a character speaks, its message has its own name and grows in place
    await run(page, "mira")
    said = page.locator(".message", has_text="“Come in.”")
    await expect(said.locator(".author")).to_have_text("Mira")
    await expect(said.locator(".tag")).to_have_text("APP")
    await expect(page.locator(".message", has_text="The door")).to_have_count(1)
    # when a panel comes, all of it is drawn
    await run(page, "panel")
    panel = page.locator(".container")
    await expect(panel.locator("h4", has_text="Maren")).to_be_visible()
    await expect(panel.get_by_role("button", name="Open Maren", exact=True).locator("img")).to_be_visible()
    await expect(panel.get_by_role("button", name="Details")).to_be_visible()
    await expect(panel.locator(".gallery img")).to_be_visible()
    await expect(panel.locator(".file")).to_contain_text("facts.txt")
    await panel.get_by_role("button", name="Read").click()
    await expect(panel.locator(".file-preview")).to_have_text("facts")
    await expect(page.locator(".undrawable, .unknown-component")).to_have_count(0)
    if shots:
        await page.screenshot(path=shots / "panel.png")
    # when a message's menu is used by right click
    await said.click(button="right")
    if shots:
        await page.screenshot(path=shots / "menu.png")
    await page.get_by_role("menuitem", name="Apps").click()
    await page.get_by_role("menuitem", name="Quote").click()
    # then the bot got that message
    await expect(page.locator(".message.ephemeral blockquote")).to_contain_text("The door opens")


async def test_files_are_sent_by_button_paste_and_drop(
    wire: WireDiscord, open_page: Open, tmp_path: Path
) -> None:
    page = await open_page("Chen")
    file = tmp_path / "map.png"
    file.write_bytes(picture())
    # given one file chosen, one pasted and one dropped
    await page.locator(".composer-box > input[type=file]").set_input_files(file)
    for event, target in (("paste", "document"), ("drop", "window")):
        await page.evaluate(
            """([event, target]) => {
                const data = new DataTransfer();
                data.items.add(new File(['some words'], `${event}.txt`, { type: 'text/plain' }));
                const made = event === 'paste'
                  ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
                  : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
                (target === 'window' ? window : document).dispatchEvent(made);
            }""",
            [event, target],
        )
    tray = page.get_by_role("list", name="Files to send")
    await expect(tray.get_by_role("listitem")).to_have_count(3)
    await expect(tray).to_contain_text("10 bytes")
    # when one is taken out and the rest sent
    await tray.get_by_role("button", name="Remove paste.txt").click()
    await page.get_by_role("combobox", name="Message").fill("look")
    await page.keyboard.press("Enter")
    # then a picture and a file stand in the channel
    message = page.locator(".message", has_text="look")
    await expect(message.get_by_role("button", name="Open map.png").locator("img")).to_be_visible()
    await expect(message.locator(".file")).to_contain_text("drop.txt")
    shown = Human(wire, "Ana").last("tavern")
    assert shown.files == ("map.png", "drop.txt")


async def test_typing_unread_and_acting_as_another(wire: WireDiscord, open_page: Open) -> None:
    page = await open_page("Ana", "welcome")
    ben = Human(wire, "Ben")
    # when Ben types in another channel and speaks to Ana
    await page.get_by_role("button", name="tavern, channel").wait_for()
    await ben.say("tavern", f"<@{wire.world.user('Ana')['id']}> are you there?")
    # then the channel is unread and counts the mention
    unread = page.get_by_role("button", name="tavern, channel, unread")
    await expect(unread.locator(".badge")).to_have_text("1")
    # when she opens it
    await unread.click()
    await expect(page.locator(".message.pinged")).to_contain_text("@Ana are you there?")
    await expect(page.get_by_role("button", name="tavern, channel, unread")).to_have_count(0)
    # and he types on
    await ben.typing("tavern")
    await expect(page.locator(".typing")).to_contain_text("Ben is typing…")
    # when the person at the screen becomes Chen
    await page.get_by_role("button", name="you are Ana", exact=True).click()
    await page.get_by_role("menuitem", name="Chen").click()
    await expect(page.get_by_role("button", name="you are Chen", exact=True)).to_be_visible()
    await page.get_by_role("combobox", name="Message").fill("我来了")
    await page.keyboard.press("Enter")
    # then Chen is who speaks
    await expect(page.locator(".message", has_text="我来了").locator(".author")).to_have_text("Chen")
    await page.reload()
    await expect(page.get_by_role("button", name="you are Chen", exact=True)).to_be_visible()


async def test_history_loads_as_one_scrolls_and_the_end_is_one_press_away(
    wire: WireDiscord, open_page: Open
) -> None:
    # given a long evening
    ben = Human(wire, "Ben")
    for n in range(160):
        await ben.say("tavern", f"line {n:03}")
    page = await open_page("Ana")
    await expect(page.get_by_text("line 159")).to_be_in_viewport()
    assert await page.locator(".message").count() == 50
    # when one scrolls to the beginning
    for _ in range(100):  # four pages; a busy machine takes its time for each
        await page.locator(".scroller").evaluate("el => { el.scrollTop = 0; }")
        if await page.get_by_text("line 000").count():
            break
        await page.wait_for_timeout(150)
    # then all of it is there, in order, once
    await expect(page.get_by_role("heading", name="Welcome to #tavern!")).to_be_visible()
    lines = await page.locator(".message .content").all_text_contents()
    assert lines == [f"line {n:03}" for n in range(160)]
    # when something new is said meanwhile, the view stays and says so
    await ben.say("tavern", "the newest")
    jump = page.get_by_role("button", name="New messages")
    await jump.click()
    await expect(page.get_by_text("the newest")).to_be_in_viewport()
    await expect(jump).to_be_hidden()


async def test_threads_and_forums(wire: WireDiscord, open_page: Open, shots: Path | None) -> None:
    page = await open_page("Ana", "library-of-stories")
    # when a post is written in the forum
    await page.get_by_role("textbox", name="Title").fill("The Cartographer")
    await page.get_by_role("textbox", name="First message").fill("Very **small** islands.")
    await page.get_by_role("button", name="Post", exact=True).click()
    # then it opens as a thread under the forum
    await expect(page.get_by_role("heading", name="The Cartographer").first).to_be_visible()
    await expect(page.locator(".message", has_text="Very small islands.")).to_be_visible()
    await page.get_by_role("button", name="library-of-stories, forum").click()
    await expect(page.locator(".post")).to_contain_text("Ana: Very small islands.")
    # and its threads fold away
    await page.get_by_role("button", name="Hide the threads of library-of-stories").click()
    await expect(page.get_by_role("button", name="The Cartographer, thread")).to_have_count(0)


async def test_the_tools_show_and_break_things(
    wire: WireDiscord, bot: SmallBot, open_page: Open, shots: Path | None
) -> None:
    page = await open_page("Ana")
    await page.get_by_role("button", name="Tools").first.click()
    tools = page.get_by_role("complementary", name="Tools")
    # then the bot is online and its requests are listed
    await expect(tools).to_contain_text("online")
    await expect(tools.locator("tr", has_text="/users/@me").first).to_contain_text("200")
    # when the connection is dropped
    await tools.get_by_role("button", name="Drop connection").click()
    # then the bot resumes
    await wire.gateway.wait_until(resumes=1)
    # when the next request is to fail
    await tools.get_by_role("spinbutton", name="Number of requests").fill("1")
    await tools.get_by_role("button", name="429").click()
    await expect(tools.locator(".faults-active")).to_contain_text("429 for the next 1 request")
    await run(page, "mira")
    # then the bot meets it and gets over it
    await expect(page.locator(".message", has_text="“Come in.”")).to_be_visible()
    await expect(tools.locator("tr.limited")).to_have_count(1)
    await expect(tools.locator(".spark-name")).to_have_text("tavern")
    if shots:
        await page.screenshot(path=shots / "tools.png")
    # when latency is set and cleared again
    await tools.get_by_role("slider").evaluate(
        "el => { el.value = 500; el.dispatchEvent(new Event('change')); }"
    )
    await expect(tools).to_contain_text("500 ms of latency")
    await tools.get_by_role("button", name="clear").first.click()
    await expect(tools.locator(".faults-active")).to_be_empty()
    assert wire.faults.latency_ms == 0


async def test_everything_can_be_used_on_a_phone(
    wire: WireDiscord, bot: SmallBot, open_page: Open, shots: Path | None
) -> None:
    page = await open_page("Ana", "welcome", NARROW)
    wide = (
        "() => Math.max(...[document.documentElement, ...document.querySelectorAll('.scroller, .middle')]"
        ".map((el) => el.scrollWidth - el.clientWidth))"
    )
    assert await page.evaluate(wide) <= 0
    # when the drawer is opened and a channel chosen
    await page.get_by_role("button", name="Channels", exact=True).tap()
    await page.wait_for_timeout(300)
    if shots:
        await page.screenshot(path=shots / "phone-drawer.png")
    await page.get_by_role("button", name="tavern, channel").tap()
    # then it closes again
    await expect(page.get_by_role("button", name="tavern, channel")).not_to_be_in_viewport()
    # when a command is run by touch
    await page.get_by_role("combobox", name="Message").fill("/hel")
    await page.get_by_role("option", name="/hello").tap()
    await page.get_by_role("button", name="Run the command").tap()
    message = page.locator(".message", has_text="A warm welcome, Ana!")
    await message.get_by_role("button", name="Count 0").tap()
    await expect(message.get_by_role("button", name="Count 1")).to_be_visible()
    if shots:
        await page.screenshot(path=shots / "phone.png")
    # when a finger rests on the message
    await message.locator(".content").evaluate(
        """(el) => {
            const { x, y } = el.getBoundingClientRect();
            el.dispatchEvent(new PointerEvent('pointerdown',
                { pointerType: 'touch', clientX: x + 10, clientY: y + 5, bubbles: true }));
        }"""
    )
    await page.get_by_role("menuitem", name="Apps").tap()
    await page.get_by_role("menuitem", name="Quote").tap()
    # then its menu came up from below and worked
    await expect(page.locator(".message.ephemeral")).to_contain_text("A warm welcome")
    await page.get_by_role("button", name="Tools").first.tap()
    if shots:
        await page.screenshot(path=shots / "phone-tools.png")
    assert await page.evaluate(wide) <= 0

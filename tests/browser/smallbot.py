"""A small bot on unmodified discord.py that uses everything the page must be able to show."""

from __future__ import annotations

import asyncio
import io

import discord
from discord import app_commands, ui
from discord.ext import commands
from PIL import Image

__all__ = ["SmallBot"]

CARDS = ("Maren of the Marsh", "The Cartographer", "Old Thorn")


class SmallBot(commands.Bot):
    """Say `/hello`, `/pick`, `/upload`, `/slow`, `/panel`, `/mira`, or use the menu *Quote*."""

    def __init__(self) -> None:
        intents = discord.Intents.default()
        intents.message_content = True
        super().__init__(
            "!",
            intents=intents,
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=10,
            chunk_guilds_at_startup=False,
            guild_ready_timeout=0.0,
        )

    async def setup_hook(self) -> None:
        for command in (hello, pick, upload, slow, panel, mira):
            self.tree.add_command(command)
        self.tree.add_command(quote)
        await self.tree.sync()


class Feelings(ui.Modal, title="How was the evening?"):
    """A text, a choice and a file."""

    words = ui.Label(
        text="In your words", component=ui.TextInput(style=discord.TextStyle.long, max_length=200)
    )
    mark: ui.Label[ui.Modal] = ui.Label(
        text="A mark",
        description="from the heart",
        component=ui.Select(options=[discord.SelectOption(label=t) for t in ("Good", "Splendid")]),
    )
    proof: ui.Label[ui.Modal] = ui.Label(text="A picture", component=ui.FileUpload(required=False))

    async def on_submit(self, interaction: discord.Interaction) -> None:
        words, mark, proof = (label.component for label in (self.words, self.mark, self.proof))
        assert (
            isinstance(words, ui.TextInput)
            and isinstance(mark, ui.Select)
            and isinstance(proof, ui.FileUpload)
        )
        files = ", ".join(a.filename for a in proof.values) or "no picture"
        await interaction.response.send_message(f"{mark.values[0]}: {words.value} ({files})", ephemeral=True)


class Greeting(ui.View):
    """Every kind of answer to a press."""

    def __init__(self) -> None:
        super().__init__(timeout=None)
        self.count = 0

    @ui.button(label="Count 0", style=discord.ButtonStyle.primary, custom_id="count")
    async def count_up(self, interaction: discord.Interaction, button: ui.Button[Greeting]) -> None:
        self.count += 1
        button.label = f"Count {self.count}"
        await interaction.response.edit_message(view=self)

    @ui.button(emoji="🤫", label="Whisper", custom_id="whisper")
    async def whisper(self, interaction: discord.Interaction, button: ui.Button[Greeting]) -> None:
        await interaction.response.send_message("Nobody else hears this.", ephemeral=True)

    @ui.button(label="Ask me", style=discord.ButtonStyle.success, custom_id="ask")
    async def ask(self, interaction: discord.Interaction, button: ui.Button[Greeting]) -> None:
        await interaction.response.send_modal(Feelings())

    @ui.button(label="Nothing", style=discord.ButtonStyle.danger, custom_id="nothing")
    async def nothing(self, interaction: discord.Interaction, button: ui.Button[Greeting]) -> None:
        """Never answers: the page must say that it failed."""

    @ui.button(label="Closed", disabled=True, custom_id="closed")
    async def closed(self, interaction: discord.Interaction, button: ui.Button[Greeting]) -> None:
        raise AssertionError("a disabled button was pressed")

    @ui.select(
        custom_id="drinks",
        placeholder="What will it be?",
        max_values=2,
        options=[discord.SelectOption(label=t, emoji="🍺") for t in ("Ale", "Cider", "Tea")],
    )
    async def drinks(self, interaction: discord.Interaction, select: ui.Select[Greeting]) -> None:
        await interaction.response.send_message(f"Coming: {', '.join(sorted(select.values))}", ephemeral=True)


class Panel(ui.LayoutView):
    """A Components V2 panel with one of everything."""

    def __init__(self, picture: str) -> None:
        super().__init__(timeout=None)
        play: ui.Button[Panel] = ui.Button(
            label="Play", style=discord.ButtonStyle.primary, custom_id="panel-play"
        )
        details: ui.Button[Panel] = ui.Button(label="Details", custom_id="panel-details")
        self.add_item(
            ui.Container(
                ui.Section(
                    ui.TextDisplay("## Maren\n-# keeper of the inn"),
                    accessory=ui.Thumbnail(picture, description="Maren"),
                ),
                ui.Separator(spacing=discord.SeparatorSpacing.large),
                ui.Section(ui.TextDisplay("**Warnings** none"), accessory=details),
                ui.MediaGallery(discord.MediaGalleryItem(picture)),
                ui.ActionRow(play),
                ui.File("attachment://facts.txt"),
                accent_colour=discord.Colour.orange(),
            )
        )


def picture() -> bytes:
    """A small PNG."""
    out = io.BytesIO()
    Image.new("RGB", (120, 90), (150, 90, 60)).save(out, "PNG")
    return out.getvalue()


@app_commands.command()
@app_commands.describe(style="How warmly", loud="In capitals")
@app_commands.choices(
    style=[app_commands.Choice(name="Warm", value="warm"), app_commands.Choice(name="Cold", value="cold")]
)
async def hello(interaction: discord.Interaction, style: str = "warm", loud: bool = False) -> None:
    """Greets you"""
    text = f"A {style} welcome, **{interaction.user.display_name}**!"
    await interaction.response.send_message(text.upper() if loud else text, view=Greeting())


@app_commands.command()
@app_commands.describe(card="Which card")
async def pick(interaction: discord.Interaction, card: str) -> None:
    """Picks a card"""
    embed = discord.Embed(title=card, description="A *card*.", colour=discord.Colour.orange())
    embed.add_field(name="Greetings", value="4").add_field(name="Tokens", value="1204")
    await interaction.response.send_message(embed=embed)


@pick.autocomplete("card")
async def complete(interaction: discord.Interaction, current: str) -> list[app_commands.Choice[str]]:
    return [app_commands.Choice(name=c, value=c) for c in CARDS if current.lower() in c.lower()]


@app_commands.command()
@app_commands.describe(file="Any file")
async def upload(interaction: discord.Interaction, file: discord.Attachment) -> None:
    """Takes a file"""
    await interaction.response.send_message(
        f"{file.filename}: {len(await file.read())} bytes", ephemeral=True
    )


@app_commands.command()
async def slow(interaction: discord.Interaction) -> None:
    """Thinks first"""
    await interaction.response.defer(thinking=True)
    await asyncio.sleep(1.0)
    await interaction.followup.send("I have thought.")


@app_commands.command()
async def panel(interaction: discord.Interaction) -> None:
    """Shows a panel"""
    files = [
        discord.File(io.BytesIO(picture()), "maren.png"),
        discord.File(io.BytesIO(b"facts"), "facts.txt"),
    ]
    await interaction.response.send_message(view=Panel("attachment://maren.png"), files=files)


@app_commands.command()
async def mira(interaction: discord.Interaction) -> None:
    """Lets a character speak"""
    await interaction.response.defer(ephemeral=True)
    channel = interaction.channel
    assert isinstance(channel, discord.TextChannel)
    hook = await channel.create_webhook(name="Inglenook")
    said = await hook.send("*The door*", username="Mira", wait=True)
    for text in ("*The door opens.*", "*The door opens.* “Come **in**.”"):
        await asyncio.sleep(0.3)
        await said.edit(content=text)
    await interaction.delete_original_response()


@app_commands.context_menu(name="Quote")
async def quote(interaction: discord.Interaction, message: discord.Message) -> None:
    await interaction.response.send_message(f"> {message.content}", ephemeral=True)

"""The content that ships: it reads without a warning, and it is what it promises to be."""

import io
import json
from pathlib import Path

from PIL import Image

import config
from engine.resources import make_avatar, read_card, read_preset, read_world_book

SAMPLES = Path(config.__file__).parent / "samples"


def test_the_card_is_whole() -> None:
    card = read_card((SAMPLES / "maren.png").read_bytes(), "maren.png")
    assert card.spec == "v3"
    assert card.speaker == "Maren"
    assert len(card.greetings) == 4
    assert card.book is not None
    assert len(card.book.entries) == 6
    assert [warning for warning in card.warnings if warning.severity == "warning"] == []
    assert all(len(greeting) <= 2000 for greeting in card.greetings)  # one Discord message each
    assert not card.nsfw


def test_the_picture_and_its_source_hold_the_same_card() -> None:
    card = read_card((SAMPLES / "maren.png").read_bytes(), "maren.png")
    assert card.raw == json.loads((SAMPLES / "maren.json").read_text())


def test_the_picture_makes_an_avatar_with_something_on_it() -> None:
    avatar = make_avatar((SAMPLES / "maren.png").read_bytes())
    with Image.open(io.BytesIO(avatar.body)) as picture:
        assert picture.size == (512, 512)
        assert len(picture.convert("RGB").resize((16, 16)).getcolors() or ()) > 100
    assert len(avatar.body) < 1024 * 1024


def test_the_preset_is_whole() -> None:
    preset = read_preset((SAMPLES / "fireside.json").read_bytes(), "Fireside.json")
    assert preset.warnings == ()
    assert (preset.name, preset.temperature, preset.max_tokens) == ("Fireside", 0.9, 900)
    markers = {prompt.identifier for prompt in preset.prompts if prompt.marker and prompt.enabled}
    assert markers == {
        "worldInfoBefore",
        "worldInfoAfter",
        "charDescription",
        "charPersonality",
        "scenario",
        "personaDescription",
        "dialogueExamples",
        "chatHistory",
    }


def test_the_world_book_is_whole() -> None:
    book = read_world_book((SAMPLES / "low_reach.json").read_bytes(), "low_reach.json")
    assert book.warnings == ()
    assert book.name == "The Low Reach"
    assert len(book.entries) == 8
    assert sum(entry.constant for entry in book.entries) == 1

"""SillyTavern's way from a preset and a chat to the messages of a request."""

from engine.prompting.building import EXCEEDED, Built, build
from engine.prompting.examples import Cast
from engine.prompting.message import CountTokens, Part, PromptMessage
from engine.prompting.processing import PLACEHOLDER, post_process
from engine.prompting.quirks import OURS, SILLYTAVERN, Quirk
from engine.prompting.settings import PostProcessing, Settings, settings_of
from engine.prompting.story import ChatLine, Extension, Story

__all__ = [
    "EXCEEDED",
    "OURS",
    "PLACEHOLDER",
    "SILLYTAVERN",
    "Built",
    "Cast",
    "ChatLine",
    "CountTokens",
    "Extension",
    "Part",
    "PostProcessing",
    "PromptMessage",
    "Quirk",
    "Settings",
    "Story",
    "build",
    "post_process",
    "settings_of",
]

"""The sources that come with the program."""

from engine.assembler.sources.native import NATIVE_PLUGIN, native_sources
from engine.assembler.sources.renderer import story_renderer
from engine.assembler.sources.story import STORY_PLUGIN, Template, story_sources

__all__ = ["NATIVE_PLUGIN", "STORY_PLUGIN", "Template", "native_sources", "story_renderer", "story_sources"]

"""What requests are made of: sources that installed packages bring along, and the advanced back end."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bot import provider
from bot.doctor.finding import Finding, good, note
from bot.settings import Settings
from engine.assembler import Algorithms, Sources, native_sources, placements, plug_ins, story_sources
from engine.errors import EngineError

__all__ = ["check"]


async def check(settings: Settings) -> AsyncIterator[Finding]:
    """Findings about packages and strategies. What is missing here keeps nobody from playing."""
    sources = Sources()
    sources.register_all((*native_sources(), *story_sources()))
    own = set(sources.capture())
    algorithms = Algorithms()
    failures = [*plug_ins(sources), *placements(algorithms)]
    if brought := sorted(set(sources.capture()) - own):
        yield good(f"Sources from packages: {', '.join(brought)}.")
    if known := sorted(algorithms.capture()):
        yield good(f"Placement strategies from packages: {', '.join(known)}.")
    for failure in failures:
        yield note(
            f"Sources: the package's entry point “{failure.name}” cannot be used: {failure.reason}",
            "Strategies go without what it would say. Update or remove that package.",
        )
    if settings.assembly.advanced and not await _takes_later_instructions(settings):
        yield note(
            "Strategies: the advanced back end is on, and the model takes instructions only in front of the "
            "conversation.",
            "What a strategy puts behind it as an instruction is refused. If your model does take that, say "
            'so in your own catalogue (model.catalogue): system_prompt_update = "in-history".',
        )


async def _takes_later_instructions(settings: Settings) -> bool:
    """Whether it is known of the model; what is wrong with its settings is told elsewhere."""
    try:
        adapter = provider.adapter(settings)
        config = provider.call_config(settings)
    except EngineError:
        return True
    try:
        return adapter.model_info(config.model).system_prompt_update == "in-history"
    finally:
        await adapter.aclose()

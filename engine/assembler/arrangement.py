"""What a strategy's layout decides about a block, whatever its source: switched off, dragged, outranked.

Sources read it too, where what they hand in depends on it. Source: assembler spec 2.3, 3 and 11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from engine.assembler.blocks import Block, TextBlock
from engine.assembler.definition import Definition
from engine.assembler.layout import SavedPosition
from engine.assembler.strategy import Strategy

__all__ = ["CHARACTER", "GREETING", "HISTORY", "INPUT", "NATIVE_SYSTEM", "Arrangement"]

NATIVE_SYSTEM = "native-system"
HISTORY = "history"
INPUT = "input"
CHARACTER = "character"
GREETING = "greeting"
"""The field of the character's with which the story began."""


class Arrangement:
    """The decisions of one strategy."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.priority = strategy.layout.priority if strategy.layout is not None else None
        saved = (strategy.layout.positions if strategy.layout is not None else None) or ()
        self.saved: Mapping[tuple[str, str], SavedPosition] = {
            position.key: self._kept_on(position) for position in saved
        }

    def _kept_on(self, position: SavedPosition) -> SavedPosition:
        # the standard back end cannot leave the conversation out; what stands next to it in the list still
        # goes by it, and who dragged it is told that it stays
        always = self.strategy.standard and position.source_id in (HISTORY, INPUT)
        return replace(position, enabled=True) if always and not position.enabled else position

    @cached_property
    def default_first(self) -> bool:
        """Whether the order of the list outranks the preset's slots."""
        return self._before("default", "preset")

    @cached_property
    def resource_first(self) -> bool:
        """Whether a resource's own place outranks the preset's slots."""
        return self._before("resource", "preset")

    @cached_property
    def unmoved(self) -> bool:
        """Whether references take all that they mean: nothing outranks them, nobody touched a position."""
        return not self.saved and not self.default_first and not self.resource_first

    @cached_property
    def depth_lost(self) -> bool:
        """Whether the order of the list outranks depths of resources."""
        return self._before("default", "resource")

    @cached_property
    def slot_depth_lost(self) -> bool:
        """Whether what a slot took has no depth any more."""
        return self._before("preset", "resource")

    def _before(self, first: str, second: str) -> bool:
        order = self.priority
        return order is not None and order.index(first) < order.index(second)

    def switched_off(self, source_id: str, position_id: str) -> bool:
        """Whether a person switched the position off."""
        saved = self.saved.get((source_id, position_id)) if self.saved else None
        return saved is not None and not saved.enabled

    def dragged(self, source_id: str, position_id: str) -> bool:
        """Whether a person put the position somewhere."""
        saved = self.saved.get((source_id, position_id)) if self.saved else None
        return saved is not None and saved.dragged and saved.enabled

    def included(self, definition: Definition, block: Block) -> bool:
        """Whether the block may come out at all."""
        if not self.saved:
            return True
        position = definition.position_of(block)
        return position is None or not self.switched_off(definition.id, position.id)

    def movable(self, definition: Definition, block: Block) -> bool:
        """Whether a reference or a macro may take the block to where it stands."""
        if not self.included(definition, block):
            return False
        if not isinstance(block, TextBlock):
            return True  # the conversation stays where its references are, whatever ranks first
        if self.default_first:
            return False
        if not self.saved and not self.resource_first:
            return True
        position = definition.position_of(block)
        if position is None:
            return True
        if self.resource_first and position.anchor is not None:
            return False
        return not self.dragged(definition.id, position.id)

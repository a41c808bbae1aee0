"""The assembler: strategies decide which source's text goes where in a request.

A strategy is a document; sources are registered; `resolve_sources` asks them, `assemble` places what they
handed in, and one of two back ends makes of it what the agent loop can deliver. Assembler spec, seed 001.
"""

from engine.assembler.advanced import (
    AdvancedOutcome,
    Recorded,
    apply_history_policy,
    deliver_advanced,
    read_metadata,
    require_advanced,
)
from engine.assembler.algorithms import Algorithm, Algorithms, Candidate, Choice
from engine.assembler.assembly import Logical, assemble
from engine.assembler.assets import (
    Assets,
    CharacterAsset,
    DepthPrompt,
    LoreAsset,
    PersonaAsset,
    PresetAsset,
    PromptAsset,
)
from engine.assembler.blocks import Block, NativeBlock, Output, ReferenceBlock, TextBlock
from engine.assembler.builtins import (
    DEFAULT_STRATEGY,
    RESERVED,
    STANDALONE_STRATEGY,
    built_in_strategies,
    standalone_strategies,
)
from engine.assembler.controls import Control
from engine.assembler.definition import Definition, Position, PositionAnchor
from engine.assembler.history_filter import Filtered, filter_history
from engine.assembler.history_policy import (
    DEFAULT_POLICY,
    Fragment,
    HistoryPolicy,
    StandardChange,
    check_standard_policy,
    is_tombstone,
    read_policy,
    standard_changes,
    tombstone_source,
)
from engine.assembler.layout import AUTOMATIC, Anchor, Layout, Override, SavedPosition
from engine.assembler.legality import check_standard
from engine.assembler.node import Node, NodeMessage, Slot
from engine.assembler.projection import CEILING, Carrier, Projection, project_system
from engine.assembler.registry import PROTOCOL, PlugInFailure, Sources, placements, plug_ins
from engine.assembler.request import MAX_BYTES, AssemblyRequest, Retained, SourceContext
from engine.assembler.resolution import Resolution, check_rules, resolve_sources
from engine.assembler.selections import (
    Applied,
    Mode,
    Shelf,
    apply_strategy,
    inherit,
    remove_strategy,
    save_strategy,
    selection,
    strategy_of,
)
from engine.assembler.sources import Template, native_sources, story_sources
from engine.assembler.standard import (
    ASSEMBLER_KIND,
    OfficialPart,
    PlannedPart,
    PreStep,
    StandardOutcome,
    deliver_standard,
    switched_contexts,
)
from engine.assembler.store import AssemblyStore, KeptStrategy
from engine.assembler.strategy import FORMAT, Rule, Strategy, read_strategy, strategy_from_bytes
from engine.assembler.transactions import insertion_index

__all__ = [
    "ASSEMBLER_KIND",
    "AUTOMATIC",
    "CEILING",
    "DEFAULT_POLICY",
    "DEFAULT_STRATEGY",
    "FORMAT",
    "MAX_BYTES",
    "PROTOCOL",
    "RESERVED",
    "STANDALONE_STRATEGY",
    "AdvancedOutcome",
    "Algorithm",
    "Algorithms",
    "Anchor",
    "Applied",
    "AssemblyRequest", "AssemblyStore",
    "Assets",
    "Block",
    "Candidate",
    "Carrier",
    "CharacterAsset",
    "Choice",
    "Control",
    "Definition",
    "DepthPrompt",
    "Filtered",
    "Fragment",
    "HistoryPolicy", "KeptStrategy", "Layout",
    "Logical",
    "LoreAsset",
    "Mode",
    "NativeBlock",
    "Node",
    "NodeMessage",
    "OfficialPart",
    "Output",
    "Override",
    "PersonaAsset",
    "PlannedPart",
    "PlugInFailure",
    "Position",
    "PositionAnchor",
    "PreStep",
    "PresetAsset",
    "Projection",
    "PromptAsset",
    "Recorded",
    "ReferenceBlock",
    "Resolution",
    "Retained",
    "Rule",
    "SavedPosition",
    "Shelf",
    "Slot",
    "SourceContext",
    "Sources",
    "StandardChange",
    "StandardOutcome",
    "Strategy",
    "Template",
    "TextBlock",
    "apply_history_policy",
    "apply_strategy",
    "assemble",
    "built_in_strategies",
    "check_rules",
    "check_standard",
    "check_standard_policy",
    "deliver_advanced",
    "deliver_standard",
    "filter_history",
    "inherit",
    "insertion_index",
    "is_tombstone",
    "native_sources",
    "placements",
    "plug_ins",
    "project_system",
    "read_metadata",
    "read_policy",
    "read_strategy",
    "remove_strategy",
    "require_advanced",
    "resolve_sources",
    "save_strategy",
    "selection",
    "standalone_strategies",
    "standard_changes",
    "story_sources",
    "strategy_from_bytes",
    "strategy_of",
    "switched_contexts",
    "tombstone_source",
]  # fmt: skip

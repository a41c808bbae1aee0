"""Tavern: what a story's resources become in a request."""

from engine.tavern.adapters import (
    Adapters,
    CharacterAdapter,
    CharacterFound,
    Query,
    Slot,
    Speaker,
    UserAdapter,
    UserFound,
    WorldBookAdapter,
    WorldBooksFound,
)
from engine.tavern.assembly_input import AssemblyInput, SourceText
from engine.tavern.books import StoryBooks, own_book, story_books
from engine.tavern.compilation import Compilation, NamedSection, ResourceUse
from engine.tavern.conversation import GENERATION, NORMAL
from engine.tavern.library_adapters import LibraryAdapter, library_adapters
from engine.tavern.loader import ModelFacts, ProfileLoader
from engine.tavern.parameters import PresetParameters
from engine.tavern.profile import (
    CallParameters,
    LoreBudget,
    LoreFinish,
    Profile,
    ProfileRequest,
    Section,
    UserInjection,
)
from engine.tavern.profile_section import ProfileSection
from engine.tavern.renderer import compile_profile, lore_of
from engine.tavern.script_runner import EDITED, SCRIPTS_RECORD, ScriptRunner, labelled
from engine.tavern.scripts import ScriptTrial, StoryScripts, story_scripts, try_scripts
from engine.tavern.story_runner import AI_OUTPUT, USER_INPUT, LoreScripts, Rewritten, StoryRunner
from engine.tavern.texts import greeting_text
from engine.tavern.trial import LoreTrial, LoreTrials
from engine.tavern.variables import VARIABLES_RECORD, VariableChanges, fold_variables
from engine.tavern.watches import PATTERN_STOPPED, PatternStopped, Watches

__all__ = [
    "AI_OUTPUT",
    "EDITED",
    "GENERATION",
    "NORMAL",
    "PATTERN_STOPPED",
    "SCRIPTS_RECORD",
    "USER_INPUT",
    "VARIABLES_RECORD",
    "Adapters",
    "AssemblyInput",
    "CallParameters",
    "CharacterAdapter",
    "CharacterFound",
    "Compilation",
    "LibraryAdapter",
    "LoreBudget",
    "LoreFinish",
    "LoreScripts",
    "LoreTrial",
    "LoreTrials",
    "ModelFacts",
    "NamedSection",
    "PatternStopped",
    "PresetParameters",
    "Profile",
    "ProfileLoader",
    "ProfileRequest",
    "ProfileSection",
    "Query",
    "ResourceUse",
    "Rewritten",
    "ScriptRunner",
    "ScriptTrial",
    "Section",
    "Slot",
    "SourceText",
    "Speaker",
    "StoryBooks",
    "StoryRunner",
    "StoryScripts",
    "UserAdapter",
    "UserFound",
    "UserInjection",
    "VariableChanges",
    "Watches",
    "WorldBookAdapter",
    "WorldBooksFound",
    "compile_profile",
    "fold_variables",
    "greeting_text",
    "labelled",
    "library_adapters",
    "lore_of",
    "own_book",
    "story_books",
    "story_scripts",
    "try_scripts",
]

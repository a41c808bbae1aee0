"""The library: stored content, personas, what comes along with what, and what each session uses."""

from engine.library.consents import Consents
from engine.library.drafts import recognised
from engine.library.exports import ExportFile, forms_of
from engine.library.library import Library
from engine.library.personas import MAX_PERSONAS, Personas, PersonasCame, StoredPersona
from engine.library.relations import MAX_RELATED, Holder, Relations
from engine.library.rows import Kind, ResourceRow
from engine.library.selections import Selection, Selections, merged, selection_from_wire
from engine.library.shelf import Sort
from engine.library.stock import LibraryLimits
from engine.library.templates import Preview, Template, Templates
from engine.library.variables import GlobalVariables

__all__ = [
    "MAX_PERSONAS",
    "MAX_RELATED",
    "Consents",
    "ExportFile",
    "GlobalVariables",
    "Holder",
    "Kind",
    "Library",
    "LibraryLimits",
    "Personas",
    "PersonasCame",
    "Preview",
    "Relations",
    "ResourceRow",
    "Selection",
    "Selections",
    "Sort",
    "StoredPersona",
    "Template",
    "Templates",
    "forms_of",
    "merged",
    "recognised",
    "selection_from_wire",
]

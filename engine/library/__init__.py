"""The library: stored content, personas, and what each session uses."""

from engine.library.library import Library, LibraryLimits, StoredPersona
from engine.library.rows import Kind, ResourceRow
from engine.library.selections import Selection, Selections

__all__ = ["Kind", "Library", "LibraryLimits", "ResourceRow", "Selection", "Selections", "StoredPersona"]

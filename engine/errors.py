"""Every error that the engine raises, in one tree.

    EngineError
    ├── InputError                 what a person gave us cannot be used; the text says how to mend it
    │   ├── ResourceError          a card, preset or other file (codes: the reader's own)
    │   │   └── PatternRefused     PATTERN_INVALID (with `position`), PATTERN_TOO_LONG, PATTERN_FLAGS
    │   ├── PatternTimeout         a pattern that needed more time on a text than it may have
    │   └── NotFound               the thing named does not exist (any more)
    ├── SessionError
    │   ├── AppendRefused          an event that the log does not take; `category` is the machine slug
    │   ├── SessionForkError       SESSION_ALREADY_EXISTS, _NOT_FOUND, _NOT_LIVE, INVALID_BOUNDARY
    │   ├── SessionCorrupt         a stored log that cannot be true
    │   └── FormatUnsupported      a stored log of a version, or with a required event, that we do not know
    ├── StorageError
    │   ├── Conflict               a compare-and-swap found another value
    │   ├── StaleSession           the writer's epoch is over: somebody else owns the session now
    │   ├── HandleClosed           the database was closed
    │   └── MigrationMismatch      the database's migrations are not the program's
    ├── LlmError                   a model call that failed; carries a `Failure`
    ├── HookError                  a listener broke the rules of its hook
    ├── AgentError                 an agent cannot do what was asked in its state
    ├── AssemblyError              a strategy or a source that cannot be carried out; has an HTTP `status`
    └── PlayError                  a playthrough cannot do what was asked; codes PLAY_*

Each class has a machine `code` beside it; an instance may narrow it. A surface that
talks to people switches on `code`, never on the text. `data` carries the facts.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "DISK_CODES",
    "AgentError",
    "AppendRefused",
    "AssemblyError",
    "Conflict",
    "EngineError",
    "FormatUnsupported",
    "HandleClosed",
    "HookError",
    "InputError",
    "LlmError",
    "MigrationMismatch",
    "NotFound",
    "PatternRefused",
    "PatternTimeout",
    "PlayError",
    "ResourceError",
    "SessionCorrupt",
    "SessionError",
    "SessionForkError",
    "StaleSession",
    "StorageError",
]


class EngineError(Exception):
    """Something in the engine failed."""

    code: ClassVar[str] = "ENGINE"

    def __init__(self, message: str | None = None, *, code: str | None = None, **data: Any) -> None:
        # The docstring is the default message, so that no error can lack a text.
        self.message = message or (self.__doc__ or "").strip().splitlines()[0]
        self.error_code = code or self.code
        self.data = data
        super().__init__(self.message)


class InputError(EngineError):
    """What was given cannot be used."""

    code = "INPUT"


class ResourceError(InputError):
    """The file is not one that we can read."""

    code = "RESOURCE_INVALID"


class PatternRefused(ResourceError):
    """This is no pattern that can be used."""

    code = "PATTERN_INVALID"


class PatternTimeout(InputError):
    """The pattern takes too long on this text."""

    code = "PATTERN_TIMEOUT"


class NotFound(InputError):
    """It does not exist, or not any more."""

    code = "NOT_FOUND"


class SessionError(EngineError):
    """The session cannot do this."""

    code = "SESSION"


class AppendRefused(SessionError):
    """The log does not take this event."""

    code = "APPEND_REFUSED"

    def __init__(self, message: str | None = None, *, category: str, **data: Any) -> None:
        super().__init__(message, category=category, **data)
        self.category = category


class SessionForkError(SessionError):
    """The session cannot be forked there."""

    code = "INVALID_BOUNDARY"


class SessionCorrupt(SessionError):
    """The stored log contradicts itself."""

    code = "SESSION_CORRUPT"


class FormatUnsupported(SessionError):
    """The stored log was written by a version that this program does not know."""

    code = "FORMAT_UNSUPPORTED"


class StorageError(EngineError):
    """The database failed."""

    code = "STORAGE"


DISK_CODES = frozenset({"DISK_FULL", "DISK_IO", "READ_ONLY", "DATABASE_BUSY"})
"""Codes of StorageErrors that speak of the disk, and not of what was to be written there."""


class Conflict(StorageError):
    """Somebody else changed it first."""

    code = "CONFLICT"


class StaleSession(StorageError):
    """Another writer owns this session now."""

    code = "STALE_SESSION"


class HandleClosed(StorageError):
    """The database is closed."""

    code = "HANDLE_CLOSED"


class MigrationMismatch(StorageError):
    """The database was made by a different version of this program."""

    code = "MIGRATION_MISMATCH"


class LlmError(EngineError):
    """The model call failed."""

    code = "UNKNOWN"


class HookError(EngineError):
    """A listener broke the rules of its hook."""

    code = "HOOK"


class AgentError(EngineError):
    """The agent cannot do this now."""

    code = "AGENT"


class AssemblyError(EngineError):
    """The request cannot be put together like this."""

    code = "ASSEMBLY"

    @property
    def status(self) -> int:
        """What an HTTP surface answers: 400 for a malformed document or source, else mostly 409."""
        return int(self.data.get("status", 409))


class PlayError(EngineError):
    """The story cannot do this now."""

    code = "PLAY"

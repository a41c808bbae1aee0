"""How the assembler refuses and what it remarks.

A refusal is an `AssemblyError`; a diagnostic is a plain JSON object with a `code`. The codes are those of
assembler spec 8; where the reference has none, the code is ours and begins with SOURCE_, TOOL_ or STRATEGY_.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engine.cancel import Cancelled
from engine.codec import JsonObject
from engine.errors import AssemblyError, EngineError

__all__ = [
    "Remarks",
    "blaming",
    "document_invalid",
    "is_first",
    "note",
    "refuse",
    "source_invalid",
    "too_large",
    "unsupported",
]


def note(code: str, **facts: Any) -> JsonObject:
    """A diagnostic."""
    return {"code": code, **facts}


def refuse(code: str, message: str, *, status: int = 409, **facts: Any) -> AssemblyError:
    """A refusal with a code that people are told."""
    return AssemblyError(message, code=code, status=status, **facts)


def document_invalid(message: str, **facts: Any) -> AssemblyError:
    """A strategy document that cannot be read."""
    return AssemblyError(message, code="STRATEGY_INVALID", status=400, **facts)


def is_first(version: object) -> bool:
    """Whether a document says that it is of version 1; `true` is equal to 1 here, and not in JSON."""
    return version == 1 and not isinstance(version, bool)


def source_invalid(
    message: str, code: str = "SOURCE_OUTPUT_INVALID", *, status: int = 500, **facts: Any
) -> AssemblyError:
    """A source that broke its protocol: a fault of its author, not of whoever plays."""
    return AssemblyError(message, code=code, status=status, **facts)


@contextmanager
def blaming(name: str, kind: str) -> Iterator[None]:
    """Around the code of a source: whatever it raises, other than a refusal or a stop, is SOURCE_FAILED."""
    try:
        yield
    except (Cancelled, EngineError):
        raise
    except Exception as error:
        raise source_invalid(f"{name} ({kind}) failed: {error}", "SOURCE_FAILED", source_id=kind) from error


def unsupported(message: str, **facts: Any) -> AssemblyError:
    """What the standard back end cannot deliver."""
    return AssemblyError(message, code="ASSEMBLY_NATIVE_UNSUPPORTED", **facts)


def too_large(size: int, most: int) -> AssemblyError:
    """More than may be added to the conversation. Bytes; characters where that many are too many already."""
    return refuse(
        "ASSEMBLY_TOO_LARGE",
        f"What is added to the conversation takes {size} bytes; {most} are allowed.",
        status=413,
        bytes=size,
        most=most,
    )


class Remarks:
    """The diagnostics of one assembly, in order."""

    def __init__(self) -> None:
        self.list: list[JsonObject] = []

    def add(self, code: str, **facts: Any) -> None:
        """Remark something."""
        self.list.append({"code": code, **facts})

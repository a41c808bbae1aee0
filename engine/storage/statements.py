"""Named SQL: statements live in `.sql` files and are called by name.

A file is a list of entries, each a name line, at least one comment line that says what the
statement is for, and one statement:

    -- name: session_get
    -- One session's own row.
    SELECT … FROM session WHERE id = :id;
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from engine.errors import StorageError

__all__ = ["Statement", "load_statements", "split_statements"]

_NAME = re.compile(r"^-- name: ([a-z][a-z0-9_]*)$")


@dataclass(frozen=True, slots=True)
class Statement:
    """One named statement: its purpose in words, its text, and the file that it stands in."""

    name: str
    comment: str
    text: str
    source: str


def load_statements(folder: Traversable) -> Mapping[str, Statement]:
    """Every statement of the folder's `.sql` files by name.

    Raises StorageError, code SQL_FILE, naming file and line, for: a name used twice (in any file),
    an entry without a comment, without a statement, or with more than one; text before the first name.
    """
    found: dict[str, Statement] = {}
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda f: f.name)
    for file in files:
        for statement in _entries(file.name, file.read_text("utf-8")):
            known = found.get(statement.name)
            if known is not None:
                raise _broken(statement.source, f"{statement.name} is defined in {known.source} already")
            found[statement.name] = statement
    return found


def split_statements(text: str) -> Iterator[str]:
    """The complete statements of a script, each with its comments; triggers stay whole.

    Raises ValueError when the last statement has no semicolon.
    """
    pending = ""
    *closed, rest = text.split(";")
    for piece in closed:
        pending += piece + ";"
        if sqlite3.complete_statement(pending):  # knows strings, comments and trigger bodies
            yield pending.strip()
            pending = ""
    pending += rest
    if any(line.strip() and not line.lstrip().startswith("--") for line in pending.splitlines()):
        raise ValueError(f"a statement without a closing semicolon: {pending.strip()[:80]}")


def _entries(file: str, text: str) -> Iterator[Statement]:
    name, at = "", 0
    body: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _NAME.match(line.rstrip())
        if match is None:
            if line.startswith("-- name"):
                raise _broken(f"{file}:{number}", "a name line reads `-- name: lower_case_words`")
            if not name and line.strip():
                raise _broken(f"{file}:{number}", "text before the first `-- name:` line")
            body.append(line)
            continue
        if name:
            yield _entry(f"{file}:{at}", name, body)
        name, at, body = match.group(1), number, []
    if name:
        yield _entry(f"{file}:{at}", name, body)


def _entry(source: str, name: str, lines: list[str]) -> Statement:
    comment: list[str] = []
    while lines and lines[0].startswith("--"):
        comment.append(lines.pop(0).removeprefix("--").strip())
    if not any(comment):
        raise _broken(source, f"{name} has no comment line that says what it is for")
    try:
        statements = list(split_statements("\n".join(lines)))
    except ValueError as error:
        raise _broken(source, f"{name} has {error}") from None
    if len(statements) != 1:
        raise _broken(source, f"{name} must hold one statement, it holds {len(statements)}")
    return Statement(name, " ".join(comment), statements[0].rstrip(";").rstrip(), source)


def _broken(source: str, why: str) -> StorageError:
    return StorageError(f"{source}: {why}", code="SQL_FILE", source=source)

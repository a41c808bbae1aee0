"""The text of a scope without the indentation that its author gave it to be read. Spec sillytavern 4.2."""

from __future__ import annotations

from collections.abc import Sequence

from engine.macros.nodes import Node, Text

__all__ = ["dedented"]

_INDENT = " \t"


def dedented(source: str, nodes: Sequence[Node]) -> list[tuple[Node, str | None]]:
    """Each node with its text, or None where it is no literal text.

    Lines lose the indentation of the first line that is not blank; a line with less loses all it has.
    """
    width = _first_indent(source, nodes)
    result: list[tuple[Node, str | None]] = []
    fresh = True  # at the beginning of a line
    for node in nodes:
        if not isinstance(node, Text):
            result.append((node, None))
            fresh = False
            continue
        text = source[node.start : node.end]
        if width:
            lines = text.split("\n")
            lines[1:] = [_shifted(line, width) for line in lines[1:]]
            if fresh:
                lines[0] = _shifted(lines[0], width)
            text = "\n".join(lines)
        result.append((node, text))
        fresh = text.endswith("\n")
    return result


def _first_indent(source: str, nodes: Sequence[Node]) -> int:
    width = 0
    for node in nodes:
        if not isinstance(node, Text):
            return width
        for number, line in enumerate(source[node.start : node.end].split("\n")):
            if number:
                width = 0
            blanks = len(line) - len(line.lstrip(_INDENT))
            if line.strip():
                return width + blanks
            width += blanks
    return 0


def _shifted(line: str, width: int) -> str:
    blanks = len(line) - len(line.lstrip(_INDENT))
    return line[min(blanks, width) :]

"""From the raw text of a call to validated arguments, or to an error that the model can mend.

Source: spec agent-loop 3.7.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from engine.agent.tools.tool import Tool, ToolOutcome, failed
from engine.codec import loads

__all__ = ["parse_arguments", "validate"]

_TOLD = 5  # mistakes; a model that made more of them starts anew rather than mends them


def parse_arguments(raw: str) -> Any:
    """The JSON value; an empty text is `{}`. What is no JSON stays the text that it is."""
    if not raw.strip():
        return {}
    try:
        return loads(raw)
    except ValueError:
        return raw


def validate(tool: Tool, arguments: Any) -> BaseModel | ToolOutcome:
    """The arguments as the tool's model, or what the model is told instead."""
    if isinstance(arguments, str):
        return _invalid("The arguments are not valid JSON. Send one JSON object.")
    if not isinstance(arguments, dict):
        return _invalid("The arguments must be one JSON object.")
    try:
        return tool.arguments.model_validate(arguments)
    except ValidationError as error:
        mistakes = error.errors(include_url=False, include_input=False, include_context=False)
        lines = [f"- {_place(mistake['loc'])}: {mistake['msg']}" for mistake in mistakes[:_TOLD]]
        if len(mistakes) > _TOLD:
            lines.append(f"- and {len(mistakes) - _TOLD} more")
        return _invalid("\n".join(["The arguments do not fit.", *lines]))


def _place(path: tuple[int | str, ...]) -> str:
    return ".".join(map(str, path)) or "arguments"


def _invalid(text: str) -> ToolOutcome:
    return failed(text, "INVALID_ARGUMENTS", "ToolArgumentsError")

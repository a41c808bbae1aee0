"""The model catalogue: TOML data that users extend, looked up by provider and model name.

A file is a list of `[[model]]` tables. `provider` and `model` are patterns with `*` and `?`,
upper and lower case alike. Every fact comes from the first entry that fits and states it, so
that a user's file, which goes before the one that we ship, need not repeat what is known.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.errors import InputError
from engine.llm.model import Dialect, ImageLimits, Modality, ModelInfo, Price, SystemPromptUpdate, ToolUpdate

__all__ = ["Catalogue"]

# Facts that are tables, whose keys are looked for one by one. A price is none: half a price is no price.
_LAYERED = ("dialect", "images")


class _Entry(BaseModel):
    """One `[[model]]` table. Unknown keys are refused: a misspelt limit would silently not hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: str = "*"
    model: str
    context_window: int | None = Field(default=None, gt=0)
    max_output: int | None = Field(default=None, gt=0)
    default_max_tokens: int | None = Field(default=None, gt=0)
    reasoning_efforts: tuple[str, ...] | None = None
    default_effort: str | None = None
    modalities: frozenset[Modality] = frozenset[Modality]({"text"})
    images: ImageLimits = ImageLimits()
    system_prompt_update: SystemPromptUpdate = "none"
    tool_update: ToolUpdate = "none"
    price: Price | None = None
    dialect: Dialect = Dialect()


_FACTS = tuple(name for name in _Entry.model_fields if name not in ("provider", "model"))


@dataclass(frozen=True, slots=True)
class _Row:
    """A table that was found valid: its patterns in lower case, and what it states, as it stands there."""

    provider: str
    model: str
    facts: Mapping[str, Any]

    def fits(self, provider: str, model: str) -> bool:
        return fnmatchcase(provider.lower(), self.provider) and fnmatchcase(model.lower(), self.model)


class Catalogue:
    """An ordered list of entries. Immutable."""

    def __init__(self, rows: tuple[Any, ...] = ()) -> None:
        self._rows: tuple[_Row, ...] = rows

    def __len__(self) -> int:
        return len(self._rows)

    @classmethod
    def parse(cls, text: str, *, name: str = "the model catalogue") -> Catalogue:
        """Read TOML. Raises InputError LLM_CATALOGUE, which names `name` and the key at fault."""
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{name} is not TOML: {error}.", code="LLM_CATALOGUE") from None
        unknown = sorted(set(tables) - {"model"})
        rows = tables.get("model", [])
        if unknown or not isinstance(rows, list):
            raise InputError(f"{name} may hold only [[model]] tables.", code="LLM_CATALOGUE", unknown=unknown)
        found = []
        for number, row in enumerate(rows, start=1):
            try:
                entry = _Entry.model_validate(row)
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                key = ".".join(str(part) for part in first["loc"])
                raise InputError(
                    f"{name}, [[model]] number {number}, key {key}: {first['msg']}.", code="LLM_CATALOGUE"
                ) from None
            facts = {name: row[name] for name in _FACTS if name in row}
            found.append(_Row(entry.provider.lower(), entry.model.lower(), facts))
        return cls(tuple(found))

    @classmethod
    def load(cls, path: Path) -> Catalogue:
        """Read a file. Raises InputError LLM_CATALOGUE, also when it cannot be opened."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read: {error}.", code="LLM_CATALOGUE") from None
        return cls.parse(text, name=str(path))

    def extended(self, user: Catalogue) -> Catalogue:
        """A catalogue in which the user's entries go first."""
        return Catalogue(user._rows + self._rows)

    def find(self, provider: str, model: str) -> ModelInfo:
        """What is known of a model; an empty record when no entry fits."""
        facts: dict[str, Any] = {}
        for row in self._rows:
            if row.fits(provider, model):
                layers = {name: row.facts.get(name, {}) | facts.get(name, {}) for name in _LAYERED}
                facts = {**row.facts, **facts, **layers}
        entry = _Entry.model_validate({"model": model, **facts})
        return replace(ModelInfo(provider, model), **{name: getattr(entry, name) for name in _FACTS})

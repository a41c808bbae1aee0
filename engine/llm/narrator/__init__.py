"""The offline narrator: prose without a model, so that all can be tried with no key and no network."""

from __future__ import annotations

from engine.llm.narrator.adapter import Narrator

__all__ = ["Narrator"]

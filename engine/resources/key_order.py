"""Giving a JSON value's objects the order of fields that another has.

Stored documents are canonical, their fields sorted; a file that goes out again has its fields where its
author put them (decision 23).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["in_order_of"]


def in_order_of(value: Any, model: Any) -> Any:
    """The value, with the fields of its objects in the order that they have in the model; new ones last."""
    if isinstance(value, Mapping) and isinstance(model, Mapping):
        keys = [key for key in model if key in value] + [key for key in value if key not in model]
        return {key: in_order_of(value[key], model.get(key)) for key in keys}
    if isinstance(value, list | tuple) and isinstance(model, list | tuple):
        known = list(model) + [None] * (len(value) - len(model))
        return [in_order_of(item, other) for item, other in zip(value, known, strict=False)]
    return value

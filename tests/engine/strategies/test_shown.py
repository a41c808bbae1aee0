"""What the parts of a request are called."""

from __future__ import annotations

import pytest

from engine.agent import Part
from engine.strategies.shown import labelled_part
from engine.tavern.compilation import PART


@pytest.mark.parametrize(
    ("name", "label", "module"),
    [
        (f"{PART}:0003:user:persona", "persona", "persona"),
        (f"{PART}:0007:lore:after", "after", "worldbook"),
        (f"{PART}:0001:preset:main", "main", "preset"),
        (f"{PART}:0002:preset:a:b", "a:b", "preset"),
        ("safety", "safety", "native-system"),
    ],
)
def test_a_part_that_no_strategy_placed_is_named_by_the_source_it_is_from(
    name: str, label: str, module: str
) -> None:
    assert labelled_part(Part(name, "text")) == (label, module)

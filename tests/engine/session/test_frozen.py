"""Lossless JSON, frozen (session spec 2; cases 2 to 4 of section 8)."""

import copy
import datetime
import pickle
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.codec import canonical, loads
from engine.errors import AppendRefused
from engine.session import FrozenDict, freeze, thaw
from engine.session.frozen import MAX_DEPTH, adopt

SAFE = 2**53 - 1

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-SAFE, SAFE)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: str(number) != "-0.0")
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=20,
)


def cycle() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = [value]
    return value


class Money(int):
    """A subclass: JSON would lose what it adds."""


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        float("-inf"),
        -0.0,
        SAFE + 1,
        -SAFE - 1,
        {1: "a"},
        {"a", "b"},
        b"bytes",
        datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
        Money(3),
        object(),
        "\ud800",
        {"\udfff": 1},
        cycle(),
    ],
    ids=lambda value: type(value).__name__,  # the same in every process
)
def test_what_json_cannot_hold_is_refused_wherever_it_stands(value: object) -> None:
    for carrier in (value, [value], {"member": value}):
        with pytest.raises(AppendRefused) as refusal:
            freeze(carrier)
        assert refusal.value.category == "json-data"


def test_a_value_nested_deeper_than_the_writer_can_write_is_refused() -> None:
    deep: Any = "bottom"
    for _ in range(MAX_DEPTH):
        deep = [deep]

    assert canonical(freeze(deep))
    with pytest.raises(AppendRefused):
        freeze([deep])


def test_a_value_that_is_shared_but_no_cycle_is_copied_twice() -> None:
    shared = {"x": 1}

    frozen = freeze({"a": shared, "b": shared})

    assert frozen == {"a": {"x": 1}, "b": {"x": 1}}


@given(json_values)
def test_a_frozen_value_says_the_same_and_is_written_the_same(value: Any) -> None:
    frozen = freeze(value)

    assert thaw(frozen) == value
    assert canonical(frozen) == orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    assert adopt(loads(canonical(frozen))) == frozen


@given(json_values)
def test_freezing_again_changes_nothing(value: Any) -> None:
    frozen = freeze(value)

    assert freeze(frozen) == frozen


def test_a_frozen_object_is_handed_back_as_it_is() -> None:
    frozen = freeze({"a": [1]})

    assert freeze(frozen) is frozen


def test_the_copy_is_detached_from_its_original() -> None:
    original = {"content": [{"text": "before"}]}

    frozen = freeze(original)
    original["content"][0]["text"] = "after"

    assert frozen == {"content": ({"text": "before"},)}


def change_item(value: Any) -> None:
    value["a"] = 2


def remove_item(value: Any) -> None:
    del value["a"]


def merge(value: Any) -> None:
    value |= {"b": 1}


@pytest.mark.parametrize(
    "change",
    [
        change_item,
        remove_item,
        merge,
        lambda value: value.update(b=1),
        lambda value: value.pop("a"),
        lambda value: value.popitem(),
        lambda value: value.clear(),
        lambda value: value.setdefault("b", 1),
        lambda value: value["list"].append(1),
        lambda value: setattr(value, "attribute", 1),
    ],
)
def test_a_frozen_object_cannot_be_changed(change: Any) -> None:
    frozen: Any = freeze({"a": 1, "list": [1]})

    with pytest.raises((TypeError, AttributeError)):
        change(frozen)
    assert frozen == {"a": 1, "list": (1,)}


def test_copies_of_a_frozen_object_stay_frozen() -> None:
    frozen = freeze({"a": {"b": [1]}})

    assert copy.copy(frozen) is frozen
    assert copy.deepcopy(frozen) is frozen
    assert type(pickle.loads(pickle.dumps(frozen))) is FrozenDict

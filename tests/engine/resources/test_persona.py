"""Personas: a name of one line, a description, limits that speak."""

import pytest

from engine.errors import ResourceError
from engine.resources import make_persona


def test_names_are_one_trimmed_line_and_descriptions_keep_theirs() -> None:
    found = make_persona("  Mira \n of  the Ford ", "tall\r\nand quick\x00 ")
    assert (found.name, found.description) == ("Mira of the Ford", "tall\nand quick")


@pytest.mark.parametrize(
    ("name", "field"), [("", "name"), (" \x00 ", "name"), ("\u200b\u200b", "name"), ("x" * 81, "name")]
)
def test_a_name_that_cannot_stand_is_refused(name: str, field: str) -> None:
    with pytest.raises(ResourceError) as caught:
        make_persona(name)
    assert (caught.value.error_code, caught.value.data["field"]) == ("PERSONA_INVALID", field)


def test_signs_that_turn_the_writing_around_are_left_out_and_joiners_stay() -> None:
    assert make_persona("\u202eariM\u202c").name == "ariM"
    family = "\U0001f469\u200d\U0001f466"
    assert make_persona(family).name == family


def test_a_description_may_be_long_but_not_endless() -> None:
    assert len(make_persona("Mira", "x" * 100_000).description) == 100_000
    with pytest.raises(ResourceError, match="100,000"):
        make_persona("Mira", "x" * 100_001)

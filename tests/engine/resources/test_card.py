"""Cards from JSON: the three versions, and the broken ones of the wild with their repairs."""

import json
import tracemalloc
from typing import Any

import pytest

from engine.errors import ResourceError
from engine.resources import Card, read_card
from tests.engine.resources.pngs import v2, v3


def card(value: Any, filename: str = "card.json") -> Card:
    return read_card(value if isinstance(value, bytes) else json.dumps(value).encode(), filename)


def refusal(value: Any) -> ResourceError:
    with pytest.raises(ResourceError) as caught:
        card(value)
    return caught.value


def codes(found: Card) -> set[str]:
    return {warning.code for warning in found.warnings}


def test_a_flat_object_with_a_name_is_v1() -> None:
    found = card({"name": "Ada", "description": "d", "first_mes": "Hi", "creatorcomment": "c"})
    assert (found.spec, found.name, found.description, found.creator_notes) == ("v1", "Ada", "d", "c")
    assert found.greetings == ("Hi",)
    assert found.warnings == ()


def test_v2_reads_its_data_and_not_the_copies_beside_it() -> None:
    found = card({**v2("Inner", personality="kind"), "name": "Outer", "personality": "cruel"})
    assert (found.name, found.personality) == ("Inner", "kind")


def test_fields_that_only_the_top_level_has_are_taken_from_there() -> None:
    found = card({**v2("Ada"), "description": "from the top"})
    assert found.description == "from the top"
    assert codes(found) == {"field-from-top-level"}


def test_v3_has_a_nickname_which_is_what_char_means() -> None:
    assert card(v3("Seraphina of the Glade", nickname="Sera")).speaker == "Sera"
    assert card(v3("Ada", nickname="   ")).speaker == "Ada"


def test_a_newer_version_is_read_with_a_warning_and_keeps_its_fields() -> None:
    document = {**v3("Ada", hologram={"x": 1}), "spec_version": "3.7"}
    found = card(document)
    assert codes(found) == {"newer-v3-version"}
    assert found.raw == document


def test_a_card_without_its_spec_is_known_by_its_data() -> None:
    plain = card({"data": {"name": "Ada"}})
    newer = card({"spec": "my_tool", "spec_version": "3.0", "data": {"name": "Ada"}})
    assert (plain.spec, newer.spec) == ("v2", "v3")
    assert codes(plain) == codes(newer) == {"unknown-spec"}


def test_v3_fields_arrive() -> None:
    found = card(
        v3(
            creator_notes="plain",
            creator_notes_multilingual={"ja": "日本", "zh-cn": "中文", "de": ""},
            source=["https://example.com/a"],
            creation_date=1_700_000_000,
            modification_date="0",
            first_mes="Hi",
            group_only_greetings=["All", " "],
        )
    )
    assert (found.created, found.modified, found.source) == (1_700_000_000, 0, ("https://example.com/a",))
    assert found.group_greetings == ("Hi", "All")
    assert [found.notes_for(name) for name in ("ja", "zh-CN", "de", "fr")] == [
        "日本",
        "中文",
        "plain",
        "plain",
    ]
    english = card(v3(creator_notes="plain", creator_notes_multilingual={"en": "English"}))
    assert english.notes_for("en-GB") == "English"
    assert card(v3(creator_notes_multilingual={"ja": "日本"})).notes_for("en") == "日本"
    assert card(v3()).notes_for("en") == ""


@pytest.mark.parametrize(
    ("given", "value"), [("0.8", 0.8), (2, 1.0), ("x", 0.5), (None, 0.5), ([], 0.5), (0, 0.0)]
)
def test_talkativeness_may_be_text_and_stays_in_its_range(given: Any, value: float) -> None:
    assert card(v2(extensions={"talkativeness": given})).talkativeness == value
    assert card({"name": "Ada", "talkativeness": given}).talkativeness == value


def test_whole_numbers_of_64_bits_stay_exact() -> None:
    found = card(b'{"name": "Ada", "id": 1234567890123456789, "x": "\x01"}')
    assert found.raw["id"] == 1234567890123456789


def test_pygmalion_fields_are_renamed() -> None:
    found = card(
        {
            "char_name": "Pyg",
            "char_persona": "p",
            "char_greeting": "hi",
            "world_scenario": "s",
            "example_dialogue": "e",
        }
    )
    assert (found.name, found.description, found.first_mes) == ("Pyg", "p", "hi")
    assert (found.scenario, found.mes_example) == ("s", "e")


def test_null_texts_are_empty_and_told() -> None:
    found = card(v2("Ada", description=None, alternate_greetings=None))
    assert (found.description, found.alternate_greetings) == ("", ())
    assert {warning.where for warning in found.warnings} == {"data.description", "data.alternate_greetings"}


def test_tags_in_one_text_are_split_trimmed_and_unique() -> None:
    assert card({"name": "Ada", "tags": "a, b ,,c, a"}).tags == ("a", "b", "c")
    assert card(v2("Ada", tags=None)).tags == ()
    assert card(v2("Ada", tags=["elf", 7, None, {"x": 1}])).tags == ("elf", "7")


def test_one_greeting_instead_of_a_list_is_a_list_of_one() -> None:
    assert card(v2("Ada", first_mes="a", alternate_greetings="b, c")).greetings == ("a", "b, c")


def test_blank_greetings_are_skipped_so_the_first_alternate_steps_in() -> None:
    assert card(v2("Ada", first_mes=" ", alternate_greetings=["", "b"])).greetings == ("b",)


def test_a_number_is_a_version_but_not_a_name() -> None:
    assert card(v2("Ada", character_version=1.2)).character_version == "1.2"
    error = refusal(v2(5))  # type: ignore[arg-type]
    assert error.error_code == "CHARACTER_DOCUMENT_INVALID"
    assert error.data["field"] == "data.name"
    assert error.message == "The field data.name must be text, but it is a number."


def test_a_text_where_an_object_stands_is_refused_by_name() -> None:
    assert refusal(v2("Ada", description={"a": 1})).data["field"] == "data.description"


def test_a_card_without_a_name_is_named_after_its_file() -> None:
    found = card(v2(""), "the_old_witch.json")
    assert found.name == "the old witch"
    assert "missing-name" in codes(found)


def test_missing_data_is_read_from_the_top_level() -> None:
    found = card({"spec": "chara_card_v2", "name": "NoData", "description": "d"})
    assert (found.name, found.description) == ("NoData", "d")
    assert codes(found) == {"data-missing"}
    assert refusal({"spec": "chara_card_v2"}).data["field"] == "data"


def test_extensions_may_be_a_list_or_null_and_depth_may_be_text() -> None:
    assert card(v2("Ada", extensions=[])).extensions == {}
    assert card(v2("Ada", extensions=None)).extensions == {}
    note = {"depth_prompt": {"prompt": "n", "depth": "2", "role": "user"}, "talkativeness": "0.8"}
    found = card(v2("Ada", extensions=note))
    assert found.depth_prompt is not None
    assert (found.depth_prompt.depth, found.depth_prompt.role) == (2, "user")
    assert found.talkativeness == 0.8


def test_line_ends_and_control_characters_are_cleaned_in_the_model_only() -> None:
    document = v2("Ada", first_mes="a\r\nb\x00c\td")
    found = card(document)
    assert found.first_mes == "a\nbc\td"
    assert found.raw == document
    assert codes(found) == {"control-characters"}


def test_a_card_inside_a_json_string_is_unpacked() -> None:
    found = card(json.dumps(v2("Twice")))
    assert found.name == "Twice"
    assert "double-encoded-json" in codes(found)


def test_lone_surrogates_become_replacement_characters() -> None:
    found = card(rb'{"name": "Ada", "description": "a\ud800b"}')
    assert found.description == "a\N{REPLACEMENT CHARACTER}b"
    assert "lone-surrogates" in codes(found)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_skipped(encoding: str) -> None:
    found = card('{"name": "Zoë"}'.encode(encoding))
    assert found.name == "Zoë"
    assert codes(found) == {"byte-order-mark"}


def test_invalid_utf8_is_replaced_with_a_warning() -> None:
    found = card(b'{"name": "Ada", "description": "\xff"}')
    assert found.description == "\N{REPLACEMENT CHARACTER}"
    assert codes(found) == {"invalid-utf8"}


@pytest.mark.parametrize("tag", ["NSFW", "nsfw", "18+", "R18"])
def test_an_adult_tag_marks_the_card(tag: str) -> None:
    assert card(v2("Ada", tags=["elf", tag])).nsfw
    assert not card(v2("Ada", tags=["elf", "sfw"])).nsfw


def test_the_placeholder_of_an_old_editor_is_no_note() -> None:
    assert card(v2("Ada", creator_notes="Creator's notes go here.")).creator_notes == ""


def test_hostile_keys_are_plain_data() -> None:
    document = v2("Ada", extensions={"__proto__": {"x": 1}, "constructor": 2})
    assert card(document).raw == document


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ({"prompts": []}, "preset"),
        ({"name": "Book", "entries": {}}, "world book"),
        ({"spec": "lorebook_v3", "data": {}}, "world book"),
        ({"findRegex": "/a/"}, "regex"),
        ({"hello": 1}, "PNG or JSON"),
    ],
)
def test_another_kind_of_file_is_named(value: Any, hint: str) -> None:
    error = refusal(value)
    assert error.error_code == "CHARACTER_DOCUMENT_INVALID"
    assert hint in error.message


@pytest.mark.parametrize(
    "value", [b"[1, 2]", b'"text"', b"[" * 100_000, b'{"name": NaN}', b'{"name": 1e999}']
)
def test_what_is_no_object_or_no_json_is_refused(value: bytes) -> None:
    assert refusal(value).error_code == "CHARACTER_DOCUMENT_INVALID"


def test_deep_nesting_is_refused_and_huge_numbers_become_fractions() -> None:
    deep = b'{"name": "Ada", "x": ' + b"[" * 80 + b"]" * 80 + b"}"
    assert "nested" in refusal(deep).message
    found = card(b'{"name": "Ada", "x": ' + b"9" * 30 + b"}")
    assert found.raw["x"] == 1e30


def test_a_null_book_is_no_book_and_a_bad_book_costs_only_itself() -> None:
    assert card(v2("Ada", character_book=None)).book is None
    found = card(v2("Ada", description="kept", character_book={"entries": 7}))
    assert found.book is None
    assert found.description == "kept"
    assert codes(found) == {"EMBEDDED_WORLD_BOOK_INVALID"}


@pytest.mark.parametrize("piece", [b"[],", b'{"":{}},', b"0,"])
def test_a_file_of_millions_of_small_values_is_refused_before_it_is_built(piece: bytes) -> None:
    data = b'{"name": "Ada", "x": [' + piece * (8_000_000 // len(piece)) + b"0]}"
    tracemalloc.start()
    try:
        assert refusal(data).error_code == "CHARACTER_DOCUMENT_TOO_LARGE"
        assert tracemalloc.get_traced_memory()[1] < 1024 * 1024
    finally:
        tracemalloc.stop()

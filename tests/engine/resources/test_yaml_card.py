"""Characters in YAML: every text stays text, and nothing small becomes large."""

import pytest

from engine.errors import ResourceError
from engine.resources import read_card, yaml_text


def refusal(data: bytes) -> ResourceError:
    with pytest.raises(ResourceError) as caught:
        read_card(data, "a.yaml")
    return caught.value


def test_context_and_greeting_become_description_and_first_message() -> None:
    card = read_card(b"name: Ada\ncontext: |-\n  A witch.\n  Old.\ngreeting: Hi\nyour_name: Me\n", "ada.yaml")
    assert (card.name, card.description, card.first_mes) == ("Ada", "A witch.\nOld.", "Hi")
    assert card.raw == {
        "name": "Ada",
        "your_name": "Me",
        "description": "A witch.\nOld.",
        "first_mes": "Hi",
    }
    assert [remark.code for remark in card.warnings] == ["yaml-card"]


def test_it_is_found_without_its_ending() -> None:
    assert read_card(b"greeting: Hi\nname: Ada\n", "download").name == "Ada"


@pytest.mark.parametrize(("text", "name"), [("No", "No"), ("007", "007"), ("1e3", "1e3"), ("'null'", "null")])
def test_a_name_is_never_a_flag_or_a_number(text: str, name: str) -> None:
    assert read_card(f"name: {text}\n".encode(), "a.yaml").name == name


def test_null_is_empty_and_control_characters_are_left_out() -> None:
    card = read_card(b"name: A\x00da\ncontext: null\ngreeting: ~\n", "a.yaml")
    assert (card.name, card.description, card.first_mes) == ("Ada", "", "")


def test_pygmalion_fields_work_in_yaml_too() -> None:
    card = read_card(b"char_name: Pyg\nchar_persona: p\n", "a.yml")
    assert (card.spec, card.name, card.description) == ("pygmalion", "Pyg", "p")


def test_a_whole_card_written_as_yaml_is_read() -> None:
    card = read_card(b"spec: chara_card_v2\ndata:\n  name: Ada\n  tags: [elf, inn]\n", "a.yaml")
    assert (card.spec, card.name, card.tags) == ("v2", "Ada", ("elf", "inn"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a: &a [x]\nname: *a\n", "refer to itself"),
        (b"name: Ada\nx: " + b"[" * 100, "levels deep"),
        (b"name: [unclosed\n", "line 2, column 1"),
        (b"? [a]\n: b\nname: Ada\n", "field names"),
        (b"- name\n", "has a name"),
        (b"hello: world\n", "has a name"),
        (b"", "empty"),
    ],
)
def test_what_is_no_character_is_refused_with_the_reason(data: bytes, words: str) -> None:
    error = refusal(data)
    assert error.error_code == "CHARACTER_DOCUMENT_INVALID"
    assert words in error.message


def test_too_much_is_refused() -> None:
    assert refusal(b"name: Ada\nx: " + b"a" * 1_100_000).error_code == "CHARACTER_DOCUMENT_TOO_LARGE"
    many = b"name: Ada\nx: [" + b"a, " * 60_000 + b"]"
    assert refusal(many).error_code == "CHARACTER_DOCUMENT_TOO_LARGE"


def test_it_works_without_the_library_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml

    monkeypatch.setattr(yaml_text, "_LOADER", yaml.BaseLoader)
    assert read_card(b"name: Ada\ngreeting: Hi\n", "a.yaml").greetings == ("Hi",)
    assert "line 2, column 1" in refusal(b"name: [unclosed\n").message

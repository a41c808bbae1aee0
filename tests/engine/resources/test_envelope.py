"""Persona and template files: strict, bounded, and the same again after an export and an import."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from engine.errors import ResourceError
from engine.resources import (
    Persona,
    TemplateFile,
    make_persona,
    make_persona_picture,
    read_personas,
    read_template,
    write_persona,
    write_template,
)


def picture(form: str = "PNG", side: int = 40, noise: bool = False) -> bytes:
    image = (
        Image.effect_noise((side, side), 90).convert("RGB")
        if noise
        else Image.new("RGB", (side, side), "teal")
    )
    buffer = io.BytesIO()
    image.save(buffer, form)
    return buffer.getvalue()


def uri(body: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(body).decode()}"


def envelope(data: Any, **changes: Any) -> bytes:
    whole = {"format": "pmp-dsh-tavern", "version": 1, "resourceType": "user", "data": data, **changes}
    return json.dumps(whole).encode()


def refused(data: bytes) -> tuple[str, str]:
    with pytest.raises(ResourceError) as caught:
        read_personas(data)
    return caught.value.error_code, caught.value.data.get("field", "")


# --- a persona's file


def test_a_persona_is_read_with_its_picture_and_without_its_id() -> None:
    file = read_personas(
        envelope({"id": "user-1", "name": " Vale ", "description": "Tall.", "avatar": uri(picture())})
    )
    (draft,) = file.personas
    assert (draft.persona, file.backup, file.warnings) == (Persona("Vale", "Tall."), False, ())
    assert draft.avatar is not None
    assert draft.avatar.media_type == "image/png"


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (envelope({"name": "Vale", "mood": "tired"}), "mood"),
        (envelope({"name": "Vale", "__proto__": {}}), "__proto__"),
        (envelope({"name": "Vale"}, extra=1), "extra"),
        (envelope({"name": "Vale"}, version=2), "version"),
        (envelope({"name": "Vale"}, version=True), "version"),
        (envelope({"name": "Vale"}, resourceType="preset"), "resourceType"),
        (envelope({"name": "Vale"}, format="other"), "format"),
        (envelope(None), "data"),
        (envelope({"description": "nobody"}), "name"),
        (envelope({"name": "  "}), "name"),
        (envelope({"name": "a" * 201}), "name"),
        (envelope({"name": "Vale", "description": 7}), "description"),
        (envelope({"name": "Vale", "description": "a" * 100_001}), "description"),
        (b'{"format":"pmp-dsh-tavern","format":"pmp-dsh-tavern"}', "JSON"),
        (b'{"a":NaN}', "JSON"),
        (b'{"a":"\\ud800"}', "JSON"),
        (b"[" * 200_000, "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"[]", "format"),
    ],
)
def test_what_is_not_exactly_a_persona_is_refused(data: bytes, field: str) -> None:
    assert refused(data) == ("USER_DOCUMENT_INVALID", field)


@pytest.mark.parametrize(
    "avatar",
    [
        7,
        "https://example.com/a.png",
        uri(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"),
        uri(picture("JPEG"), "image/png"),
        "data:image/png;base64,@@@@",
        uri(b"\x89PNG\r\n\x1a\n" + bytes(128 * 1024)),
    ],
)
def test_a_picture_is_a_data_uri_of_what_it_says(avatar: Any) -> None:
    assert refused(envelope({"name": "Vale", "avatar": avatar})) == ("USER_DOCUMENT_INVALID", "avatar")


def test_a_damaged_picture_costs_the_picture_only() -> None:
    file = read_personas(envelope({"name": "Vale", "avatar": uri(b"\x89PNG\r\n\x1a\nnothing")}))
    assert file.personas[0].avatar is None
    assert [note.code for note in file.warnings] == ["persona-picture-unreadable"]


def test_a_file_of_more_than_a_megabyte_is_not_even_parsed() -> None:
    assert refused(b"[" * (1024 * 1024 + 1))[0] == "USER_BODY_TOO_LARGE"


def test_a_long_name_is_cut_to_what_can_be_shown() -> None:
    file = read_personas(envelope({"name": "{Vale} " + "e" * 100}))
    assert len(file.personas[0].persona.name) == 80
    assert [note.code for note in file.warnings] == ["persona-name-cut"]


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_pictures_of_all_three_kinds_are_taken(form: str) -> None:
    avatar = uri(picture(form), f"image/{form.lower()}")
    assert read_personas(envelope({"name": "Vale", "avatar": avatar})).personas[0].avatar is not None


def test_a_picture_always_fits_into_a_file() -> None:
    avatar = make_persona_picture(picture(side=900, noise=True))
    assert len(avatar.body) <= 128 * 1024
    assert Image.open(io.BytesIO(avatar.body)).size == (avatar.side, avatar.side)


@given(
    name=st.text(min_size=1, max_size=80).filter(str.strip),
    description=st.text(max_size=300),
    pictured=st.booleans(),
)
def test_an_export_read_again_is_the_same(name: str, description: str, pictured: bool) -> None:
    try:
        persona = make_persona(name, description)
    except ResourceError:
        return  # nothing of this name could be seen
    avatar = make_persona_picture(picture(noise=True)) if pictured else None
    written = write_persona(persona, avatar.body if avatar else None, avatar.media_type if avatar else None)
    (again,) = read_personas(written).personas
    assert again.persona == persona
    assert again.avatar == avatar
    assert write_persona(again.persona, again.avatar.body if again.avatar else None, "image/png") == written


# --- SillyTavern's backup


def backup(**changes: Any) -> bytes:
    return json.dumps(
        {
            "personas": {"1.png": "Vale", "2.png": "Wren"},
            "persona_descriptions": {
                "1.png": {"description": "Tall.", "position": 0, "lorebook": "Harbour {x}"},
                "2.png": {"description": "", "position": 0},
            },
            "default_persona": "1.png",
            **changes,
        }
    ).encode()


def test_a_backup_brings_all_of_them() -> None:
    file = read_personas(backup())
    assert file.backup
    assert [draft.persona for draft in file.personas] == [Persona("Vale", "Tall."), Persona("Wren", "")]
    assert [note.message for note in file.warnings] == [
        "“Vale” came with the world book “Harbour {x}”, which is a file of its own."
    ]


def test_a_backup_is_mended_where_it_can_be() -> None:
    file = read_personas(
        backup(
            personas={"1.png": "Vale", "2.png": " ", "3.png": 4, "4.png": "Old"},
            persona_descriptions={"1.png": None, "4.png": "As a plain text."},
        )
    )
    assert [draft.persona for draft in file.personas] == [Persona("Vale"), Persona("Old", "As a plain text.")]
    assert {note.code for note in file.warnings} == {"persona-nameless"}


def test_a_backup_of_nobody_is_refused() -> None:
    assert refused(backup(personas={})) == ("USER_DOCUMENT_INVALID", "personas")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_no_json_does_anything_but_be_read_or_refused(value: Any) -> None:
    body = json.dumps(value).encode()
    for read, data in ((read_personas, body), (read_personas, envelope(value)), (read_template, body)):
        try:
            read(data)
        except ResourceError as error:
            assert error.error_code in {"USER_DOCUMENT_INVALID", "SESSION_TEMPLATE_DOCUMENT_INVALID"}


# --- a template's file


def template(selection: Any, name: Any = "The inn", **changes: Any) -> bytes:
    return envelope({"name": name, "selection": selection}, resourceType="session-template", **changes)


def test_a_template_of_the_desktop_program_is_read() -> None:
    selection = {
        "presetId": "p1",
        "characterCardId": "c1",
        "userId": None,
        "worldBookIds": ["w2", "w1"],
        "character": {"greetingIndex": 2, "preferCharacterSystemPrompt": False},
        "rp": {"active": True, "source": "command", "followSuppressed": False, "sandboxBefore": None},
    }
    assert read_template(template(selection)) == TemplateFile(
        "The inn", "c1", "p1", None, 2, prefer_system=False, book_ids=("w2", "w1")
    )


@pytest.mark.parametrize(
    ("selection", "field"),
    [
        ({"mood": 1}, "mood"),
        ({"character": {"mood": 1}}, "mood"),
        ({"history": []}, "history"),
        ({"worldBookIds": ["w1", "w1"]}, "worldBookIds"),
        ({"worldBookIds": [f"w{n}" for n in range(101)]}, "worldBookIds"),
        ({"presetId": "__proto__"}, "presetId"),
        ({"presetId": "p" * 201}, "presetId"),
        ({"presetId": ""}, "presetId"),
        ({"character": {"greetingIndex": -1}}, "greetingIndex"),
        ({"character": {"greetingIndex": True}}, "greetingIndex"),
        ({"character": {"preferCharacterSystemPrompt": 1}}, "preferCharacterSystemPrompt"),
        ([], "selection"),
    ],
)
def test_what_is_not_exactly_a_template_is_refused(selection: Any, field: str) -> None:
    with pytest.raises(ResourceError) as caught:
        read_template(template(selection))
    assert (caught.value.error_code, caught.value.data["field"]) == (
        "SESSION_TEMPLATE_DOCUMENT_INVALID",
        field,
    )


def test_a_template_of_more_than_64_kib_is_not_even_parsed() -> None:
    with pytest.raises(ResourceError) as caught:
        read_template(b" " * (64 * 1024 + 1))
    assert caught.value.error_code == "SESSION_TEMPLATE_BODY_TOO_LARGE"


IDS = st.from_regex(r"\A[A-Za-z0-9_-]{1,100}\Z").filter(lambda text: not text.startswith("_"))


@given(
    st.builds(
        TemplateFile,
        name=st.text(),
        card_id=st.none() | IDS,
        preset_id=st.none() | IDS,
        persona_id=st.none() | IDS,
        greeting_index=st.integers(0, 99),
        prefer_system=st.booleans(),
        prefer_post_history=st.booleans(),
        book_ids=st.lists(IDS, max_size=5, unique=True).map(tuple),
        regex_ids=st.lists(IDS, max_size=5, unique=True).map(tuple),
        tools=st.lists(IDS, max_size=3, unique=True).map(tuple),
    ).filter(lambda file: not {"constructor", "prototype"} & {file.card_id, file.preset_id, file.persona_id})
)
def test_a_template_read_again_is_the_same(file: TemplateFile) -> None:
    assert read_template(write_template(file)) == file

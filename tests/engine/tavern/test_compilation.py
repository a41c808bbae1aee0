"""What a selection comes to: the order of finding, what is missing, the audit, the sources of a strategy."""

import json
from typing import Any

import pytest

from engine.codec import canonical
from engine.errors import ResourceError
from engine.tavern import ModelFacts
from tests.engine.tavern.stage import BUILTIN, OWNER, Stage, said

ALWAYS = {"constant": True, "content": "LORE"}


def codes(made: Any) -> set[str]:
    return {note.code for note in made.diagnostics}


async def test_a_preset_that_is_gone_is_told_and_the_built_in_one_speaks(stage: Stage) -> None:
    session = await stage.story(preset_id="p_gone", card_id=await stage.card())
    made = await stage.compiled(session, "Hello")
    assert "PRESET_NOT_FOUND" in codes(made)
    assert "BUILTIN MAIN" in made.system_text
    assert made.call_config.temperature == BUILTIN.temperature
    assert [use.kind for use in made.resources] == ["preset", "card", "persona"]


async def test_whatever_is_gone_is_told_and_the_turn_goes_on(stage: Stage) -> None:
    session = await stage.story(card_id="c_gone", persona_id="u_gone", book_ids=("w_gone",))
    made = await stage.compiled(session, "Hello")
    assert {"CHARACTER_NOT_FOUND", "USER_NOT_FOUND", "WORLD_BOOK_NOT_FOUND"} <= codes(made)
    assert "BUILTIN MAIN" in made.system_text
    assert made.request.missing == ("w_gone",)
    # nobody is bound, so whoever spoke is meant
    assert made.profile.user == "Mira"


async def test_books_come_by_origin_and_the_cards_own_last(stage: Stage) -> None:
    library = stage.library
    x, y, z = [await stage.book(name, ALWAYS) for name in "xyz"]
    card = await stage.card([{"keys": [], "content": "OWN", "constant": True, "enabled": True}])
    preset = await stage.preset({"identifier": "main", "content": "M"})
    mira = await library.personas.play("id-Mira", "Mira", "Tall.")
    await library.relations.set_books("persona", mira.id, [y, x], owner=OWNER)
    await library.relations.set_books("preset", preset, [z], owner=OWNER)
    await library.relations.set_books("card", card, [y], owner=OWNER)
    session = await stage.story(card_id=card, preset_id=preset, persona_id=mira.id, book_ids=(x,))
    made = await stage.compiled(session, "Hello")
    audit = made.audit()["worldBookSelection"]
    assert audit["order"] == "session-explicit-then-user-then-preset-then-character"
    assert (audit["explicitIds"], audit["userBoundIds"]) == ([x], [y, x])
    assert (audit["presetBoundIds"], audit["characterBoundIds"]) == ([z], [y])
    assert (audit["effectiveIds"], audit["duplicateIds"]) == ([x, y, z], [x, y])
    # two views: what the session has stored, and what was in effect
    assert made.session_selection.book_ids == (x,)
    assert made.selection.book_ids == (x, y, z)
    books = [use for use in made.resources if use.kind == "world_book"]
    assert [use.id for use in books] == [x, y, z, f"character:{card}:embedded-world-book"]
    assert books[0].origins == ("session", "user")
    assert [(use.entries, use.active) for use in books] == [(1, 1)] * 4


async def test_a_relation_counts_from_the_next_request_on(stage: Stage) -> None:
    book, card = await stage.book("b", ALWAYS), await stage.card()
    session = await stage.story(card_id=card)
    assert "LORE" not in (await stage.compiled(session, "Hello")).system_text
    await stage.library.relations.set_books("card", card, [book], owner=OWNER)
    assert "LORE" in (await stage.compiled(session, "Hello")).system_text
    await stage.library.delete(book)
    assert "LORE" not in (await stage.compiled(session, "Hello")).system_text


async def test_what_comes_along_with_a_persona_in_one_library_is_not_for_another(stage: Stage) -> None:
    library = stage.library
    body = b'{"name": "Theirs", "entries": {"0": {"uid": 0, "constant": true, "content": "SECRET"}}}'
    theirs = await library.import_book("guild:2", body, "theirs.json", "ana")
    mira = await library.personas.play("id-Mira", "Mira", "Tall.")
    await library.relations.set_books("persona", mira.id, [theirs.id], owner="guild:2")
    session = await stage.story(card_id=await stage.card(), persona_id=mira.id)
    made = await stage.compiled(session, "Hello")
    assert "SECRET" not in made.system_text
    assert made.selection.book_ids == ()


async def test_the_same_state_gives_the_same_compilation_and_another_another(stage: Stage) -> None:
    session = await stage.story(card_id=await stage.card())
    first = await stage.compiled(session, "Hello")
    assert len(first.fingerprint) == 64
    assert (await stage.compiled(session, "Hello")).fingerprint == first.fingerprint
    await stage.library.selections.merge(
        "s1", {"preset_id": await stage.preset({"identifier": "x", "content": "X"})}
    )
    other = await stage.compiled(session, "Hello")
    assert other.fingerprint != first.fingerprint
    # and what was compiled before is as it was
    assert first.session_selection.preset_id is None


async def test_without_rendering_the_sources_are_there_and_the_text_is_not(stage: Stage) -> None:
    card = await stage.card(
        [{"keys": ["rain"], "content": "WET {{char}}", "enabled": True}],
        system_prompt="SYS {{char}}",
        post_history_instructions="PHI",
        extensions={"depth_prompt": {"prompt": "NOTE", "depth": 2, "role": "user"}},
    )
    preset = await stage.preset(
        {"identifier": "main", "content": "Be {{char}}.", "role": "user"},
        {"identifier": "late", "content": "L", "injection_position": 1, "injection_depth": 3},
        {"identifier": "charDescription", "marker": True},
        temperature=0.4,
    )
    session = await stage.story(card_id=card, preset_id=preset, prefer_post_history=False)
    made = await stage.compiled(session, "The rain", resolve_only=True)
    assert (made.system_text, made.sections) == ("", ())
    assert made.call_config.temperature == 0.4
    assert [active.text for active in made.active_lore] == ["WET Ada"]
    given = made.assembly_input
    assert given.input_ids == ("m-The rain",)
    main, late, marker = given.of("preset")
    assert (main.field, main.text, main.role, main.depth) == ("main", "Be {{char}}.", "user", None)
    assert (late.depth, late.resource_id) == (3, preset)
    assert marker.marker
    fields = {source.field: source for source in given.of("character")}
    assert fields.keys() == {"description", "system", "greeting", "depth_prompt"}  # no PHI: not preferred
    assert fields["system"].text == "SYS {{char}}"
    assert (fields["greeting"].role, fields["greeting"].text) == ("assistant", "Come in.")
    assert (fields["depth_prompt"].role, fields["depth_prompt"].depth) == ("user", 2)
    (lore,) = given.of("lore")
    assert (lore.text, lore.expanded) == ("WET Ada", True)
    assert lore.resource_id == f"character:{card}:embedded-world-book"


async def test_the_audit_says_how_and_holds_nobodys_words(stage: Stage) -> None:
    book = await stage.book("b", {"key": ["sesame"], "content": "CAVE-TEXT"})
    await stage.library.personas.play("id-Mira", "Mira", "PERSONA-TEXT")
    session = await stage.story(card_id=await stage.card(description="CARD-TEXT"), book_ids=(book,))
    made = await stage.compiled(session, "Open sesame, SECRET-WORDS")
    audit = made.audit()
    text = canonical(audit).decode()
    for words in ("SECRET-WORDS", "CAVE-TEXT", "PERSONA-TEXT", "CARD-TEXT", "BUILTIN MAIN"):
        assert words in made.system_text or words == "SECRET-WORDS"
        assert words not in text
    assert audit["sessionId"] == "s1"
    assert audit["fingerprint"] == made.fingerprint
    assert audit["worldBooks"]["activeEntries"] == [f"{book}:0"]
    assert audit["activation"]["pendingMessageCount"] == 1
    assert audit["composition"] == {
        "section": "tavern:profile",
        "systemPromptMode": "append",
        "profileCharacters": len(made.system_text),
        "callConfigFields": ["temperature"],
    }
    assert audit["userInjection"] == {
        "selected": True,
        "descriptionAvailable": True,
        "descriptionCharacters": 12,
        "descriptionInsertions": 1,
        "descriptionPlacement": "fallback",
    }
    assert json.loads(text) == json.loads(canonical(audit))


async def test_nothing_can_be_changed_afterwards(stage: Stage) -> None:
    made = await stage.compiled(await stage.story(), "Hello")
    with pytest.raises(AttributeError):
        made.session_id = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        made.profile.system_text = ""  # type: ignore[misc]


async def test_too_much_authored_text_is_refused_with_both_numbers_and_nothing_is_cut(stage: Stage) -> None:
    fits = "字" * (512 * 1024 // 3)
    session = await stage.story(preset_id=await stage.preset({"identifier": "x", "content": fits}))
    made = await stage.compiled(session)
    assert made.system_text == fits
    session = await stage.story(
        "s2", preset_id=await stage.preset({"identifier": "x", "content": fits + "字"})
    )
    with pytest.raises(ResourceError) as caught:
        await stage.compiled(session)
    assert caught.value.error_code == "TAVERN_PROFILE_TOO_LARGE"
    assert caught.value.data == {"actual_bytes": 512 * 1024 + 1, "max_bytes": 512 * 1024}


async def test_the_last_compilation_of_a_session_can_be_looked_at(stage: Stage) -> None:
    session = await stage.story(preset_id="p_gone")
    assert stage.loader.last("s1") is None
    made = await stage.compiled(session, "Hello")
    assert stage.loader.last("s1") is made
    assert "PRESET_NOT_FOUND" in codes(stage.loader.last("s1"))


async def test_who_is_not_stored_is_named_and_who_plays_under_another_name_is_not_described(
    stage: Stage,
) -> None:
    await stage.library.personas.play("id-Mira", "Other", "ANOTHER-PERSONA")
    session = await stage.story(card_id=await stage.card())
    made = await stage.compiled(session, "Hello")
    assert made.profile.user == "Mira"
    assert "ANOTHER-PERSONA" not in made.system_text


async def test_macros_know_the_conversation_the_model_and_the_people(stage: Stage) -> None:
    prompt = (
        "{{lastUserMessage}}|{{lastCharMessage}}|{{lastMessageId}}|{{model}}|{{maxPrompt}}|{{user}}|{{group}}"
    )
    preset = await stage.preset({"identifier": "x", "content": prompt}, openai_max_tokens=100)
    card = await stage.card()
    other = Stage(stage.library, model=lambda: ModelFacts("narrator-1", window=1000))
    session = await other.story(preset_id=preset, card_id=card)
    session.append("user/message", said("First {{user}}"), surface_op="append")
    other.answer(session, "An answer.")
    made = await other.compiled(session, "Second $1")
    assert "Second $1|An answer.|2|narrator-1|900|Mira|Ada" in made.system_text


async def test_the_clock_of_a_table_that_was_left_alone(stage: Stage) -> None:
    preset = await stage.preset({"identifier": "x", "content": "[{{idleDuration}}]"})
    session = await stage.story(preset_id=preset)
    session.append("user/message", said("Before"), surface_op="append")  # in November 2023
    made = await stage.compiled(session, "Now")
    assert "years]" in made.system_text


async def test_a_pick_belongs_to_the_story_and_a_roll_to_its_turn(stage: Stage) -> None:
    items = "::".join(str(number) for number in range(500))
    preset = await stage.preset(
        {"identifier": "x", "content": f"{{{{pick::{items}}}}}/{{{{roll::1000000}}}}"}
    )
    session = await stage.story(preset_id=preset)
    pick, roll = (await stage.compiled(session, "One")).system_text.split("\n\n")[-1].split("/")
    session.append("turn/start", {"turn": 1})
    session.append("user/message", said("One"), surface_op="append")
    # a second step of the turn rolls as the first
    assert (await stage.compiled(session)).system_text.endswith(f"{pick}/{roll}")
    session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    later_pick, later = (await stage.compiled(session, "Two")).system_text.split("\n\n")[-1].split("/")
    assert later_pick == pick
    assert later != roll
    other = await stage.story("s2", preset_id=preset, seed="another")
    assert not (await stage.compiled(other, "One")).system_text.endswith(f"{pick}/{roll}")

"""The profile in the system prompt: named parts, alone or among others, one compilation for one step."""

from engine.resources import edit_preset
from tests.engine.tavern.stage import Stage


async def test_the_parts_stand_where_the_profile_does_and_say_where_they_are_from(stage: Stage) -> None:
    stage.other_section("identity", -1000, "YOU ARE A PROGRAM")
    stage.other_section("output", 9900, "ANSWER BRIEFLY")
    book = await stage.book("b", {"constant": True, "content": "LORE"})
    session = await stage.story(card_id=await stage.card(), book_ids=(book,))
    assembly = await stage.assembled(stage.context(session, "Hello"))
    assert [part.name for part in assembly.sections] == [
        "identity",
        "tavern:part:0001:cast:cast",
        "tavern:part:0002:preset:main",
        "tavern:part:0003:character:description",
        "tavern:part:0004:character:greeting",
        "tavern:part:0005:lore:before",
        "output",
    ]
    made = stage.loader.last("s1")
    assert made is not None
    assert assembly.system_text == f"YOU ARE A PROGRAM\n\n{made.system_text}\n\nANSWER BRIEFLY"
    assert "\n\n".join(part.text for part in made.sections) == made.system_text


async def test_no_wrapper_name_or_id_is_in_the_text(stage: Stage) -> None:
    preset = await stage.preset(
        {"identifier": "id-1", "name": "Name One", "content": "<tag>One</tag>"},
        {"identifier": "id-2", "name": "Name Two", "content": "{{unknown}} Two"},
    )
    session = await stage.story(preset_id=preset)
    assembly = await stage.assembled(stage.context(session))
    assert assembly.system_text == "<tag>One</tag>\n\n{{unknown}} Two"


async def test_a_preset_that_wants_to_be_alone_leaves_only_the_policy_beside_it(stage: Stage) -> None:
    stage.other_section("identity", -1000, "YOU ARE A PROGRAM")
    stage.other_section("rp:policy", 45, "THE POLICY")
    preset = await stage.preset({"identifier": "main", "content": "ALONE"}, temperature=0.3)
    row = await stage.library.get(preset)
    await stage.library.edit(
        preset,
        lambda raw: edit_preset(raw, {"system_prompt_mode": "replace"}),
        expected_revision=row.revision,
    )
    session = await stage.story(preset_id=preset)
    assembly = await stage.assembled(stage.context(session))
    assert assembly.system_text == "ALONE\n\nTHE POLICY"
    assert stage.parameters.kept["s1"].temperature == 0.3
    assert b"system_prompt_mode" not in (await stage.library.export(preset)).body


async def test_a_step_keeps_what_it_was_assembled_from_though_the_selection_changes(stage: Stage) -> None:
    hot = await stage.preset({"identifier": "x", "content": "HOT"}, temperature=1.5)
    cold = await stage.preset({"identifier": "x", "content": "COLD!"}, temperature=0.1)
    session = await stage.story(preset_id=hot)
    context = stage.context(session, "Hello")
    await stage.assembled(context)
    await stage.library.selections.merge("s1", {"preset_id": cold})
    # a look at what the next step would say changes nothing either
    await stage.assembled(stage.context(session, "Hello", preview=True))
    made = stage.section.snapshot(context)
    assert made is not None
    assert made.session_selection.preset_id == hot
    assert made.system_text.endswith("HOT")
    assert stage.parameters.kept["s1"].temperature == 1.5


async def test_a_snapshot_belongs_to_its_own_assembly(stage: Stage) -> None:
    session = await stage.story()
    first = stage.context(session, "Hello")
    await stage.assembled(first)
    second = stage.context(session, "Hello")
    assert stage.section.snapshot(second) is None
    made = stage.section.snapshot(first)
    await stage.assembled(second)
    assert stage.section.snapshot(first) is made is not None
    assert stage.section.snapshot(second) is not made

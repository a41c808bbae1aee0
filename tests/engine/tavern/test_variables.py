"""What macros remember: in the story's own log, and in its library."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.library import Library
from engine.macros import Variables
from engine.resources import Diagnostics
from engine.tavern import VARIABLES_RECORD, fold_variables
from engine.tavern.variables import MAX_VARIABLES, changes_of
from tests.engine.tavern.stage import OWNER, Stage

COUNT = {"identifier": "x", "content": "{{incvar::day}} {{setvar::mood::grim}}{{getvar::mood}}"}


def records(session: Any) -> list[Any]:
    return [event.data for event in session.events() if event.type == VARIABLES_RECORD]


async def test_a_variable_lives_in_the_log_of_its_branch(stage: Stage) -> None:
    session = await stage.story(preset_id=await stage.preset(COUNT))
    assert (await stage.step(session, "One")).endswith("1 grim")
    assert (await stage.step(session, "Two")).endswith("2 grim")
    # only what changed is written
    assert records(session) == [
        {"turn": 1, "step": 1, "set": {"day": 1, "mood": "grim"}, "gone": ()},
        {"turn": 1, "step": 1, "set": {"day": 2}, "gone": ()},
    ]
    # a branch from between has what was true there, and goes its own way
    first = next(event.seq for event in session.events() if event.type == VARIABLES_RECORD)
    branch = stage.sessions.fork(session.id, first, "branch")
    await stage.library.selections.copy(session.id, branch.id)
    assert (await stage.step(branch, "Other")).endswith("2 grim")
    assert (await stage.step(session, "Three")).endswith("3 grim")


async def test_neither_a_preview_nor_a_refused_step_writes(stage: Stage) -> None:
    preset = await stage.preset({"identifier": "x", "content": "{{incvar::a}}{{incglobalvar::b}}"})
    session = await stage.story(preset_id=preset)
    for _ in range(2):
        await stage.compiled(session, "Hello")
        await stage.assembled(stage.context(session, "Hello", preview=True))
        context = stage.context(session, "Hello")
        assert (await stage.assembled(context)).system_text.endswith("11")  # and is never admitted
    assert session.seq == 0
    assert await stage.library.variables.of(OWNER) == {}


async def test_a_preview_between_assembly_and_admission_does_not_take_the_steps_place(stage: Stage) -> None:
    session = await stage.story(preset_id=await stage.preset(COUNT))
    context = stage.context(session, "One")
    await stage.assembled(context)
    await stage.assembled(stage.context(session, "Two", preview=True))
    stage.admit(context)
    assert len(records(session)) == 1


async def test_global_variables_are_read_in_the_other_stories_of_the_library(stage: Stage) -> None:
    preset = await stage.preset({"identifier": "x", "content": "{{incglobalvar::visits}}"})
    one, two = await stage.story("one", preset_id=preset), await stage.story("two", preset_id=preset)
    assert (await stage.step(one, "Hello")).endswith("1")
    assert (await stage.step(two, "Hello")).endswith("2")
    await stage.library.variables.flush()
    # another process finds them; another library does not
    again = Library(stage.library._store)
    assert await again.variables.of(OWNER) == {"visits": 2}
    assert await again.variables.of("guild:2") == {}


async def test_a_deleted_variable_is_gone(stage: Stage) -> None:
    library = stage.library
    library.variables.put(OWNER, {"a": "x", "b": 1.5})
    await library.variables.flush()
    library.variables.put(OWNER, {"a": None})
    assert await library.variables.of(OWNER) == {"b": 1.5}
    await library.variables.flush()
    assert await Library(library._store).variables.of(OWNER) == {"b": 1.5}
    session = await stage.story(
        preset_id=await stage.preset({"identifier": "x", "content": "{{setvar::k::1}}{{deletevar::k}}."})
    )
    await stage.step(session, "Hello")
    assert records(session) == []


async def test_the_words_of_people_set_nothing(stage: Stage) -> None:
    preset = await stage.preset({"identifier": "x", "content": "{{lastUserMessage}}|{{getvar::a}}|"})
    session = await stage.story(preset_id=preset)
    text = await stage.step(session, "{{setvar::a::1}}{{setglobalvar::b::2}}{{char}}")
    assert text.endswith("{{setvar::a::1}}{{setglobalvar::b::2}}{{char}}||")
    assert records(session) == []
    assert await stage.library.variables.of(OWNER) == {}


async def test_lore_that_is_woken_remembers_too(stage: Stage) -> None:
    book = await stage.book("b", {"key": ["door"], "content": "{{setvar::door::open}}The door."})
    preset = await stage.preset({"identifier": "x", "content": "[{{getvar::door}}]"})
    session = await stage.story(preset_id=preset, book_ids=(book,))
    assert "[]" in await stage.step(session, "Hello")
    assert "[open]" in await stage.step(session, "The door?")
    assert "[open]" in await stage.step(session, "And now?")


def test_where_there_is_no_room_a_new_value_is_forgotten_and_told() -> None:
    notes = Diagnostics()
    full: dict[str, Any] = {f"v{number}": "x" for number in range(MAX_VARIABLES)}
    variables = Variables(full)
    variables.set("local", "new", "1")
    variables.set("local", "v0", "changed")
    found = changes_of(variables, full, {}, notes)
    assert found.local == {"v0": "changed"}
    assert [(note.code, note.data["name"]) for note in notes.all()] == [("MACRO_VARIABLES_FULL", "new")]
    variables = Variables({"a": "x" * 60_000})
    for number in range(40):
        variables.set("local", f"n{number}", "y" * 60_000)
    kept = changes_of(variables, {"a": "x" * 60_000}, {}, Diagnostics()).local
    assert len(kept) == 16  # of 60,000 characters each, beside the one that was there: 1 MiB


changes = st.lists(
    st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 9), st.text("xy", max_size=3))),
    max_size=12,
)


@given(st.lists(changes, max_size=6))
def test_the_records_fold_to_what_the_texts_left(steps: list[list[tuple[str, Any]]]) -> None:
    held: dict[str, Any] = {}
    log: list[Any] = []
    for step in steps:
        variables = Variables(fold_variables(log))
        for name, value in step:
            if value is None:
                variables.delete("local", name)
                held.pop(name, None)
            else:
                variables.set("local", name, value)
                held[name] = value
        record = changes_of(variables, fold_variables(log), {}, Diagnostics()).record()
        if record is not None:
            log.append(record)
    assert fold_variables(log) == held

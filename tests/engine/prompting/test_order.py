"""Which prompts take part, and where they and the story's texts stand."""

import pytest

from engine.prompting import SILLYTAVERN, ChatLine, Extension, Quirk, build
from engine.resources import Diagnostics, parse_preset
from tests.engine.prompting.make import CHAT, STOCK, codes, made, preset, prompt, sent, story, words

TALK = ["s: [Start a new Chat]", "a: Hello traveller", "u: Hi Alice", "a: How are you", "u: Fine"]


def two_lists(*ids: int) -> object:
    lists = {100000: ["old", "chatHistory"], 100001: ["new", "chatHistory"]}
    return [
        {"character_id": owner, "order": [{"identifier": name, "enabled": True} for name in lists[owner]]}
        for owner in ids
    ]


def ordered(orders: object) -> list[str]:
    root = {
        "prompts": [prompt("old", "Old."), prompt("new", "New."), {"identifier": "chatHistory"}],
        "prompt_order": orders,
    }
    given = parse_preset(root, Diagnostics())
    return sent(build(given, story(), (), count_tokens=words, quirks=SILLYTAVERN))


def test_the_older_list_counts_where_the_global_one_is_missing() -> None:
    assert ordered(two_lists(100000))[0] == "s: Old."


def test_the_global_list_goes_before_the_older_one_wherever_it_stands() -> None:
    assert ordered(two_lists(100000, 100001))[0] == "s: New."
    assert ordered(two_lists(100001, 100000))[0] == "s: New."


@pytest.mark.parametrize("enabled", [False, None, 0, 1, "true"])
def test_only_what_says_true_is_sent(enabled: object) -> None:
    listed = [
        {"identifier": "old", "enabled": enabled},
        {"identifier": "new", "enabled": True},
        {"identifier": "old"},
        {"identifier": "chatHistory", "enabled": True},
    ]
    assert ordered([{"character_id": 100001, "order": listed}])[0] == "s: New."


def test_a_preset_without_any_list_has_the_default_order() -> None:
    given = parse_preset({"prompts": [{"identifier": "main", "content": "M"}]}, Diagnostics())

    built = build(given, story(description="D"), CHAT, count_tokens=words)

    assert sent(built) == ["s: M", "s: D", *TALK]


def test_a_prompt_of_the_default_set_that_the_file_lacks_is_there_all_the_same() -> None:
    given = preset(order=("main", "enhanceDefinitions", "chatHistory"))

    assert sent(made(given, chat=()))[1].startswith("s: If you have more knowledge of Alice")


def test_every_source_stands_at_its_marker() -> None:
    told = story(
        lore_before="WIB", lore_after="WIA", persona="Tall", description="Desc", personality="Kind",
        scenario="Cafe",
    )  # fmt: skip

    assert sent(made(preset(), told, ())) == [
        "s: Main.", "s: WIB", "s: Tall", "s: Desc", "s: Kind", "s: Cafe", "s: WIA", "s: [Start a new Chat]",
    ]  # fmt: skip


@pytest.mark.parametrize("quirks", [frozenset(), SILLYTAVERN])
def test_a_source_whose_marker_is_off_is_not_sent(quirks: frozenset[Quirk]) -> None:
    built = made(preset(off=["worldInfoBefore"]), story(lore_before="WIB"), (), quirks=quirks)

    assert sent(built) == ["s: Main.", "s: [Start a new Chat]"]
    assert codes(built) == []


def test_a_source_without_a_marker_stands_at_the_end_or_at_its_default_place_with_a_warning() -> None:
    lacking = preset(order=[name for name in STOCK if name != "worldInfoBefore"])
    told = story(lore_before="WIB", description="Desc")

    assert sent(made(lacking, told, quirks=SILLYTAVERN)) == ["s: Main.", "s: Desc", *TALK, "s: WIB"]
    ours = made(lacking, told)
    assert sent(ours) == ["s: Main.", "s: WIB", "s: Desc", *TALK]
    assert [(note.code, note.severity, note.where) for note in ours.diagnostics] == [
        ("marker-missing", "warning", "worldInfoBefore")
    ]


def test_a_missing_marker_whose_text_is_empty_is_no_matter() -> None:
    assert codes(made(preset(order=["main", "dialogueExamples", "chatHistory"]), story())) == []


def test_without_the_marker_of_the_history_nothing_was_said_or_it_stands_at_its_default_place() -> None:
    lacking = preset(prompt("rules", "Rules."), order=["main", "rules", "jailbreak"])
    told = story(mes_examples="<START>\nBob: q\nAlice: a")

    assert sent(made(lacking, told, quirks=SILLYTAVERN)) == ["s: Main.", "s: Rules."]
    assert sent(made(lacking, told)) == [
        "s: Main.",
        "s: [Example Chat]", "s(example_user): q", "s(example_assistant): a",
        *TALK,
        "s: Rules.",
    ]  # fmt: skip


def test_a_history_that_is_switched_off_stays_off() -> None:
    assert sent(made(preset(off=["chatHistory"]))) == ["s: Main."]


def test_a_prompt_is_for_the_kinds_of_answers_that_it_names() -> None:
    given = preset(prompt("c", "Only then.", injection_trigger=["swipe", "quiet"]))

    assert "s: Only then." not in sent(made(given))
    assert sent(made(given, story(type="swipe")))[1] == "s: Only then."
    assert sent(made(given, story(type="quiet")))[1] == "s: Only then."


def test_a_marker_for_other_kinds_of_answers_is_missing_to_sillytavern_and_off_to_us() -> None:
    given = preset(changed={"worldInfoBefore": {"injection_trigger": ["swipe"]}})
    told = story(lore_before="WIB")

    assert sent(made(given, told, quirks=SILLYTAVERN))[-1] == "s: WIB"
    assert sent(made(given, told)) == ["s: Main.", *TALK]
    assert sent(made(given, story(lore_before="WIB", type="swipe")))[1] == "s: WIB"


def test_a_prompt_that_the_order_does_not_name_or_has_off_is_not_sent() -> None:
    given = preset(prompt("a", "A"), prompt("b", "B"), order=["main", "b", "chatHistory"], off=["b"])

    assert sent(made(given, chat=())) == ["s: Main.", "s: [Start a new Chat]"]


def test_a_prompt_keeps_its_role_and_expands_its_macros() -> None:
    given = preset(prompt("c", "I am {{user}}.", role="user"))

    assert sent(made(given, chat=()))[1] == "u: I am Bob."


def test_what_one_prompt_sets_the_next_can_read() -> None:
    given = preset(prompt("a", "{{setvar::mood::calm}}"), prompt("b", "Be {{getvar::mood}}."))

    assert sent(made(given, chat=()))[1] == "s: Be calm."


@pytest.mark.parametrize(
    ("asked", "lore"), [("{0}", "Rain."), ("", "Rain."), ("  ", "Rain."), ("[{0}]", "[Rain.]"), ("x", "x")]
)
def test_lore_is_written_in_the_presets_format_and_a_blank_one_is_none(asked: str, lore: str) -> None:
    for final in (False, True):
        told = story(lore_before="Rain.", final=final)
        assert sent(made(preset(wi_format=asked), told, ()))[1] == f"s: {lore}"


def test_fields_are_written_in_the_presets_formats_only_when_there_is_something() -> None:
    given = preset(scenario_format="Where: {{scenario}}", personality_format="")

    assert sent(made(given, story(scenario="a cafe", personality="kind"), ()))[1:3] == [
        "s: kind",
        "s: Where: a cafe",
    ]
    assert sent(made(given, story(), ())) == ["s: Main.", "s: [Start a new Chat]"]


def test_texts_that_were_expanded_before_are_not_expanded_again() -> None:
    note = Extension("n", "{{user}} n", "end")

    assert sent(made(preset(), story(lore_before="{{user}} x", extensions=(note,)), ()))[:3] == [
        "s: Main.", "s: Bob n", "s: Bob x",
    ]  # fmt: skip
    final = story(lore_before="{{user}} x", description="{{user}} y", extensions=(note,), final=True)
    assert sent(made(preset(), final, ()))[:4] == [
        "s: Main.", "s: {{user}} n", "s: {{user}} x", "s: {{user}} y",
    ]  # fmt: skip


def test_a_persona_that_is_placed_elsewhere_is_not_at_its_marker() -> None:
    assert "s: Tall" not in sent(made(preset(), story(persona="Tall", persona_in_prompt=False)))


def test_a_bias_is_the_assistants_last_word() -> None:
    assert sent(made(preset(), story(bias="Sure, {{user}}")))[-1] == "a: Sure, Bob"
    assert sent(made(preset(), story(bias="  ")))[-1] == "u: Fine"


def test_a_prompt_that_the_order_names_twice_is_paid_twice_or_counted_once() -> None:
    given = preset(prompt("c", "one two three"), order=["main", "c", "c", "chatHistory"])

    # 3 to begin with, 1 main, 3 for c, 4 for the header, 1 for what was said last
    assert sent(made(given, budget=12))[-1] == "u: Fine"
    assert made(given, budget=12, quirks=SILLYTAVERN).errors != ()
    assert sent(made(given, budget=15, quirks=SILLYTAVERN))[-1] == "u: Fine"
    assert sent(made(given, quirks=SILLYTAVERN)).count("s: one two three") == 1


def test_a_prompt_that_is_not_marked_as_its_authors_is_lost_to_sillytavern() -> None:
    given = preset({"identifier": "c", "role": "system", "content": "Mine."})

    assert "s: Mine." not in sent(made(given, quirks=SILLYTAVERN))
    assert sent(made(given))[1] == "s: Mine."


def test_the_order_of_the_story_is_that_of_the_preset() -> None:
    moved = preset(order=["chatHistory", "charDescription", "main"])

    assert sent(made(moved, story(description="D"), (ChatLine("Bob", "Hi", is_user=True),))) == [
        "s: [Start a new Chat]", "u: Hi", "s: D", "s: Main.",
    ]  # fmt: skip

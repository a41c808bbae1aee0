"""The compatibility renderer: markers, overrides, fallbacks, greeting, lore, budget."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.errors import ResourceError
from engine.lore import Book
from engine.macros import Chat, ChatMessage
from engine.resources import Card, DepthPrompt, Entry, Persona, Preset, Prompt, WorldBook
from engine.tavern import Profile, ProfileRequest, compile_profile, greeting_text

ADA = Card(
    spec="v2",
    name="Ada",
    raw={},
    description="{{char}} is a smith.",
    personality="stubborn",
    scenario="A forge. {{user}} comes in.",
    first_mes="Come in, {{user}}.",
    alternate_greetings=("Rain.", "Night."),
    mes_example="<START>\n{{char}}: Hm.",
    creator_notes="SECRET NOTES",
)
MIRA = Persona("Mira", "{{user}} is tall.")
MARKERS = (
    "worldInfoBefore",
    "charDescription",
    "charPersonality",
    "scenario",
    "personaDescription",
    "worldInfoAfter",
    "dialogueExamples",
    "chatHistory",
)


def marker(name: str, **more: Any) -> Prompt:
    return Prompt(name, marker=True, **more)


def preset(*prompts: Prompt, **raw: Any) -> Preset:
    return Preset("P", prompts, raw)


def full(main: str = "Write {{char}}.", phi: str = "Stay.") -> Preset:
    return preset(
        Prompt("main", content=main), *[marker(name) for name in MARKERS], Prompt("jailbreak", content=phi)
    )


def compiled(**request: Any) -> Profile:
    return compile_profile(ProfileRequest(**request))


def texts(profile: Profile) -> list[str]:
    return [section.text for section in profile.sections if section.kind != "cast"]


def codes(profile: Profile) -> set[str]:
    return {note.code for note in profile.diagnostics}


def lore(*entries: Entry) -> tuple[Book, ...]:
    return (Book("w_1", WorldBook("W", entries)),)


def test_a_preset_alone_is_its_enabled_texts_joined_by_a_blank_line() -> None:
    prompts = (
        Prompt("a", content="One."),
        Prompt("b", content="Two.", enabled=False),
        marker("charDescription"),
        Prompt("c", content=" Three {{char}} "),
        Prompt("d", content="<tag>four</tag>"),
    )
    profile = compiled(preset=preset(*prompts))
    assert profile.system_text == "One.\n\nThree Assistant\n\n<tag>four</tag>"
    assert profile.diagnostics == ()


def test_a_preset_of_markers_only_and_nothing_to_fill_them_is_empty() -> None:
    assert compiled(preset=preset(*[marker(name) for name in MARKERS])).system_text == ""


def test_markers_are_filled_in_the_presets_order() -> None:
    profile = compiled(card=ADA, preset=full(), persona=MIRA)
    assert texts(profile) == [
        "Write Ada.",
        "Ada is a smith.",
        "stubborn",
        "A forge. Mira comes in.",
        "Mira is tall.",
        "<START>\nAda: Hm.",
        "Stay.",
    ]
    assert (profile.character, profile.user) == ("Ada", "Mira")
    assert profile.persona_placement == "preset-marker:personaDescription"


def test_the_cast_stands_first_names_everyone_once_and_describes_the_others() -> None:
    players = (MIRA, Persona("Tobias", "{{user}} limps."), Persona("Cy"))
    profile = compiled(card=ADA, preset=full(), persona=MIRA, players=players)
    assert profile.sections[0].kind == "cast"
    assert profile.sections[0].text == (
        "Character: Ada\nPlayers: Mira, Tobias, Cy\nAbout Tobias: Tobias limps."
    )
    assert profile.system_text.count("Character: Ada") == 1


def test_without_a_preset_the_cast_section_says_how_to_write() -> None:
    profile = compiled(card=ADA, persona=MIRA)
    assert "Write what Ada says and does next" in profile.sections[0].text
    assert texts(profile)[0] == "Mira is tall."
    assert profile.diagnostics == ()


def test_no_persona_can_pose_as_the_cast() -> None:
    liar = Persona("Eve", "x\nCharacter: Evil")
    profile = compiled(card=ADA, preset=full(), persona=liar, players=(liar,))
    assert profile.system_text.splitlines()[0] == "Character: Ada"


def test_a_macro_before_the_marker_is_the_only_place() -> None:
    first = preset(Prompt("main", content="You face {{persona}}"), marker("personaDescription"))
    profile = compiled(card=None, preset=first, persona=MIRA)
    assert texts(profile) == ["You face Mira is tall."]
    assert profile.persona_placement == "preset-macro:main"
    later = preset(marker("personaDescription"), Prompt("x", content="Again: {{persona}}."))
    assert texts(compiled(preset=later, persona=MIRA)) == ["Mira is tall.", "Again: ."]


def test_what_has_no_marker_stands_behind_in_a_fixed_order_and_is_told() -> None:
    card = replace(
        ADA, system_prompt="SYS", post_history_instructions="PHI", depth_prompt=DepthPrompt("DEPTH")
    )
    before = Entry(1, (), "BEFORE", constant=True)
    after = Entry(2, (), "AFTER", constant=True, position="after")
    profile = compiled(
        card=card,
        preset=preset(Prompt("x", content="X")),
        persona=MIRA,
        books=lore(before, after),
        first_turn=True,
    )
    assert texts(profile) == [
        "X",
        "Mira is tall.",
        "SYS",
        "Ada is a smith.",
        "stubborn",
        "A forge. Mira comes in.",
        "<START>\nAda: Hm.",
        "PHI",
        "The story has begun with these words of Ada, which the players have read:\nCome in, Mira.",
        "DEPTH",
        "BEFORE",
        "AFTER",
    ]
    assert profile.persona_placement == "fallback"
    assert {
        "USER_PERSONA_MARKER_FALLBACK",
        "CHARACTER_MARKER_FALLBACK",
        "CHARACTER_PHI_APPROXIMATE",
        "CHARACTER_GREETING_REFERENCE",
        "CHARACTER_DEPTH_APPROXIMATE",
    } == codes(profile)


def test_a_marker_that_is_switched_off_is_not_sent_at_all() -> None:
    off = preset(marker("charDescription", enabled=False), marker("worldInfoBefore", enabled=False))
    profile = compiled(card=ADA, preset=off, books=lore(Entry(1, (), "LORE", constant=True)))
    assert "smith" not in profile.system_text
    assert "LORE" not in profile.system_text
    assert profile.lore == ()


def test_the_cards_system_prompt_takes_mains_place_around_the_original() -> None:
    card = replace(ADA, system_prompt="Before. {{original}} After. {{original}}|")
    profile = compiled(card=card, preset=full(r"costs $1 and \1 and $& more"))
    assert texts(profile)[0] == r"Before. costs $1 and \1 and $& more After. |"
    assert texts(compiled(card=replace(ADA, system_prompt="Mine."), preset=full()))[0] == "Mine."


def test_forbid_overrides_keeps_the_presets_text() -> None:
    card = replace(ADA, system_prompt="MINE")
    profile = compiled(card=card, preset=preset(Prompt("main", content="Theirs.", forbid_overrides=True)))
    assert "Theirs." in profile.system_text
    assert "MINE" not in profile.system_text
    assert "CHARACTER_SYSTEM_OVERRIDE_FORBIDDEN" in codes(profile)


@pytest.mark.parametrize("with_prompts", [True, False])
def test_fields_that_the_session_does_not_want_are_nowhere(with_prompts: bool) -> None:
    card = replace(ADA, system_prompt="CARDSYS", post_history_instructions="CARDPHI")
    chosen = full() if with_prompts else preset(Prompt("x", content="X"))
    profile = compiled(card=card, preset=chosen, prefer_system=False, prefer_post_history=False)
    assert "CARDSYS" not in profile.system_text
    assert "CARDPHI" not in profile.system_text


def test_post_history_instructions_take_the_jailbreaks_place() -> None:
    card = replace(ADA, post_history_instructions="Mine, then {{original}}")
    profile = compiled(card=card, preset=full(phi="theirs"))
    assert texts(profile)[-1] == "Mine, then theirs"
    assert "CHARACTER_PHI_APPROXIMATE" in codes(profile)


def test_the_greeting_is_there_until_the_first_reply() -> None:
    first = compiled(card=ADA, preset=full(), persona=MIRA, greeting_index=2, first_turn=True)
    later = compiled(card=ADA, preset=full(), persona=MIRA, greeting_index=2, first_turn=False)
    assert texts(first)[-1].endswith("Night.")
    assert "Night." not in later.system_text


def test_a_greeting_is_shown_expanded_and_its_index_clamped() -> None:
    assert greeting_text(ADA, 0, "Mira") == "Come in, Mira."
    assert greeting_text(ADA, 99, "Mira") == "Night."
    assert greeting_text(ADA, -1, "Mira") == "Come in, Mira."
    assert greeting_text(replace(ADA, first_mes="", alternate_greetings=()), 0, "Mira") == ""


def test_what_is_shown_as_greeting_is_what_the_model_reads_also_with_chance_in_it() -> None:
    card = replace(ADA, first_mes="{{random::a::b::c::d::e::f}} {{pick::a::b::c::d}}")
    shown = greeting_text(card, 0, "Mira", seed="s")
    for turn in range(5):
        profile = compiled(card=card, persona=MIRA, first_turn=True, seed="s", turn=turn)
        assert texts(profile)[-1].endswith(f"\n{shown}")


def test_creator_notes_are_never_sent() -> None:
    profile = compiled(card=ADA, preset=full(), first_turn=True)
    assert "SECRET" not in profile.system_text
    assert "SECRET" not in compiled(card=ADA).system_text


def test_a_nickname_is_what_char_means() -> None:
    profile = compiled(card=replace(ADA, nickname="Smith"), preset=full())
    assert profile.character == "Smith"
    assert "Smith is a smith." in profile.system_text


def test_a_presets_formats_wrap_fields_and_lore() -> None:
    chosen = preset(
        *[marker(name) for name in MARKERS],
        scenario_format="Scene: {{scenario}}",
        personality_format="",
        wi_format="[{0}]",
    )
    profile = compiled(card=ADA, preset=chosen, books=lore(Entry(1, (), "A {0}", constant=True)))
    assert "Scene: A forge. User comes in." in texts(profile)
    assert "stubborn" in texts(profile)
    assert "[A {0}]" in texts(profile)
    empty = compiled(card=replace(ADA, scenario=""), preset=chosen)
    assert "Scene" not in empty.system_text


def test_lore_wakes_by_the_messages_and_reads_in_order() -> None:
    entries = (
        Entry(1, ("cat",), "CAT {{char}}", order=20),
        Entry(2, ("dog",), "DOG", order=10),
        Entry(3, ("owl",), "OWL"),
        Entry(4, (), "DEEP", constant=True, position="at_depth"),
        Entry(5, (), "OUT", constant=True, position="outlet"),
    )
    profile = compiled(card=ADA, preset=full(), books=lore(*entries), messages=("Mira: a cat, a dog",))
    assert "DOG\nCAT Ada" in texts(profile)
    assert "DEEP" in texts(profile)
    assert "OWL" not in profile.system_text
    assert "OUT" not in profile.system_text
    assert {"WORLD_BOOK_POSITION_APPROXIMATED", "WORLD_BOOK_OUTLET_SKIPPED"} <= codes(profile)
    assert {item.id for item in profile.lore} == {"w_1:1", "w_1:2", "w_1:4"}


def test_the_cards_own_book_comes_after_the_others_and_is_named_after_the_card() -> None:
    card = replace(ADA, book=WorldBook("own", (Entry(1, (), "OWN", constant=True),)))
    profile = compiled(
        card=card, card_id="c_1", preset=full(), books=lore(Entry(1, (), "BOOK", constant=True))
    )
    assert {item.id for item in profile.lore} == {"w_1:1", "character:c_1:embedded-world-book:1"}
    assert "OWN\nBOOK" in texts(profile)  # equal orders read backwards, as in SillyTavern


def test_prompts_for_another_kind_of_generation_are_left_out() -> None:
    chosen = preset(Prompt("x", content="CONTINUE", triggers=("continue",)), Prompt("y", content="Always."))
    assert texts(compiled(preset=chosen)) == ["Always."]
    assert texts(compiled(preset=chosen, trigger="continue")) == ["CONTINUE", "Always."]


def test_roles_and_depths_that_only_a_strategy_can_keep_are_told() -> None:
    chosen = preset(Prompt("x", content="X", role="user"), Prompt("y", content="Y", in_chat=True, depth=2))
    profile = compiled(preset=chosen)
    assert texts(profile) == ["X", "Y"]
    assert {(note.code, note.where) for note in profile.diagnostics} == {
        ("PRESET_ROLE_APPROXIMATED", "x"),
        ("PRESET_DEPTH_APPROXIMATED", "y"),
    }


def test_unknown_macros_stay_and_are_told_once() -> None:
    profile = compiled(preset=preset(Prompt("x", content="{{nosuch::a}} {{nosuch::b}}")))
    assert texts(profile) == ["{{nosuch::a}} {{nosuch::b}}"]
    assert [(note.code, note.where) for note in profile.diagnostics] == [("UNKNOWN_MACRO", "nosuch")]


def test_the_parameters_are_the_presets() -> None:
    chosen = replace(preset(), temperature=0.5, max_tokens=7, reasoning_effort="low", stop=("END",))
    parameters = compiled(preset=chosen).parameters
    assert (parameters.temperature, parameters.max_tokens) == (0.5, 7)
    assert (parameters.reasoning_effort, parameters.stop) == ("low", ("END",))
    assert compiled(card=ADA).parameters.temperature is None


def test_authored_text_over_the_budget_is_refused_whole_with_both_numbers() -> None:
    fits = preset(Prompt("x", content="字" * 100))
    assert len(compiled(preset=fits, max_bytes=300).system_text.encode()) == 300
    with pytest.raises(ResourceError) as caught:
        compiled(preset=fits, max_bytes=299)
    assert caught.value.error_code == "TAVERN_PROFILE_TOO_LARGE"
    assert (caught.value.data["actual_bytes"], caught.value.data["max_bytes"]) == (300, 299)


def test_the_budget_has_a_hard_ceiling() -> None:
    large = preset(Prompt("x", content="x" * (2 * 1024 * 1024 + 1)))
    with pytest.raises(ResourceError):
        compiled(preset=large, max_bytes=10 * 1024 * 1024)


def test_lore_that_does_not_fit_goes_whole_from_the_lowest_order() -> None:
    entries = [Entry(uid, (), f"{uid}" * 50, constant=True, order=uid) for uid in range(1, 10)]
    profile = compiled(preset=preset(Prompt("x", content="X")), books=lore(*entries), max_bytes=212)
    assert [item.entry.uid for item in profile.lore] == [6, 7, 8, 9]
    assert len(profile.system_text.encode()) <= 212
    assert "TAVERN_PROFILE_LORE_LIMITED" in codes(profile)


def test_at_most_4096_entries_are_considered() -> None:
    entries = [Entry(uid, (), "x", constant=True) for uid in range(5000)]
    profile = compiled(books=lore(*entries))
    assert len(profile.lore) == 4096
    assert "TAVERN_PROFILE_LORE_LIMITED" in codes(profile)
    assert (profile.budget.retained, profile.budget.omitted) == (4096, 904)


def test_raw_lore_has_at_most_twice_the_budget_before_anything_is_tried() -> None:
    entries = [Entry(uid, (), "x" * 100, constant=True, order=uid) for uid in range(50)]
    profile = compiled(books=lore(*entries), max_bytes=1000)
    budget = profile.budget
    assert (budget.max_bytes, budget.max_input_bytes) == (1000, 2000)
    assert budget.candidate_bytes == 20 * 100 + 19
    assert (budget.retained, budget.omitted) == (9, 41)
    (note,) = [note for note in profile.diagnostics if note.code == "TAVERN_PROFILE_LORE_LIMITED"]
    assert note.data == {"total": 50, "kept": 9, "limit": 1000}


def test_an_outlet_stands_where_a_text_reads_it() -> None:
    card = replace(ADA, scenario="At the {{outlet::place}}.")
    entries = (
        Entry(1, (), "forge", constant=True, position="outlet", outlet="place"),
        Entry(2, (), "Rain.", constant=True, position="outlet", outlet="weather"),
        Entry(3, (), "Never.", constant=True, position="outlet", outlet="unread"),
    )
    chosen = full(main="It is so: {{outlet::weather}}")
    profile = compiled(card=card, preset=chosen, books=lore(*entries))
    assert "At the forge." in texts(profile)
    assert "It is so: Rain." in texts(profile)
    assert "Never." not in profile.system_text
    told = [note.where for note in profile.diagnostics if note.code == "WORLD_BOOK_OUTLET_SKIPPED"]
    assert told == ["w_1:3"]
    assert {item.entry.uid for item in profile.lore} == {1, 2}


def test_what_changes_lore_at_the_last_moment_sees_each_text_once_with_its_depth() -> None:
    seen: list[tuple[str, int | None]] = []

    def finish(text: str, depth: int | None) -> str:
        seen.append((text, depth))
        return text.upper()

    entries = (
        Entry(1, (), "plain", constant=True),
        Entry(2, (), "deep", constant=True, position="at_depth", depth=3),
        Entry(3, (), "out", constant=True, position="outlet", outlet="o"),
    )
    chosen = full(main="{{outlet::o}}")
    profile = compiled(card=ADA, preset=chosen, books=lore(*entries), finish=finish)
    assert sorted(seen, key=str) == [("deep", 3), ("out", None), ("plain", None)]
    assert {"OUT", "PLAIN", "DEEP"} <= set(texts(profile))


def test_a_preset_may_cite_the_cards_instructions_with_their_macros_expanded() -> None:
    card = replace(
        ADA,
        system_prompt="{{original}}SYS {{char}}",
        post_history_instructions="PHI",
        depth_prompt=DepthPrompt("NOTE {{user}}"),
        character_version="2.1",
    )
    cited = "<{{charPrompt}}|{{charInstruction}}|{{charDepthPrompt}}|{{charVersion}}|{{charFirstMessage::1}}>"
    chosen = preset(Prompt("x", content=cited), Prompt("main", content="", enabled=False))
    profile = compiled(card=card, preset=chosen, persona=MIRA)
    assert "<SYS Ada|PHI|NOTE Mira|2.1|Rain.>" in profile.system_text
    unwanted = compiled(
        card=card, preset=chosen, persona=MIRA, prefer_system=False, prefer_post_history=False
    )
    assert "<||NOTE Mira|2.1|Rain.>" in unwanted.system_text


def test_creator_notes_are_not_sent_even_where_a_macro_asks_for_them() -> None:
    chosen = preset(Prompt("x", content="[{{creatorNotes}}]"))
    assert "SECRET" not in compiled(card=ADA, preset=chosen).system_text


def test_lore_does_not_repeat_the_persona() -> None:
    entries = (Entry(1, (), "About {{user}}: {{persona}}.", constant=True),)
    profile = compiled(card=ADA, preset=full(), persona=MIRA, books=lore(*entries))
    assert profile.system_text.count("is tall") == 1
    assert "About Mira: ." in texts(profile)


def test_the_same_request_gives_the_same_text_and_the_next_turn_other_chances() -> None:
    chosen = preset(Prompt("x", content="{{roll::1000000}} {{random::a::b}}"))
    request = ProfileRequest(preset=chosen, seed="s", turn=3)
    assert compile_profile(request).system_text == compile_profile(request).system_text
    assert compile_profile(request).system_text != compile_profile(replace(request, turn=4)).system_text


field = st.text(alphabet="ab{}: \nüserch龙", max_size=30)


@given(field, field, field, st.integers(0, 400))
def test_the_budget_holds_for_any_content_and_sections_are_the_text(
    description: str, content: str, about: str, room: int
) -> None:
    card = replace(ADA, description=description)
    entries = [Entry(uid, (), content, constant=True, order=uid) for uid in range(8)]
    request = ProfileRequest(
        card=card, preset=full(), persona=Persona("Mira", about), books=lore(*entries), max_bytes=room
    )
    try:
        profile = compile_profile(request)
    except ResourceError as error:
        assert error.error_code == "TAVERN_PROFILE_TOO_LARGE"
        return
    assert len(profile.system_text.encode()) <= room
    assert "\n\n".join(section.text for section in profile.sections) == profile.system_text
    assert all(section.text.strip() for section in profile.sections)


MARKS = {"persona": "PP", "description": "DD", "personality": "TT", "scenario": "SS", "mes_example": "EE"}
MACROS = ("{{persona}}", "{{description}}", "{{personality}}", "{{scenario}}", "{{mesExamples}}")
prompts = st.lists(
    st.one_of(
        st.sampled_from(["personaDescription", *MARKERS]).map(marker),
        st.builds(
            Prompt,
            st.sampled_from(["main", "jailbreak", "a", "b", "c"]),
            content=st.lists(st.sampled_from([*MACROS, "text", "{{original}}"]), max_size=4).map(" ".join),
            enabled=st.booleans(),
            forbid_overrides=st.booleans(),
        ),
    ),
    max_size=10,
    unique_by=lambda prompt: prompt.identifier,
)


@given(prompts, st.sampled_from(["", "MINE {{original}}", "MINE {{description}}"]), st.booleans())
@example([Prompt("main", content="{{persona}}")], "MINE {{description}}", True)
def test_every_field_is_there_at_most_once_wherever_it_is_asked_for(
    chosen: list[Prompt], own: str, prefer: bool
) -> None:
    card = Card(
        "v2", "Ada", {}, description="DD", personality="TT", scenario="SS", mes_example="EE",
        system_prompt=own, post_history_instructions=own, creator_notes="NOTES",
    )  # fmt: skip
    entries = (Entry(1, (), "LL {{persona}} {{description}}", constant=True),)
    profile = compiled(
        card=card,
        preset=preset(*chosen),
        persona=Persona("Mira", "PP"),
        books=lore(*entries),
        prefer_system=prefer,
        prefer_post_history=prefer,
    )
    for mark in (*MARKS.values(), "LL"):
        assert profile.system_text.count(mark) <= 1, mark
    # a marker or a prompt that is off takes its field away; everything else is said
    off = {prompt.identifier for prompt in chosen if not prompt.enabled}
    if not off:
        assert all(mark in profile.system_text for mark in (*MARKS.values(), "LL"))
    assert "NOTES" not in profile.system_text
    assert prefer or "MINE" not in profile.system_text


@given(prompts, st.text("ab{}:$<>user龙\n", max_size=40))
def test_the_words_of_people_are_never_expanded_and_rendering_is_pure(
    chosen: list[Prompt], words: str
) -> None:
    quoted = Prompt("said", content="«{{lastUserMessage}}»")
    chat = Chat((ChatMessage(words, is_user=True),))
    request = ProfileRequest(
        card=ADA,
        preset=preset(quoted, *chosen),
        persona=MIRA,
        books=lore(Entry(1, ("龙",), "DRAGON {{roll::100}}")),
        messages=(words,),
        chat=chat,
        seed="s",
        now=datetime(2026, 1, 1, tzinfo=UTC),
    )
    profile = compile_profile(request)
    assert f"«{words}»" in profile.system_text or not words.strip()
    assert profile.variables.local == {}
    again = compile_profile(request)
    assert again.system_text == profile.system_text
    assert (again.sections, again.diagnostics, again.budget) == (
        profile.sections, profile.diagnostics, profile.budget
    )  # fmt: skip

"""The cases 33 to 48 of the tavern specification (section 12), and the tests that state them.

A case is covered by the tests that are named here; this test sees to it that they are there. Files of the
desktop program have no place in a database: where a case speaks of one (38), the same is said of the
database, of the file of a template, and of a selection of a later version.
"""

import importlib

import pytest

PLAY = "tests.engine.play.test_selecting"
CASES: dict[int, tuple[str, ...]] = {
    33: ("test_selections.test_before_the_first_use_the_default_counts_and_afterwards_nothing_of_it",),
    34: (
        "test_selections.test_a_fork_takes_what_its_parent_uses_now_and_then_goes_its_own_way",
        f"{PLAY}.test_a_branch_takes_what_is_used_now_and_then_goes_its_own_way",
        f"{PLAY}.test_a_delegated_agent_uses_what_its_parent_uses_at_that_moment",
    ),
    35: (
        "test_selections.test_a_new_session_without_a_parent_starts_from_the_defaults",
        f"{PLAY}.test_a_session_without_a_parent_gets_nothing_from_what_was_played_before",
    ),
    36: (
        f"{PLAY}.test_while_an_answer_is_written_the_code_says_what_has_to_wait",
        f"{PLAY}.test_a_template_waits_too",
        f"{PLAY}.test_also_while_a_swipe_is_written",
    ),
    37: (
        f"{PLAY}.test_a_full_library_refuses_new_stories_and_those_that_are_open_go_on",
        f"{PLAY}.test_the_last_place_is_given_away_once",
        f"{PLAY}.test_no_setting_goes_beyond_the_hard_limit",
    ),
    38: (
        "tests.engine.resources.test_envelope.test_a_template_of_more_than_64_kib_is_not_even_parsed",
        "tests.engine.storage.test_schema.test_a_database_of_a_newer_program_is_refused",
        "tests.engine.storage.test_schema.test_migrations_are_applied_in_order_and_only_once",
        "test_selections.test_a_selection_of_a_later_version_is_read_as_far_as_it_is_known",
    ),
    39: ("test_selections.test_many_patches_are_one_change_or_none",),
    40: (
        "test_selections.test_a_deleted_card_takes_its_options_along",
        "test_library.test_deleting_frees_room_and_clears_every_selection",
    ),
    41: (f"{PLAY}.test_a_story_keeps_its_card_and_says_what_stands_in_the_way",),
    42: ("test_selections.test_a_hostile_session_id_is_refused_and_nothing_is_written",),
    43: ("tests.engine.lore.test_composition.test_books_come_by_origin_and_each_once",),
    44: (
        "test_relations.test_a_deleted_book_leaves_persona_preset_and_card_and_the_cards_own_book_stays",
        "test_personas.test_a_deleted_persona_leaves_selections_and_relations",
    ),
    45: (
        "test_relations.test_a_book_that_is_not_there_rejects_the_whole_list",
        "test_relations.test_an_empty_list_removes_all",
        "test_relations.test_a_hundred_and_one_books_are_refused",
    ),
    46: (
        "test_relations.test_no_export_says_which_books_come_along",
        "test_personas.test_an_export_says_nothing_of_books_or_stories",
    ),
    47: (
        "test_templates.test_a_preview_names_what_is_missing_and_usable_refuses",
        "tests.cogs.test_template.test_a_template_that_misses_something_is_not_applied_at_all",
    ),
    48: (
        "test_templates.test_the_hundred_and_first_is_refused",
        "test_templates.test_the_templates_of_one_server_have_so_much_room_together",
        "test_templates.test_a_template_keeps_the_choice_and_not_the_story",
    ),
}


def test_every_case_has_its_place() -> None:
    assert list(CASES) == list(range(33, 49))


@pytest.mark.parametrize("name", sorted({name for names in CASES.values() for name in names}))
def test_a_case_is_stated_by_a_test_that_exists(name: str) -> None:
    module, _, function = name.rpartition(".")
    if not module.startswith("tests."):
        module = f"tests.engine.library.{module}"

    assert callable(getattr(importlib.import_module(module), function))

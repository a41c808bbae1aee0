"""The cases 26 to 74 of the tavern specification (section 12), and the tests that state them.

A case is covered by the tests that are named here; this test sees to it that they are there. What the
matcher decides (26 to 32) and what a session has selected (33 to 48) is stated where it is decided.
"""

import importlib

import pytest

LORE = "tests.engine.lore"
LIBRARY = "tests.engine.library"
AGENT = "tests.engine.agent"
PLAY = "tests.engine.play"

CASES: dict[int, tuple[str, ...]] = {
    # the matcher
    26: (f"{LORE}.test_keys.test_whole_words_as_sillytavern_counts_them",),
    27: (
        f"{LORE}.test_keys.test_pattern_keys_can_be_switched_off_or_be_too_long_and_that_is_told",
        f"{LORE}.test_keys.test_pattern_keys",
    ),
    28: (f"{LORE}.test_keys.test_secondary_keys_by_their_logic",),
    29: (f"{LORE}.test_activation.test_chance_is_the_callers",),
    30: (
        f"{LORE}.test_budget.test_the_taverns_budget_tries_smaller_ones_and_does_not_charge_the_free",
        f"{LORE}.test_groups.test_a_winner_that_is_unlucky_leaves_its_group_empty",
    ),
    31: (
        f"{LORE}.test_activation.test_depth_0_sees_nothing_at_all",
        f"{LORE}.test_activation.test_only_the_last_messages_are_scanned",
    ),
    32: (
        f"{LORE}.test_composition.test_a_book_that_does_not_fit_is_skipped_whole_and_smaller_ones_still_count",
    ),
    # selection and relations: tests/engine/library/test_cases.py has them all
    33: (f"{LIBRARY}.test_cases.test_every_case_has_its_place",),
    34: (
        f"{LIBRARY}.test_cases.test_every_case_has_its_place",
        f"{PLAY}.test_profile.test_a_fork_and_a_delegated_agent_settle_what_their_parent_uses",
    ),
    35: (f"{PLAY}.test_selecting.test_a_session_without_a_parent_gets_nothing_from_what_was_played_before",),
    **{number: (f"{LIBRARY}.test_cases.test_every_case_has_its_place",) for number in range(36, 43)},
    43: (
        "test_compilation.test_books_come_by_origin_and_the_cards_own_last",
        f"{LORE}.test_composition.test_books_come_by_origin_and_each_once",
    ),
    44: (
        f"{LIBRARY}.test_cases.test_every_case_has_its_place",
        "test_compilation.test_a_relation_counts_from_the_next_request_on",
    ),
    **{number: (f"{LIBRARY}.test_cases.test_every_case_has_its_place",) for number in range(45, 49)},
    # pending input and activation
    49: (
        "test_loader_lore.test_the_words_that_are_claimed_wake_lore_in_the_very_first_request",
        f"{PLAY}.test_profile.test_words_activate_lore_in_the_very_request_that_they_are_in",
    ),
    50: (
        "test_conversation.test_a_claim_is_named_once_and_a_later_step_reads_history_only",
        f"{LORE}.test_context.test_messages_are_told_apart_by_id_never_by_text",
        f"{AGENT}.test_loop.test_what_was_claimed_is_that_step_s_only",
    ),
    51: ("test_conversation.test_what_was_taken_back_or_changed_while_it_waited_is_not_read",),
    52: (
        f"{LORE}.test_context.test_messages_are_told_apart_by_id_never_by_text",
        "test_conversation.test_two_messages_of_the_same_text_are_two_and_a_file_stands_on_its_own_line",
    ),
    53: (
        f"{LORE}.test_context.test_the_newest_128_messages_are_scanned",
        f"{LORE}.test_context.test_of_a_long_message_the_end_is_kept",
    ),
    54: (
        "test_conversation.test_a_queue_that_is_built_again_has_claimed_nothing",
        f"{AGENT}.test_recovery.test_words_that_were_only_queued_wait_in_the_next_process",
    ),
    55: (
        "test_conversation.test_a_fork_reads_nothing_of_its_parents_queue",
        f"{AGENT}.test_inbox.test_a_fork_inherits_no_queue",
    ),
    56: (
        "test_conversation.test_a_claim_is_named_once_and_a_later_step_reads_history_only",
        f"{AGENT}.test_inbox.test_a_batch_is_all_of_next_step_and_one_prompt",
    ),
    57: (
        "test_conversation.test_after_a_turn_ended_with_an_error_nothing_of_its_claim_is_left",
        "test_conversation.test_sessions_do_not_see_each_others_claims",
        f"{PLAY}.test_profile.test_words_that_were_not_let_in_activate_nothing_later",
    ),
    58: (
        f"{LORE}.test_context.test_the_metadata_has_no_words_and_at_most_four_claims",
        "test_compilation.test_the_audit_says_how_and_holds_nobodys_words",
    ),
    # compile()
    59: (
        "test_renderer.test_a_preset_alone_is_its_enabled_texts_joined_by_a_blank_line",
        "test_profile_section.test_no_wrapper_name_or_id_is_in_the_text",
    ),
    60: (
        "test_renderer.test_a_macro_before_the_marker_is_the_only_place",
        "test_renderer.test_every_field_is_there_at_most_once_wherever_it_is_asked_for",
    ),
    61: ("test_renderer.test_what_has_no_marker_stands_behind_in_a_fixed_order_and_is_told",),
    62: ("test_renderer.test_fields_that_the_session_does_not_want_are_nowhere",),
    63: ("test_renderer.test_forbid_overrides_keeps_the_presets_text",),
    64: (
        "test_renderer.test_the_greeting_is_there_until_the_first_reply",
        "test_conversation.test_facts_and_calls_are_nobodys_words",
        f"{PLAY}.test_profile.test_the_greeting_is_a_reference_until_the_first_answer",
    ),
    65: (
        "test_compilation.test_without_rendering_the_sources_are_there_and_the_text_is_not",
        f"{PLAY}.test_profile.test_the_greeting_is_a_reference_until_the_first_answer",
    ),
    66: (f"{PLAY}.test_profile.test_the_greeting_is_a_reference_until_the_first_answer",),
    67: ("test_renderer.test_markers_are_filled_in_the_presets_order",),
    68: (
        "test_compilation.test_too_much_authored_text_is_refused_with_both_numbers_and_nothing_is_cut",
        f"{PLAY}.test_profile.test_texts_that_are_too_long_are_refused_before_anything_is_sent",
    ),
    69: (
        "test_renderer.test_at_most_4096_entries_are_considered",
        "test_renderer.test_raw_lore_has_at_most_twice_the_budget_before_anything_is_tried",
        "test_renderer.test_lore_that_does_not_fit_goes_whole_from_the_lowest_order",
    ),
    70: ("test_profile_section.test_a_preset_that_wants_to_be_alone_leaves_only_the_policy_beside_it",),
    71: ("test_compilation.test_a_preset_that_is_gone_is_told_and_the_built_in_one_speaks",),
    72: ("test_profile_section.test_a_step_keeps_what_it_was_assembled_from_though_the_selection_changes",),
    73: ("test_adapters.test_a_second_adapter_is_refused_and_an_old_disposer_leaves_the_new_one",),
    74: (
        "test_renderer.test_creator_notes_are_never_sent",
        "test_renderer.test_creator_notes_are_not_sent_even_where_a_macro_asks_for_them",
    ),
}
"""65 speaks of the standard assembly, which places the greeting from the sources that it is handed."""


def test_every_case_has_its_place() -> None:
    assert list(CASES) == list(range(26, 75))


@pytest.mark.parametrize("name", sorted({name for names in CASES.values() for name in names}))
def test_a_case_is_stated_by_a_test_that_exists(name: str) -> None:
    module, _, function = name.rpartition(".")
    if not module.startswith("tests."):
        module = f"tests.engine.tavern.{module}"
    assert callable(getattr(importlib.import_module(module), function))

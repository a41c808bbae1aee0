"""The cases of the specifications that are about lore, and the tests that state them.

`ST` are the world-info cases of the SillyTavern specification (section 10), `TAVERN` those of the Tavern
specification (section 12). Where they differ, SillyTavern's code is followed and the Tavern's rule can be
had by name (decisions 16 and 17): the tests state both.
"""

import importlib

import pytest

_VECTORS = "tests.conformance.test_vectors.test_a_family_agrees_with_its_recording"

ST: dict[int, tuple[str, ...]] = {
    36: (
        "test_keys.test_whole_words_as_sillytavern_counts_them",
        "test_keys.test_whole_words_and_case_are_the_settings_or_the_entrys",
    ),
    37: ("test_keys.test_whole_words_as_sillytavern_counts_them",),
    38: ("test_keys.test_whole_words_as_sillytavern_counts_them",),
    39: ("test_quirks.test_a_blank_key_matches_nothing_or_everything",),
    40: ("test_keys.test_pattern_keys",),
    41: ("test_keys.test_a_pattern_can_bind_to_a_speaker",),
    42: ("test_keys.test_secondary_keys_by_their_logic", _VECTORS),
    43: ("test_activation.test_depth_0_sees_nothing_at_all",),
    44: ("test_activation.test_only_the_last_messages_are_scanned",),
    45: ("test_activation.test_each_match_source_is_its_own",),
    46: ("test_recursion.test_entries_wake_others",),
    47: ("test_recursion.test_an_excluded_entry_wakes_directly_only",),
    48: ("test_recursion.test_a_quiet_entry_does_not_wake_others_even_where_another_does",),
    49: ("test_recursion.test_a_delayed_entry_alone_never_comes_and_with_another_it_does",),
    50: ("test_recursion.test_levels_open_one_at_a_time_also_without_recursion",),
    51: ("test_recursion.test_the_depth_widens_until_enough_are_active",),
    52: ("test_recursion.test_a_widening_pass_does_not_read_what_entries_wrote_and_the_next_does",),
    53: ("test_groups.test_weights_decide_by_one_roll",),
    54: ("test_groups.test_a_preferred_member_wins_by_the_highest_order_without_a_roll",),
    55: ("test_groups.test_a_group_that_was_won_is_closed_in_later_passes",),
    56: ("test_groups.test_an_entry_that_two_groups_reject_is_removed_once_or_takes_the_last_with_it",),
    57: ("test_groups.test_scores_count_matching_keys",),
    58: ("test_groups.test_a_winner_that_is_unlucky_leaves_its_group_empty",),
    59: ("test_effects.test_sticky_cooldown_and_delay_over_nine_messages",),
    60: ("test_effects.test_an_effect_of_a_chat_that_did_not_advance_is_gone",),
    61: ("test_effects.test_an_edited_entry_loses_its_effect_and_does_not_get_it_back_before_its_end",),
    62: ("test_effects.test_a_delay_holds_constants_too",),
    63: ("test_activation.test_triggers_limit_an_entry_to_a_kind_of_generation",),
    64: ("test_activation.test_character_filters",),
    65: ("test_activation.test_character_filters",),
    66: ("test_decorators.test_activate_needs_no_key_and_wins",),
    67: ("test_decorators.test_a_longer_name_is_not_a_shorter_one",),
    68: ("test_decorators.test_fallbacks_stand_in_for_what_is_not_known",),
    69: ("test_budget.test_the_budget_is_a_share_of_the_window_and_may_have_a_cap",),
    70: ("test_budget.test_an_exact_fit_is_refused_and_nothing_after_it_is_tried",),
    71: ("test_budget.test_an_entry_may_ignore_the_budget_also_after_it_overflowed",),
    72: ("test_budget.test_an_overflow_ends_recursion",),
    73: ("test_places.test_every_position_has_its_container",),
    74: ("test_places.test_what_is_not_in_the_prompt_is_told",),
    75: ("test_places.test_depths_are_grouped_by_depth_and_role_and_read_in_ascending_order",),
    76: ("test_places.test_what_is_not_in_the_prompt_is_told",),
    77: ("test_activation.test_a_book_is_read_once", _VECTORS),
    78: (
        "test_oracle.test_the_engine_activates_what_the_naive_scan_does_and_rolls_as_often",
        "tests.perf.lore.measure",
    ),
    79: ("test_keys.test_a_pattern_that_takes_too_long_sleeps_and_is_stopped_at_the_third_time",),
}

TAVERN: dict[int, tuple[str, ...]] = {
    26: ("test_keys.test_whole_words_as_sillytavern_counts_them",),
    27: (
        "test_keys.test_pattern_keys_can_be_switched_off_or_be_too_long_and_that_is_told",
        "test_keys.test_pattern_keys",
    ),
    28: ("test_keys.test_secondary_keys_by_their_logic",),
    29: (
        "test_activation.test_chance_is_the_callers",
        "test_activation.test_a_probability_of_0_is_not_rolled_under_the_exclusive_rule_nor_any_that_is_not_used",
    ),
    30: (
        "test_budget.test_the_taverns_budget_tries_smaller_ones_and_does_not_charge_the_free",
        "test_groups.test_a_winner_that_is_unlucky_leaves_its_group_empty",
        "test_keys.test_whole_words_as_sillytavern_counts_them",
    ),
    31: (
        "test_activation.test_depth_0_sees_nothing_at_all",
        "test_activation.test_only_the_last_messages_are_scanned",
    ),
    32: ("test_composition.test_a_book_that_does_not_fit_is_skipped_whole_and_smaller_ones_still_count",),
    43: ("test_composition.test_books_come_by_origin_and_each_once",),
    49: (
        "tests.engine.tavern.test_loader_lore."
        "test_the_words_that_are_claimed_wake_lore_in_the_very_first_request",
    ),
    50: (
        "test_context.test_messages_are_told_apart_by_id_never_by_text",
        "tests.engine.agent.test_loop.test_what_was_claimed_is_that_step_s_only",
    ),
    52: ("test_context.test_messages_are_told_apart_by_id_never_by_text",),
    53: (
        "test_context.test_the_newest_128_messages_are_scanned",
        "test_context.test_of_a_long_message_the_end_is_kept",
    ),
    58: ("test_context.test_the_metadata_has_no_words_and_at_most_four_claims",),
}
"""51 and 54 to 57 are the inbox's own: what is claimed, and when. Lore is handed the claimed batch."""


def test_every_case_has_its_place() -> None:
    assert list(ST) == list(range(36, 80))
    assert list(TAVERN) == [*range(26, 33), 43, 49, 50, 52, 53, 58]


@pytest.mark.parametrize(
    "name", sorted({name for cases in (ST, TAVERN) for names in cases.values() for name in names})
)
def test_a_case_is_stated_by_a_test_that_exists(name: str) -> None:
    module, _, function = name.rpartition(".")
    if not module.startswith("tests."):
        module = f"tests.engine.lore.{module}"

    assert callable(getattr(importlib.import_module(module), function))

"""The 90 cases of the agent loop's specification (section 8), and the tests that state them.

A case is covered by the tests that are named here; this test sees to it that they are there.
"""

from __future__ import annotations

import importlib

import pytest

LLM = "tests.engine.llm"
PLAY = "tests.engine.play"

CASES: dict[int, tuple[str, ...]] = {
    # -- the inbox
    1: (
        "test_loop.test_a_plain_turn_is_logged_in_the_golden_order",
        "test_inbox.test_status_goes_to_running_in_the_call_and_to_idle_once",
    ),
    2: ("test_inbox.test_each_prompt_gets_a_turn_of_its_own",),
    3: ("test_inbox.test_steering_during_a_tool_is_in_the_next_request",),
    4: ("test_inbox.test_steering_during_the_last_answer_keeps_the_turn_open",),
    5: ("test_inbox.test_injected_context_wakes_nobody_and_stands_before_the_next_prompt",),
    6: ("test_inbox.test_two_steers_into_an_idle_agent_are_two_steps",),
    7: ("test_inbox.test_an_id_that_is_pending_is_not_taken_again_by_either_queue",),
    8: ("test_inbox.test_replacing_keeps_the_place_and_is_an_edit_in_the_log",),
    9: (
        "test_inbox.test_what_was_claimed_can_be_neither_replaced_nor_removed",
        "test_queue.test_what_was_taken_up_is_not_found_any_more",
    ),
    10: ("test_inbox.test_words_that_are_taken_back_before_the_claim_leave_a_turn_without_a_step",),
    11: ("test_inbox.test_positions_are_written_as_they_are_meant",),
    12: ("test_inbox.test_a_batch_is_all_of_next_step_and_one_prompt",),
    13: (
        "test_queue.test_a_queued_prompt_can_be_let_into_the_running_turn",
        "test_queue.test_without_a_running_turn_nothing_can_be_steered",
    ),
    14: ("test_inbox.test_an_observer_of_the_log_cannot_send_and_is_told_so",),
    15: ("test_inbox.test_what_the_log_refuses_is_not_queued",),
    16: ("test_inbox.test_a_log_with_an_impossible_splice_does_not_open_and_names_it",),
    17: ("test_inbox.test_a_fork_inherits_no_queue",),
    18: (
        "test_inbox.test_the_log_knows_every_id_that_it_ever_held",
        f"{PLAY}.test_story.test_a_second_delivery_is_a_duplicate_whenever_it_comes",
    ),
    # -- cancel, crash, resume
    19: ("test_loop.test_stopping_an_idle_agent_with_an_empty_queue_does_nothing",),
    20: (
        "test_loop.test_a_stop_keeps_the_visible_part_as_an_interrupted_message",
        "test_cancel.test_the_visible_part_is_in_the_next_request",
    ),
    21: ("test_cancel.test_reasoning_alone_is_kept_with_its_usage",),
    22: ("test_cancel.test_a_half_streamed_call_is_dropped_and_the_text_before_it_kept",),
    23: ("test_cancel.test_a_half_streamed_call_alone_is_an_attempt",),
    24: (
        "test_loop.test_a_stop_between_claim_and_request_admits_nothing",
        "test_cancel.test_a_stop_before_the_step_admits_nothing_and_gives_nothing_back",
    ),
    25: ("test_cancel.test_a_stop_during_the_choice_of_the_model_leaves_an_empty_step",),
    26: ("test_cancel.test_a_stop_from_an_observer_of_the_log_calls_no_model",),
    27: (
        "test_inbox.test_a_cancel_without_keeping_cancels_the_queue",
        "test_cancel.test_a_kept_queue_waits_and_goes_on_in_its_order",
    ),
    28: ("test_cancel.test_words_that_come_before_the_stop_has_converged_go_to_the_end_of_the_queue",),
    29: ("test_cancel.test_words_that_came_and_went_before_the_stop_has_converged_start_nothing",),
    30: ("test_cancel.test_a_wake_after_the_end_began_answers_nothing",),
    31: ("test_loop.test_the_first_cause_of_a_stop_wins",),
    32: ("test_loop.test_a_stop_during_the_wait_before_a_retry_is_obeyed",),
    33: ("test_cancel.test_a_stop_from_the_settlement_starts_no_tool",),
    34: (
        "test_cancel.test_a_stop_before_the_step_admits_nothing_and_gives_nothing_back",
        "test_cancel.test_a_stopped_agent_can_be_waited_for_any_number_of_times",
    ),
    35: (
        "test_recovery.test_words_that_were_only_queued_wait_in_the_next_process",
        "tests.e2e.test_restart.test_words_that_waited_are_answered_after_a_crash",
    ),
    36: (
        "test_recovery.test_words_that_were_claimed_are_queued_again_once",
        "test_recovery.test_words_that_three_processes_died_on_are_dead_letters",
        f"{PLAY}.test_restart.test_words_that_end_three_processes_are_given_up_and_can_be_said_again",
    ),
    37: ("test_recovery.test_words_that_were_admitted_are_in_the_history_once_and_turns_are_numbered_on",),
    38: ("test_recovery.test_a_call_that_the_crash_left_open_is_answered",),
    39: ("test_recovery.test_a_repaired_log_is_not_repaired_again",),
    40: (
        "test_recovery.test_a_failed_attempt_before_the_crash_stays_an_attempt",
        f"{PLAY}.test_restart.test_an_answer_that_a_crash_cut_off_is_not_in_the_story_and_can_be_had",
    ),
    41: ("test_recovery.test_no_model_is_called_for_what_could_not_be_stored",),
    # -- retry and settlement
    42: ("test_loop.test_a_transient_failure_is_retried_in_the_same_step_and_admits_input_once",),
    43: ("test_loop.test_six_rate_limits_with_five_retries_end_the_turn",),
    44: ("test_loop.test_what_time_does_not_heal_is_not_retried",),
    45: (
        f"{LLM}.test_failure.test_the_providers_wait_is_kept_exactly_up_to_the_cap_and_beyond_it_we_give_up",
    ),
    46: (
        f"{LLM}.test_completion.test_an_answer_of_nothing_is_an_error",
        f"{LLM}.anthropic.test_events.test_an_answer_of_nothing_is_an_error",
        f"{LLM}.test_failure.test_passing_troubles_are_retried",
    ),
    47: (
        f"{LLM}.test_completion.test_without_both_the_answer_is_truncated_and_usage_still_counts",
        "tests.e2e.test_model_trouble.test_a_stream_that_breaks_is_begun_again_in_the_same_message",
    ),
    48: ("test_loop.test_a_listener_that_breaks_the_recovery_ends_the_turn_with_its_error",),
    49: ("test_loop.test_a_listener_that_breaks_the_stream_ends_the_turn_with_its_error",),
    50: ("test_loop.test_an_attempt_that_the_log_does_not_take_is_abandoned_and_the_turn_says_so",),
    51: (
        "tests.engine.tavern.test_parameters.test_a_refused_temperature_is_left_out_and_the_answer_comes",
        "tests.engine.tavern.test_parameters.test_after_the_first_word_nothing_is_left_out",
        "tests.engine.tavern.test_parameters.test_what_was_left_out_and_why_stands_in_the_log_once",
    ),
    52: (
        "tests.engine.tavern.test_parameters.test_a_full_context_is_no_refused_parameter",
        "test_compaction.test_a_request_that_is_too_long_is_sent_again_with_notes",
    ),
    53: (
        "test_loop.test_a_call_that_was_cut_off_at_the_limit_is_dropped_and_its_text_kept",
        "test_loop.test_a_turn_that_was_cut_short_stays_so_though_a_later_step_is_whole",
    ),
    # -- tools
    54: ("test_tools.test_case_54_results_stand_in_the_models_order_however_the_bodies_finish",),
    55: ("test_tools.test_case_55_an_exclusive_call_overlaps_nothing",),
    56: ("test_tools.test_case_56_a_pool_of_two_refills_as_its_bodies_settle",),
    57: ("test_tools.test_case_57_a_guard_denies_one_of_three",),
    58: (
        "test_tool_pipeline.test_case_58_a_guard_denies_what_the_policy_allows",
        "test_tool_pipeline.test_case_58_a_silent_guard_does_not_allow_what_the_policy_denies",
        "test_tool_pipeline.test_case_58_a_guard_that_fails_or_answers_nonsense_denies",
    ),
    59: ("test_tool_pipeline.test_case_59_ask_with_nobody_to_ask_is_a_denial_with_a_reason",),
    60: ("test_tool_pipeline.test_case_60_arguments_that_are_no_json_are_an_error_that_the_model_reads",),
    61: ("test_tool_pipeline.test_case_61_an_unknown_tool_was_seen_by_the_policy_all_the_same",),
    62: ("test_tools.test_case_62_contexts_come_behind_all_results_in_the_calls_order",),
    63: ("test_tools.test_case_63_a_conclusion_does_not_skip_what_was_steered_in",),
    64: ("test_tools.test_case_64_a_stop_answers_every_call_and_leaves_a_valid_history",),
    65: ("test_tools.test_case_65_a_failure_of_the_scheduler_leaves_no_call_without_a_result",),
    66: ("test_tools.test_case_66_too_many_steps_consume_nothing_that_waits",),
    # -- prompt and context
    67: (
        "test_prompt.test_facts_are_sent_once_and_again_when_they_change",
        "test_prompt.test_facts_that_ended_are_cleared_once",
    ),
    68: ("test_prompt.test_facts_that_a_compaction_took_away_are_sent_again",),
    69: ("test_prompt.test_facts_are_those_of_the_moment_of_admission",),
    70: (
        "test_prompt.test_a_transformation_removes_optional_facts_for_good_and_required_ones_never",
        "test_system_prompt.test_only_facts_are_read_again",
        "test_prompt.test_required_facts_come_back_though_pre_step_left_them_out",
    ),
    71: (
        "test_system_prompt.test_texts_are_literal_unless_they_ask",
        "test_system_prompt.test_a_text_that_cannot_be_filled_in_fails_its_turn_and_the_agent_lives",
        "test_interpolation.test_what_cannot_be_filled_in_is_named_with_its_place",
    ),
    72: (
        "test_loop.test_a_changed_prompt_rewrites_the_head_and_starts_a_series",
        "test_capabilities.test_an_incapable_route_reads_one_prompt_at_its_head",
    ),
    73: ("test_capabilities.test_a_capable_route_gets_the_whole_new_prompt_at_the_end_and_keeps_its_prefix",),
    74: ("test_capabilities.test_a_new_series_makes_one_prompt_of_several",),
    75: ("test_loop.test_an_empty_prompt_still_reserves_the_head_of_the_surface",),
    76: (
        "test_system_prompt.test_two_complete_sections_are_an_error_and_a_nearer_one_of_the_same_name_is_not",
        "test_system_prompt.test_two_complete_sections_end_a_turn",
    ),
    77: (
        f"{PLAY}.test_profile.test_words_activate_lore_in_the_very_request_that_they_are_in",
        "test_loop.test_what_was_claimed_is_that_step_s_only",
    ),
    78: ("test_loop.test_what_was_claimed_is_that_step_s_only",),
    79: (
        "test_prompt.test_a_header_is_written_when_it_changes",
        "test_capabilities.test_another_order_of_the_same_tools_is_a_change_that_is_not_told",
        "test_capabilities.test_what_a_model_filled_in_is_flagged_and_another_model_fills_in_its_own",
    ),
    # -- lifecycle
    80: (
        "test_lifecycle.test_words_that_come_while_listeners_set_up_wait_for_them",
        "test_lifecycle.test_a_setup_composes_before_anybody_knows_and_listeners_come_after_it",
    ),
    81: (
        "test_lifecycle.test_a_listener_that_fails_undoes_the_creation",
        "test_lifecycle.test_every_created_that_was_told_is_followed_by_its_disposed",
    ),
    82: ("test_lifecycle.test_of_two_creations_of_one_id_one_wins",),
    83: ("test_cancel.test_an_end_in_the_middle_of_an_answer_is_in_the_log_before_the_session_is_let_go",),
    84: (
        "test_lifecycle.test_a_resumed_agent_starts_from_the_settings_of_now",
        "test_capabilities.test_a_resumed_agent_keeps_an_effort_that_was_chosen_for_its_model",
        "test_recovery.test_words_that_were_admitted_are_in_the_history_once_and_turns_are_numbered_on",
    ),
    85: ("test_lifecycle.test_a_fork_in_an_open_turn_is_closed_in_the_child_only",),
    86: (
        "tests.engine.test_hooks.test_a_failing_listener_starves_nobody",
        "test_lifecycle.test_a_listener_that_fails_disturbs_neither_the_turn_nor_the_other_listeners",
    ),
    87: ("tests.engine.test_hooks.test_going_on_twice_is_an_error",),
    88: ("test_compaction.test_a_summary_that_fails_leaves_the_turn_its_whole_history",),
    89: ("tests.engine.session.test_compaction.test_only_one_at_a_time",),
    90: ("test_machine.TestAgents", "test_machine.TestAgentsOnADisk"),
}


def test_every_case_has_its_place() -> None:
    assert list(CASES) == list(range(1, 91))


@pytest.mark.parametrize("name", sorted({name for names in CASES.values() for name in names}))
def test_a_case_is_stated_by_a_test_that_exists(name: str) -> None:
    module, _, function = name.rpartition(".")
    if not module.startswith("tests."):
        module = f"tests.engine.agent.{module}"

    assert callable(getattr(importlib.import_module(module), function))

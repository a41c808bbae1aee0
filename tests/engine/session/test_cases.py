"""The 67 cases of the session specification (section 8), and the tests that state them.

A case is covered by the tests that are named here; this test sees to it that they are there. The rest of a
case's name is the specification's own sentence, shortened.
"""

import importlib

import pytest

CASES: dict[int, tuple[str, ...]] = {
    1: ("test_append.test_the_first_event_has_seq_0_and_makes_no_node",),
    2: (
        "test_append.test_data_that_is_not_json_is_refused_first",
        "test_frozen.test_what_json_cannot_hold_is_refused_wherever_it_stands",
        "test_append.test_a_refusal_leaves_everything_as_it_was",
    ),
    3: ("test_append.test_the_callers_object_may_change_afterwards",),
    4: ("test_append.test_a_logged_event_cannot_be_changed",),
    5: ("test_append.test_a_message_needs_its_place",),
    6: ("test_append.test_a_log_only_event_has_no_place_and_no_sources",),
    7: ("test_append.test_a_surface_op_has_exactly_its_form",),
    8: ("test_append.test_contradictions_in_the_data_come_before_the_surface_rules",),
    9: ("test_append.test_an_observer_cannot_append_to_the_session_it_observes",),
    10: ("test_append.test_an_observer_may_append_to_another_session",),
    11: ("test_append.test_a_failing_observer_starves_nobody_and_undoes_nothing",),
    12: ("test_surface.test_a_replacement_takes_the_place_of_its_range",),
    13: ("test_surface.test_the_order_of_the_surface_counts_not_the_numbers",),
    14: ("test_surface.test_both_ends_must_be_current_nodes",),
    15: ("test_surface.test_the_ends_must_stand_in_order",),
    16: ("test_surface.test_both_ends_must_be_earlier",),
    17: ("test_surface.test_every_shadowed_node_must_be_cited",),
    18: ("test_surface.test_more_may_be_cited_in_any_order",),
    19: ("test_surface.test_sources_are_distinct_earlier_seqs",),
    20: ("test_surface.test_an_assistant_message_cites_nothing_and_replaces_nothing",),
    21: ("test_surface.test_a_user_message_may_replace_an_answer",),
    22: ("test_surface.test_only_a_system_message_over_exactly_the_head_replaces_it",),
    23: ("test_surface.test_only_a_system_message_over_exactly_the_head_replaces_it",),
    24: ("test_surface.test_a_later_system_message_is_not_protected",),
    25: ("test_surface.test_an_empty_head_is_protected_too",),
    26: (
        "test_surface.test_a_result_is_rewritten_in_its_content_only",
        "test_surface.test_a_rewrite_keeps_the_meta_data",
    ),
    27: ("test_derive.test_empty_messages_of_system_and_model_say_nothing_and_keep_their_nodes",),
    28: ("test_derive.test_log_only_events_and_attempts_say_nothing",),
    29: ("test_derive.test_a_held_history_does_not_grow_and_shares_its_messages",),
    30: ("test_derive.test_unchanged_messages_keep_their_identity_through_a_replacement",),
    31: ("test_derive.test_a_declared_projection_needs_its_interpreter",),
    32: ("test_derive.test_a_projection_changes_what_is_read_and_nothing_else",),
    33: ("test_derive.test_a_rejected_projection_changes_nothing",),
    34: ("test_derive.test_without_its_interpreter_a_session_that_used_it_cannot_be_read",),
    35: ("test_derive.test_a_projection_to_nothing_is_still_a_message",),
    36: ("test_fork_restore.test_a_fork_starts_from_the_whole_source_and_marks_its_cut",),
    37: (
        "test_fork_restore.test_a_fork_in_a_step_closes_it_in_the_child",
        "test_repair.test_answers_come_in_the_order_of_the_model",
    ),
    38: ("test_fork_restore.test_a_fork_of_a_fork_has_a_marker_for_each",),
    39: (
        "test_fork_restore.test_a_fork_of_nothing_is_a_marker",
        "test_fork_restore.test_a_boundary_must_be_a_seq_of_the_source",
    ),
    40: ("test_fork_restore.test_a_fork_says_what_is_wrong_in_order",),
    41: ("test_fork_restore.test_parent_and_child_go_on_apart",),
    42: (
        "test_fork_restore.test_a_replayed_seed_is_closed_by_a_plain_marker",
        "test_fork_restore.test_a_seed_that_ends_in_a_marker_gets_no_second",
        "test_fork_restore.test_an_empty_seed_is_marked_and_no_seed_is_not",
    ),
    43: ("test_fork_restore.test_header_seed_and_count_must_agree",),
    44: (
        "test_fork_restore.test_a_restored_log_has_every_seq_once",
        "test_fork_restore.test_an_envelope_is_exact",
    ),
    45: ("test_fork_restore.test_a_restored_message_must_be_whole",),
    46: (
        "test_strict.test_unsupported_and_corrupt_are_told_apart",
        "test_fork_restore.test_unknown_events_stay_in_the_log_and_out_of_the_history",
    ),
    47: (
        "test_strict.test_another_version_is_unsupported",
        "formats.test_steps.test_bare_results_get_the_message_that_they_lacked_and_keep_its_id_when_rewritten",
        "formats.test_stored.test_reading_migrates_in_memory_and_writes_nothing",
    ),
    48: (
        "test_repair.test_a_call_that_ran_cites_its_start",
        "test_repair.test_a_call_that_never_ran_says_so_and_cites_nothing",
    ),
    49: (
        "test_repair.test_a_closed_step_is_left_as_it_is",
        "test_strict.test_a_call_is_answered_once_before_its_step_ends",
    ),
    50: (
        "test_fork_restore.test_a_marker_is_written_once_for_a_lifecycle_with_work",
        "test_journal.test_opening_twice_without_work_marks_once",
    ),
    51: (
        "test_companion.test_turns_count_from_1_one_at_a_time",
        "test_companion.test_steps_count_from_1_in_each_turn",
        "test_strict.test_the_companions_rules_hold_here_too",
    ),
    52: ("test_companion.test_a_result_follows_its_call_in_the_same_step",),
    53: (
        "test_companion.test_a_step_may_end_with_a_call_unanswered",
        "test_strict.test_a_call_is_answered_once_before_its_step_ends",
    ),
    54: (
        "test_strict.test_an_end_seed_drops_an_open_bracket",
        "test_compaction.test_a_crash_inside_the_bracket_leaves_the_history_whole_and_compaction_free",
    ),
    55: (
        "test_strict.test_brackets_do_not_overlap_nor_cross_turns",
        "test_compaction.test_only_one_at_a_time",
    ),
    56: ("test_strict.test_success_needs_exactly_one_summary_and_failure_none",),
    57: ("test_strict.test_brackets_do_not_overlap_nor_cross_turns",),
    58: (
        "test_journal.test_what_was_not_flushed_may_be_lost_and_what_was_is_not",
        "test_kill.test_no_promise_is_broken_however_the_process_ends",
    ),
    59: ("test_fork_restore.test_a_flush_that_nobody_takes_part_in_says_so",),
    60: (
        "test_journal.test_a_failed_flush_keeps_the_events_in_order",
        "test_journal.test_a_write_that_failed_in_the_background_is_said_at_the_next_flush",
    ),
    61: ("test_journal.test_the_store_takes_only_what_continues_it",),
    62: ("test_journal.test_a_session_that_another_took_is_lost",),
    63: ("test_disk.test_a_write_that_is_cut_short_leaves_the_log_before_it",),
    64: (
        "test_paging.test_a_page_begins_at_a_message_or_a_turn",
        "test_paging.test_the_empty_snapshot_has_an_empty_page",
        "test_paging.test_a_bad_request_is_said_to_be_one",
    ),
    65: ("tests.engine.agent.test_loop.test_a_changed_prompt_rewrites_the_head_and_starts_a_series",),
    66: (
        "tests.engine.agent.test_loop.test_a_stop_keeps_the_visible_part_as_an_interrupted_message",
        "tests.engine.agent.test_loop.test_a_stop_before_anything_visible_leaves_an_attempt",
        "test_streams.test_an_interrupted_answer_keeps_what_can_be_seen",
    ),
    67: ("tests.conformance.test_vectors.test_a_family_agrees_with_its_recording",),
}
"""The capable route of 65 and the splices of 67 are recorded vectors: system_prompt and inbox."""


def test_every_case_has_its_place() -> None:
    assert list(CASES) == list(range(1, 68))


@pytest.mark.parametrize("name", sorted({name for names in CASES.values() for name in names}))
def test_a_case_is_stated_by_a_test_that_exists(name: str) -> None:
    module, _, function = name.rpartition(".")
    if not module.startswith("tests."):
        module = f"tests.engine.session.{module}"

    assert callable(getattr(importlib.import_module(module), function))

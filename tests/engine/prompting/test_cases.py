"""The cases of the SillyTavern specification (section 10) about presets and prompts, and the tests that state
them. Where SillyTavern's behaviour is a defect the tests state both sides."""

import importlib

import pytest

_VECTORS = "tests.conformance.test_vectors.test_a_family_agrees_with_its_recording"

ST: dict[int, tuple[str, ...]] = {
    80: ("test_order.test_the_older_list_counts_where_the_global_one_is_missing",),
    81: ("test_order.test_the_global_list_goes_before_the_older_one_wherever_it_stands",),
    82: (
        "tests.engine.resources.test_preset.test_endpoints_and_secrets_are_gone_from_everything_that_is_kept",
    ),
    83: ("test_order.test_a_source_whose_marker_is_off_is_not_sent",),
    84: (
        "test_order.test_a_source_without_a_marker_stands_at_the_end_or_at_its_default_place_with_a_warning",
        _VECTORS,
    ),
    85: ("test_overrides.test_the_original_stands_at_its_first_use_only",),
    86: ("test_overrides.test_a_prompt_that_forbids_it_stays",),
    87: ("test_injection.test_a_low_order_stands_higher",),
    88: ("test_injection.test_of_one_order_the_assistant_comes_first_and_the_system_last",),
    89: ("test_injection.test_what_is_deeper_than_the_chat_stands_on_top_of_it",),
    90: (
        "test_budget.test_the_history_goes_before_examples",
        "test_budget.test_pinned_examples_go_before_the_history",
        "test_budget.test_pinned_examples_may_leave_nothing_of_the_history_or_at_least_the_last_words",
    ),
    91: (
        "test_history.test_continuing_moves_the_last_message_to_the_end_and_nudges",
        "test_history.test_with_prefill_the_last_message_is_the_final_one",
    ),
    92: ("test_history.test_writing_as_the_user_and_the_quiet_prompt_come_last",),
    93: ("test_squash.test_runs_of_the_system_are_joined_and_headers_and_examples_stay",),
    94: ("test_names.test_the_field_has_only_ascii_letters_digits_and_underscores",),
    95: (
        "test_budget.test_what_must_be_there_and_does_not_fit_is_refused_with_numbers",
        "test_budget.test_sillytavern_sends_what_stands_by_then_and_says_so",
    ),
    96: ("test_order.test_lore_is_written_in_the_presets_format_and_a_blank_one_is_none",),
}


def test_every_case_has_its_place() -> None:
    assert list(ST) == list(range(80, 97))


@pytest.mark.parametrize("name", sorted({name for names in ST.values() for name in names}))
def test_a_case_is_stated_by_a_test_that_exists(name: str) -> None:
    module, _, function = name.rpartition(".")
    if not module.startswith("tests."):
        module = f"tests.engine.prompting.{module}"

    assert callable(getattr(importlib.import_module(module), function))

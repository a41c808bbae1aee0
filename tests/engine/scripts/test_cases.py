"""The regex cases of the SillyTavern specification (section 10), and the tests that state them."""

import importlib

import pytest

CASES: dict[int, tuple[str, ...]] = {
    79: (
        "engine.patterns.test_pattern_set.test_an_evil_pattern_is_late_and_the_others_are_told",
        "engine.patterns.test_watch.test_the_third_timeout_disables_and_says_so_once",
        "engine.patterns.test_time.test_the_event_loop_goes_on_while_a_thread_searches",
    ),
    108: (
        "engine.patterns.test_slashed.test_scripts",
        "engine.scripts.test_application.test_a_replacement_is_sillytaverns",
    ),
    109: ("engine.scripts.test_application.test_a_replacement_is_sillytaverns",),
    110: ("engine.scripts.test_occasion.test_the_two_only_switches",),
    111: ("engine.scripts.test_occasion.test_the_two_only_switches",),
    112: ("engine.scripts.test_occasion.test_the_window_of_depths",),
    113: ("engine.scripts.test_occasion.test_scripts_of_others_need_consent_and_go_in_their_order",),
    114: ("engine.patterns.test_semantics.test_matches_are_javascripts",),
    115: ("engine.patterns.test_semantics.test_matches_are_javascripts",),
}


@pytest.mark.parametrize("number", [79, *range(108, 116)])
def test_a_case_is_covered_by_tests_that_exist(number: int) -> None:
    for name in CASES[number]:
        module, _, function = name.rpartition(".")
        assert callable(getattr(importlib.import_module(f"tests.{module}"), function))

"""The macro cases of the SillyTavern specification (section 10, cases 97 to 107; section 9's complaints),
and the tests that state them.
"""

import importlib

import pytest

CASES: dict[int, tuple[str, ...]] = {
    97: ("test_expansion.test_what_each_macro_says",),
    98: ("test_expansion.test_what_cannot_be_expanded_stays_as_written",),
    99: ("test_variables.test_macros_of_variables",),
    100: ("test_expansion.test_results_are_never_expanded_again",),
    101: ("test_scopes.test_only_the_chosen_branch_is_evaluated",),
    102: ("test_expansion.test_an_escaped_comma_does_not_part_choices",),
    103: (
        "test_expansion.test_pick_is_what_sillytavern_picks_for_this_chat_text_and_place",
        "test_expansion.test_pick_goes_by_the_story_and_not_by_its_name",
    ),
    104: ("test_expansion.test_what_is_no_formula_rolls_nothing",),
    105: (
        "test_expansion.test_what_each_macro_says",
        "test_finishing.test_assembly_leaves_nothing_that_looks_like_a_macro",
    ),
    106: ("test_limits.test_blanks_are_capped_and_told", "test_limits.test_growth_is_bounded_and_told"),
    107: ("test_limits.test_200_nested_macros_are_an_error_and_no_crash",),
}

COMPLAINTS: dict[int, tuple[str, ...]] = {
    16: ("test_expansion.test_random_takes_lists_of_every_make",),
    17: ("test_expansion.test_picks_in_branches_are_independent",),
    18: ("test_expansion.test_the_argument_structure_is_fixed_before_what_is_inside_is_evaluated",),
    19: ("test_finishing.test_assembly_leaves_nothing_that_looks_like_a_macro",),
    20: ("test_finishing.test_other_peoples_words_are_never_expanded_wherever_they_are_put",),
}


def test_every_case_is_there() -> None:
    assert sorted(CASES) == list(range(97, 108))


@pytest.mark.parametrize(
    "name", sorted({name for names in (*CASES.values(), *COMPLAINTS.values()) for name in names})
)
def test_the_tests_of_a_case_exist(name: str) -> None:
    module, _, function = name.partition(".")
    assert callable(getattr(importlib.import_module(f"tests.engine.macros.{module}"), function))

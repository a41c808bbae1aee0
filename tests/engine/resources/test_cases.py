"""The card cases of the specifications (sillytavern 10, tavern 12), and the tests that state them.

A case is covered by the tests that are named here; this test sees to it that they are there.
"""

import importlib

import pytest

SILLYTAVERN: dict[int, tuple[str, ...]] = {
    1: ("test_png_card.test_ccv3_wins_wherever_it_stands",),
    2: ("test_png_card.test_ccv3_wins_wherever_it_stands",),
    3: ("test_png_card.test_the_first_of_a_kind_wins_with_a_warning",),
    4: ("test_png_card.test_a_keyword_counts_in_any_case",),
    5: ("test_png_card.test_inside_a_keyword_text_beats_itxt_beats_ztxt",),
    6: ("test_png_card.test_inside_a_keyword_text_beats_itxt_beats_ztxt",),
    7: ("test_png_card.test_a_packed_itxt_chunk_may_hold_bare_json",),
    8: ("test_png_card.test_wrong_checksum_and_missing_end_are_warnings",),
    9: ("test_png_card.test_wrong_checksum_and_missing_end_are_warnings",),
    10: ("test_png_card.test_a_picture_without_a_card_says_so_and_how_to_get_one",),
    11: ("test_png_card.test_base64_of_any_make_is_read",),
    12: ("test_png_card.test_base64_of_any_make_is_read",),
    13: ("test_png_card.test_base64_of_any_make_is_read", "test_card.test_a_byte_order_mark_is_skipped"),
    14: ("test_png_card.test_broken_json_is_refused_with_its_place",),
    15: ("test_png_card.test_an_encrypted_risu_card_is_refused_by_name",),
    16: ("test_card.test_null_texts_are_empty_and_told",),
    17: ("test_card.test_tags_in_one_text_are_split_trimmed_and_unique",),
    18: ("test_card.test_pygmalion_fields_are_renamed",),
    19: ("test_card.test_missing_data_is_read_from_the_top_level",),
    20: ("test_card.test_one_greeting_instead_of_a_list_is_a_list_of_one",),
    21: ("test_card.test_a_null_book_is_no_book_and_a_bad_book_costs_only_itself",),
    22: ("test_world_book.test_entries_in_an_object_are_taken_in_number_order",),
    23: ("test_world_book.test_an_entry_without_enabled_is_enabled",),
    24: ("test_world_book.test_a_repeated_id_is_renumbered_and_both_stay",),
    25: ("test_world_book.test_the_entrys_own_case_flag_counts_when_its_extensions_have_none",),
    26: (
        "test_card_edit.test_a_rename_leaves_everything_unknown_where_it_was",
        "test_card_edit.test_an_edit_reads_back_and_touches_nothing_else",
    ),
    27: ("test_card_export.test_a_png_has_both_chunks_and_everything_else_byte_for_byte",),
    28: (
        "test_charx.test_a_charx_behind_a_jpeg_is_found_whatever_it_is_called",
        "test_charx.test_the_main_icon_is_the_picture",
    ),
    29: ("test_charx.test_a_path_that_leads_out_costs_only_the_picture",),
    30: ("test_charx.test_a_zip_bomb_does_not_go_off",),
    31: ("test_byaf.test_a_character_becomes_a_card",),
    32: ("test_card.test_a_newer_version_is_read_with_a_warning_and_keeps_its_fields",),
    33: ("test_card.test_v3_has_a_nickname_which_is_what_char_means",),
    34: ("test_card_export.test_a_file_name_is_safe_and_the_name_is_not_changed",),
    35: ("test_card.test_lone_surrogates_become_replacement_characters",),
}

TAVERN: dict[int, tuple[str, ...]] = {
    11: ("test_card_facts.test_what_passes_through_is_told_with_its_code",),
    12: ("test_card.test_a_number_is_a_version_but_not_a_name",),
    13: (
        "test_card.test_tags_in_one_text_are_split_trimmed_and_unique",
        "test_card_edit.test_tags_that_are_null_become_an_array_only_when_they_are_edited",
    ),
    14: (
        "test_png_card.test_ccv3_wins_wherever_it_stands",
        "test_card_export.test_a_png_has_both_chunks_and_everything_else_byte_for_byte",
        "test_card_export.test_a_second_export_is_the_first",
    ),
    # The recorded vectors read base64 with line breaks and bytes that are no UTF-8; the rest is refused.
    15: (
        "test_png_card.test_a_first_chunk_that_is_no_header_is_refused",
        "test_png_card.test_more_than_ten_thousand_chunks_are_refused",
        "test_png_card.test_too_large_a_file_a_chunk_and_a_document_are_refused",
    ),
    16: ("test_card.test_v3_has_a_nickname_which_is_what_char_means",),
    17: ("tests.engine.tavern.test_renderer.test_a_greeting_is_shown_expanded_and_its_index_clamped",),
    18: ("test_card_edit.test_an_unknown_field_is_refused",),
    22: (
        "test_card.test_hostile_keys_are_plain_data",
        "test_card_export.test_import_and_export_are_a_fixed_point_for_any_card",
    ),
    23: (
        "test_card_export.test_a_second_export_is_the_first",
        "test_card_export.test_import_and_export_are_a_fixed_point_for_any_card",
    ),
    24: ("test_card.test_a_null_book_is_no_book_and_a_bad_book_costs_only_itself",),
}


def test_every_card_case_of_sillytavern_has_its_place() -> None:
    assert list(SILLYTAVERN) == list(range(1, 36))


@pytest.mark.parametrize(
    "name", sorted({name for table in (SILLYTAVERN, TAVERN) for names in table.values() for name in names})
)
def test_a_case_is_stated_by_a_test_that_exists(name: str) -> None:
    module, _, function = name.rpartition(".")
    if not module.startswith("tests."):
        module = f"tests.engine.resources.{module}"

    assert callable(getattr(importlib.import_module(module), function))

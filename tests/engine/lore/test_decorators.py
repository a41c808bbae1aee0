"""Decorators: SillyTavern's two, the V3 set, fallbacks and defects."""

from dataclasses import replace
from typing import Any

import pytest

from engine.lore import LoreSettings, Quirk
from engine.lore.decorators import NONE, decorated
from engine.lore.rules import KEPT
from engine.resources import Entry
from tests.engine.lore.build import PLAIN, changed, entry, reasons, uids, wake

ST = changed(decorators="sillytavern")
UNMET = "decorator-condition"


def text(content: str, settings: LoreSettings = PLAIN, **more: Any) -> str | None:
    """The text of the one entry if it is active."""
    found = wake(Entry(uid=1, keys=(), content=content), settings=settings, says=("x",), **more)
    return found.entries[0].text if found.entries else None


@pytest.mark.parametrize("settings", [PLAIN, ST])
def test_activate_needs_no_key_and_wins(settings: LoreSettings) -> None:
    assert text("@@activate\nhello", settings) == "hello"
    assert text("@@dont_activate\n@@activate\nhello", settings) == "hello"
    found = wake(entry(1, content="@@dont_activate\nhello", constant=True), settings=settings, explain=True)
    assert reasons(found) == {1: "dont-activate"}
    assert text("hello\n@@activate", settings) is None  # only before the text


@pytest.mark.parametrize("settings", [PLAIN, ST])
def test_fallbacks_stand_in_for_what_is_not_known(settings: LoreSettings) -> None:
    assert text("@@unknown_thing\n@@@activate\nhello", settings) == "hello"
    assert text("@@a\n@@@b\n@@@c\n@@@d\n@@@e\n@@@activate\nhello", settings) == "hello"
    assert text("@@activate\n@@@dont_activate\nhey", settings) == "hey"
    assert text("@@a\n@@@activate\n@@@dont_activate\nhey", settings) == "hey"
    assert text("@@@activate\nhello", settings) is None


def test_unknown_decorators_are_ignored_and_told() -> None:
    found = wake(entry(1, content="@@depth 3\n@@role user\nhello", constant=True), settings=ST)
    assert (found.entries[0].text, found.entries[0].entry.position) == ("hello", "before")
    assert [(note.code, note.message) for note in found.diagnostics] == [
        ("WORLD_BOOK_DECORATOR_IGNORED", "Not known here, and ignored: @@depth, @@role.")
    ]
    found = wake(entry(1, content="@@is_user_icon x\n@@depth many\nhello", constant=True))
    assert (found.entries[0].text, found.entries[0].entry.position) == ("hello", "before")
    assert [note.message for note in found.diagnostics] == [
        "Not known here, and ignored: @@is_user_icon, @@depth."
    ]


@pytest.mark.parametrize("prefix", [False, True])
def test_a_longer_name_is_not_a_shorter_one(prefix: bool) -> None:
    settings = changed(ST, quirks=KEPT | {Quirk.DECORATOR_PREFIX} if prefix else KEPT)
    assert text("@@activate_only_after 5\nhello", settings) is None
    # the defect: it is taken for known, so its fallback is not used
    used = text("@@activate_only_after 5\n@@@activate\nhello", settings)
    assert used == (None if prefix else "hello")


def test_in_sillytaverns_set_a_mark_with_a_space_after_it_is_unknown() -> None:
    assert text("@@activate \nhello", ST) is None
    assert text("@@activate \nhello") == "hello"


def test_content_that_is_only_decorators_is_empty_or_stays() -> None:
    assert text("@@activate", ST) == ""
    assert text("@@activate") == ""
    assert text("@@activate", changed(ST, quirks=KEPT | {Quirk.ONLY_DECORATORS_STAY})) == "@@activate"


def test_blank_lines_around_decorators_go() -> None:
    assert text("\n@@activate\n\n@@depth 2\n\nhello\n\nthere") == "hello\n\nthere"


def read(content: str) -> Entry:
    return decorated(Entry(uid=1, keys=("k",), content=content), "v3", KEPT).entry


def test_places_and_depths() -> None:
    deep = read("@@depth 3\n@@role assistant\n@@scan_depth 7\nx")
    assert (deep.position, deep.depth, deep.role, deep.scan_depth) == ("at_depth", 3, "assistant", 7)
    assert read("@@position before_desc\nx").position == "before"
    assert {
        read(f"@@position {where}\nx").position for where in ("after_desc", "personality", "scenario")
    } == {"after"}
    assert read("@@constant\nx").constant
    assert read("@@depth 3\n@@depth 5\nx").depth == 3  # only the first of a repeated one counts


def test_a_depth_from_the_top_counts_the_branch() -> None:
    found = wake(Entry(uid=1, keys=(), content="@@activate\n@@reverse_depth 2\nx"), message_count=10)
    assert (found.entries[0].entry.position, found.entries[0].entry.depth) == ("at_depth", 8)
    short = wake(Entry(uid=1, keys=(), content="@@activate\n@@reverse_depth 20\nx"), message_count=10)
    assert short.entries[0].entry.depth == 0


def test_only_after_and_only_every_count_answers() -> None:
    def active(content: str) -> list[int]:
        one = entry(1, constant=True, content=content)
        return [count for count in range(7) if uids(wake(one, assistant_count=count))]

    assert active("@@activate_only_after 3\nx") == [3, 4, 5, 6]
    assert active("@@activate_only_every 3\nx") == [0, 3, 6]
    found = wake(entry(1, "cat", content="@@activate_only_after 3\nx"), explain=True)
    assert reasons(found) == {1: UNMET}
    assert found.verdicts[0].text == "Its condition @@activate_only_after is not met."


def test_a_greeting_is_counted_from_the_first_message() -> None:
    one = entry(1, "cat", content="@@is_greeting 1\nx")
    assert [uids(wake(one, greeting=greeting)) for greeting in (0, 1, None)] == [[], [1], []]


def test_additional_keys_must_be_there_and_exclude_keys_must_not() -> None:
    one = entry(
        1, "cat", content="@@additional_keys moon, sun\n@@additional_keys star\n@@exclude_keys dog,owl\nx"
    )
    said = {"cat": [], "cat moon": [], "cat moon star": [1], "cat sun star owl": []}
    assert {text: uids(wake(one, says=(text,))) for text in said} == said
    assert reasons(wake(one, says=("cat",), explain=True)) == {1: "additional-key-miss"}
    assert reasons(wake(one, says=("cat owl",), explain=True)) == {1: "exclude-key-hit"}


def test_matches_are_remembered() -> None:
    stays = entry(1, "cat", content="@@keep_activate_after_match\nx")
    once = entry(2, "cat", content="@@dont_activate_after_match\nx")
    first = wake(stays, once, says=("cat",))
    assert uids(first) == [1, 2]
    later = wake(stays, once, says=("cat", "b", "c"), effects=first.effects, explain=True)
    assert uids(later) == [1]
    assert reasons(later) == {1: "kept-on", 2: UNMET}
    again = wake(stays, once, says=("cat", "b", "cat"), effects=first.effects)
    assert uids(again) == [1]
    # a branch that was cut before the match knows nothing of it
    assert uids(wake(stays, once, says=("cat",), effects=first.effects)) == [1, 2]


def test_prompts_that_an_active_entry_switches_off() -> None:
    content = "@@disable_ui_prompt system_prompt\n@@disable_ui_prompt post_history_instructions\nx"
    one = entry(1, "cat", content=content)
    assert wake(one).disables == {"system_prompt", "post_history_instructions"}
    assert wake(one, says=("dog",)).disables == frozenset()


def test_what_is_dropped_first_is_marked() -> None:
    assert wake(entry(1, "cat", content="@@ignore_on_max_context\nx")).entries[0].dropped_first


def test_an_entry_without_decorators_is_the_same_object() -> None:
    plain = entry(1, content="mail a@@b")
    assert decorated(plain, "v3", KEPT).entry is plain
    assert decorated(plain, "sillytavern", KEPT).decorators == NONE
    assert decorated(replace(plain, content="\n\nx"), "v3", KEPT).entry.content == "\n\nx"

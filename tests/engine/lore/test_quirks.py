"""The defects of SillyTavern that are no matter of one rule's own tests: each both ways."""

from engine.lore import KEPT, MENDED, SILLYTAVERN, LoreSettings, Quirk
from tests.engine.lore.build import PLAIN, changed, entry, uids, wake


def test_defects_are_mended_and_recorded_behaviour_is_kept_by_default() -> None:
    assert LoreSettings().quirks == KEPT
    assert KEPT | MENDED == SILLYTAVERN == frozenset(Quirk)
    assert not KEPT & MENDED


def test_new_servers_start_as_sillytavern_ships() -> None:
    assert (LoreSettings().recursive, LoreSettings().whole_words) == (True, True)


def test_a_blank_key_matches_nothing_or_everything() -> None:
    blank = (entry(1, "   "), entry(2, ""), entry(3, "{{nothing}}"))
    off = wake(*blank, expand=lambda text: text.replace("{{nothing}}", " "))
    assert uids(off) == []
    on = changed(PLAIN, quirks=KEPT | {Quirk.BLANK_KEY_MATCHES})
    assert uids(wake(*blank, settings=on, expand=lambda text: text.replace("{{nothing}}", " "))) == [1, 3]
    assert uids(wake(entry(1, "   ", scan_depth=0), settings=on)) == [1]  # even where nothing is seen

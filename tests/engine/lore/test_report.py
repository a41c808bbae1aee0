"""Why an entry is in, or is not."""

from bot.i18n import catalogue
from engine.lore import Reason
from engine.lore.reasons import WHERE
from tests.engine.lore.build import (
    CHAIN,
    RECURSIVE,
    book,
    entry,
    reasons,
    wake,
)  # fmt: skip


def test_every_entry_has_one_verdict_with_the_rule_that_decided() -> None:
    entries = [
        entry(1, constant=True),
        entry(2, "cat"),
        entry(3, "cat", enabled=False),
        entry(4, "cat", triggers=("swipe",)),
        entry(5, "cat", character_filter={"names": ["Bo"]}),
        entry(6, "cat", delay=9),
        entry(7, "cat", delay_until_recursion=1),
        entry(8),
        entry(9, "dog"),
        entry(10, "cat", secondary_keys=("moon",), selective=True),
        entry(11, "cat", probability=10),
        entry(12, "cat", group="g", group_override=True),
        entry(13, "cat", group="g"),
    ]
    found = wake(*entries, roll=lambda _: 0.9, explain=True, message_count=2)
    assert reasons(found) == {
        1: "constant", 2: "key", 3: "disabled", 4: "trigger", 5: "character-filter", 6: "delay",
        7: "delayed-until-recursion", 8: "no-keys", 9: "primary-key-miss", 10: "secondary-and-any-miss",
        11: "probability-failed", 12: "key", 13: "inclusion-group-loser",
    }  # fmt: skip
    by_uid = {verdict.entry.uid: verdict for verdict in found.verdicts}
    assert by_uid[2].text == "Its key “cat” stands in the conversation."
    assert by_uid[2].hits[0].at == 0
    assert by_uid[6].text == "It waits until there are 9 messages; now there are 2."
    assert by_uid[13].text == "“cat” won the group “g”."
    assert by_uid[9].reason.number == "2.3.B15"
    assert [by_uid[uid].fired for uid in (1, 2, 3)] == [True, True, False]
    assert all(verdict.text for verdict in found.verdicts)


def test_a_report_changes_nothing_else() -> None:
    entries = [
        *CHAIN,
        entry(7, "/a./"),
        entry(8, "zz"),
        entry(9, "a1", group="g"),
        entry(10, "a1", group="g"),
    ]
    quiet = wake(*entries, says=("a1",), settings=RECURSIVE, roll=lambda _: 0.6)
    told = wake(*entries, says=("a1",), settings=RECURSIVE, roll=lambda _: 0.6, explain=True)
    assert quiet.entries == told.entries
    assert {verdict.id for verdict in quiet.verdicts} < {verdict.id for verdict in told.verdicts}


def test_the_reason_that_came_furthest_is_told() -> None:
    # in the second pass it may not be woken, but that it has no key in the text says more
    shy = entry(2, "zz", exclude_recursion=True)
    assert (
        reasons(wake(CHAIN[0], shy, says=("a1",), settings=RECURSIVE, explain=True))[2] == "primary-key-miss"
    )


def test_a_hit_says_where_the_key_stands() -> None:
    found = wake(
        entry(1, "cat"), entry(2, "elf", match_sources=("scenario",)), entry(3, "omen"), entry(4, "/c.t/"),
        entry(5, "e3"),
        says=("cat", "dog"), sources={"scenario": "an elf"}, injections=("an omen",), settings=RECURSIVE,
    )  # fmt: skip
    hits = {item.entry.uid: (item.hits[0].where, item.hits[0].at) for item in found.entries}
    assert hits == {
        1: ("message", 1),
        2: ("scenario", 0),
        3: ("injection", 0),
        4: ("text", 0),
        5: ("recursion", 1),
    }


def test_the_verdict_on_a_book_that_did_not_fit() -> None:
    big = book(*[entry(uid, "cat") for uid in range(10_000)])
    found = wake(books=(big, book(entry(1, "cat"), name="v")), explain=True)
    assert [verdict.reason.slug for verdict in found.verdicts if verdict.id == "v:1"] == ["book-limit"]
    assert len(found.verdicts) == 10_001


def test_every_reason_and_place_has_a_sentence_in_the_catalogues() -> None:
    texts = {key: text for key, text in catalogue("en").items() if key.startswith("lore.")}
    assert texts == {
        **{f"lore.reason.{reason.slug}": reason.text for reason in Reason},
        **{f"lore.where.{where}": text for where, text in WHERE.items()},
    }

"""The shelf: ranking, folding, and that it always equals a shelf made from scratch."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from engine.ids import OwnerId, ResourceId
from engine.library.rows import Kind, ResourceRow
from engine.library.shelf import Shelf


def row(number: int, name: str, *tags: str, kind: Kind = "card", used_at: int | None = None) -> ResourceRow:
    return ResourceRow(
        id=ResourceId(f"c_{number}"), owner=OwnerId("guild:1"), kind=kind, name=name, filename="", revision=1,
        original=b"", document=b"", avatar=None, avatar_type=None, size=1, tags=tags, nsfw=False, summary={},
        created_by="u1", created_at=number, updated_at=number, used_at=used_at, deleted_at=None,
    )  # fmt: skip


def names(shelf: Shelf, text: str, limit: int = 25) -> list[str]:
    return [found.name for found in shelf.search("card", text, limit)]


def test_a_beginning_beats_a_word_beats_a_part_beats_a_tag() -> None:
    shelf = Shelf(
        [row(1, "Xx", "adept"), row(2, "Roadad"), row(3, "The Ada"), row(4, "Ada"), row(5, "Y", "mad")]
    )
    assert names(shelf, "ad") == ["Ada", "The Ada", "Roadad", "Xx", "Y"]
    assert names(shelf, "ad", 2) == ["Ada", "The Ada"]
    assert names(shelf, "zzz") == []


def test_recent_use_decides_among_equals_and_everything_fits_an_empty_text() -> None:
    shelf = Shelf([row(1, "A", used_at=50), row(2, "B"), row(3, "C", used_at=99), row(4, "P", kind="preset")])
    assert names(shelf, "") == ["C", "A", "B"]


def test_case_width_and_spaces_do_not_matter() -> None:
    shelf = Shelf([row(1, "Ｓｔｒａßｅ  der Ada"), row(2, "龙女")])
    assert names(shelf, "STRASSE DER") == ["Ｓｔｒａßｅ  der Ada"]
    assert names(shelf, "女") == ["龙女"]


def test_an_older_revision_never_replaces_a_newer_one() -> None:
    shelf = Shelf([row(1, "Old")])
    deleted = replace(row(1, "Old"), revision=2, deleted_at=9)
    shelf.put(deleted)
    shelf.put(row(1, "Old"))  # a slow reader comes late
    assert shelf.list() == []
    shelf.put(replace(row(1, "Back"), revision=3))
    assert [found.name for found in shelf.list()] == ["Back"]


changes = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["Ada", "Adam", "Bo", "龙"]), st.booleans()), max_size=20
)


@given(changes, st.sampled_from(["", "a", "ada", "o", "龙"]))
def test_the_shelf_equals_one_made_from_scratch(steps: list[tuple[int, str, bool]], text: str) -> None:
    shelf, truth = Shelf(), {}
    for revision, (number, name, gone) in enumerate(steps, 1):
        changed = replace(row(number, name), revision=revision, deleted_at=1 if gone else None)
        shelf.put(changed)
        truth[number] = changed
    fresh = Shelf(item for item in truth.values() if item.deleted_at is None)
    assert shelf.search("card", text, 25) == fresh.search("card", text, 25)
    assert shelf.list("card") == fresh.list("card")

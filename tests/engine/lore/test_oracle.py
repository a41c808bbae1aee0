"""The engine against the naive activation, on random books and conversations."""

import random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.lore import SILLYTAVERN, Book, Effect, LoreSettings, Situation, TimedEffects, activate
from engine.lore.index import BookIndex
from engine.lore.keys import Literally, probe_of
from engine.lore.literals import Literals
from engine.resources import Entry, WorldBook
from tests.engine.lore.oracle import Oracle, matches

# few pieces, so that keys meet: accents composed and not, sharp s, dotted and dotless I, a sigma whose
# lower case depends on its neighbours, Cyrillic, Chinese, emoji with a joiner, a word sign, wide space
PIECES = [
    "a", "A", "b", "a b", "ab", "_", "é", "e\u0301", "ß", "ss", "İ", "i\u0307", "ı", "Σ", "σ", "ς", "К", "кк",
    "猫", "龙", "猫龙", "🐈", "🐈\u200d", "1", " ", " ", "-", "\u3000",
]  # fmt: skip
pieces = st.sampled_from(PIECES)
keys = st.lists(pieces, max_size=2).map("".join)
texts = st.lists(pieces, max_size=12).map("".join)
slashed = st.sampled_from(
    ["/a+b/", "/A/i", "/^\x01a/", "/b$/", "/[aé]b?/", "/(a/", "/a/v", "/猫.?龙/", r"/\bab/"]
)


@st.composite
def entries(draw: st.DrawFn) -> list[Entry]:
    found = []
    for uid in range(draw(st.integers(0, 5))):
        some = draw(st.lists(keys | slashed if draw(st.booleans()) else keys, max_size=3))
        found.append(
            Entry(
                uid=uid,
                keys=tuple(some),
                content=draw(texts),
                secondary_keys=tuple(draw(st.lists(keys, max_size=2))),
                enabled=draw(st.sampled_from([True] * 7 + [False])),
                constant=draw(st.sampled_from([False] * 5 + [True])),
                selective=draw(st.booleans()),
                logic=draw(st.sampled_from(["and_any", "not_all", "not_any", "and_all"])),
                order=draw(st.sampled_from([100, 100, 50, 200])),
                probability=draw(st.sampled_from([100, 100, 50, 0])),
                scan_depth=draw(st.sampled_from([None, None, None, 0, 1, 3])),
                case_sensitive=draw(st.sampled_from([None, None, True, False])),
                whole_words=draw(st.sampled_from([None, None, True, False])),
                group=draw(st.sampled_from(["", "", "g", "h", "g, h", "2", "10,2"])),
                group_override=draw(st.sampled_from([False, False, True])),
                group_weight=draw(st.sampled_from([100, 100, 0, 50])),
                group_scoring=draw(st.sampled_from([None, None, True, False])),
                exclude_recursion=draw(st.sampled_from([False, False, True])),
                prevent_recursion=draw(st.sampled_from([False, False, True])),
                delay_until_recursion=draw(st.sampled_from([0, 0, 0, 1, 2])),
                ignore_budget=draw(st.sampled_from([False, False, True])),
                sticky=draw(st.sampled_from([None, 3])),
                cooldown=draw(st.sampled_from([None, 9])),
                match_sources=draw(
                    st.sampled_from([(), (), ("scenario",), ("persona_description", "scenario")])
                ),
            )
        )
    return found


@settings(max_examples=400, deadline=None)
@given(
    st.lists(entries(), min_size=1, max_size=2),
    st.lists(texts, max_size=4),
    st.data(),
)
def test_the_engine_activates_what_the_naive_scan_does_and_rolls_as_often(
    books: list[list[Entry]], says: list[str], data: st.DataObject
) -> None:
    pick = data.draw
    depth, whole, sensitive = pick(st.integers(0, 3)), pick(st.booleans()), pick(st.booleans())
    given_settings = LoreSettings(
        scan_depth=depth,
        whole_words=whole,
        case_sensitive=sensitive,
        recursive=pick(st.booleans()),
        max_steps=pick(st.sampled_from([0, 0, 1, 2, 3])),
        min_activations=pick(st.sampled_from([0, 0, 2, 4])),
        min_activations_depth=pick(st.sampled_from([0, 2])),
        group_scoring=pick(st.booleans()),
        budget_percent=100,
        decorators="sillytavern",
        quirks=SILLYTAVERN,
    )
    budget = pick(st.sampled_from([None, None, 3, 8]))
    sources = {"persona_description": pick(texts), "scenario": pick(texts)}
    seed = pick(st.integers(0, 9))
    named = [(f"b{number}", found) for number, found in enumerate(books)]
    timed = pick(
        st.sets(st.sampled_from([f"{n}:{e.uid}:{k}" for n, es in named for e in es for k in "sc"] or [""]))
    )
    held = [Book(name, WorldBook(name, tuple(found))) for name, found in named]
    sticky, cooldown = running(held, timed, given_settings)

    rolled: list[float] = []
    situation = Situation(
        messages=list(reversed(says)),
        sources=sources,
        window=budget,
        message_count=5,
        effects=TimedEffects(sticky=sticky, cooldown=cooldown),
    )
    found = activate(
        held,
        situation,
        settings=given_settings,
        roll=lambda _: noted(rolled, seed),
        count_tokens=lambda text: len(text.split()),
    )
    naive_rolled: list[float] = []
    naive = Oracle(
        named,
        says,
        lambda: noted(naive_rolled, seed),
        depth=depth,
        whole=whole,
        sensitive=sensitive,
        recursive=given_settings.recursive,
        max_steps=given_settings.max_steps,
        least=given_settings.min_activations,
        deepest=given_settings.min_activations_depth,
        scoring=given_settings.group_scoring,
        budget=budget,
        sources={name: text for name, text in sources.items() if text},
        sticky=set(sticky),
        cooldown=set(cooldown),
    )

    assert [item.id for item in found.in_order_of_activation] == naive.run()
    assert rolled == naive_rolled


def running(
    held: list[Book], timed: set[str], given_settings: LoreSettings
) -> tuple[dict[str, Effect], dict[str, Effect]]:
    """Effects that run at message 5, of those entries that may have them."""
    sticky: dict[str, Effect] = {}
    cooldown: dict[str, Effect] = {}
    for one in held:
        for item in BookIndex(one.book, given_settings).entries:
            effect = Effect(item.fingerprint(one.id), 3, 9)
            key = f"{one.id}:{item.entry.uid}"
            if f"{key}:s" in timed and item.entry.sticky:
                sticky[key] = effect
            if f"{key}:c" in timed and item.entry.cooldown:
                cooldown[key] = effect
    return sticky, cooldown


def noted(rolled: list[float], seed: int) -> float:
    rolled.append(random.Random(seed * 1000 + len(rolled)).choice([0, 0.25, 0.5, 0.75, 0.999]))
    return rolled[-1]


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.tuples(keys, st.booleans(), st.booleans()), max_size=12),
    st.lists(pieces, max_size=30).map("".join),
)
def test_the_index_finds_what_looking_for_each_key_finds(
    wanted: list[tuple[str, bool, bool]], text: str
) -> None:
    probes = [
        (key, sensitive, whole, probe)
        for key, sensitive, whole in wanted
        if isinstance(
            probe := probe_of(key, sensitive=sensitive, whole=whole, patterns=True, max_pattern=100),
            Literally,
        )
    ]
    index = Literals([probe for *_, probe in probes])
    found = index.found(text, text.lower())
    by_probe = {probe: number for number, (*_, probe) in enumerate(probes)}
    for key, sensitive, whole, probe in probes:
        naive = matches(key.strip(), text, sensitive=sensitive, whole=whole)
        assert (by_probe[probe] in found) == naive, (key, sensitive, whole)


@given(st.integers(1, 400), st.integers(0, 3), st.integers(0, 40_000))
@example(1, 0, 16 * 1024 - 4)  # across the border of two pieces
@example(256, 0, 16 * 1024 - 2)
def test_a_long_text_and_hostile_keys_change_nothing(size: int, nested: int, at: int) -> None:
    # keys each of which ends the next, one longer than what pieces overlap by, one across pieces
    wanted = [Literally("a" * n, False, False) for n in range(1, 12 + nested)]
    wanted += [Literally("b" * size, False, True), Literally("needle", False, True)]
    text = "x" * at + " needle " + "x" * (40_000 - at) + " " + "b" * size
    found = Literals(wanted).found(text, text)
    assert found == {len(wanted) - 1, len(wanted) - 2}
    assert Literals(wanted).found("aaa", "aaa") == {0, 1, 2}

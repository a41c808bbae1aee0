"""Many patterns at once give what each gives alone, and no more time than they may have."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.patterns import Pattern, PatternSet, compile_pattern
from engine.patterns.re2_set import Re2Set
from engine.patterns.subject import Subject
from tests.engine.patterns.processor import processor_time

PLENTY = 20.0  # seconds

SOURCES = st.sampled_from(
    [
        "dragon",
        "drag(on)?",
        "rag",
        "ragon",
        r"\bdrag\b",
        "(?:dragon|wyrm)s?",
        "[dw]rag",
        r"\d+",
        r"[a-c]\d",
        r"^d",
        r"n$",
        "(?<=d)rag",
        r"(a)\1",
        "龍",
        "龙|龍",
        "straße",
        "ſtop",
        ".",
        "[^a-z]",
        "a|",
        r"\w*dragon",
        r"(?:ab?){0,3}dragon\w*!?\s*[^]*",
        r"[^]{0,4}rag(?=on)",
        r"wyrm(?:\w+ )*rag",
        r"(?<=a)dragon|wyrm\b",
    ]
)
PATTERNS = st.lists(st.tuples(SOURCES, st.sampled_from(["", "i", "iu", "y", "m"])), max_size=12)
TEXTS = st.lists(
    st.sampled_from(
        ["dragon", "DRAG", "rag", "wyrm", "龍", "aa", "1", " ", "\n", "STRASSE", "ſTOP", "é", "straße"]
    ),
    max_size=6,
).map("".join)


def alone(patterns: list[Pattern], text: str) -> tuple[int, ...]:
    return tuple(index for index, pattern in enumerate(patterns) if pattern.matches(text))


@given(PATTERNS, TEXTS)
@settings(max_examples=400, deadline=None)
def test_a_set_finds_what_each_pattern_finds(sources: list[tuple[str, str]], text: str) -> None:
    patterns = [compile_pattern(source, flags) for source, flags in sources]

    result = PatternSet(patterns).scan(text, budget_s=PLENTY)

    assert result.matched == alone(patterns, text)
    assert result.late == result.skipped == ()


def test_an_evil_pattern_is_late_and_the_others_are_told() -> None:
    evil = compile_pattern(r"(?:a|aa)+(?=b)c|(a|aa)+\1$(?=b)")
    patterns = [evil, compile_pattern("a{3}"), compile_pattern(r"(?<=a)a")]
    text = "a" * 20_000 + "!"

    result = PatternSet(patterns).scan(text, budget_s=PLENTY)

    assert result.matched == (1, 2)
    assert result.late == (0,)


def test_without_time_nothing_is_known() -> None:
    patterns = [compile_pattern("dragon"), compile_pattern("unicorn"), compile_pattern(r"(?<=d)r")]

    result = PatternSet(patterns).scan("a dragon", budget_s=0.0)

    assert result.matched == ()
    # that no unicorn is there was clear before any pattern was run
    assert result.skipped == (0, 2)


def test_no_set_of_patterns_takes_much_more_than_its_budget() -> None:
    text = "ab" * 30_000
    hard = [compile_pattern(rf"(?:(?=[^]*b)a|b)*(?=c{n})") for n in range(60)]
    many = [compile_pattern(rf"[ab]{{{n}}}[c-e]") for n in range(1, 200)]
    pattern_set = PatternSet([*hard, *many])

    with processor_time() as taken:
        result = pattern_set.scan(text)

    assert result.late or result.skipped
    assert taken.seconds < 0.1


def test_needles_that_contain_others_do_not_multiply_the_hits() -> None:
    patterns = [compile_pattern("a" * length) for length in range(3, 33)]

    result = PatternSet(patterns).scan("a" * 20 + "b", budget_s=PLENTY)

    assert result.matched == tuple(range(18))


def test_a_set_of_re2_is_used_while_its_cost_is_bounded() -> None:
    patterns = [(n, compile_pattern(rf"[xyz][a-c]{{{n + 1}}}")) for n in range(10)]

    (group,) = Re2Set.chunks(patterns)

    assert group.match(Subject("zabc")) == [0, 1, 2]
    assert group.match(Subject("-" * 1_000_000)) is None
    assert group.match(Subject("\ud800")) is None


def test_sets_are_made_of_what_re2_takes() -> None:
    left_out = [
        compile_pattern(r"(?=x)"),
        compile_pattern("[xy]", "y"),
        compile_pattern("[xyz]{900}[ab]{900}"),
    ]

    assert Re2Set.chunks(list(enumerate(left_out))) == ()
    groups = Re2Set.chunks([(n, compile_pattern(rf"[pq]{{{n % 90 + 1}}}")) for n in range(100)])
    assert len(groups) > 1
    assert sorted(index for group in groups for index in group.indices) == list(range(100))


def test_an_empty_set_finds_nothing() -> None:
    assert PatternSet([]).scan("text").matched == ()

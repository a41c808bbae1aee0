"""Where JavaScript and Python differ, with the values that the standard gives (Annex B included)."""

import pytest

from engine.patterns import Pattern, compile_pattern

ASTRAL = "\U0001f600"  # 😀

# pattern, flags, text, what all matches are
CASES = [
    # classes and edges are ASCII, white space is not
    (r"\d", "", "１2", ["2"]),
    (r"\w+", "", "naïve", ["na", "ve"]),
    (r"\s", "", "a\u00a0b\ufeffc\u3000d\x85e\x1cf", ["\u00a0", "\ufeff", "\u3000"]),
    (r"\S+", "", "a\u2028b", ["a", "b"]),
    (r"[\s\S]+?x", "", "\n\u2028x", ["\n\u2028x"]),
    (r"[^\W\d]+", "", "ab1c", ["ab", "c"]),
    (r"\bé", "", "é aé", ["é"]),
    (r"\bcaf\b", "", "café", ["caf"]),
    (r"a\B", "", "ab a", ["a"]),
    (r"\B", "", "aé", [""]),
    # line ends
    (r"a$", "", "a\n", []),
    (r"^b", "", "a\nb", []),
    (r"^.", "m", "a\nb\rc\u2028d\u2029e", ["a", "b", "c", "d", "e"]),
    (r".$", "m", "a\nb\rc", ["a", "b", "c"]),
    (r".+", "", "a\rb\u2028c", ["a", "b", "c"]),
    (r".+", "s", "a\rb\u2028c", ["a\rb\u2028c"]),
    # classes that Python does not know
    (r"[^]", "", "\n", ["\n"]),
    (r"a[]|b", "", "ab", ["b"]),
    (r"[a&&b]+", "", "a&b", ["a&b"]),
    (r"[a||b~~d[]+", "", "[|~", ["[|~"]),
    (r"[\w-z]+", "", "a-z!", ["a-z"]),
    (r"[a-\d]+", "", "a-1b", ["a-1"]),
    (r"[\b]", "", "\x08", ["\x08"]),
    (r"[]", "", "a", []),
    # Annex B
    (r"a{", "", "a{", ["a{"]),
    (r"a{,2}", "", "a{,2} aa", ["a{,2}"]),
    (r"x{1", "", "x{1", ["x{1"]),
    (r"]}", "", "]}", ["]}"]),
    (r"\-\_\a", "", "-_a", ["-_a"]),
    (r"\101\60", "", "A0", ["A0"]),
    (r"\8", "", "8", ["8"]),
    (r"(a)\2", "", "a\x02", ["a\x02"]),
    (r"\0", "", "\0", ["\0"]),
    (r"\08", "", "\x008", ["\x008"]),
    (r"\cA\cz", "", "\x01\x1a", ["\x01\x1a"]),
    (r"\c!", "", "\\c!", ["\\c!"]),
    (r"[\c1]", "", "\x11", ["\x11"]),
    (r"\u{3}", "", "uuu", ["uuu"]),
    (r"\u12\x1", "", "u12x1", ["u12x1"]),
    (r"\k<a>", "", "k<a>", ["k<a>"]),
    (r"\p{L}", "", "p{L} é", ["p{L}"]),
    (r"(?=a)*b", "", "b", ["b"]),
    (r"(?=a){2}a", "", "ba", ["a"]),
    # escapes
    (r"\/\t\n\v\f\r", "", "/\t\n\v\f\r", ["/\t\n\v\f\r"]),
    (r"\x41\u0042", "", "AB", ["AB"]),
    (r"\u{1F600}", "u", ASTRAL, [ASTRAL]),
    (r"\ud83d\ude00", "u", ASTRAL, [ASTRAL]),
    (r"\ud83d\ude00", "", ASTRAL, [ASTRAL]),
    (r"[\ud800-\udbff][\udc00-\udfff]", "", f"a{ASTRAL}", [ASTRAL]),
    (r"\ud83d[\ude00-\ude4f]", "", f"{ASTRAL}\U0001f680", [ASTRAL]),
    (r"^.$", "u", ASTRAL, [ASTRAL]),
    # case
    (r"[sk]", "i", "S \u017f K \u212a", ["S", "K"]),
    (r"[sk]", "iu", "S \u017f K \u212a", ["S", "\u017f", "K", "\u212a"]),
    (r"s|\w", "i", "ſ", []),
    (r"ß", "i", "SS ẞ ß", ["ß"]),
    (r"ß", "iu", "SS ẞ ß", ["ẞ", "ß"]),
    (r"σ", "i", "Σςσ", ["Σ", "ς", "σ"]),
    (r"µ", "i", "Μμµ", ["Μ", "μ", "µ"]),
    (r"İ", "i", "iİI", ["İ"]),
    (r"[^s]", "i", "Sſ", ["ſ"]),
    (r"\w", "iu", "ſ", ["ſ"]),
    (r"\W", "iu", "ſ!", ["!"]),
    (r"\bk", "iu", "\u212ak k", ["\u212a", "k"]),
    (r"(a)\1", "i", "aA", ["aA"]),
    (r"ДРАКОН", "i", "дракон", ["дракон"]),
    # properties
    (r"\p{L}+", "u", "aé1龍", ["aé", "龍"]),
    (r"\P{L}+", "u", "aé1!", ["1!"]),
    (r"\p{Lu}", "iu", "aA", ["a", "A"]),
    (r"\p{Script=Han}+", "u", "ab漢字", ["漢字"]),
    (r"\p{sc=Grek}", "u", "aω", ["ω"]),
    (r"[\p{Nd}x]+", "u", "x３y", ["x３"]),
    (r"\p{ASCII}+", "u", "aé", ["a"]),
    (r"\p{Emoji_Presentation}", "u", f"1{ASTRAL}", [ASTRAL]),
    # v
    (r"[\w--\d]+", "v", "a1b", ["a", "b"]),
    (r"[[a-z]&&[aeiou]]+", "v", "baid", ["ai"]),
    (r"[\q{abc|b}c]", "v", "abcb", ["abc", "b"]),
    (r"[^\d[a-c]]", "v", "1ad", ["d"]),
    # captures, references, looking around
    (r"(?<!\$)\b\d+", "", "$12 13", ["13"]),
    (r"(?<=a.*)c", "", "abcc", ["c", "c"]),
    (r"(?<=(\d+)(\d+))$", "", "1053", [""]),
    (r"\1(a)", "", "aa", ["a", "a"]),
    (r"(?:(a)|b)\1", "", "bb aa", ["b", "b", "aa"]),
    (r"(a\1)", "", "aa", ["a", "a"]),
    (r"(?<q>['\"]).*?\k<q>", "", '\'a"\' "b"', ["'a\"'", '"b"']),
    (r"(?!(a)b)a\1", "", "ab ac", ["a"]),
    (r"(?:a*?)*$", "", "aaa", ["aaa", ""]),
    (r"(?:a|a*?b?)*c", "", "aabc", ["aabc"]),
    # every place is tried, an empty match goes on by one
    (r"x*", "", "xab", ["x", "", "", ""]),
    (r"", "", "ab", ["", "", ""]),
    (r"(?=b)", "", "abb", ["", ""]),
]


@pytest.mark.parametrize(("source", "flags", "text", "expected"), CASES)
def test_matches_are_javascripts(source: str, flags: str, text: str, expected: list[str]) -> None:
    pattern = compile_pattern(source, flags + "g")

    assert [match.groups[0] for match in pattern.finditer(text)] == expected
    assert pattern.matches(text) == bool(expected)


def groups(source: str, text: str, flags: str = "") -> tuple[str | None, ...]:
    match = compile_pattern(source, flags).search(text)
    assert match is not None
    return match.groups


def test_a_repetition_forgets_what_the_one_before_captured() -> None:
    assert groups(r"(?:(a)|b)*", "ab") == ("ab", None)
    assert groups(r"(z)((a+)?(b+)?(c))*", "zaacbbbcac") == ("zaacbbbcac", "z", "ac", "a", None, "c")
    assert groups(r"(?:(a)|(b))+", "aba") == ("aba", "a", None)


def test_an_empty_repetition_is_refused_and_captures_nothing() -> None:
    assert groups(r"(a*)*", "b") == ("", None)
    assert groups(r"(?:(a*)|b)*", "ab") == ("ab", None)
    assert groups(r"(.*)?x", "x") == ("x", None)
    assert groups(r"(a*)+", "b") == ("", "")


def test_what_a_condition_captures_stays_and_what_a_negative_one_does_is_forgotten() -> None:
    assert groups(r"(?=(a+))a*b\1", "baaabac") == ("aba", "a")
    assert groups(r"(.*?)a(?!(a+)b\2c)\2(.*)", "baaabaac") == ("baaabaac", "ba", None, "abaac")


def test_a_condition_on_what_precedes_is_matched_from_the_right() -> None:
    assert groups(r"(?<=(\d+)(\d+))$", "1053") == ("", "1", "053")
    assert groups(r"(?<=\1(a))b", "aab") == ("b", "a")


def test_groups_that_are_left_out_keep_their_numbers() -> None:
    assert groups(r"(?:(a)){0}(b)", "ab") == ("b", None, "b")
    assert groups(r"(?=(a))*(b)", "b") == ("b", None, "b")


def test_names_go_with_their_groups() -> None:
    match = compile_pattern(r"(?<first>\w+) (?<名>\w+)?").search("John ")

    assert match is not None
    assert dict(match.named) == {"first": "John", "名": None}
    assert (match.start, match.end) == (0, 5)


def test_places_are_counted_in_characters() -> None:
    match = compile_pattern(r"b(.)").search(f"é{ASTRAL}龍b漢")

    assert match is not None
    assert (match.start, match.end, match.groups) == (3, 5, ("b漢", "漢"))


def test_a_search_may_begin_later_and_still_sees_what_precedes() -> None:
    pattern = compile_pattern(r"\ba")

    assert pattern.search("ba a", 1) == compile_pattern(r"\ba").search("ba a")
    assert pattern.search("a", 1) is None
    assert compile_pattern("^a").search("aa", 1) is None
    assert compile_pattern("").search("ab", 3) is None


def test_a_sticky_pattern_matches_where_the_search_begins() -> None:
    pattern = compile_pattern("a", "y")

    assert pattern.matches("ab")
    assert not pattern.matches("ba")
    assert pattern.search("ba", 1) is not None
    assert [match.start for match in compile_pattern("a", "gy").finditer("aaba")] == [0, 1]


def test_half_characters_in_a_text_do_no_harm() -> None:
    pattern = compile_pattern(r"a(.)b")

    match = pattern.search("a\ud800b")

    assert match is not None
    assert match.groups == ("a\ud800b", "\ud800")


@pytest.mark.parametrize(
    ("source", "flags", "engine"),
    [
        (r"\bdragon(s|fly)?\b", "i", "re2"),
        (r"<think>[\s\S]*?<\/think>\s*", "g", "re2"),
        (r"^\s*$", "gm", "re2"),
        (r"(a|b)+", "", "re2"),
        (r"(?:(a)|b)+", "", "regex"),  # a capture that is forgotten
        (r"(?<=\$)\d+", "", "regex"),
        (r"(['\"]).*?\1", "", "regex"),
        (r"a{1001}", "", "regex"),  # more than RE2 counts
        (r"(?:a*?b?)*c", "", "regex"),  # an empty repetition that is not the last way
    ],
)
def test_re2_runs_what_it_understands_alike(source: str, flags: str, engine: str) -> None:
    assert compile_pattern(source, flags).engine == engine


def test_a_pattern_is_made_once() -> None:
    assert compile_pattern("once(more)?", "i") is compile_pattern("once(more)?", "i")


def test_a_pattern_says_what_it_is() -> None:
    pattern: Pattern = compile_pattern("a(?=b)", "gi")

    assert (pattern.source, pattern.flags, pattern.group_count) == ("a(?=b)", "gi", 0)
    assert repr(pattern) == "Pattern('a(?=b)', 'gi', regex)"

"""The grammar: spans cover the source, braces pair, arguments split at their own level."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from engine.macros.grammar import Macro, Node, Text, parse


def described(source: str, nodes: Sequence[Node]) -> list[object]:
    return [
        source[node.start : node.end]
        if isinstance(node, Text)
        else (node.name, *[described(source, arg) for arg in node.args])
        for node in nodes
    ]


def test_a_macro_has_a_name_and_arguments_at_its_own_level() -> None:
    source = "x{{Random::a::{{pick::b::c}}::d}}y"
    expected = ["x", ("random", ["a"], [("pick", ["b"], ["c"])], ["d"]), "y"]
    assert described(source, parse(source)) == expected


def test_one_colon_or_a_space_takes_everything_as_one_argument() -> None:
    for source in ("{{random:a::b}}", "{{random a::b}}"):
        (macro,) = parse(source)
        assert isinstance(macro, Macro)
        assert macro.single
        assert described(source, macro.args[0]) == ["a::b"]


def test_a_comment_takes_all_to_its_own_end() -> None:
    source = "a{{// see {{user}}, not }} b"
    assert described(source, parse(source)) == ["a", ("//",), " b"]


def test_braces_pair_from_the_inside() -> None:
    assert described("{{{user}}}", parse("{{{user}}}")) == ["{", ("user",), "}"]
    assert described("{{ {{user}}", parse("{{ {{user}}")) == ["{{ ", ("user",)]


def spans(nodes: Sequence[Node], start: int, end: int) -> None:
    at = start
    for node in nodes:
        assert node.start == at
        assert node.end > node.start
        at = node.end
        if isinstance(node, Macro):
            for arg in node.args:
                if arg:
                    assert node.start < arg[0].start
                    assert arg[-1].end < node.end
                    spans(arg, arg[0].start, arg[-1].end)
    assert at == end


@given(st.text(alphabet="{}:/\\ ausr<>\n", max_size=80))
def test_the_nodes_of_any_text_span_all_of_it_in_order(source: str) -> None:
    spans(parse(source), 0, len(source))

"""The grammar: spans cover the source, braces pair, arguments split at their own level."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.macros.grammar import parse
from engine.macros.nodes import Arg, Insert, Macro, Node, Text, Variable
from tests.engine.macros.texts import said


def described(source: str, nodes: Sequence[Node]) -> list[object]:
    """Texts as they are, macros as (flags, name, arguments), variables as (name, operator, value)."""
    result: list[object] = []
    for node in nodes:
        if isinstance(node, Text):
            result.append(source[node.start : node.end])
        elif isinstance(node, Macro):
            name = f"/{node.name}" if node.closing else node.name
            result.append((node.flags + name, *[described(source, arg.nodes) for arg in node.args]))
        elif isinstance(node, Variable):
            value = described(source, node.value.nodes) if node.value else None
            result.append((node.store, node.name, node.operator, value))
    return result


def tree(source: str) -> list[object]:
    return described(source, parse(source).nodes)


def test_a_macro_has_a_name_and_arguments_at_its_own_level() -> None:
    expected = ["x", ("random", ["a"], [("pick", ["b"], ["c"])], ["d"]), "y"]
    assert tree("x{{Random::a::{{pick::b::c}}::d}}y") == expected


@pytest.mark.parametrize("source", ["{{random:a::b}}", "{{random a::b}}", "{{ random : a::b}}"])
def test_one_colon_or_a_space_takes_everything_as_one_argument(source: str) -> None:
    (macro,) = parse(source).nodes
    assert isinstance(macro, Macro)
    assert len(macro.args) == 1
    assert source[macro.args[0].start : macro.args[0].end].strip() == "a::b"


def test_a_comment_takes_all_to_its_own_end() -> None:
    (before, comment, after) = parse("a{{// see {{user}}, not }} b").nodes
    assert isinstance(comment, Macro)
    assert (comment.name, comment.start, comment.end) == ("//", 1, 26)
    assert (before.end, after.start) == (1, 26)


def test_a_line_of_slashes_is_a_comment_and_three_are_its_end() -> None:
    (line,) = parse("{{///// Section /////}}").nodes
    assert isinstance(line, Macro)
    assert not line.closing
    (end,) = parse("{{ / // }}").nodes
    assert isinstance(end, Macro)
    assert end.closing


def test_flags_stand_before_the_name() -> None:
    assert tree("{{#if x}}") == [("#if", ["x"])]
    assert tree("{{ ! ? ~ > user }}") == [("! ? ~ > user",)]
    assert tree("{{/if}}") == [("//if",)]
    assert tree("{{ / if }}") == [("/ /if",)]


def test_variables_have_operators() -> None:
    assert tree("{{.a}}{{$b-c}}") == [("local", "a", "", None), ("global", "b-c", "", None)]
    assert tree("{{.c--}}{{ .c ++ }}") == [("local", "c", "--", None), ("local", "c", "++", None)]
    for operator in ("=", "+=", "-=", "||", "??", "||=", "??=", "==", "!=", ">", ">=", "<", "<="):
        assert tree(f"{{{{.x {operator} 1::2}}}}") == [("local", "x", operator, ["1::2"])]
    assert tree("{{.a ?? {{user}}}}") == [("local", "a", "??", [("user",)])]


def test_braces_pair_from_the_inside() -> None:
    assert tree("{{{user}}}") == ["{", ("user",), "}"]
    assert tree("{{ {{user}}") == ["{{ ", ("user",)]
    assert tree("{{random::{a}}}") == [("random", ["{a}"])]


def test_an_insert_is_no_part_of_the_grammar() -> None:
    source = "{{reverse::<<}}>>}}"
    (macro,) = parse(source, inserts=[(11, 17)]).nodes
    assert isinstance(macro, Macro)
    assert macro.end == len(source)
    assert macro.args[0].nodes == [Insert(11, 17, 0)]


def spans(nodes: Sequence[Node], start: int, end: int) -> None:
    at = start
    for node in nodes:
        assert node.start == at
        at = node.end
        if isinstance(node, Macro):
            for arg in node.args:
                inside(node, arg)
            if node.scope is not None:
                assert node.scope.start == node.end
                spans(node.scope.nodes, node.scope.start, node.scope.end)
                assert node.scope.close.start == node.scope.end
                at = node.scope.close.end
        elif isinstance(node, Variable) and node.value is not None:
            inside(node, node.value)
        assert at > node.start
    assert at == end


def inside(node: Macro | Variable, arg: Arg) -> None:
    assert node.start < arg.start <= arg.end < node.end
    if not (isinstance(node, Macro) and node.name == "//"):
        spans(arg.nodes, arg.start, arg.end)


PIECES = st.sampled_from(
    (
        *(
            "{{",
            "}}",
            "{",
            "}",
            "{{/",
            "{{if ",
            "{{user}}",
            "{{/if}}",
            "{{else}}",
            "{{//",
            "{{.x",
            "{{$y ||=",
        ),
        *("::", ":", "/", "\\", " ", "\n", "a", "random", "user", "<user>", "宏", "😀", "#", "+=", "++"),
    )
)
HOSTILE = st.one_of(
    st.text(alphabet="{}:/\\ aurse<>.$=|!#\n宏", max_size=80), st.lists(PIECES, max_size=40).map("".join)
)


@given(HOSTILE)
def test_the_nodes_of_any_text_span_all_of_it_in_order(source: str) -> None:
    spans(parse(source).nodes, 0, len(source))
    spans(parse(source, lambda name, count: count <= 2).nodes, 0, len(source))


PLAIN = st.text(alphabet="ab 宏.,", max_size=5)
"""What has no meaning in the grammar; blanks stand inside only, because the edges of arguments go."""


@st.composite
def written(draw: st.DrawFn, depth: int = 3) -> tuple[str, str]:
    """A text with macros, and what it says, worked out beside it."""
    source = said_text = ""
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["text", "user", "reverse", "unknown", "braces", "if", "variable"]))
        inner, inner_said = draw(written(depth - 1)) if depth else ("x", "x")
        inner, inner_said = f"<{inner}>", f"<{inner_said}>"
        plain = draw(PLAIN)
        holds = draw(st.booleans())
        piece = {
            "text": (plain, plain),
            "user": ("{{ User }}", "Bob"),
            "reverse": ("{{reverse::" + inner + "}}", inner_said[::-1]),
            "unknown": ("{{nosuch::" + inner + "::b}}", "{{nosuch::" + inner_said + "::b}}"),
            "braces": ("{" + inner + "}", "{" + inner_said + "}"),
            "if": (
                "{{#if " + str(int(holds)) + "}}" + inner + "{{else}}no{{/if}}",
                inner_said if holds else "no",
            ),
            "variable": ("{{.v ?? " + inner + "}}", inner_said),
        }[kind]
        source, said_text = source + piece[0], said_text + piece[1]
    return source, said_text


@given(written())
def test_texts_of_known_structure_say_what_was_worked_out_beside_them(case: tuple[str, str]) -> None:
    source, expected = case
    assert said(source) == expected

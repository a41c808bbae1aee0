"""HTML as Discord can show it."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.webtext import readable


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("no tags & none", "no tags & none"),
        ("<p>One</p><p>Two</p>", "One\nTwo"),
        ("One<br>Two<br/>Three", "One\nTwo\nThree"),
        ("She nods.\n\n<div>HP: 3</div>\n\nShe goes.", "She nods.\n\nHP: 3\n\nShe goes."),
        ("<div>\n    <span>HP</span>\n    <span>3</span>\n</div>", "HP\n3"),
        ("<b>bold</b> <em>soft</em> <u>under</u> <s>gone</s>", "**bold** *soft* __under__ ~~gone~~"),
        ("<b> spaced </b><i></i><b>a<br>b</b><u>open", "spaced a\nb open".replace(" open", "open")),
        ("<b>a <i>b</b> c</i>", "**a b** c"),
        ("<ul><li>one</li><li>two</li></ul>", "- one\n- two"),
        ("<table><tr><th>HP</th><th>MP</th></tr><tr><td>1</td><td></td></tr></table>", "HP | MP\n1"),
        ('<font color="red">“Hi”</font>, <span style="a>b">you</span>', "“Hi”, you"),
        ("<style>p{}</style><script>if (a<b) x()</script>Hi<!-- note --> there", "Hi there"),
        ("Hi <script>never closed", "Hi"),
        ("<details><summary>Thought</summary>Hm.</details>", "Thought\nHm."),
        ('<img src="https://x/y.png" alt="A map"> <img src="https://x/y.png">', "A map"),
        ('<a href="https://evil">click</a>', "click"),
        ("<i>Tom&nbsp;&amp;&nbsp;Ana &lt;3</i> &copy=1", "*Tom\xa0&\xa0Ana <3* &copy=1"),
        ("<p>&lt;b&gt;</p>", "<b>"),
        # what is Discord's own, a heart and a sum are no tags
        (
            "<i>x</i> <@1> <#2> <:a:3> <t:4:R> <https://a.b/c> <3 a < b > c",
            "*x* <@1> <#2> <:a:3> <t:4:R> <https://a.b/c> <3 a < b > c",
        ),
        ("<状态>血量</状态><br>", "<状态>血量</状态>"),
        ("<p>||secret||</p>", "||secret||"),
        # code in a fence stays as it is, a whole page in one does not
        ("<p>See</p>\n```py\nif a<b>c: # &amp;\n```\n<p>so</p>", "See\n```py\nif a<b>c: # &amp;\n```\nso"),
        ("```html\n<div>kept</div>\n```", "```html\n<div>kept</div>\n```"),
        (
            "```html\n<!DOCTYPE html>\n<html><head><title>t</title></head><body><p>Hi</p></body></html>\n```",
            "Hi\n",
        ),
        ("```\n<body onload='x()'><p>Hi</p>", "Hi"),
        ("```\nnever <b>closed", "```\nnever <b>closed"),
    ],
)
def test_the_words_stay_and_the_dress_goes(page: str, text: str) -> None:
    assert readable(page) == text


words = st.text(alphabet="abc \n*|~_`&;#/!-\"'", max_size=30)


@given(words)
def test_a_text_without_tags_is_not_touched(text: str) -> None:
    assert readable(text) == text


tags = st.sampled_from(
    [
        "<b>",
        "</b>",
        "<p>",
        "</p>",
        "<br>",
        "<td>",
        "</td>",
        "<i>",
        "</i>",
        "<li>",
        "<!-- -->",
        "<script>",
        "</script>",
    ]
)


@given(st.lists(st.one_of(tags, st.sampled_from(["word", " ", "\n", "&amp;"])), max_size=20))
@example(["\n", "<b>", "\n", "\n"])
def test_no_tag_is_left(parts: list[str]) -> None:
    page = "".join(parts)
    text = readable(page)
    assert "<" not in text
    assert "\n\n\n" not in text or "<" not in page
    assert "\ufdd0" not in text and "\ufdd1" not in text


@pytest.mark.parametrize(
    "page",
    [
        "<b>" * 20_000 + "</b>" * 20_000,
        "<a '" * 20_000 + ">",
        " " * 100_000 + "<br>x",
        "<td></td>" * 9_000 + "x",
        "<script>" * 9_000,
        "<!--" * 20_000 + ">",
        "```\n" * 20_000 + "<b>x</b>",
    ],
)
def test_hostile_pages_take_bounded_time(page: str) -> None:
    begun = time.monotonic()
    readable(page)
    assert time.monotonic() - begun < 3  # a second of this machine's, and room for a busy one

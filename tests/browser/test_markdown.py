"""Discord's markdown, as the page's parser reads it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page

from bot.sandbox.wire import WireDiscord
from tests.browser.conftest import Open

# A tree as HTML-like text: short to write, and every node is visible.
RENDER = """async (cases) => {
  const { parse } = await import('/static/js/markdown.js');
  const show = (n) => {
    const inside = () => (n.children ?? []).map(show).join('');
    switch (n.type) {
      case 'text': return n.text;
      case 'br': return '|';
      case 'code': return `<code>${n.text}</code>`;
      case 'pre': return `<pre ${n.lang}>${n.text}</pre>`;
      case 'heading': return `<h${n.level}>${inside()}</h>`;
      case 'list': return `<${n.ordered ? `ol ${n.start}` : 'ul'}>`
        + n.items.map((i) => `<li>${i.map(show).join('')}</li>`).join('') + '</>';
      case 'link': return `<a ${n.url}>${inside()}</a>`;
      case 'user': case 'role': case 'channel': return `<${n.type} ${n.id}>`;
      case 'emoji': return `<emoji ${n.name} ${n.animated}>`;
      case 'time': return `<time ${n.at} ${n.style}>`;
      case 'everyone': case 'command': return `<${n.type} ${n.name}>`;
      default: return `<${n.type}>${inside()}</${n.type}>`;
    }
  };
  return cases.map((text) => parse(text).map(show).join(''));
}"""

CASES = [
    # emphasis
    ("**a** *b* ***c*** _d_", "<strong>a</strong> <em>b</em> <strong><em>c</em></strong> <em>d</em>"),
    ("__e__ ~~f~~", "<underline>e</underline> <strike>f</strike>"),
    ("*a **b** c*", "<em>a <strong>b</strong> c</em>"),
    ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
    (r"\*not\* \_this\_ \\", r"*not* _this_ \ "[:-1]),
    ("**open", "**open"),
    ("**a\nb**", "<strong>a|b</strong>"),
    ("||it was **him**||", "<spoiler>it was <strong>him</strong></spoiler>"),
    ("“*她*”。**好**", "“<em>她</em>”。<strong>好</strong>"),
    # code
    ("`a *b*` ``c ` d``", "<code>a *b*</code> <code>c ` d</code>"),
    ("**a `**` b**", "<strong>a <code>**</code> b</strong>"),
    ("```py\nx = '*'\n```after", "<pre py>x = '*'</pre>after"),
    ("a ```b``` c", "a <pre >b</pre> c"),
    ("```\nnever closed", "```|never closed"),
    # blocks
    ("# One\n## Two *em*\n### Three\n#### four", "<h1>One</h><h2>Two <em>em</em></h><h3>Three</h>#### four"),
    ("#nospace", "#nospace"),
    ("-# small", "<subtext>small</subtext>"),
    ("> a\n> b\nc", "<quote>a|b</quote>c"),
    ("a > b", "a > b"),
    (">>> a\n\nb", "<quote>a||b</quote>"),
    ("> # Big\n> - x", "<quote><h1>Big</h><ul><li>x</li></></quote>"),
    ("- a\n- b\n  - c\n- d", "<ul><li>a</li><li>b<ul><li>c</li></></li><li>d</li></>"),
    ("3. a\n4. b", "<ol 3><li>a</li><li>b</li></>"),
    ("- a\n1. b\n2. c", "<group><ul><li>a</li></><ol 1><li>b</li><li>c</li></></group>"),
    ("1. a\n  - b\n2. c", "<ol 1><li>a<ul><li>b</li></></li><li>c</li></>"),
    ("text\n- a\nmore", "text<ul><li>a</li></>more"),
    # links and what belongs to Discord
    ("at https://e.com/a_(b)_c. Yes", "at <a https://e.com/a_(b)_c>https://e.com/a_(b)_c</a>. Yes"),
    ("(https://example.com/x)", "(<a https://example.com/x>https://example.com/x</a>)"),
    ("<https://example.com> [**t**](https://e.org)", "<a https://example.com>https://example.com</a> "
     "<a https://e.org><strong>t</strong></a>"),
    ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
    ("<@1> <@!2> <@&3> <#4>", "<user 1> <user 2> <role 3> <channel 4>"),
    ("@everyone @heresy", "<everyone everyone> @heresy"),
    ("<:wave:5> <a:run:6>", "<emoji wave false> <emoji run true>"),
    ("<t:60:R> <t:60> <t:x>", "<time 60 R> <time 60 f> <t:x>"),
    ("</play new:7>", "<command play new>"),
    ("<b>bold</b> & <i>", "<b>bold</b> & <i>"),
]  # fmt: skip


@pytest.fixture
async def page(wire: WireDiscord, open_page: Open) -> Page:
    return await open_page()


async def test_every_rule(page: Page) -> None:
    read: list[Any] = await page.evaluate(RENDER, [text for text, _ in CASES])
    for (text, wanted), got in zip(CASES, read, strict=True):
        assert got == wanted, text


async def test_hostile_texts_are_read_in_time(page: Page) -> None:
    # given what makes careless parsers slow: marks that never close, and deep nesting
    texts = [
        mark * (4000 // len(mark))
        for mark in ("*", "_", "**a ", "||", "`", "[", "[a](", "<", "> ", "- ", "~~", "\\")
    ]
    texts += ["*a **b " * 500, "||*" * 1000, "> " * 1000 + "x", "http" * 1000]
    spent = await page.evaluate(
        """async (texts) => {
            const { parse } = await import('/static/js/markdown.js');
            const now = () => performance.now();
            const time = (text) => { const at = now(); parse(text); return now() - at; };
            return texts.map(time);
        }""",
        texts,
    )
    # then none of the longest messages takes a noticeable time (seconds on a careless parser)
    for text, ms in zip(texts, spent, strict=True):
        assert ms < 500, (text[:20], ms)

"""What the model would be sent, message by message: a panel for the eyes, and a file with everything. Pure.

The bar shows whose words take how much; under it stand the messages in their order (`ux` 6).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import discord

from bot.excerpts import clip, plain, prose
from bot.handout import text_file
from bot.i18n import FALLBACK, catalogue, language, t
from bot.press import button
from bot.sheet import Layout, Sheet
from engine.llm import CallConfig
from engine.strategies import ActualRequest, Preview, PreviewBlock, PreviewMessage

__all__ = ["FILE", "as_preview", "prompt_panel", "redacted", "remark_lines"]

FILE = "prompt.md"
_BAR = 12  # squares: what a phone shows in one line
_SQUARES = "🟦🟩🟨🟧🟥🟪🟫⬛"
_SHOWN = 9  # messages on the panel, and …
_ENDS = 3  # … of a long conversation those at either end
_BLOCKS = 7  # parts of one message
_REMARKS = 6
_NAMES = 8  # of what one remark is about
_MACRO = re.compile(r"\{\{.*?\}\}|<[A-Za-z]{3,8}>|\n", re.DOTALL)
_ABOUT = "\nAbout "  # how the list of who is at the table goes on to what they are like
_TELLING = 3  # characters: less than that tells nothing
_WHOLE = 900_000  # code points of the file


def prompt_panel(
    preview: Preview, name: str, strategy_id: str, locale: str, *, sent_at: int | None = None
) -> tuple[Layout, discord.File]:
    """The panel and its file. `name` is that of the strategy, fit for Markdown; empty without one.
    `sent_at` (epoch ms) is when it was sent, if it is not only what would be."""
    sheet, head = Sheet(), _head(preview, name, sent_at, locale)
    sheet.text("\n".join(head), 1_200)
    sheet.text(_budget(preview, locale), 1_400)
    sheet.text("\n".join(_messages(preview.messages, locale)), 4_400)
    worth = [remark for remark in preview.diagnostics if remark.get("severity") != "info"]
    sheet.text(_remarks(worth, locale), 1_700)
    if sent_at is None:
        again = [strategy_id] if strategy_id else []
        sheet.row(
            button("strategy-preview", *again, label=t(locale, "button.again")),
            button("strategy-sent", label=t(locale, "button.sent")),
        )
    else:
        sheet.row(button("strategy-preview", label=t(locale, "button.next_one")))
    view = sheet.layout()
    view.add_item(discord.ui.File[Any](f"attachment://{FILE}"))
    return view, text_file(_details(preview, head, locale), FILE)


def as_preview(sent: ActualRequest) -> Preview:
    """What was sent, to be shown as what would be."""
    config = sent.config
    return Preview(
        strategy=None,
        messages=sent.messages,
        contexts=(),
        parameters=CallConfig(
            str(config.get("provider", "")),
            str(config.get("model", "")),
            reasoning_effort=config.get("reasoningEffort"),
            temperature=config.get("temperature"),
            max_tokens=config.get("maxTokens"),
        ),
        diagnostics=(),
        tokens=sent.tokens,
        window=None,
        max_response=None,
        added_bytes=0,
        max_bytes=0,
    )


def redacted(preview: Preview, descriptions: Iterable[str], locale: str) -> Preview:
    """Without what personas say of people: for readers whose story it is not.

    What stands between the macros of a description is looked for wherever it may have come: in a part of its
    own, in the list of players, in a text of the preset that names it. Rather too much is left out than too
    little.
    """
    pieces = {
        piece.strip()
        for text in descriptions
        for piece in _MACRO.split(text)
        if len(piece.strip()) >= _TELLING
    }
    secrets = sorted(pieces, key=len, reverse=True)
    mark = t(locale, "prompt.private")

    def without(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, mark)
        return text

    def block(each: PreviewBlock) -> PreviewBlock:
        return replace(each, text=without(shown(each)))

    def shown(each: PreviewBlock) -> str:
        if each.module == "persona":
            return mark
        if each.module == "cast":
            names, about, _ = each.text.partition(_ABOUT)
            return f"{names}\n{mark}" if about else names
        return each.text

    def message(each: PreviewMessage) -> PreviewMessage:
        text = each.text
        for part in each.blocks:
            if part.text:
                text = text.replace(part.text, shown(part))
        return replace(each, text=without(text), blocks=tuple(map(block, each.blocks)))

    messages = tuple(map(message, preview.messages))
    return replace(preview, messages=messages, contexts=tuple(map(block, preview.contexts)))


def remark_lines(remarks: Iterable[Mapping[str, Any]], locale: str) -> Sequence[str]:
    """Diagnostics as sentences, those of one kind in one with the names of what they are about."""
    names: dict[str, list[str]] = {}
    for remark in remarks:
        name = plain(str(remark.get("name") or ""), 60)
        found = names.setdefault(_sentence(remark, locale), [])
        found.append(name or t(locale, "prompt.unnamed"))
    lines = []
    for sentence, about in names.items():
        several = list(dict.fromkeys(about))
        told = ", ".join(several[:_NAMES]) + (" …" if len(several) > _NAMES else "")
        if "{name}" in sentence:
            lines.append(sentence.replace("{name}", told))
        else:
            lines.append(sentence + (f" (×{len(about)})" if len(about) > 1 else ""))
    return lines


def _sentence(remark: Mapping[str, Any], locale: str) -> str:
    """With a place for the name. What has no text here says its own, in English."""
    code = str(remark.get("code", ""))
    key = next((f"{at}.{code}" for at in ("assembly", "diagnostics") if f"{at}.{code}" in _texts(locale)), "")
    if not key:
        return plain(str(remark.get("message") or code), 240).replace("{name}", "")
    facts = {fact: _fact(fact, value, locale) for fact, value in remark.items() if fact != "name"}
    return t(locale, key, **facts)


def _texts(locale: str) -> Mapping[str, Any]:
    return {**catalogue(FALLBACK), **catalogue(language(locale))}


def _fact(fact: str, value: object, locale: str) -> str:
    """Ids of the engine as people know them."""
    text = str(value)
    if fact == "sourceId":
        return _module(text, locale)
    if fact in ("from", "to", "role") and f"strategy.role.{text}" in catalogue(FALLBACK):
        return t(locale, f"strategy.role.{text}")
    return plain(text, 80)


def _head(preview: Preview, name: str, sent_at: int | None, locale: str) -> list[str]:
    title = f"## {t(locale, 'prompt.title' if sent_at is None else 'prompt.sent_title')}"
    if sent_at is not None:
        title += f"\n<t:{sent_at // 1000}:R>"
    with_what = t(locale, "prompt.with", name=f"**{name}**") if name else t(locale, "prompt.without")
    return [title, with_what, f"-# {' · '.join(_parameters(preview, locale))}"]


def _parameters(preview: Preview, locale: str) -> list[str]:
    called = preview.parameters
    facts = [plain(called.model, 60)]
    if called.temperature is not None:
        facts.append(t(locale, "preset.temperature", value=f"{called.temperature:g}"))
    if called.max_tokens is not None:
        facts.append(t(locale, "preset.max_tokens", count=called.max_tokens))
    if called.reasoning_effort:
        facts.append(t(locale, "preset.effort", value=plain(str(called.reasoning_effort), 20)))
    return facts


def _budget(preview: Preview, locale: str) -> str:
    shares = _shares(preview)
    if preview.window:
        percent = round(100 * preview.tokens / preview.window)
        line = t(locale, "prompt.of_window", n=preview.tokens, window=preview.window, percent=percent)
    else:
        line = t(locale, "prompt.tokens", n=preview.tokens)
    if not shares:
        return line
    names = [
        f"{square} {_module(module, locale)} {count}"
        for square, (module, count) in zip(_SQUARES, shares, strict=False)
    ]
    return "\n".join([line, _bar([count for _, count in shares]), f"-# {' · '.join(names)}"])


def _shares(preview: Preview) -> list[tuple[str, int]]:
    """Whose words take how much, most first; more than there are colours are the rest."""
    counted: Counter[str] = Counter()
    for message in preview.messages:
        if message.source in ("history", "input") or not message.blocks:
            counted[message.source] += message.tokens
            continue
        for block in message.blocks:
            counted[block.module or message.source] += block.tokens
    shares = [(module, count) for module, count in counted.most_common() if count]
    most = len(_SQUARES)
    if len(shares) > most:
        shares = [*shares[: most - 1], ("rest", sum(count for _, count in shares[most - 1 :]))]
    return shares


def _bar(counts: Sequence[int]) -> str:
    """A square at least for each, the others by how much they take."""
    squares = [1] * len(counts)
    total = sum(counts)
    while sum(squares) < _BAR:
        lacks = [count * _BAR / total - got for count, got in zip(counts, squares, strict=True)]
        squares[lacks.index(max(lacks))] += 1
    return "".join(sign * number for sign, number in zip(_SQUARES, squares, strict=False))


def _messages(messages: Sequence[PreviewMessage], locale: str) -> Iterable[str]:
    numbered = list(enumerate(messages, 1))
    talk = [number for number, message in numbered if message.source == "history"]
    hidden = set(talk[_ENDS:-_ENDS]) if len(numbered) > _SHOWN else set()
    for number, message in numbered:
        if number in hidden:
            if number == min(hidden):
                left = sum(each.tokens for at, each in numbered if at in hidden)
                yield t(locale, "prompt.between", n=len(hidden), tokens=left)
            continue
        head = [
            f"**{number}.** {_who(message, locale)}",
            t(locale, f"prompt.source.{message.source.replace('-', '_')}"),
            t(locale, "prompt.counted", n=message.tokens),
        ]
        yield " · ".join(head)
        blocks = message.blocks
        if message.source in ("history", "input") or len(blocks) < 2:
            own = f"{_label(blocks[0], locale)}: " if blocks and blocks[0].module not in _TALK else ""
            yield f"-# {own}{prose(message.text, 90)}"
            continue
        for block in blocks[:_BLOCKS]:
            yield f"-# – {_label(block, locale)} · {block.tokens} · {prose(block.text, 50)}"
        if len(blocks) > _BLOCKS:
            yield f"-# {t(locale, 'prompt.more', n=len(blocks) - _BLOCKS)}"


_TALK = ("history", "input", "native")


def _who(message: PreviewMessage, locale: str) -> str:
    return t(locale, f"prompt.role.{message.role}")


def _label(block: PreviewBlock, locale: str) -> str:
    module, field = _module(block.module, locale), f"card.field.{block.label}"
    known = block.module in ("character", "preset") and field in catalogue(FALLBACK)
    label = t(locale, field) if known else plain(block.label, 40)
    return module if not label or block.label in (block.module, module) else f"{module} / {label}"


def _module(module: str, locale: str) -> str:
    key = f"strategy.module.{module}"
    return t(locale, key) if key in catalogue(FALLBACK) else plain(module, 40)


def _remarks(remarks: Sequence[Mapping[str, Any]], locale: str) -> str:
    lines = remark_lines(remarks, locale)
    if not lines:
        return ""
    shown = [f"- {line}" for line in lines[:_REMARKS]]
    if len(lines) > _REMARKS:
        shown.append(t(locale, "prompt.more", n=len(lines) - _REMARKS))
    return "\n".join([t(locale, "prompt.remarks", n=len(lines)), *shown])


def _details(preview: Preview, head: Sequence[str], locale: str) -> str:
    """Everything, the texts as they would be sent."""
    parts = ["\n".join(head), _budget(preview, locale)]
    for number, message in enumerate(preview.messages, 1):
        source = t(locale, f"prompt.source.{message.source.replace('-', '_')}")
        tokens = t(locale, "prompt.tokens", n=message.tokens)
        parts.append(f"## {number}. {_who(message, locale)} · {source} · {tokens}")
        if message.source in _TALK or not message.blocks:
            parts.append(message.text)
        for block in message.blocks if message.source not in _TALK else ():
            parts.append(f"### {_label(block, locale)} · {block.tokens}\n\n{block.text}")
    if preview.contexts:
        parts.append(f"## {t(locale, 'prompt.contexts')}")
        parts += [f"### {_label(block, locale)}\n\n{block.text}" for block in preview.contexts]
    if preview.diagnostics:
        lines = [f"- {line}" for line in remark_lines(preview.diagnostics, locale)]
        parts.append("\n".join([t(locale, "prompt.remarks", n=len(lines)), *lines]))
    return clip("\n\n".join(parts), _WHOLE) + "\n"

"""What the model would be sent, message by message: a panel for the eyes, and a file with everything. Pure.

The bar shows whose words take how much; under it stand the messages in their order (`ux` 6).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import discord

from bot.excerpts import clip, plain, prose
from bot.handout import text_file
from bot.i18n import FALLBACK, catalogue, language, t
from bot.press import button, menu
from bot.sheet import Layout, Sheet
from engine.llm import CallConfig
from engine.strategies import CALLED, ActualRequest, Preview, PreviewBlock, PreviewMessage, SentStep

__all__ = ["FILE", "STEP_CHOSEN", "Sent", "as_preview", "budget", "prompt_panel", "remark_lines"]

FILE = "prompt.md"
_BAR = 12  # squares: what a phone shows in one line
_SQUARES = "🟦🟩🟨🟧🟥🟪🟫⬛"
_SHOWN = 9  # messages on the panel, and …
_ENDS = 3  # … of a long conversation those at either end
_BLOCKS = 7  # parts of one message
_REMARKS = 6
_NAMES = 8  # of what one remark is about
_WHOLE = 900_000  # code points of the file
_STEPS = 25  # what a menu holds; the newest, because they led to the answer

STEP_CHOSEN = "sent-step"
"""The op of the menu of steps; its arguments are story and `ActualRequest.place`, its values step numbers."""


@dataclass(frozen=True, slots=True)
class Sent:
    """That a prompt was sent, and is not only what would be.

    `at` is when (epoch ms). `place` is its story and where in the log its turn stands; `step` is its number
    among the `steps` of that turn. `leads` is for whoever may look at what comes next. `veiled` says that
    something in it is kept from the reader.
    """

    at: int
    place: tuple[str, ...]
    steps: Sequence[SentStep] = ()
    step: int = 0
    leads: bool = False
    veiled: bool = False


def prompt_panel(
    preview: Preview,
    name: str,
    strategy_id: str,
    locale: str,
    *,
    sent: Sent | None = None,
    compared: bool = False,
    refused: str = "",
    draft: bool = False,
) -> tuple[Layout, discord.File]:
    """The panel and its file. `name` is that of the strategy, fit for Markdown; empty without one. `compared`
    says that it is what SillyTavern would send, `refused` why nothing would be sent, `draft` that it is made
    with what the reader has changed of the strategy."""
    sheet = Sheet()
    head = _compared_head(preview, locale) if compared else _head(preview, name, sent, locale)
    sheet.text("\n".join(filter(None, [*head, refused])), 1_600)
    sheet.text(budget(preview, locale), 1_400)
    sheet.text("\n".join(_messages(preview.messages, locale)), 4_400)
    worth = [remark for remark in preview.diagnostics if remark.get("severity") != "info"]
    sheet.text(_remarks(worth, locale), 1_700)
    if compared:
        sheet.row(
            button("strategy-sillytavern", label=t(locale, "button.again")),
            button("strategy-preview", label=t(locale, "button.next_one")),
        )
    elif sent is None:
        again = [strategy_id] if strategy_id else []
        sheet.row(
            button("strategy-try" if draft else "strategy-preview", *again, label=t(locale, "button.again")),
            button("strategy-sent", label=t(locale, "button.sent")),
            button("strategy-sillytavern", label=t(locale, "button.as_sillytavern")),
        )
    else:
        if len(sent.steps) > 1:
            sheet.row(_step_menu(sent, locale))
        if sent.leads:
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


def _head(preview: Preview, name: str, sent: Sent | None, locale: str) -> list[str]:
    with_what = t(locale, "prompt.with", name=f"**{name}**") if name else t(locale, "prompt.without")
    facts = [with_what, f"-# {' · '.join(_parameters(preview, locale))}"]
    if sent is None:
        return [f"## {t(locale, 'prompt.title')}", *facts]
    when = f"<t:{sent.at // 1000}:R>"
    if len(sent.steps) > 1 and sent.step:
        when = f"{when} · {_step_name(sent, sent.step, locale)}"
    checked = t(locale, "prompt.checked_veiled" if sent.veiled else "prompt.checked")
    return [f"## {t(locale, 'prompt.sent_title')}", when, *facts, f"-# ✓ {checked}"]


def _compared_head(preview: Preview, locale: str) -> list[str]:
    about = t(locale, "prompt.sillytavern_about")
    return [
        f"## {t(locale, 'prompt.sillytavern_title')}",
        about,
        f"-# {' · '.join(_parameters(preview, locale))}",
    ]


def _step_name(sent: Sent, number: int, locale: str) -> str:
    at = next((at for at, step in enumerate(sent.steps, 1) if step.number == number), 0)
    return t(locale, "prompt.step", n=at, count=len(sent.steps))


def _step_menu(sent: Sent, locale: str) -> discord.ui.Select[Any]:
    options = [
        discord.SelectOption(
            label=_step_name(sent, step.number, locale),
            value=str(step.number),
            description=_led_to(step, locale),
            default=step.number == sent.step,
        )
        for step in sent.steps[-_STEPS:]
    ]
    return menu(STEP_CHOSEN, *sent.place, options=options, placeholder=t(locale, "prompt.steps"))


def _led_to(step: SentStep, locale: str) -> str:
    if not step.tools:
        return t(locale, "prompt.led_to_text")
    names = [
        t(locale, f"tools.{tool}") if f"tools.{tool}" in catalogue(FALLBACK) else tool
        for tool in dict.fromkeys(step.tools)
    ]
    return clip(t(locale, "prompt.led_to_tools", names=", ".join(names)), 100)


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


def budget(preview: Preview, locale: str) -> str:
    """How much of the model's window it takes, and the bar of whose words that is."""
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
    """Whose words take how much, most first; more than there are colours are the rest. All of it together is
    what the messages take."""
    counted: Counter[str] = Counter()
    for message in preview.messages:
        if message.source in ("history", "input") or not message.blocks:
            counted[message.source] += message.tokens
            continue
        for block in message.blocks:
            counted[block.module or message.source] += block.tokens
    # a text is rounded up by itself, and what stands around texts is nobody's
    around = sum(message.tokens for message in preview.messages) - counted.total()
    if around:
        counted["around" if around > 0 else counted.most_common(1)[0][0]] += around
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
    hidden = _hidden(messages)
    for number, message in enumerate(messages, 1):
        if number in hidden:
            if number - 1 not in hidden:
                run = list(takewhile(hidden.__contains__, range(number, len(messages) + 1)))
                left = sum(messages[at - 1].tokens for at in run)
                yield t(locale, "prompt.between", n=len(run), tokens=left)
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
            if said := prose(message.text, 90):
                yield f"-# {own}{said}"
            for block in _calls(message):
                yield f"-# – {_label(block, locale)} · {prose(block.text, 90)}"
            continue
        earlier, added = _added(messages[:number])
        if earlier:
            yield f"-# – {t(locale, 'prompt.repeated', n=earlier)}"
        for block in added[:_BLOCKS]:
            yield f"-# – {_label(block, locale)} · {block.tokens} · {prose(block.text, 50)}"
        if len(added) > _BLOCKS:
            yield f"-# {t(locale, 'prompt.more', n=len(added) - _BLOCKS)}"


def _added(messages: Sequence[PreviewMessage]) -> tuple[int, Sequence[PreviewBlock]]:
    """The parts of the last one, and 0. Instructions behind the conversation say all that holds: of those
    only the parts that the ones before them lack, and the number of those."""
    *before, last = messages
    if last.role == "system":
        for number in range(len(before), 0, -1):
            old = before[number - 1]
            if old.role == "system" and old.blocks and set(old.blocks) < set(last.blocks):
                return number, [block for block in last.blocks if block not in old.blocks]
    return 0, last.blocks


def _hidden(messages: Sequence[PreviewMessage]) -> Collection[int]:
    """The numbers of those that the panel leaves out: the middle of a long conversation. Of what was placed
    between its messages the last few are shown, since each earlier answer may have brought some."""
    talk = [number for number, message in enumerate(messages, 1) if message.source == "history"]
    if len(messages) <= _SHOWN or len(talk) <= 2 * _ENDS:
        return frozenset()
    middle = range(talk[_ENDS - 1] + 1, talk[-_ENDS])
    placed = [number for number in middle if messages[number - 1].source != "history"]
    return frozenset(middle) - frozenset(placed[-_ENDS:])


_TALK = ("history", "input", "native")


def _calls(message: PreviewMessage) -> Sequence[PreviewBlock]:
    return [block for block in message.blocks if block.module == CALLED]


def _who(message: PreviewMessage, locale: str) -> str:
    return t(locale, f"prompt.role.{message.role}")


def _label(block: PreviewBlock, locale: str) -> str:
    module, key = _module(block.module, locale), ""
    if block.module == "character":
        key = f"card.field.{block.label}"
    elif block.module == "worldbook" and block.node_id is None:  # else it is an entry, and that its name
        key = f"world.place.{block.label}"
    label = t(locale, key) if key in catalogue(FALLBACK) else plain(block.label, 40)
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
    parts = ["\n".join(head), budget(preview, locale)]
    for number, message in enumerate(preview.messages, 1):
        source = t(locale, f"prompt.source.{message.source.replace('-', '_')}")
        tokens = t(locale, "prompt.tokens", n=message.tokens)
        parts.append(f"## {number}. {_who(message, locale)} · {source} · {tokens}")
        spoken = message.source in _TALK or not message.blocks
        if spoken and message.text:
            parts.append(message.text)
        for block in _calls(message) if spoken else message.blocks:
            parts.append(f"### {_label(block, locale)} · {block.tokens}\n\n{block.text}")
    if preview.contexts:
        parts.append(f"## {t(locale, 'prompt.contexts')}")
        parts += [f"### {_label(block, locale)}\n\n{block.text}" for block in preview.contexts]
    if preview.diagnostics:
        lines = [f"- {line}" for line in remark_lines(preview.diagnostics, locale)]
        parts.append("\n".join([t(locale, "prompt.remarks", n=len(lines)), *lines]))
    return clip("\n\n".join(parts), _WHOLE) + "\n"

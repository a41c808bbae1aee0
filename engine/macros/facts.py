"""Macros that say what the context says: names, card, chat, state, templates. Spec sillytavern 4.3."""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.macros.context import LOOKED_BACK, Chat, ChatMessage, MacroContext
from engine.macros.definition import Definition, Function, Run, Table
from engine.macros.nodes import Macro
from engine.macros.numerals import BLANK

__all__ = ["FACTS"]

_START = re.compile("<START>", re.IGNORECASE)


def _says(read: Callable[[MacroContext], str], field: str = "") -> Definition:
    if not field:
        return Definition(0, 0, lambda run, macro, args: read(run.context))
    return Definition(
        0, 0, lambda run, macro, args: read(run.context) if run.once(field) else "", field=field
    )


# Names


def _group(context: MacroContext) -> str:
    return ", ".join(context.group) or context.char


def _group_not_muted(context: MacroContext) -> str:
    return ", ".join(name for name in context.group if name not in context.muted) or (
        "" if context.group else context.char
    )


def _not_char(context: MacroContext) -> str:
    """Everybody but the speaker: the others of the cast, and the user."""
    others = [name for name in context.group if name != context.char]
    return ", ".join(dict.fromkeys((*others, context.user)))


# Card


def _examples(context: MacroContext) -> str:
    """The examples as blocks, each under its own heading."""
    text = context.mes_examples
    if not text.strip(BLANK) or text == "<START>":
        return ""
    if not text.startswith("<START>"):
        text = f"<START>\n{text.strip(BLANK)}"
    return "".join(f"<START>\n{block.strip(BLANK)}\n" for block in _START.split(text)[1:])


def _first_message(run: Run, macro: Macro, args: list[str]) -> str | None:
    """The greeting of this number, 0 being the first; a number that there is not says nothing."""
    number = args[0] if args else "0"
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        return None
    greetings = run.context.first_messages
    return greetings[int(number)] if int(number) < len(greetings) else ""


def _original(run: Run, macro: Macro, args: list[str]) -> str | None:
    return run.original()


# Chat


def _last(
    chat: Chat, wanted: Callable[[ChatMessage], bool] = lambda message: True
) -> tuple[int, ChatMessage] | None:
    """The newest message that is wanted, with its number; one that is being written is skipped."""
    newest = len(chat.messages) - 1
    for index in range(newest, max(newest - LOOKED_BACK, -1), -1):
        message = chat.messages[index]
        if not message.in_progress and wanted(message):
            return chat.first_id + index, message
    return None


def _last_text(wanted: Callable[[ChatMessage], bool]) -> Definition:
    def read(context: MacroContext) -> str:
        found = _last(context.chat, wanted) if context.chat else None
        return found[1].text if found else ""

    return Definition(0, 0, lambda run, macro, args: read(run.context), cost=20)


def _last_id(context: MacroContext) -> str:
    found = _last(context.chat) if context.chat else None
    return str(found[0]) if found else ""


def _newest(context: MacroContext) -> ChatMessage | None:
    return context.chat.messages[-1] if context.chat and context.chat.messages else None


def _last_swipe(context: MacroContext) -> str:
    message = _newest(context)
    return str(message.swipes) if message and message.swipes else ""


def _current_swipe(context: MacroContext) -> str:
    message = _newest(context)
    return str(message.swipe + 1) if message and message.swipes else ""


def _all_chat(context: MacroContext) -> str:
    chat = context.chat
    return f"0-{chat.first_id + len(chat.messages) - 1}" if chat and chat.messages else ""


def _number(number: int | None) -> str:
    return "" if number is None else str(number)


# State


def _outlet(run: Run, macro: Macro, args: list[str]) -> str:
    return run.context.outlets.get(args[0], "")


def _has_extension(run: Run, macro: Macro, args: list[str]) -> str:
    return "true" if args[0] in run.context.extensions else "false"


def _max_prompt(context: MacroContext) -> str:
    if context.max_context is None:
        return ""
    return str(max(context.max_context - (context.max_response or 0), 0))


def _hidden_key(run: Run, macro: Macro, args: list[str]) -> str:
    run.hidden_keys.append(args[0])
    return ""


# Templates: they belong to text completion; without one they say nothing, as in SillyTavern.
_TEMPLATES = (
    "systemPrompt", "defaultSystemPrompt", "globalSystemPrompt", "exampleSeparator", "chatSeparator",
    "chatStart", "authorsNote", "charAuthorsNote", "defaultAuthorsNote", "reasoningPrefix",
    "reasoningSuffix", "reasoningSeparator", "instructStoryStringPrefix", "instructStoryStringSuffix",
    "instructUserPrefix", "instructInput", "instructUserSuffix", "instructAssistantPrefix",
    "instructOutput", "instructAssistantSuffix", "instructSeparator", "instructSystemPrefix",
    "instructSystemSuffix", "instructFirstAssistantPrefix", "instructFirstOutput",
    "instructLastAssistantPrefix", "instructLastOutput", "instructFirstUserPrefix", "instructFirstInput",
    "instructLastUserPrefix", "instructLastInput", "instructSystemInstructionPrefix",
    "instructUserFiller", "instructStop",
)  # fmt: skip


def _template(name: str) -> Definition:
    def read(context: MacroContext) -> str:
        wanted = name.lower()
        return next((text for key, text in context.templates.items() if key.lower() == wanted), "")

    return _says(read)


def _table() -> dict[str, Definition]:
    fields: dict[str, tuple[str, Callable[[MacroContext], str], str]] = {
        "persona": ("persona", lambda c: c.persona, ""),
        "description": ("description", lambda c: c.description, "chardescription"),
        "personality": ("personality", lambda c: c.personality, "charpersonality"),
        "scenario": ("scenario", lambda c: c.scenario, "charscenario"),
        "mesexamples": ("mesexamples", _examples, ""),
        "mesexamplesraw": ("mesexamples", lambda c: c.mes_examples, ""),
    }
    table: dict[str, Definition] = {}
    for name, (field, read, other) in fields.items():
        table[name] = _says(read, field)
        if other:
            table[other] = table[name]
    plain: dict[str, Callable[[MacroContext], str]] = {
        "user": lambda c: c.user,
        "char": lambda c: c.char,
        "group charifnotgroup": _group,
        "groupnotmuted": _group_not_muted,
        "notchar": _not_char,
        "charprompt": lambda c: c.char_prompt,
        "charinstruction charjailbreak": lambda c: c.char_instruction,
        "chardepthprompt": lambda c: c.char_depth_prompt,
        "creatornotes charcreatornotes": lambda c: c.creator_notes,
        "charversion version char_version": lambda c: c.char_version,
        "lastmessageid": _last_id,
        "firstincludedmessageid": lambda c: _number(c.chat.first_included if c.chat else None),
        "firstdisplayedmessageid": lambda c: _number(c.chat.first_displayed if c.chat else None),
        "lastswipeid": _last_swipe,
        "currentswipeid": _current_swipe,
        "allchatrange": _all_chat,
        "summary": lambda c: c.summary,
        "input": lambda c: c.input,
        "model": lambda c: c.model,
        "maxprompt maxprompttokens": _max_prompt,
        "maxcontext maxcontexttokens": lambda c: _number(c.max_context),
        "maxresponse maxresponsetokens": lambda c: _number(c.max_response),
        "lastgenerationtype": lambda c: c.generation_type,
        "ismobile": lambda c: "false",
    }
    for names, value in plain.items():
        for name in names.split():
            table[name] = _says(value)
    functions: dict[str, tuple[int, int, Function]] = {
        "charfirstmessage": (0, 1, _first_message),
        "original": (0, 0, _original),
        "outlet": (1, 1, _outlet),
        "hasextension": (1, 1, _has_extension),
        "hidden_key": (1, 1, _hidden_key),
    }
    table.update({name: Definition(*entry) for name, entry in functions.items()})
    table.update({name.lower(): _template(name) for name in _TEMPLATES})
    table["lastmessage"] = _last_text(lambda message: True)
    table["lastusermessage"] = _last_text(lambda message: message.is_user and not message.is_system)
    table["lastcharmessage"] = _last_text(lambda message: not message.is_user and not message.is_system)
    return table


FACTS: Table = _table()

"""Content as files: cards, presets, world books, personas. Read losslessly, bounded, without I/O."""

from engine.resources.archive import holds_archive
from engine.resources.asset import Asset, list_assets, read_asset
from engine.resources.book_edit import (
    BOOK_FIELDS,
    ENTRY_FIELDS,
    add_entry,
    blank_book,
    edit_book,
    edit_entry,
    edit_own_book,
    remove_entry,
)
from engine.resources.byaf import ByafChat, ByafMessage, read_byaf_chats
from engine.resources.card import Card, DepthPrompt
from engine.resources.card_edit import EDITABLE, edit_card
from engine.resources.card_export import CardFormat, export_card, export_filename
from engine.resources.card_facts import CardFacts, Compatibility, card_facts, compatibility
from engine.resources.card_file import read_card
from engine.resources.card_json import parse_card
from engine.resources.chat import Chat, ChatLine, read_chats, write_chat
from engine.resources.chat_date import iso_of, moment_of
from engine.resources.diagnostic import Diagnostic, Diagnostics
from engine.resources.entry import Entry
from engine.resources.envelope import TemplateFile, read_template, write_template
from engine.resources.fields import clean_text
from engine.resources.key_order import in_order_of
from engine.resources.mojibake import mended_texts
from engine.resources.persona import Persona, make_persona, make_persona_picture
from engine.resources.persona_file import PersonaDraft, PersonaFile, read_personas, write_persona
from engine.resources.picture import Picture, is_picture, make_picture
from engine.resources.portrait import Avatar, make_avatar, make_thumbnail
from engine.resources.preset import (
    DEFAULT_ORDER,
    OFF_BY_DEFAULT,
    OWN_KEY,
    Preset,
    Prompt,
    PromptMode,
    choose_order,
    parse_preset,
    read_preset,
)
from engine.resources.preset_edit import (
    PRESET_FIELDS,
    PROMPT_FIELDS,
    add_prompt,
    blank_preset,
    edit_preset,
    edit_prompt,
    move_prompt,
    remove_prompt,
)
from engine.resources.regex_script import (
    RegexScript,
    RegexScripts,
    edit_script,
    parse_scripts,
    read_regex_scripts,
    script_json,
    scripts_within,
    with_scripts,
    write_regex_scripts,
)
from engine.resources.text_file import read_text
from engine.resources.world_book import WorldBook, parse_world_book, read_world_book, split_keys

__all__ = [
    "BOOK_FIELDS",
    "DEFAULT_ORDER",
    "EDITABLE",
    "ENTRY_FIELDS",
    "OFF_BY_DEFAULT",
    "OWN_KEY",
    "PRESET_FIELDS",
    "PROMPT_FIELDS",
    "Asset",
    "Avatar",
    "ByafChat",
    "ByafMessage",
    "Card",
    "CardFacts",
    "CardFormat",
    "Chat",
    "ChatLine",
    "Compatibility",
    "DepthPrompt",
    "Diagnostic",
    "Diagnostics",
    "Entry",
    "Persona",
    "PersonaDraft",
    "PersonaFile",
    "Picture",
    "Preset",
    "Prompt",
    "PromptMode",
    "RegexScript",
    "RegexScripts",
    "TemplateFile",
    "WorldBook",
    "add_entry",
    "add_prompt",
    "blank_book",
    "blank_preset",
    "card_facts",
    "choose_order",
    "clean_text",
    "compatibility",
    "edit_book",
    "edit_card",
    "edit_entry",
    "edit_own_book",
    "edit_preset",
    "edit_prompt",
    "edit_script",
    "export_card",
    "export_filename",
    "holds_archive",
    "in_order_of",
    "is_picture",
    "iso_of",
    "list_assets",
    "make_avatar",
    "make_persona",
    "make_persona_picture",
    "make_picture",
    "make_thumbnail",
    "mended_texts",
    "moment_of",
    "move_prompt",
    "parse_card",
    "parse_preset",
    "parse_scripts",
    "parse_world_book",
    "read_asset",
    "read_byaf_chats",
    "read_card",
    "read_chats",
    "read_personas",
    "read_preset",
    "read_regex_scripts",
    "read_template",
    "read_text",
    "read_world_book",
    "remove_entry",
    "remove_prompt",
    "script_json",
    "scripts_within",
    "split_keys",
    "with_scripts",
    "write_chat",
    "write_persona",
    "write_regex_scripts",
    "write_template",
]

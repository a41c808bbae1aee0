"""Discord's rules for components in messages and modals (spec discord B1)."""

from __future__ import annotations

from typing import Any

from bot.sandbox.limits.components import (
    ACTION_ROW,
    BUTTON,
    CHECKBOX,
    CHECKBOX_GROUP,
    CONTAINER,
    FILE,
    FILE_UPLOAD,
    GALLERY,
    LABEL,
    RADIO_GROUP,
    SECTION,
    SELECTS,
    SEPARATOR,
    STRING_SELECT,
    TEXT,
    TEXT_INPUT,
    THUMBNAIL,
    walk,
)
from bot.sandbox.limits.refusal import Form, Refusal
from bot.sandbox.store import Record

__all__ = ["check_modal", "check_plain", "check_v2", "interactive"]

V2_CHILDREN = 40  # components of a message, nested ones counted
V2_CHARS = 4000  # over all text displays
V2_BYTES = 10_170  # UTF-8 bytes plus 12 a text display: beyond it Discord breaks with 500 (api-docs 8554)
_TEXT_OVERHEAD = 12
_IN_CONTAINER = (ACTION_ROW, SECTION, TEXT, GALLERY, FILE, SEPARATOR)
_IN_LABEL = (TEXT_INPUT, *SELECTS, FILE_UPLOAD, RADIO_GROUP, CHECKBOX_GROUP, CHECKBOX)


def interactive(components: list[Record]) -> bool:
    """Whether anything in it would make an interaction."""
    return any("custom_id" in c for _, c in walk(components))


def check_plain(form: Form, components: Any) -> None:
    """The rules without the Components V2 flag: up to five rows of buttons or one select."""
    if not form.items("components", components, most=5):
        return
    for index, row in enumerate(components):
        path = f"components.{index}"
        if not _is_type(form, path, row, (ACTION_ROW,)):
            continue
        _row(form, path, row)
    _unique(form, components)


def check_v2(form: Form, components: Any) -> None:
    """The rules of Components V2 messages."""
    if not form.items("components", components, least=1, most=V2_CHILDREN):
        return
    for index, component in enumerate(components):
        _v2(form, f"components.{index}", component, (*_IN_CONTAINER, CONTAINER))
    _unique(form, components)
    everything = [c for _, c in walk(components)]
    if len(everything) > V2_CHILDREN:
        text = f"The total number of components cannot exceed {V2_CHILDREN}."
        form.flag("components", "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED", text)
    texts = [c["content"] for c in everything if c.get("type") == TEXT and isinstance(c.get("content"), str)]
    if sum(map(len, texts)) > V2_CHARS:
        text = f"The total displayable text size exceeds the maximum size of {V2_CHARS}"
        form.flag("components", "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED", text)
    form.close()
    if sum(len(t.encode()) + _TEXT_OVERHEAD for t in texts) > V2_BYTES:
        raise Refusal(500, 0, "500: Internal Server Error")


def _v2(form: Form, path: str, component: Any, allowed: tuple[int, ...]) -> None:
    if not _is_type(form, path, component, allowed):
        return
    kind = component["type"]
    if kind == ACTION_ROW:
        _row(form, path, component)
    elif kind == TEXT:
        form.text(f"{path}.content", component.get("content"), least=1, most=V2_CHARS)
    elif kind == SECTION:
        _section(form, path, component)
    elif kind == GALLERY:
        if form.items(f"{path}.items", component.get("items"), least=1, most=10):
            for index, item in enumerate(component["items"]):
                _media(form, f"{path}.items.{index}.media", item.get("media"))
    elif kind == FILE:
        _media(form, f"{path}.file", component.get("file"))
        if not str((component.get("file") or {}).get("url", "")).startswith("attachment://"):
            form.flag(f"{path}.file.url", "ATTACHMENT_REQUIRED", "Must be an attachment:// reference.")
    elif kind == CONTAINER and form.items(
        f"{path}.components", component.get("components"), least=1, most=40
    ):
        for index, child in enumerate(component["components"]):
            _v2(form, f"{path}.components.{index}", child, _IN_CONTAINER)


def _section(form: Form, path: str, component: Record) -> None:
    if form.items(f"{path}.components", component.get("components"), least=1, most=3):
        for index, child in enumerate(component["components"]):
            _v2(form, f"{path}.components.{index}", child, (TEXT,))
    accessory = component.get("accessory")
    if not _is_type(form, f"{path}.accessory", accessory, (BUTTON, THUMBNAIL)):
        return
    assert isinstance(accessory, dict)
    if accessory["type"] == BUTTON:
        _button(form, f"{path}.accessory", accessory)
    else:
        _media(form, f"{path}.accessory.media", accessory.get("media"))


def _media(form: Form, path: str, media: Any) -> None:
    url = media.get("url") if isinstance(media, dict) else None
    if not isinstance(url, str) or not url.startswith(("http://", "https://", "attachment://")):
        form.flag(
            f"{path}.url", "URL_TYPE_INVALID_SCHEME", 'Scheme must be one of ("http", "https", "attachment").'
        )


def _is_type(form: Form, path: str, component: Any, allowed: tuple[int, ...]) -> bool:
    if isinstance(component, dict) and component.get("type") in allowed:
        return True
    choices = ", ".join(map(str, allowed))
    form.flag(f"{path}.type", "UNION_TYPE_CHOICES", f'Value of field "type" must be one of ({choices}).')
    return False


def _row(form: Form, path: str, row: Record) -> None:
    if not form.items(f"{path}.components", row.get("components"), least=1, most=5):
        return
    for index, child in enumerate(row["components"]):
        here = f"{path}.components.{index}"
        if not _is_type(form, here, child, (BUTTON, *SELECTS)):
            continue
        if child["type"] == BUTTON:
            _button(form, here, child)
        else:
            _select(form, here, child)
            if len(row["components"]) > 1:
                text = "A select menu must be alone in its row."
                form.flag(path, "COMPONENT_LAYOUT_WIDTH_EXCEEDED", text)


def _button(form: Form, path: str, button: Record) -> None:
    style = button.get("style")
    if style not in (1, 2, 3, 4, 5, 6):
        form.flag(f"{path}.style", "BASE_TYPE_CHOICES", "Value must be one of {1, 2, 3, 4, 5, 6}.")
    elif style == 5:
        form.text(f"{path}.url", button.get("url"), least=1, most=512)
        if "custom_id" in button:
            text = "A custom id and url cannot both be specified"
            form.flag(path, "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", text)
    elif style != 6:
        _custom_id(form, path, button)
    if button.get("label") is not None:
        form.text(f"{path}.label", button["label"], most=80)
    if style != 6 and not button.get("label") and not button.get("emoji"):
        form.flag(path, "BUTTON_COMPONENT_INVALID_STYLE", "A button needs a label or an emoji.")


def _custom_id(form: Form, path: str, component: Record) -> None:
    form.text(f"{path}.custom_id", component.get("custom_id"), least=1, most=100)


def _select(form: Form, path: str, select: Record, *, most: int = 25) -> None:
    _custom_id(form, path, select)
    if select.get("placeholder") is not None:
        form.text(f"{path}.placeholder", select["placeholder"], most=150)
    low, high = select.get("min_values", 1), select.get("max_values", 1)
    low_good = form.number(f"{path}.min_values", low, least=0, most=most)
    high_good = form.number(f"{path}.max_values", high, least=1, most=most)
    if low_good and high_good and low > high:
        form.flag(
            f"{path}.min_values", "SELECT_COMPONENT_MIN_VALUES", "min_values must not exceed max_values."
        )
    if select["type"] == STRING_SELECT:
        _options(form, path, select.get("options"), least=1, most=25)
        if isinstance(select.get("options"), list) and low_good and low > len(select["options"]):
            text = "min_values must not exceed the number of options."
            form.flag(f"{path}.min_values", "SELECT_COMPONENT_MIN_VALUES", text)


def _options(form: Form, path: str, options: Any, *, least: int, most: int) -> None:
    if not form.items(f"{path}.options", options, least=least, most=most):
        return
    seen: set[str] = set()
    for index, option in enumerate(options):
        here = f"{path}.options.{index}"
        if not isinstance(option, dict):
            form.flag(here, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
            continue
        form.text(f"{here}.label", option.get("label"), least=1, most=100)
        if form.text(f"{here}.value", option.get("value"), least=1, most=100):
            if option["value"] in seen:
                text = "The specified option value is already used"
                form.flag(f"{here}.value", "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", text)
            seen.add(option["value"])
        if option.get("description") is not None:
            form.text(f"{here}.description", option["description"], most=100)


def _unique(form: Form, components: list[Record]) -> None:
    for key, code in (("custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED"), ("id", "COMPONENT_ID_DUPLICATED")):
        seen: set[Any] = set()
        for path, component in walk(components):
            value = component.get(key)
            if not value:
                continue
            if value in seen:
                form.flag(f"{path}.{key}", code, f"Component {key.replace('_', ' ')} cannot be duplicated")
            seen.add(value)


def check_modal(form: Form, modal: Record) -> None:
    """The rules of a modal's payload; paths begin with `data`."""
    form.text("data.title", modal.get("title"), least=1, most=45)
    form.text("data.custom_id", modal.get("custom_id"), least=1, most=100)
    components = modal.get("components")
    if not form.items("data.components", components, least=1, most=5):
        return
    assert isinstance(components, list)
    for index, component in enumerate(components):
        path = f"data.components.{index}"
        if not _is_type(form, path, component, (ACTION_ROW, LABEL, TEXT)):
            continue
        if component["type"] == TEXT:
            form.text(f"{path}.content", component.get("content"), least=1, most=V2_CHARS)
        elif component["type"] == LABEL:
            _label(form, path, component)
        elif form.items(f"{path}.components", component.get("components"), least=1, most=1):
            child = component["components"][0]
            if _is_type(form, f"{path}.components.0", child, (TEXT_INPUT,)):
                form.text(f"{path}.components.0.label", child.get("label"), least=1, most=45)
                _text_input(form, f"{path}.components.0", child)
    _unique(form, components)


def _label(form: Form, path: str, label: Record) -> None:
    form.text(f"{path}.label", label.get("label"), least=1, most=45)
    if label.get("description") is not None:
        form.text(f"{path}.description", label["description"], most=100)
    child = label.get("component")
    here = f"{path}.component"
    if not _is_type(form, here, child, _IN_LABEL):
        return
    assert isinstance(child, dict)
    kind = child["type"]
    if kind == TEXT_INPUT:
        _text_input(form, here, child)
    elif kind in SELECTS:
        _select(form, here, child)
    else:
        _custom_id(form, here, child)
    if kind == FILE_UPLOAD:
        form.number(f"{here}.min_values", child.get("min_values", 1), least=0, most=10)
        form.number(f"{here}.max_values", child.get("max_values", 1), least=1, most=10)
    elif kind == RADIO_GROUP:
        _options(form, here, child.get("options"), least=2, most=10)
    elif kind == CHECKBOX_GROUP:
        _options(form, here, child.get("options"), least=1, most=10)


def _text_input(form: Form, path: str, field: Record) -> None:
    _custom_id(form, path, field)
    if field.get("style") not in (1, 2):
        form.flag(f"{path}.style", "BASE_TYPE_CHOICES", "Value must be one of {1, 2}.")
    if field.get("min_length") is not None:
        form.number(f"{path}.min_length", field["min_length"], least=0, most=4000)
    if field.get("max_length") is not None:
        form.number(f"{path}.max_length", field["max_length"], least=1, most=4000)
    if field.get("value") is not None:
        form.text(f"{path}.value", field["value"], most=min(4000, field.get("max_length") or 4000))
    if field.get("placeholder") is not None:
        form.text(f"{path}.placeholder", field["placeholder"], most=100)

"""SillyTavern's regex scripts: read from their own files, presets and cards, and written back losslessly.

What a script does with a text is not decided here. Source: spec sillytavern 5, tavern 1.1 and 10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import orjson

from engine.codec import JsonObject
from engine.errors import ResourceError
from engine.resources.diagnostic import Diagnostic, Diagnostics
from engine.resources.document import DocumentKind, read_document
from engine.resources.fields import Fields

__all__ = [
    "RegexScript",
    "RegexScripts",
    "edit_script",
    "parse_scripts",
    "read_regex_scripts",
    "script_json",
    "scripts_within",
    "with_scripts",
    "write_regex_scripts",
]

REGEX_SCRIPTS = DocumentKind(
    noun="a list of regex scripts",
    invalid="REGEX_SCRIPT_INVALID",
    too_large="REGEX_SCRIPT_TOO_LARGE",
    max_bytes=4 * 1024 * 1024,  # scripts that draw a page in HTML reach 300 KB each
)
MAX_SCRIPTS = 500  # the largest public preset has about 60

USER_INPUT, AI_OUTPUT, SLASH_COMMAND, WORLD_INFO, REASONING = 1, 2, 3, 5, 6
PLACEMENTS = frozenset({USER_INPUT, AI_OUTPUT, SLASH_COMMAND, WORLD_INFO, REASONING})
_OLD_DISPLAY, _OLD_SEND_AS = 0, 4

# where a preset or card keeps its scripts, in the order of looking
_PLACES = (("regex_scripts",), ("extensions", "regex_scripts"), ("data", "extensions", "regex_scripts"))


@dataclass(frozen=True, slots=True)
class RegexScript:
    """One script. `find` is as written, with its slashes and flags; empty means that it does nothing. A
    script without a name is called after it.

    `substitute`: 0 leaves macros in `find` alone, 1 expands them, 2 expands and escapes them. Depths count
    from the last message (0); None is no limit. `raw` is the object as it came.
    """

    id: str
    name: str
    find: str
    replacement: str = ""
    trim: tuple[str, ...] = ()
    placements: frozenset[int] = frozenset({AI_OUTPUT})
    disabled: bool = False
    display_only: bool = False
    prompt_only: bool = False
    run_on_edit: bool = False
    substitute: Literal[0, 1, 2] = 0
    min_depth: int | None = None
    max_depth: int | None = None
    raw: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class RegexScripts:
    """Scripts in the order in which they run, and what was noticed. `single`: the file held one object."""

    scripts: tuple[RegexScript, ...]
    warnings: tuple[Diagnostic, ...] = ()
    single: bool = False


_NAMES = {
    "id": "id",
    "name": "scriptName",
    "find": "findRegex",
    "replacement": "replaceString",
    "trim": "trimStrings",
    "placements": "placement",
    "disabled": "disabled",
    "display_only": "markdownOnly",
    "prompt_only": "promptOnly",
    "run_on_edit": "runOnEdit",
    "substitute": "substituteRegex",
    "min_depth": "minDepth",
    "max_depth": "maxDepth",
}


def read_regex_scripts(data: bytes) -> RegexScripts:
    """The scripts of a file: one object, a list, or a preset or card that carries some.

    Raises ResourceError REGEX_SCRIPT_INVALID or REGEX_SCRIPT_TOO_LARGE.
    """
    notes = Diagnostics()
    root = read_document(data, REGEX_SCRIPTS, notes)
    if isinstance(root, list):
        return RegexScripts(parse_scripts(root, notes), notes.all())
    if isinstance(root, Mapping) and ("findRegex" in root or "replaceString" in root):
        return RegexScripts(parse_scripts([root], notes), notes.all(), single=True)
    held = scripts_within(root) if isinstance(root, Mapping) else None
    if held is None:
        raise ResourceError("There are no regex scripts in this file.", code=REGEX_SCRIPTS.invalid)
    return RegexScripts(parse_scripts(held, notes), notes.all())


def scripts_within(holder: JsonObject) -> list[Any] | None:
    """The raw list of a preset or card; None when it has none."""
    for place in _PLACES:
        found = _at(holder, place)
        if isinstance(found, list):
            return found
    return None


def with_scripts(holder: JsonObject, scripts: Sequence[RegexScript]) -> JsonObject:
    """The preset or card with its list replaced as a whole; without a list it gets one.

    The new list stands in `data.extensions` where there is `data`, as in cards from V2 on, else in
    `extensions`. Everything else is as it was.
    """
    place = next((place for place in _PLACES if isinstance(_at(holder, place), list)), None)
    if place is None:
        place = _PLACES[2] if isinstance(holder.get("data"), Mapping) else _PLACES[1]
    return _put(holder, place, [script_json(script) for script in scripts])


def parse_scripts(items: Sequence[Any], notes: Diagnostics) -> tuple[RegexScript, ...]:
    """The scripts of a raw list; what is none is left out with a remark. Raises REGEX_SCRIPT_TOO_LARGE."""
    if len(items) > MAX_SCRIPTS:
        raise ResourceError(
            f"There may be {MAX_SCRIPTS} regex scripts in one list; here are {len(items):,}.",
            code=REGEX_SCRIPTS.too_large,
        )
    found: list[RegexScript] = []
    for index, item in enumerate(items):
        where = f"regex_scripts.{index}"
        if not isinstance(item, Mapping):
            notes.warn("invalid-script", "A regex script that is no object was left out.", where)
            continue
        try:
            found.append(_script(item, where, notes))
        except ResourceError as error:
            notes.warn("invalid-script", f"A regex script was left out. {error.message}", where)
    return tuple(found)


def script_json(script: RegexScript) -> dict[str, Any]:
    """The script as SillyTavern keeps it: its raw object with what was edited, everything else untouched."""
    if script.raw is None:
        return {_NAMES[part.name]: _value(script, part.name) for part in fields(script) if part.name != "raw"}
    before = _script(script.raw, "", Diagnostics())
    made = dict(script.raw)
    for name, key in _NAMES.items():
        if getattr(script, name) != getattr(before, name):
            made[key] = _value(script, name)
    return made


def edit_script(script: RegexScript, **changes: Any) -> RegexScript:
    """The script with other values. Raises ResourceError for a field that there is not."""
    unknown = sorted(set(changes) - set(_NAMES))
    if unknown:
        raise ResourceError(f"A regex script has no field “{unknown[0]}”.", code=REGEX_SCRIPTS.invalid)
    return replace(script, **changes)


def write_regex_scripts(scripts: Sequence[RegexScript], *, single: bool = False) -> bytes:
    """A file that SillyTavern imports: one object when `single`, else a list."""
    made = [script_json(script) for script in scripts]
    return orjson.dumps(made[0] if single and len(made) == 1 else made, option=orjson.OPT_INDENT_2)


def _script(item: JsonObject, where: str, notes: Diagnostics) -> RegexScript:
    top = Fields(item, where, notes, REGEX_SCRIPTS.invalid)
    placements = _placements(item.get("placement"), top)
    old = _OLD_DISPLAY in placements
    find = _exact(top, "findRegex")
    return RegexScript(
        id=top.text("id", loose=True),
        name=top.text("scriptName", loose=True).strip() or find[:40],
        find=find,
        replacement=_exact(top, "replaceString"),
        trim=_trims(item.get("trimStrings"), top),
        placements=_current(placements),
        disabled=top.flag("disabled", False),
        display_only=old or top.flag("markdownOnly", False),
        prompt_only=old or top.flag("promptOnly", False),
        run_on_edit=top.flag("runOnEdit", False),
        substitute=_substitute(top),
        min_depth=_depth(top, "minDepth", -1),
        max_depth=_depth(top, "maxDepth", 0),
        raw=item,
    )


def _exact(top: Fields, key: str) -> str:
    # a pattern or its replacement may well be about control characters and line ends
    value = top.source.get(key)
    return value if isinstance(value, str) else top.text(key, loose=True)


def _trims(value: Any, top: Fields) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(item for item in value if isinstance(item, str) and item)
    return tuple(text for text in top.texts("trimStrings") if text)


def _placements(value: Any, top: Fields) -> frozenset[int]:
    items = value if isinstance(value, list) else [] if value is None else [value]
    found = {int(item) for item in items if _integral(item)}
    known = found & (PLACEMENTS | {_OLD_DISPLAY, _OLD_SEND_AS})
    if len(known) != len(items):
        top.notes.warn("unknown-placement", "A place that nobody knows was ignored.", top.where("placement"))
    return frozenset(known)


def _integral(item: Any) -> bool:
    if isinstance(item, bool):
        return False
    return isinstance(item, int) or (isinstance(item, str) and item.strip().isdecimal() and len(item) < 9)


def _current(placements: frozenset[int]) -> frozenset[int]:
    """SillyTavern's own migration of two places that it has given up."""
    if placements == {_OLD_DISPLAY}:
        return PLACEMENTS
    moved = {SLASH_COMMAND} if _OLD_SEND_AS in placements else set()
    return (placements - {_OLD_DISPLAY, _OLD_SEND_AS}) | moved


def _substitute(top: Fields) -> Literal[0, 1, 2]:
    value = top.source.get("substituteRegex")
    if isinstance(value, bool):  # of before there were two ways
        return 1 if value else 0
    number = top.integer("substituteRegex", 0)
    if number == 1:
        return 1
    return 2 if number == 2 else 0


def _depth(top: Fields, key: str, least: int) -> int | None:
    if top.source.get(key) == "":
        return None
    number = top.integer(key)
    return number if number is not None and number >= least else None


def _value(script: RegexScript, name: str) -> Any:
    value = getattr(script, name)
    if name == "placements":
        return sorted(value)
    return list(value) if name == "trim" else value


def _at(holder: JsonObject, place: Sequence[str]) -> Any:
    found: Any = holder
    for key in place:
        if not isinstance(found, Mapping):
            return None
        found = found.get(key)
    return found


def _put(holder: JsonObject, place: Sequence[str], value: Any) -> dict[str, Any]:
    first, *rest = place
    made = dict(holder)
    if rest:
        below = made.get(first)
        made[first] = _put(below if isinstance(below, Mapping) else {}, rest, value)
    else:
        made[first] = value
    return made

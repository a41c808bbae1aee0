"""`\\p{…}`: the Unicode properties that JavaScript knows, as sets.

The sets come from the `regex` module's tables; the names are checked here, because JavaScript takes them
only as they are spelled in the standard. Source: ECMA-262, tables of Unicode properties.
"""

from __future__ import annotations

import sys
from functools import cache, lru_cache

import regex

from engine.patterns.charset import ANY, CharSet

__all__ = ["property_set"]


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_CATEGORIES = _names(
    """C Other Cc Control cntrl Cf Format Cn Unassigned Co Private_Use Cs Surrogate L Letter LC Cased_Letter
    Ll Lowercase_Letter Lm Modifier_Letter Lo Other_Letter Lt Titlecase_Letter Lu Uppercase_Letter M Mark
    Combining_Mark Mc Spacing_Mark Me Enclosing_Mark Mn Nonspacing_Mark N Number Nd Decimal_Number digit Nl
    Letter_Number No Other_Number P Punctuation punct Pc Connector_Punctuation Pd Dash_Punctuation Pe
    Close_Punctuation Pf Final_Punctuation Pi Initial_Punctuation Po Other_Punctuation Ps Open_Punctuation S
    Symbol Sc Currency_Symbol Sk Modifier_Symbol Sm Math_Symbol So Other_Symbol Z Separator Zl Line_Separator
    Zp Paragraph_Separator Zs Space_Separator"""
)
_BINARY = _names(
    """ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Assigned Bidi_Control Bidi_C Bidi_Mirrored Bidi_M
    Case_Ignorable CI Cased Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM Changes_When_Lowercased
    CWL Changes_When_Titlecased CWT Changes_When_Uppercased CWU Dash
    Default_Ignorable_Code_Point DI Deprecated Dep Diacritic Dia Emoji Emoji_Component EComp Emoji_Modifier
    EMod Emoji_Modifier_Base EBase Emoji_Presentation EPres Extended_Pictographic ExtPict Extender Ext
    Grapheme_Base Gr_Base Grapheme_Extend Gr_Ext Hex_Digit Hex IDS_Binary_Operator IDSB IDS_Trinary_Operator
    IDST ID_Continue IDC ID_Start IDS Ideographic Ideo Join_Control Join_C Logical_Order_Exception LOE
    Lowercase Lower Math Noncharacter_Code_Point NChar Pattern_Syntax Pat_Syn Pattern_White_Space Pat_WS
    Quotation_Mark QMark Radical Regional_Indicator RI Sentence_Terminal STerm Soft_Dotted SD
    Terminal_Punctuation Term Unified_Ideograph UIdeo Uppercase Upper Variation_Selector VS White_Space space
    XID_Continue XIDC XID_Start XIDS"""
)
_ASSIGNED = 0x40000  # above, only plane 14 has characters of its own, in its first part
_OWN = {"Any": ANY, "ASCII": CharSet.of([(0, 0x7F)])}


@lru_cache(maxsize=256)
def property_set(name: str, value: str | None) -> CharSet | None:
    """The characters with a property; None when JavaScript does not know it."""
    if value is None:
        if name in _OWN:
            return _OWN[name]
        if name == "Assigned":
            return ~_listed("Cn")
        return _listed(name) if name in _CATEGORIES or name in _BINARY else None
    if name in ("General_Category", "gc"):
        return _listed(value) if value in _CATEGORIES else None
    if name in ("Script", "sc", "Script_Extensions", "scx") and value[:1].isupper():
        try:
            return _listed(f"{'sc' if name in ('Script', 'sc') else 'scx'}={value}")
        except regex.error:
            return None
    return None


def _listed(spelled: str) -> CharSet:
    held = regex.compile(rf"\p{{{spelled}}}+", cache_pattern=False)
    samples, places = _samples()
    found: list[tuple[int, int]] = []
    for run in held.finditer(samples):
        found += places[run.start() : run.end()] if run.end() > _ASSIGNED else [(run.start(), run.end() - 1)]
    return CharSet.of(found)


@cache
def _samples() -> tuple[str, list[tuple[int, int]]]:
    """Characters to ask for, and what each stands for: the planes that nothing is assigned in, and those of
    private use, have but two kinds of characters each, and to ask for all of them takes 100 ms."""
    places = [(point, point) for point in range(_ASSIGNED)]
    for plane in range(_ASSIGNED, sys.maxunicode, 0x10000):
        begin = plane
        if plane == 0xE0000:
            places += [(point, point) for point in range(plane, plane + 0x1000)]
            begin += 0x1000
        places += [(begin, plane + 0xFFFD), (plane + 0xFFFE, plane + 0xFFFF)]
    return "".join(chr(low) for low, _ in places), places

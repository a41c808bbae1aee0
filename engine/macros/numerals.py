"""Numbers as JavaScript reads and writes them, because variables hold what its scripts stored."""

from __future__ import annotations

import math
import re

__all__ = ["BLANK", "number_of", "number_text", "stored_number"]

BLANK = (
    "\t\n\v\f\r \u00a0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What JavaScript's `trim` removes."""

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_RADIX = re.compile(r"0(?:[xX]([0-9a-fA-F]+)|[oO]([0-7]+)|[bB]([01]+))")
_EXACT = 2**53  # whole numbers below it are exact
_PLAIN = 21  # digits before the point that JavaScript writes without an exponent


def number_of(text: str) -> float:
    """`Number(text)`: blank is 0, what is no number is NaN."""
    text = text.strip(BLANK)
    if not text:
        return 0.0
    if _DECIMAL.fullmatch(text):
        return float(text)
    radix = _RADIX.fullmatch(text)
    if radix:
        for base, digits in zip((16, 8, 2), radix.groups(), strict=True):
            if digits:
                return _whole(int(digits, base))
    if text.lstrip("+-") == "Infinity" and len(text) <= 9:
        return -math.inf if text[0] == "-" else math.inf
    return math.nan


def number_text(number: float) -> str:
    """`String(number)`."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = repr(abs(float(number))).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return sign + _placed(digits, point)


def stored_number(number: float) -> int | float:
    """The number as JSON keeps it: whole ones without a fraction."""
    return int(number) if number.is_integer() and abs(number) < _EXACT else number


def _placed(digits: str, point: int) -> str:
    count = len(digits)
    if count <= point <= _PLAIN:
        return digits + "0" * (point - count)
    if 0 < point <= _PLAIN:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if count > 1 else ""
    return f"{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def _whole(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf

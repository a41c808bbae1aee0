"""Runs the tests, `python -m tests`; what they need is installed first when it is missing.

Further arguments go to pytest: `python -m tests tests/bot -x`.
"""

from __future__ import annotations

import sys

from bot.bootstrap import ensure

if __name__ == "__main__":
    ensure("tests", "dev")
    import pytest

    raise SystemExit(pytest.main(sys.argv[1:]))

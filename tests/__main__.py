"""Runs the tests, `python -m tests`; what they need is installed first when it is missing.

All of them run side by side, a process for each core. Further arguments go to pytest, which then runs in
one process: `python -m tests tests/bot -x`.
"""

from __future__ import annotations

import sys

from bot.bootstrap import ensure

if __name__ == "__main__":
    ensure("tests", "dev")
    import pytest

    # The files stay whole: what a module's tests share is made once.
    raise SystemExit(pytest.main(sys.argv[1:] or ["-n", "auto", "--dist", "loadfile"]))

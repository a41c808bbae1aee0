"""The command line: `python -m bot run | sandbox | doctor | log SESSION`."""

# Nothing but the bootstrap may be imported before it has seen to the dependencies.
from __future__ import annotations

from bot.bootstrap import ensure

if __name__ == "__main__":
    ensure("bot")

from bot.command import main

if __name__ == "__main__":
    raise SystemExit(main())

"""`python -m tests.perf [AREA…]`; what it needs is installed first when it is missing."""

import asyncio
import sys

from bot.bootstrap import ensure

if __name__ == "__main__":
    ensure("tests.perf", "dev")
    from tests.perf.command import main

    sys.exit(asyncio.run(main(sys.argv[1:])))

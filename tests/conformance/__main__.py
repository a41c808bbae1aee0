"""`python -m tests.conformance`; what it needs is installed first when it is missing."""

import sys

from bot.bootstrap import ensure

if __name__ == "__main__":
    ensure("tests.conformance", "dev")
    from tests.conformance.command import main

    sys.exit(main())

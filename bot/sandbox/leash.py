"""Runs the bot so that it cannot outlive the sandbox: `python -m bot.sandbox.leash run`.

The sandbox holds the other end of our standard input. When it ends, however it ends, the
kernel closes that end and we read the end of file; the bot is then asked to stop and, should it not
listen, is ended. A signal from the parent could not promise that: a killed parent sends none.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

__all__ = ["main"]

_GRACE_S = 5.0  # to close the database; Discord, our parent, is gone already


def main() -> None:
    """Watch standard input and be `python -m bot` with the given arguments."""
    threading.Thread(target=_watch, args=(sys.stdin.fileno(),), name="leash", daemon=True).start()
    sys.argv = ["bot", *sys.argv[1:]]
    runpy.run_module("bot", run_name="__main__", alter_sys=True)


def _watch(line: int) -> None:
    try:
        while os.read(line, 1):
            pass
    except OSError:
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    os._exit(1)  # not sys.exit: that would only end this thread


if __name__ == "__main__":
    main()

"""How garbage is collected: in a process of its own, since it is a matter of the whole process."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import gc, weakref
from bot.garbage import settle

class Ring:
    pass

settle()
assert gc.isenabled()
print(gc.get_threshold()[0], gc.get_freeze_count() > 1_000)
ring = Ring()
ring.self = ring
left = weakref.ref(ring)
del ring
gc.collect()
print(left() is None)
"""


def test_what_is_loaded_is_left_alone_and_what_is_dropped_still_goes() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["10000", "True", "True"]

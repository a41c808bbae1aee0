"""Running families and saying how they did."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.assembler import RUNNERS as ASSEMBLER
from tests.conformance.cards import RUNNERS as CARDS
from tests.conformance.chats import RUNNERS as CHATS
from tests.conformance.compare import Mismatch
from tests.conformance.macros import RUNNERS as MACROS
from tests.conformance.presets import RUNNERS as PRESETS
from tests.conformance.regex import RUNNERS as REGEX
from tests.conformance.session import RUNNERS as SESSION
from tests.conformance.skips import reason_to_skip, reason_to_skip_step
from tests.conformance.vectors import CannotExist, UnknownFamily, Vector, files, vectors
from tests.conformance.worldinfo import RUNNERS as WORLDINFO

RUNNERS: dict[str, Callable[[Vector], None]] = {
    **ASSEMBLER,
    **CARDS,
    **CHATS,
    **REGEX,
    **MACROS,
    **PRESETS,
    **SESSION,
    **WORLDINFO,
}
"""By folder/file. A runner returns when the vector agrees and raises Mismatch when it does not."""


@dataclass
class Report:
    """The outcome of one family."""

    family: str
    passed: int = 0
    failures: list[str] = field(default_factory=list)
    skips: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    """Single steps of vectors that were run otherwise."""

    def text(self) -> str:
        skipped = sum(self.skips.values())
        lines = [f"{self.family}: {self.passed} passed, {len(self.failures)} failed, {skipped} skipped"]
        lines += [f"  skipped {count}: {reason}" for reason, count in sorted(self.skips.items())]
        lines += [f"  left out {count} steps: {reason}" for reason, count in sorted(self.left_out.items())]
        lines += [f"  FAILED {failure}" for failure in self.failures]
        if not self.passed + len(self.failures) + skipped:
            lines.append("  nothing was run: these documents have no reader yet")
        return "\n".join(lines)

    def skip(self, reason: str) -> None:
        self.skips[reason] = self.skips.get(reason, 0) + 1


def run_family(root: Path, family: str) -> Report:
    """Run every vector of a folder or of one file."""
    report = Report(family)
    try:
        found = files(root, family)
    except UnknownFamily as error:
        report.failures.append(str(error))
        return report
    for name, path in found:
        for vector in vectors(name, path):
            _run(vector, report)
    return report


def _run(vector: Vector, report: Report) -> None:
    reason = reason_to_skip(vector)
    if reason is not None:
        report.skip(reason)
        return
    try:
        RUNNERS[vector.family](vector)
    except CannotExist as error:
        report.skip(str(error))
    except Mismatch as error:
        report.failures.append(f"{vector.family} {vector.name}: {error}")
    except Exception:
        # A runner that breaks is a failure of its vector, and must not hide the others.
        report.failures.append(f"{vector.family} {vector.name}: {traceback.format_exc()}")
    else:
        report.passed += 1
        for step in vector.body.get("steps", ()):
            left_out = reason_to_skip_step(vector, step["do"]) if "do" in step else None
            if left_out is not None:
                report.left_out[left_out] = report.left_out.get(left_out, 0) + 1

"""`python -m tests.conformance [FAMILY…] [--vectors DIR]`."""

import argparse
from pathlib import Path

from tests.conformance.report import Report, run_family
from tests.conformance.vectors import families


def main() -> int:
    """Runs what was asked for; exit status 1 when a vector failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("family", nargs="*", help="a folder, or folder/file; default: every folder")
    parser.add_argument("--vectors", type=Path, default=Path(__file__).parent.parent / "vectors")
    chosen = parser.parse_args()
    reports: list[Report] = []
    for family in chosen.family or families(chosen.vectors):
        report = run_family(chosen.vectors, family)
        print(report.text())
        reports.append(report)
    return 1 if any(report.failures for report in reports) else 0

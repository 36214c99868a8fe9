"""Run arbitrary networks in parts under the thread sanitizer: `python -m tests.simulator.packet.parts 1000`.

The driver compares the results with those of one thread.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.sanitized import run_sanitized
from tests.simulator.packet.fuzz import CORE


def compare(cases: int) -> str:
    """Return the driver's output; raise CalledProcessError if results differ or threads race."""
    return run_sanitized(Path(__file__).resolve().with_suffix(".cpp"), CORE, cases, sanitizers="thread")


if __name__ == "__main__":
    sys.stdout.write(compare(int(sys.argv[1])))

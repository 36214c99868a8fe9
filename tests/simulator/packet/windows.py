"""Run drawn networks by windows and event by event under sanitizers: `python -m tests.simulator.packet.windows 1000`.

The driver compares the results.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.sanitized import run_sanitized
from tests.simulator.packet.fuzz import CORE


def compare(cases: int) -> str:
    """Return the driver's output; raise CalledProcessError if results differ or a sanitizer finds a fault."""
    return run_sanitized(Path(__file__).resolve().with_suffix(".cpp"), CORE, cases)


if __name__ == "__main__":
    sys.stdout.write(compare(int(sys.argv[1])))

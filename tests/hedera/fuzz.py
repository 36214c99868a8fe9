"""Run the kernels on arbitrary input under sanitizers: `python -m tests.hedera.fuzz 1000000`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.sanitized import run_sanitized

HERE = Path(__file__).resolve()
CORE = HERE.parents[2] / "hedera" / "core"


def fuzz(cases: int) -> str:
    """Return the driver's output; raise CalledProcessError on a fault."""
    return run_sanitized(HERE.with_suffix(".cpp"), CORE, cases)


if __name__ == "__main__":
    sys.stdout.write(fuzz(int(sys.argv[1])))

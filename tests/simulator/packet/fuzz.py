"""Run the compiled core on arbitrary input under sanitizers: `python -m tests.simulator.packet.fuzz 1000000`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.sanitized import run_sanitized

HERE = Path(__file__).resolve()
CORE = HERE.parents[3] / "simulator" / "packet" / "core"


def fuzz(cases: int) -> str:
    """Return the driver's output; raise CalledProcessError on a fault."""
    return run_sanitized(HERE.with_suffix(".cpp"), CORE, cases, ['-DKUIJIA_PACKET_TRACE="order.hpp"'])


if __name__ == "__main__":
    sys.stdout.write(fuzz(int(sys.argv[1])))

"""A program's wall clock follows a file; clocks that nobody can set do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from testbed.chaos.clock_program import OFFSET

DAY = 86_400

SHOWS = """
import os, struct, sys, time
wall, steady = time.time(), time.monotonic()
with open(sys.argv[1], "r+b") as clock:
    clock.write(struct.pack("=q", -86_400 * 10**9))
print(time.time() - wall, time.time_ns() / 1e9 - wall, time.monotonic() - steady, wall)
"""


def test_the_wall_clock_is_set_while_the_program_runs(tmp_path: Path) -> None:
    clock, program = tmp_path / "clock", tmp_path / "program.py"
    clock.write_bytes(OFFSET.pack(DAY * 10**9))
    program.write_text(SHOWS)
    command = [sys.executable, "-m", "testbed.chaos.clock_program", str(clock), str(program), str(clock)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    back, back_ns, steady, ahead = map(float, printed)
    assert -2 * DAY <= back < back_ns + 1 < -2 * DAY + 60
    assert 0 <= steady < 60
    machine = clock.stat().st_mtime
    assert abs(ahead - machine - DAY) < 60

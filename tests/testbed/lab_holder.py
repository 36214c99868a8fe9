"""Holds an emulated network of two switches: `python -m tests.testbed.lab_holder RUN_ROOT`.

Prints the lab's id once it is up and takes it down when its standard input ends.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.testbed.emulated import running_network

if __name__ == "__main__":
    with running_network(Path(sys.argv[1]), [("a", "b")]) as held:
        held.host("a").start(["sleep", "600"])
        sys.stdout.write(f"{held.run.lab_id}\n")
        sys.stdout.flush()
        sys.stdin.read()

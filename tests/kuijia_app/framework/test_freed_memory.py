"""Memory that a thread has freed goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

LEFT = """
import re, sys, threading
from pathlib import Path
from kuijia_app.framework.guarded_app import give_back_freed_memory

def resident():
    return int(re.search(r"Rss: +(\\d+)", Path("/proc/self/smaps_rollup").read_text())[1])

def work():
    blocks = []
    for number in range(200):
        blocks.append(b"x" * 60_000)
        kept.append(b"x" * 600)  # small, and after each block
    blocks.clear()

if "gives back" in sys.argv:
    give_back_freed_memory()
kept = []
before = resident()
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(resident() - before)
"""


def kilobytes_left(*arguments: str) -> int:
    made = subprocess.run([sys.executable, "-c", LEFT, *arguments], capture_output=True, text=True, check=True)
    return int(made.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_blocks_that_a_thread_has_freed_go_back_though_small_ones_after_them_stay() -> None:
    assert kilobytes_left("gives back") < 1_000
    assert kilobytes_left() > 5_000, "the C library gives them back without being told"

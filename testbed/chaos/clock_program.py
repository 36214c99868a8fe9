"""Runs a Python program with a wall clock that somebody else sets; the machine's own clock is unchanged.

Arguments: FILE PROGRAM ARGUMENT... FILE has eight bytes, the nanoseconds to be added to the machine's clock as a signed
number in the machine's byte order. PROGRAM is the name of a module, or the path of a script.

`time.time` and `time.time_ns` are replaced before the program is imported. Clocks that nobody can set stay: timers,
time limits and `time.monotonic`. Libraries in C, such as OpenSSL, still ask the machine.
"""

from __future__ import annotations

import mmap
import runpy
import struct
import sys
import time
from pathlib import Path

OFFSET = struct.Struct("=q")


def set_by(file: Path) -> None:
    """Make this process's wall clock follow a file."""
    with file.open("rb") as opened:
        offset = mmap.mmap(opened.fileno(), OFFSET.size, prot=mmap.PROT_READ)
    machine = time.time_ns

    def time_ns() -> int:
        return machine() + int(OFFSET.unpack_from(offset)[0])

    vars(time).update(time_ns=time_ns, time=lambda: time_ns() / 1e9)


def main() -> None:
    file, program, *arguments = sys.argv[1:]
    set_by(Path(file))
    sys.argv = [program, *arguments]
    if Path(program).is_file():
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

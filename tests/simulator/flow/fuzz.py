"""Runs the compiled core on arbitrary input under sanitizers: `python -m tests.simulator.flow.fuzz 1000000`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CORE = ROOT / "simulator" / "flow" / "core"
COMPILER = "g++"
FLAGS = (
    *("-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-D_GLIBCXX_ASSERTIONS"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
)


def fuzz(cases: int) -> str:
    """Builds the driver and runs it; what it says.

    Raises:
        CalledProcessError: it does not build, or a sanitizer or the driver itself found a fault.
    """
    sources = [source for source in sorted(CORE.glob("*.cpp")) if source.name != "bindings.cpp"]
    with tempfile.TemporaryDirectory() as directory:
        driver = Path(directory) / "fuzz"
        inputs = map(str, (Path(__file__).with_suffix(".cpp"), *sources))
        subprocess.run([COMPILER, *FLAGS, f"-I{CORE}", "-o", str(driver), *inputs], check=True)
        return subprocess.run([driver, str(cases)], check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.stdout.write(fuzz(int(sys.argv[1])))

"""Builds a driver and the compiled core that it exercises under sanitizers, and runs it."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

COMPILER = "g++"
FLAGS = (
    *("-std=c++20", "-O1", "-g1", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-D_GLIBCXX_ASSERTIONS"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
)


def run_sanitized(driver: Path, core: Path, cases: int) -> str:
    """Return the output of the driver, a C++ file that takes the number of cases; `core` is the folder of the sources.

    Raises:
        CalledProcessError: it does not build, or a sanitizer or the driver itself found a fault.
    """
    sources = [source for source in sorted(core.rglob("*.cpp")) if source.name != "bindings.cpp"]
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / driver.stem
        inputs = map(str, (driver, *sources))
        subprocess.run(
            [COMPILER, *FLAGS, f"-I{core}", f"-I{Path(__file__).parent}", "-o", str(program), *inputs], check=True
        )
        return subprocess.run([program, str(cases)], check=True, stdout=subprocess.PIPE, text=True).stdout

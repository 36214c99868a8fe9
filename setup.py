"""The compiled cores; everything else about the package, but for its licence, is in pyproject.toml."""

import sys
from pathlib import Path

import pybind11
from pybind11.setup_helpers import ParallelCompile
from setuptools import Extension, setup

# Sums are the same on every machine: no instruction does two operations with one rounding. Without debug symbols the
# cores take a tenth of the room.
FLAGS = (
    ["/std:c++20", "/O2", "/EHsc", "/bigobj", "/fp:precise"]
    if sys.platform == "win32"
    else ["-std=c++20", "-O3", "-g0", "-fvisibility=hidden", "-ffp-contract=off"]
)


def core(package: str) -> Extension:
    """The compiled module `_core` of a package."""
    sources = Path(package) / "core"
    return Extension(
        f"{package.replace('/', '.')}._core",
        sources=sorted(path.as_posix() for path in sources.rglob("*.cpp")),
        depends=sorted(path.as_posix() for path in sources.rglob("*.hpp")),
        include_dirs=[str(sources), pybind11.get_include()],
        language="c++",
        extra_compile_args=FLAGS,
    )


ParallelCompile("KUIJIA_BUILD_JOBS").install()  # as many files at a time as there are processors

setup(
    # The same twice: setuptools before version 77 knows only the first, later ones put the second into the metadata.
    license="Apache-2.0",
    license_expression="Apache-2.0",
    ext_modules=[core("simulator/flow"), core("simulator/packet"), core("hedera")],
)

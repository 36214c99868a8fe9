"""The compiled cores; everything else about the package, but for its licence, is in pyproject.toml."""

import sys
from pathlib import Path

import pybind11
from pybind11.setup_helpers import ParallelCompile
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Sums are the same on every machine: no instruction does two operations with one rounding. Without debug symbols the
# cores take a tenth of the room.
FLAGS = (
    ["/std:c++20", "/O2", "/EHsc", "/bigobj", "/fp:precise"]
    if sys.platform == "win32"
    else ["-std=c++20", "-O3", "-g0", "-fvisibility=hidden", "-ffp-contract=off"]
)
BINDINGS = "bindings.cpp"
INLINING = "--param=large-unit-insns=1000000"
"""Lets GCC inline in all files of a folder together as it does in each alone."""


class BuildByFolder(build_ext):
    """Compiles the C++ files of a folder as one, in a quarter of the time, most of which headers take.

    `bindings.cpp` stays alone: it takes as long as all others of its core.
    """

    def build_extensions(self) -> None:
        """Compile all cores, with `INLINING` where GCC is the compiler; but not bindings, whose time it doubles."""
        if sys.platform == "linux":
            compile_one = self.compiler._compile  # noqa: SLF001  # flags of single files have no other way in

            def compile_file(obj: str, src: str, ext: str, cc_args: object, extra: list[str], pp_opts: object) -> None:
                flags = extra if src.endswith(BINDINGS) else [*extra, INLINING]
                compile_one(obj, src, ext, cc_args, flags, pp_opts)

            self.compiler._compile = compile_file  # noqa: SLF001
        super().build_extensions()

    def build_extension(self, ext: Extension) -> None:
        """Replace the sources of a core by one file for each folder that includes them, and compile those."""
        folders: dict[str, list[Path]] = {}
        for source in map(Path, ext.sources):
            name = source.stem if source.name == BINDINGS else f"all_{source.parent.name}"
            folders.setdefault(name, []).append(source)
        ext.depends = [*ext.depends, *map(str, ext.sources)]
        ext.sources = [self._joined(ext.name, name, sources) for name, sources in folders.items()]
        super().build_extension(ext)

    def _joined(self, module: str, name: str, sources: list[Path]) -> str:
        """Return the path of a file that includes `sources`, rewritten only if it changes."""
        joined = Path(self.build_temp) / module / f"{name}.cpp"
        lines = "".join(f'#include "{source.as_posix()}"\n' for source in sources)
        if not joined.is_file() or joined.read_text(encoding="utf-8") != lines:
            joined.parent.mkdir(parents=True, exist_ok=True)
            joined.write_text(lines, encoding="utf-8")
        return joined.as_posix()


def core(package: str) -> Extension:
    """The compiled module `_core` of a package."""
    sources = Path(package) / "core"
    return Extension(
        f"{package.replace('/', '.')}._core",
        sources=sorted(path.as_posix() for path in sources.rglob("*.cpp")),
        depends=sorted(path.as_posix() for path in sources.rglob("*.hpp")),
        include_dirs=[".", str(sources), pybind11.get_include()],
        language="c++",
        extra_compile_args=FLAGS,
    )


ParallelCompile("KUIJIA_BUILD_JOBS").install()  # as many files at a time as there are processors

setup(
    # The same twice: setuptools before version 77 knows only the first, later ones put the second into the metadata.
    license="Apache-2.0",
    license_expression="Apache-2.0",
    cmdclass={"build_ext": BuildByFolder},
    ext_modules=[core("simulator/flow"), core("simulator/packet"), core("hedera")],
)

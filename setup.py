"""The compiled cores, names of packages and links of the description; all else but the licence is in pyproject.toml."""

import re
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from setuptools import Distribution, Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError

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

ROOMS: tuple[str, ...] = runpy.run_path("kuijia/rooms.py")["ROOMS"]
_ROOM = "|".join(ROOMS)
IMPORT = re.compile(rf"^(\s*(?:>>> )?)(from|import) ({_ROOM})\b(?=[.\w]* import |\.[.\w]+ as )", re.MULTILINE)
NAMED = re.compile(rf"""(?<=["'])({_ROOM})([./][\w./]*)(?=["'{{])""")
"""A string that may name a module or a file of ours from its beginning."""


LINK = re.compile(r"(!?)\[([^][]*)\]\((?![a-z]+:|#)([^)]+)\)")
"""A link of the README to a file of the repository; a picture if it begins with an exclamation mark."""


class KuijiaDistribution(Distribution):
    """Names the packages that are installed, for tools that ask which distribution a package is of.

    Its description is the README with links that work elsewhere, as on PyPI: with the project's URL `Source` before
    them. Without such a URL the links' texts remain, and no picture.
    """

    def parse_config_files(self, *args: Any, **keywords: Any) -> None:  # noqa: ANN401  # whatever setuptools passes
        """Read pyproject.toml, then adapt the description."""
        super().parse_config_files(*args, **keywords)
        urls: dict[str, str] = getattr(self.metadata, "project_urls", None) or {}
        source = urls.get("Source", "").rstrip("/")

        def absolute(match: re.Match[str]) -> str:
            mark, text, path = match.groups()
            if not source:
                return "" if mark else text
            return f"{mark}[{text}]({source}/{'raw' if mark else 'blob'}/HEAD/{path})"

        self.metadata.long_description = LINK.sub(absolute, self.metadata.long_description or "")

    def iter_distribution_names(self) -> Iterator[str]:
        """Yield the names of packages and cores, but for those that `BuildInOnePackage` puts into another one."""
        return (name for name in super().iter_distribution_names() if name.partition(".")[0] not in ROOMS)


class BuildInOnePackage(build_py):
    """Puts our folders into the package `kuijia`, so that what is installed has no name that a user's file may have.

    A clone keeps them at its top level, and finds them under the same names (`kuijia/rooms.py`).
    """

    def run(self) -> None:
        """Copy the modules; then, unless the clone itself is installed, move them and what they call each other."""
        super().run()
        if self.editable_mode:
            return
        built, package = Path(self.build_lib), Path(self.build_lib, "kuijia")
        for room in ROOMS:
            shutil.rmtree(package / room, ignore_errors=True)
            shutil.move(built / room, package / room)
        for path in built.rglob("*.py*"):
            if path.suffix in {".py", ".pyi"}:
                text = path.read_text(encoding="utf-8")
                path.write_text(self._renamed(text), encoding="utf-8")

    def _renamed(self, text: str) -> str:
        """Return the source of a module with the names that modules have once installed."""

        def named(match: re.Match[str]) -> str:
            place = Path(self.build_lib, "kuijia", match[0].removesuffix(".py").strip("./").replace(".", "/"))
            exists = place.is_dir() or place.with_suffix(".py").is_file()
            return f"kuijia{match[2][0]}{match[0]}" if exists else match[0]

        return NAMED.sub(named, IMPORT.sub(r"\1\2 kuijia.\3", text))


class BuildByFolder(build_ext):
    """Compiles the C++ files of a folder as one, in a quarter of the time, most of which headers take.

    `bindings.cpp` stays alone: it takes as long as all others of its core.
    """

    def run(self) -> None:
        """Remember first whether the cores go into the clone, which the build itself sets to no."""
        self._is_clone = bool(self.inplace or self.editable_mode)
        super().run()

    def get_ext_fullpath(self, ext_name: str) -> str:
        """Return the file of a core, which is where `BuildInOnePackage` puts its package."""
        return super().get_ext_fullpath(ext_name if self._is_clone else f"kuijia.{ext_name}")

    def build_extensions(self) -> None:
        """Compile all cores, with `INLINING` where GCC is the compiler; but not bindings, whose time it doubles."""
        compiler = getattr(self.compiler, "compiler_cxx", ())  # setuptools itself looks for that of Microsoft
        if compiler and shutil.which(compiler[0]) is None:
            raise CompileError(f"{compiler[0]} not found, expected a C++20 compiler, as of Debian's package g++")
        import pybind11  # noqa: PLC0415  # without cores to compile it is not needed
        from pybind11.setup_helpers import ParallelCompile  # noqa: PLC0415

        ParallelCompile("KUIJIA_BUILD_JOBS").install()  # as many files at a time as there are processors
        for each in self.extensions:
            each.include_dirs.append(pybind11.get_include())
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
        include_dirs=[".", str(sources)],
        language="c++",
        extra_compile_args=FLAGS,
    )


setup(
    # The same twice: setuptools before version 77 knows only the first, later ones put the second into the metadata.
    license="Apache-2.0",
    license_expression="Apache-2.0",
    distclass=KuijiaDistribution,
    cmdclass={"build_ext": BuildByFolder, "build_py": BuildInOnePackage},
    ext_modules=[core("simulator/flow"), core("simulator/packet"), core("hedera")],
)

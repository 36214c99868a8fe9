"""Build of the program in `network.cc` against the installed ns-3, and its runs."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files, version
from pathlib import Path

from kuijia_base.errors import KuijiaError

_SOURCE = Path(__file__).with_name("network.cc")
_COMPILER = "g++"
_MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
_OPTIONS = ("-std=c++23", "-O2", "-Wl,--allow-shlib-undefined")


class Ns3MissingError(KuijiaError):
    """Raised if ns-3 or a compiler is not installed."""


@dataclass(frozen=True)
class Ns3Flow:
    """A flow in ns-3's input; 0 bytes for no end."""

    source: int
    target: int
    size: int
    start: float


@dataclass(frozen=True)
class Ns3Result:
    """The results of ns-3.

    Attributes:
        goodput: Mbit/s of each flow after the warm-up.
        completion: seconds of each flow until its last byte arrived; -1 if it has not.
        queue: mean backlog of each limited queue after the warm-up, in full packets.
        packets: full segments that arrived.
        dropped: packets dropped by limited queues.
        seconds: duration of the run, without building the network.
        megabytes: peak memory.
    """

    goodput: Sequence[float]
    completion: Sequence[float]
    queue: Sequence[float]
    packets: int
    dropped: int
    seconds: float
    megabytes: float


class Ns3Program:
    """The compiled program."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def run(self, options: Mapping[str, object], flows: Sequence[Ns3Flow]) -> Ns3Result:
        lines = [f"{flow.source} {flow.target} {flow.size} {flow.start:.12f}\n" for flow in flows]
        with tempfile.NamedTemporaryFile("w", suffix=".flows") as file:
            file.writelines(lines)
            file.flush()
            arguments = [f"--{name}={value}" for name, value in options.items()]
            command = [str(self._path), f"--flows={file.name}", *arguments]
            printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        return Ns3Result(**json.loads(printed))


def ns3_version() -> str:
    """Return the installed version of ns-3.

    Raises:
        Ns3MissingError: ns-3 is not installed.
    """
    try:
        return version("ns3")
    except PackageNotFoundError as error:
        raise Ns3MissingError("ns-3 is not installed: .venv/bin/pip install -e '.[ns3]' installs it (70 MB)") from error


@contextmanager
def program() -> Iterator[Ns3Program]:
    """Provide the compiled program within the context.

    Raises:
        Ns3MissingError: ns-3 or a compiler is missing.
    """
    ns3_version()
    header = next(file for file in files("ns3") or () if file.name == "core-module.h").locate()
    root = Path(str(header)).resolve().parents[2]
    libraries = [next((root / "lib64").glob(f"libns3*-{module}.so")) for module in _MODULES]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "network"
        command = [_COMPILER, *_OPTIONS, f"-I{root / 'include'}", "-o", str(path), str(_SOURCE), *map(str, libraries)]
        try:
            subprocess.run([*command, f"-Wl,-rpath,{root / 'lib64'}"], check=True)
        except FileNotFoundError as error:
            raise Ns3MissingError(f"{_COMPILER} is not installed") from error
        yield Ns3Program(path)

"""Build of the program in `network.cc` with htsim's source, and its runs."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kuijia_base.errors import KuijiaError

_SOURCE = Path(__file__).with_name("network.cc")
_COMPILER = "g++"
_OPTIONS = ("-std=c++17", "-O2", "-w")
FILES = (
    "config",
    "dctcp",
    "ecnqueue",
    "eth_pause_packet",
    "eventlist",
    "fairpullqueue",
    "logfile",
    "loggers",
    "mtcp",
    "ndppacket",
    "network",
    "pipe",
    "queue",
    "rng",
    "route",
    "tcp",
    "tcppacket",
)
"""The files of htsim's folder `sim` that the program needs."""


class HtsimMissingError(KuijiaError):
    """Raised if htsim's source or a compiler is missing, or they do not fit together."""


@dataclass(frozen=True)
class HtsimFlow:
    """A flow in htsim's input: start in picoseconds, data packets, links of its path and of its acknowledgements."""

    start: int
    packets: int
    there: Sequence[int]
    back: Sequence[int]


@dataclass(frozen=True)
class HtsimLinks:
    """The links in htsim's input: bit/s and picoseconds of each, and each one's limit and threshold in bytes."""

    rate: int
    delay: int
    queues: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class HtsimResult:
    """The results of htsim.

    Attributes:
        packets: data packets that arrived in order.
        seconds: processor time of the run, without building the network.
        finished_at: simulated seconds at which all flows were seen to have finished.
    """

    packets: int
    seconds: float
    events: int
    finished_at: float


class HtsimProgram:
    """The compiled program."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def run(self, links: HtsimLinks, flows: Sequence[HtsimFlow], packet: int) -> HtsimResult:
        """Run flows of packets of so many bytes until all have finished."""
        lines = [f"{links.rate} {links.delay} {packet} {len(links.queues)} {len(flows)}"]
        lines += [f"{limit} {threshold}" for limit, threshold in links.queues]
        for flow in flows:
            paths = (f"{len(path)} {' '.join(map(str, path))}" for path in (flow.there, flow.back))
            lines.append(f"{flow.start} {flow.packets} {' '.join(paths)}")
        printed = subprocess.run(
            [str(self._path)], check=True, input="\n".join(lines), stdout=subprocess.PIPE, text=True
        ).stdout
        return HtsimResult(**json.loads(printed.splitlines()[-1]))


@contextmanager
def program(source: Path | None) -> Iterator[HtsimProgram]:
    """Provide the program, compiled with -O2 with the source in this folder, within the context.

    Raises:
        HtsimMissingError: the source or a compiler is missing.
    """
    if source is None:
        raise HtsimMissingError("csg-htsim's source is not given: --htsim DIR, or HTSIM in the environment")
    folder = source / "sim"
    files = [folder / f"{name}.cpp" for name in FILES]
    if missing := [file for file in files if not file.is_file()]:
        raise HtsimMissingError(f"{source} is not csg-htsim's source: {missing[0]} is missing")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "network"
        command = [_COMPILER, *_OPTIONS, f"-I{folder}", "-o", str(path), str(_SOURCE), *map(str, files)]
        try:
            subprocess.run(command, check=True)
        except FileNotFoundError as error:
            raise HtsimMissingError(f"{_COMPILER} is not installed") from error
        except subprocess.CalledProcessError as error:
            raise HtsimMissingError(f"csg-htsim's source in {source} does not compile with {_SOURCE.name}") from error
        yield HtsimProgram(path)

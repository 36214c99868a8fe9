"""Packets delivered by fat-trees per second of a processor: the packet model and csg-htsim."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.measure import processor_time
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from kuijia_base.errors import KuijiaError
from simulator.packet.flows import Flows
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.routing import Ecmp
from simulator.packet.simulation import Simulation
from simulator.packet.topologies import fat_tree
from simulator.packet.transports import Congestion, Tcp
from simulator.packet.units import picoseconds

_SOURCE = Path(__file__).with_name("htsim_network.cc")
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


_RATE = 10_000.0
_DELAY = 1e-6
_LIMIT, _THRESHOLD = 300_000, 97_500
_PAYLOAD, _HEADER = 1460, 40
_PACKETS = {4: 20_000, 8: 2_500}
"""Data packets of each flow, by the ports of a switch."""
_STARTS = 1e-4
"""Seconds within which flows begin."""
_REPETITIONS = 5
_LEAST = 4.0
_UNLIMITED = 1 << 30


@dataclass(frozen=True)
class _Run:
    seconds: float
    finished_at: float


@benchmark("packet-vs-htsim")
def packet_vs_htsim(setting: BenchmarkSetting) -> Iterator[Comparison]:
    try:
        with program(setting.htsim) as peer:
            for ports in _PACKETS:
                yield _compared(setting, peer, ports)
    except HtsimMissingError as error:
        setting.progress.say(f"left out: {error}")


def _compared(setting: BenchmarkSetting, peer: HtsimProgram, ports: int) -> Comparison:
    scene = _Scene(ports)
    ours, theirs = [], []
    for _ in range(_REPETITIONS):  # in turn, so that a disturbance meets both
        setting.progress.show(f"{scene.hosts} hosts, ours")
        ours.append(scene.in_ours())
        setting.progress.show(f"{scene.hosts} hosts, htsim")
        theirs.append(scene.in_htsim(peer))
    best = min(run.seconds for run in ours) / (scene.hosts * _PACKETS[ports])
    peers = min(run.seconds for run in theirs) / theirs[0].packets
    detail = {
        "problem": f"fat-tree of {scene.hosts} hosts, 10 Gbit/s and 1 µs per link; each sends {_PACKETS[ports]} "
        "packets by DCTCP to the one half the network away, on the same paths in both",
        "data packets per second, ours": 1 / best,
        "data packets per second, htsim": 1 / peers,
        "events of htsim per data packet": theirs[0].events / theirs[0].packets,
        "ms until all flows have finished": [
            {"ours": ours[0].finished_at * 1e3, "htsim": theirs[0].finished_at * 1e3},
        ],
        "goals": [goal(f"{_LEAST:g} times as many packets per second as htsim", met=peers / best >= _LEAST)],
    }
    return Comparison(best * 1e6, peers * 1e6, "csg-htsim", "µs of a processor per delivered data packet", detail)


class _Scene:
    """The flows of a fat-tree, for both."""

    def __init__(self, ports: int) -> None:
        self._packets = _PACKETS[ports]
        self._network = fat_tree(ports, _RATE, _DELAY, Fifo(_LIMIT, Threshold(_THRESHOLD)))
        self._source = np.array(self._network.hosts)
        self._target = np.roll(self._source, -(self._source.size // 2))
        ecmp = Ecmp(self._network)
        pairs = zip(self._source.tolist(), self._target.tolist(), strict=True)
        self._paths = [
            (ecmp.route(source, target, flow), ecmp.route(target, source, flow))
            for flow, (source, target) in enumerate(pairs)
        ]
        self._start = np.random.default_rng(1).uniform(0, _STARTS, self.hosts).round(9)

    @property
    def hosts(self) -> int:
        return self._source.size

    def in_ours(self) -> _Run:
        """Run it in the packet model."""
        transport = Tcp(congestion=Congestion.DCTCP, payload=_PAYLOAD, header=_HEADER, handshake=True)
        size = self._packets * _PAYLOAD
        flows = Flows.of(self._source, self._target, transport, size=size, start=self._start, paths=self._paths)
        simulation = Simulation(self._network, [flows])
        seconds = processor_time(simulation.run)
        return _Run(seconds, float(simulation.flow_results().finished.max()))

    def in_htsim(self, peer: HtsimProgram) -> HtsimResult:
        """Run it in csg-htsim."""
        hosts = set(self._network.hosts)
        queues = [
            (_UNLIMITED, _UNLIMITED) if link.source in hosts else (_LIMIT, _THRESHOLD) for link in self._network.links
        ]
        starts = picoseconds(self._start).tolist()
        flows = [HtsimFlow(start, self._packets, *paths) for start, paths in zip(starts, self._paths, strict=True)]
        links = HtsimLinks(round(_RATE * 1e6), int(picoseconds(_DELAY)), queues)
        return peer.run(links, flows, _PAYLOAD + _HEADER)

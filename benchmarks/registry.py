"""The benchmarks by name: each is a generator of comparisons in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from experiments.progress import Progress
from te_solver.errors import InputError

_FILES = (
    "te_resolve",
    "te_large",
    "te_paths",
    "install",
    "verify",
    "flow_maxmin",
    "fig4_full",
    "hedera_estimate",
    "hedera_anneal",
    "hedera_round",
    "hedera_8192",
    "packet_vs_ns3",
)


@dataclass(frozen=True)
class Setting:
    """What a benchmark is run with.

    Attributes:
        networks: a folder with the files of named networks, such as `Kdl.graphml`; None for made ones in their place.
        progress: tells people how it is getting on.
    """

    networks: Path | None
    progress: Progress


@dataclass(frozen=True)
class Comparison:
    """One figure of ours beside that of a peer, both measured in this run on this machine.

    Attributes:
        ours: less is better.
        peer: likewise.
        peer_name: what it was compared with.
        unit: of both.
        detail: what was measured, other figures, and goals that are met or not.
    """

    ours: float
    peer: float
    peer_name: str
    unit: str
    detail: Mapping[str, object]

    @property
    def ratio(self) -> float:
        """How many times better ours is."""
        return self.peer / self.ours


Benchmark = Callable[[Setting], Iterator[Comparison]]

_REGISTERED: dict[str, Benchmark] = {}


def benchmark(name: str) -> Callable[[Benchmark], Benchmark]:
    """Registers a function as the benchmark of this name."""

    def register(function: Benchmark) -> Benchmark:
        _REGISTERED[name] = function
        return function

    return register


def benchmarks(names: list[str]) -> dict[str, Benchmark]:
    """The benchmarks of these names, all when there are none, in the order of names.

    Raises:
        InputError: an unknown name.
    """
    for file in _FILES:
        import_module(f"benchmarks.{file}")
    for name in names:
        if name not in _REGISTERED:
            raise InputError("bench", name, "is unknown", f"one of {', '.join(_REGISTERED)}")
    return {name: _REGISTERED[name] for name in dict.fromkeys(names or _REGISTERED)}


def goal(what: str, *, met: bool) -> dict[str, object]:
    """A goal as it stands in `Comparison.detail`, under "goals"."""
    return {"goal": what, "met": met}

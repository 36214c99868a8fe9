"""The benchmarks by name: each is a generator of comparisons in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from kuijia_base.errors import InputError
from kuijia_base.progress import Progress

_FILES = (
    "te_resolve",
    "te_large",
    "te_all_pairs",
    "te_scenarios",
    "te_paths",
    "te_truth",
    "install",
    "table_polls",
    "learned_hosts",
    "verify",
    "flow_maxmin",
    "fig4_full",
    "hedera",
    "live_lab",
    "live_page",
    "packet_rates",
    "packet_two_cores",
    "packet_vs_ns3",
    "packet_vs_htsim",
)


@dataclass(frozen=True)
class BenchmarkSetting:
    """The settings of a benchmark.

    Attributes:
        networks: a folder with the files of named networks, such as `Kdl.graphml`; None for generated ones instead.
        progress: shows the progress to users.
        htsim: a folder with the source of csg-htsim; None to leave this peer out.
        reference: a folder with clones of projects that publish optima; None to leave these out.
        rows: most rows to compute of each published network; None for all.
        nodes: most nodes of the published networks; None for all.
        source: part of the title of the published sets to compute; None for all.
        kept: a file of rows computed before, to which new ones are appended; None to keep none.
    """

    networks: Path | None
    progress: Progress
    htsim: Path | None = None
    reference: Path | None = None
    rows: int | None = None
    nodes: int | None = None
    source: str | None = None
    kept: Path | None = None


@dataclass(frozen=True)
class Comparison:
    """Our figure and that of a peer, both measured in this run on this machine.

    Attributes:
        ours: our figure; less is better.
        peer: the peer's figure; less is better.
        detail: the problem, further figures, and goals that are met or missed.
    """

    ours: float
    peer: float
    peer_name: str
    unit: str
    detail: Mapping[str, object]

    @property
    def ratio(self) -> float:
        """Factor by which ours is better."""
        return self.peer / self.ours


Benchmark = Callable[[BenchmarkSetting], Iterator[Comparison]]

_REGISTERED: dict[str, Benchmark] = {}


def benchmark(name: str) -> Callable[[Benchmark], Benchmark]:
    """Register a function as the benchmark of this name."""

    def register(function: Benchmark) -> Benchmark:
        _REGISTERED[name] = function
        return function

    return register


def benchmarks(names: list[str]) -> dict[str, Benchmark]:
    """Return the benchmarks of these names, in their order; all if there are none.

    Raises:
        InputError: a name is unknown.
    """
    for file in _FILES:
        import_module(f"benchmarks.{file}")
    for name in names:
        if name not in _REGISTERED:
            raise InputError("bench", name, "is unknown", f"one of {', '.join(_REGISTERED)}")
    return {name: _REGISTERED[name] for name in dict.fromkeys(names or _REGISTERED)}


def goal(what: str, *, met: bool) -> dict[str, object]:
    """Return a goal as an entry of "goals" in `Comparison.detail`."""
    return {"goal": what, "met": met}

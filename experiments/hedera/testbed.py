"""The authors' traffic matrices on their testbed of 16 hosts: emulated, in packets and in the flow model."""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, Literal

import numpy as np

from experiments.experiment import Options, Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hedera.lab import HederaLab, authors_lab
from experiments.hedera.packet import PacketNetwork
from experiments.hedera.schemes import (
    ANNEALING,
    AUTHORS_PERIOD,
    DEFAULT_PERIOD,
    ECMP,
    FIRST_FIT,
    NON_BLOCKING,
    ONE_TREE,
    PACKET_PERIOD,
    PORTS_OF_SWITCH,
    SOURCE_PORTS,
    UNSCHEDULED,
    PacketOptions,
    add_scheduling,
    configure_packets,
    nic_rate_from,
    packet_options_from,
    refuse_packet_options,
)
from experiments.hedera.simulation import FluidSetting, endless_goodput
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_numbers
from experiments.results.result import Check
from experiments.results.score import SizeBar, limit, order, size
from experiments.results.stored_files import each_file
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import Matrix, authors_matrices, authors_matrix
from hedera.placement.registry import make_placement
from hedera.scheduling import events
from kuijia_base.errors import InputError, TestbedError
from kuijia_base.json_document import read_json
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.reading import reading
from testbed.traffic.iperf import IperfFlow, IperfRun

NAME = "hedera-testbed"
FILE_NAME = f"{NAME}-runs.json"

_MORE_SECONDS = 10
"""64 flows on one tree took more than four seconds to connect, as their handshakes lose packets like other traffic."""


@dataclass(frozen=True)
class Span:
    """Duration of flows and the averaging window, in seconds since the last flow connected.

    The rest at the end allows for late connections: on a crowded path they may take seconds.
    """

    seconds: int
    begin: float
    end: float

    def seconds_of(self, attempt: int) -> int:
        """Return the duration of flows in an attempt, counted from 1; later ones last longer in case time runs out."""
        return self.seconds + (attempt - 1) * _MORE_SECONDS


AUTHORS_SPAN = Span(60, 10.0, 50.0)
SHORT_SPAN = Span(15, 4.0, 11.0)
PACKET_SPAN = Span(3, 2.0, 3.0)
"""In the packet model links of 1 Gbit/s settle in tenths of a second; flows begin at once."""


@dataclass(frozen=True)
class MatrixOptions:
    """Options of the measurement.

    Attributes:
        patterns: names of the authors' matrices.
        schemes: from `ARRANGEMENTS`, beginning with the one that the others are compared with.
        nic_rate: of every cable, in Mbit/s.
        period: seconds between two rounds of the scheduler.
        quick: True for only two patterns and a wider bar.
    """

    patterns: tuple[str, ...]
    schemes: tuple[str, ...]
    nic_rate: float
    period: float
    span: Span
    quick: bool


_QUICK = ("stride8", "randbij0")


def configure(options: Options) -> None:
    options.add_argument(
        "--patterns",
        nargs="+",
        choices=tuple(authors_matrices()),
        metavar="PATTERN",
        help="traffic matrices, such as stride8 (default: all; with --quick two)",
    )
    add_scheduling(options)
    options.add_argument(
        "--emulation",
        type=Path,
        metavar="FILE",
        help="with --backend packet: hedera-testbed.json of an emulation to compare with",
    )
    configure_packets(options)


def options_from(args: argparse.Namespace, backend: str = "emulation", *, quick: bool) -> MatrixOptions:
    """Return the options given on the command line."""
    full = bool(args.full)
    usual = _QUICK if quick else tuple(authors_matrices())
    period, span = (PACKET_PERIOD, PACKET_SPAN) if backend == "packet" else (DEFAULT_PERIOD, SHORT_SPAN)
    return MatrixOptions(
        patterns=tuple(dict.fromkeys(args.patterns or usual)),
        schemes=(NON_BLOCKING, *args.placements),
        nic_rate=nic_rate_from(args, backend),
        period=args.period or (AUTHORS_PERIOD if full else period),
        span=AUTHORS_SPAN if full else span,
        quick=quick,
    )


@dataclass(frozen=True)
class MatrixRun:
    """Result of a matrix under a scheme.

    Attributes:
        goodput: of each flow, in the matrix's order, in Mbit/s.
        moved: number of times the scheduler gave a flow another path than before.
        switch: processors kept busy by the process that forwards packets; None when the kernel or a model forwards.
        disturbed: reasons not to trust it, in words; empty for a good one.
    """

    goodput: tuple[float, ...]
    moved: int
    switch: float | None = None
    disturbed: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, run: Mapping[str, Any]) -> MatrixRun:
        """Return a run from JSON data; raises a built-in exception when it is none."""
        switch = run["switch"]
        return cls(
            tuple(map(_positive_or_zero, run["goodput"])),
            int(run["moved"]),
            None if switch is None else _positive_or_zero(switch),
            tuple(map(str, run["disturbed"])),
        )


def _positive_or_zero(value: float) -> float:
    if not 0 <= value < math.inf:
        raise ValueError(value)
    return float(value)


Results = dict[str, dict[str, list[MatrixRun]]]
"""Results by pattern and scheme, one for each repetition."""

Parts = dict[str, dict[str, float]]
"""Parts of the goodput at one switch that does not block, by pattern and scheme."""


class Record:
    """Results of the campaign so far; every run is written at once.

    Raises:
        InputError: the folder holds another file of this name, or runs measured with other settings.
    """

    def __init__(self, output: OutputFolder, options: MatrixOptions, seed: int) -> None:
        self._output = output
        self._settings = {
            "seed": seed,
            "nic_rate": options.nic_rate,
            "period": options.period,
            "span": asdict(options.span),
        }
        self._runs: Results = {}
        self.manifest: dict[str, Any] = {}
        """Circumstances of the last run of each scheme."""
        path = output.path / FILE_NAME
        if not path.exists():
            return
        expected = "one that `kuijia run hedera-testbed` wrote"
        try:
            kept: Any = read_json(path, "runs of hedera-testbed", expected)
            settings, self.manifest = dict(kept["settings"]), dict(kept["manifest"])
            for name, by_scheme in kept["patterns"].items():
                self._runs[name] = {scheme: list(map(MatrixRun.from_json, runs)) for scheme, runs in by_scheme.items()}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(path, "", "is not a record of such runs", expected) from error
        for key, value in self._settings.items():
            if settings.get(key) != value:
                problem = f"its runs were measured with {settings.get(key)}"
                raise InputError(path, key, problem, f"{value}, as asked for now, or another folder")

    def has(self, pattern: str, scheme: str, repetition: int) -> bool:
        """Return True if there is a valid run."""
        runs = self._runs.get(pattern, {}).get(scheme, [])
        return repetition < len(runs) and not runs[repetition].disturbed

    def add(self, pattern: str, scheme: str, repetition: int, measured: MatrixRun) -> None:
        """Keep a run, replacing an invalid one."""
        runs = self._runs.setdefault(pattern, {}).setdefault(scheme, [])
        runs[repetition : repetition + 1] = [measured]
        patterns = {
            name: {scheme: [asdict(run) for run in runs] for scheme, runs in by_scheme.items()}
            for name, by_scheme in self._runs.items()
        }
        data = {"settings": self._settings, "manifest": self.manifest, "patterns": patterns}
        self._output.write_json(FILE_NAME, data)

    def results(self, options: MatrixOptions, repetitions: int) -> Results:
        """Return the recorded runs that were asked for."""
        return {
            name: {scheme: self._runs[name][scheme][:repetitions] for scheme in options.schemes}
            for name in options.patterns
        }


_FIRST_SERVER_PORT = 5001
_INTERVAL = 0.5
_CUBIC: tuple[Literal["tcp"], None, str] = ("tcp", None, "cubic")


def run_testbed(run: Execution, options: MatrixOptions) -> Outcome:
    """Measure every matrix under every scheme, except runs already in the folder: a lab for each scheme."""
    settings = run.settings
    record = Record(run.output, options, settings.seed)
    for scheme in options.schemes:
        missing = [
            (pattern, repetition)
            for pattern in options.patterns
            for repetition in range(settings.repetitions)
            if not record.has(pattern, scheme, repetition)
        ]
        if missing:
            _measure_scheme(scheme, missing, settings.seed, options, record, run.progress)
    results = record.results(options, settings.repetitions)
    data = {**summary(results, options, settings.seed), "manifest": record.manifest}
    return run.studied(data, exhibits(data))


def _measure_scheme(
    scheme: str,
    missing: Sequence[tuple[str, int]],
    seed: int,
    options: MatrixOptions,
    record: Record,
    progress: Progress,
) -> None:
    """Measure patterns, each with the number of its repetition, in one lab."""
    with authors_lab(scheme, options.nic_rate, options.period, progress.say) as lab:
        for pattern, repetition in missing:
            send = partial(_send, lab, authors_matrix(pattern), options.span, (seed, repetition))
            (goodput, moved), load, disturbed = lab.measure(send)
            record.manifest[scheme] = lab.manifest()
            record.add(pattern, scheme, repetition, MatrixRun(goodput, moved, load.switch, disturbed))
            why = f" ({'; '.join(disturbed)})" if disturbed else ""
            progress.say(f"{scheme}, {pattern}: {sum(goodput):.1f} Mbit/s{why}")


def _send(
    lab: HederaLab, matrix: Matrix, span: Span, seeds: tuple[int, int], attempt: int
) -> tuple[tuple[float, ...], int]:
    """Return the goodput of each flow, and the number of moves; seeds decide the source ports, which ECMP hashes.

    Raises:
        TestbedError: a flow failed, or connected too late.
    """
    sites = lab.centre.wiring.sites
    pairs = list(zip(matrix.source.tolist(), matrix.target.tolist(), strict=True))
    # The ports of an earlier attempt cannot be bound again at once.
    source_ports = random.Random(f"{matrix.name} {seeds} {attempt}").sample(SOURCE_PORTS, len(pairs))
    flows = [
        IperfFlow(f"{number}", sites[source].name, sites[target].name, port, _FIRST_SERVER_PORT + number, *_CUBIC)
        for number, ((source, target), port) in enumerate(zip(pairs, source_ports, strict=True))
    ]
    known = len(lab.scheduler.events())
    with IperfRun(lab.network, flows, span.seconds_of(attempt), _INTERVAL) as run:
        goodput = run.finish()
        connected = run.connected_at
    if min(each.intervals[-1].end for each in goodput.values()) < connected + span.end:
        raise TestbedError("the last flow was connected so late that the first one ended too early")
    means = tuple(goodput[flow.name].mean(connected + span.begin, connected + span.end) for flow in flows)
    moved = sum(event["moved"] for event in lab.scheduler.events()[known:] if event["event"] == events.ROUND)
    return means, moved


_STARTS_WITHIN = 0.1
"""Seconds within which the flows of a matrix begin in the packet model."""


@dataclass(frozen=True)
class MatrixCase:
    """A run of a matrix in packets.

    Attributes:
        pattern: name of the matrix.
        scheme: from `ARRANGEMENTS`.
        seed: of source ports, starts and the switches' hash.
        nic_rate: of every cable, in Mbit/s.
        period: seconds between two rounds of the scheduler.
        span: of the measurement; times count from the start of the first flow.
        options: of the packet model.
    """

    pattern: str
    scheme: str
    seed: int
    nic_rate: float
    period: float
    span: Span
    options: PacketOptions


def run_case(case: MatrixCase) -> dict[str, Any]:
    """Return the goodput of each flow in packets and in the flow model, in Mbit/s, and counts, as JSON data."""
    matrix = authors_matrix(case.pattern)
    drawn = random.Random(f"{matrix.name} {case.seed}")
    ports = drawn.sample(SOURCE_PORTS, matrix.source.size)
    starts = [drawn.uniform(0, _STARTS_WITHIN) for _ in ports]
    network = PacketNetwork(case.scheme, PORTS_OF_SWITCH, case.nic_rate, case.period, case.options, case.seed)
    ends = list(zip(matrix.source.tolist(), matrix.target.tolist(), strict=True))
    network.add(ends, ports, starts)
    simulation, span = network.simulation, case.span
    arrived = []
    for moment in (span.begin, span.end):
        simulation.complete(moment)
        arrived.append(simulation.flow_results().goodput.astype(np.float64))
    goodput = (arrived[1] - arrived[0]) * 8e-6 / (span.end - span.begin)
    return {"goodput": goodput.tolist(), "flow": _in_flow_model(case, matrix, network, ports), **network.counts()}


def _in_flow_model(case: MatrixCase, matrix: Matrix, network: PacketNetwork, ports: list[int]) -> float:
    """Return the goodput of all flows in the flow model, with the same hash; with one tree all have one label."""
    tree = FatTree(PORTS_OF_SWITCH, case.nic_rate)
    hashed = np.zeros(matrix.source.size, np.int32)
    if case.scheme not in (NON_BLOCKING, ONE_TREE):
        for flow, (source, target) in enumerate(zip(matrix.source.tolist(), matrix.target.tolist(), strict=True)):
            by_label = [tree.path(source, target, label) for label in range(tree.labels)]
            hashed[flow] = network.label_of((source, target), ports[flow], by_label)
    setting = FluidSetting(case.span.end, case.period, blocking=case.scheme != NON_BLOCKING)
    placement = make_placement(ECMP if case.scheme in UNSCHEDULED else case.scheme)
    return endless_goodput(tree, placement, matrix, setting, (case.span.begin, case.span.end), hashed)


def run_packets(run: Execution, options: MatrixOptions) -> Outcome:
    """Run every matrix under every scheme."""
    packet, emulation = packet_options_from(run.args), run.args.emulation
    emulated = {} if emulation is None else {"emulation": emulated_parts(emulation, options)}
    cases = {
        (pattern, scheme): [
            MatrixCase(pattern, scheme, seed, options.nic_rate, options.period, options.span, packet)
            for seed in run.seeds
        ]
        for pattern in options.patterns
        for scheme in options.schemes
    }
    with run.swept(run_case, cases, "-packet") as found:
        results: Results = {pattern: {} for pattern in options.patterns}
        for (pattern, scheme), runs in found.items():
            results[pattern][scheme] = [MatrixRun(tuple(each["goodput"]), each["moved"]) for each in runs]
        data: dict[str, Any] = {
            **summary(results, options, run.seed, "packet"),
            "packet": asdict(packet),
            "beside": {"flow": _flow_parts(found, options), **emulated},
            "counts": {
                name: {
                    scheme: sum(one[name] for (_, each), runs in found.items() if each == scheme for one in runs)
                    for scheme in options.schemes
                }
                for name in ("sent", "dropped", "timeouts", "rounds")
            },
            "manifest": run.computed(),
        }
        return run.studied(data, exhibits(data))


def _flow_parts(found: Mapping[tuple[str, str], list[Any]], options: MatrixOptions) -> Parts:
    """Return the parts that the same runs reach in the flow model."""
    goodput = {key: fmean(run["flow"] for run in runs) for key, runs in found.items()}
    return {
        pattern: {scheme: goodput[pattern, scheme] / goodput[pattern, NON_BLOCKING] for scheme in options.schemes}
        for pattern in options.patterns
    }


_EXPECTED = "hedera-testbed.json of an emulation of these matrices and schemes"


def emulated_parts(path: Path, options: MatrixOptions) -> Parts:
    """Return the parts of an emulation by pattern and scheme.

    Raises:
        InputError: the file cannot be read, is none of an emulation, or lacks a matrix or scheme.
    """
    data: Any = read_json(path, "a result file", _EXPECTED)
    with reading(path, _EXPECTED):
        if data["backend"] != "emulation":
            raise InputError(path, "backend", "is not emulation", _EXPECTED)
        parts = {pattern: data["patterns"][pattern]["part"] for pattern in options.patterns}
        return {name: {scheme: float(row[scheme]) for scheme in options.schemes} for name, row in parts.items()}


def published() -> dict[str, Any]:
    """Return the authors' table."""
    return published_numbers("hedera_testbed")


def published_goodput(pattern: str) -> dict[str, float]:
    """Return the goodput that the authors measured, in Mbit/s by scheme.

    Their ECMP also represents the one tree: in every row it is within 14 % of a tree's goodput, and 5 % on average.
    """
    table = published()
    row: dict[str, float] = dict(zip(table["columns"], table["rows"][pattern], strict=True))
    return {**row, ONE_TREE: row[ECMP]}


def summary(results: Results, options: MatrixOptions, seed: int, backend: str = "emulation") -> dict[str, Any]:
    """Return goodput and shares of the control, by pattern and on average, beside the published ones."""
    patterns: dict[str, dict[str, Any]] = {}
    for name, by_scheme in results.items():
        total = {scheme: [sum(each.goodput) for each in runs] for scheme, runs in by_scheme.items()}
        row = published_goodput(name)
        patterns[name] = {
            "goodput": {scheme: fmean(totals) for scheme, totals in total.items()},
            "spread": {scheme: pstdev(totals) for scheme, totals in total.items()},
            "part": {scheme: fmean(totals) / fmean(total[NON_BLOCKING]) for scheme, totals in total.items()},
            "published": {scheme: row[scheme] for scheme in by_scheme},
            "published_part": {scheme: row[scheme] / row[NON_BLOCKING] for scheme in by_scheme},
            **{
                kind: {scheme: [getattr(each, kind) for each in runs] for scheme, runs in by_scheme.items()}
                for kind in ("switch", "moved", "disturbed")
            },
        }
    return {
        "experiment": NAME,
        "backend": backend,
        "seed": seed,
        "schemes": list(options.schemes),
        "capacity": options.nic_rate,
        "period": options.period,
        "seconds": [options.span.begin, options.span.end],
        "quick": options.quick,
        "patterns": patterns,
        "mean": {s: fmean(entry["part"][s] for entry in patterns.values()) for s in options.schemes},
        "published_mean": {
            s: fmean(entry["published_part"][s] for entry in patterns.values()) for s in options.schemes
        },
        "source": published()["source"],
    }


_JUDGED = (ONE_TREE, FIRST_FIT, ANNEALING)
"""Schemes whose mean share of non-blocking goodput is held against the published one; the tree represents ECMP."""

QUICK_GAIN = 1.2
"""Bar for two patterns on which the authors' placements were worth 2.2 and 3 times ECMP."""

_PACKETS_WITHIN = 0.05
"""Bar: parts that a scheduler may reach more or less in packets than in the emulation, on average."""

_TESTBEDS = {"emulation": "an emulated testbed", "packet": "a testbed in the packet model"}
_PART = "part of goodput without blocking (%)"


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return goodput and its parts of the control's beside the authors', scaled to our links, with the bars."""
    patterns, schemes = data["patterns"], data["schemes"]
    scale = data["capacity"] / 1000
    begin, end = data["seconds"]
    goodput = [
        Line(
            scheme,
            tuple(
                replace(
                    Point.of(name, [entry["goodput"][scheme]], scale * entry["published"][scheme]),
                    spread=entry["spread"][scheme],
                )
                for name, entry in patterns.items()
            ),
        )
        for scheme in schemes
    ]
    parts = [
        _percent(
            scheme,
            {**{name: entry["part"][scheme] for name, entry in patterns.items()}, "mean": data["mean"][scheme]},
            {**_published_parts(data, scheme), "mean": data["published_mean"][scheme]},
        )
        for scheme in schemes[1:]
    ]
    title = (
        f"goodput of all flows on {_TESTBEDS[data['backend']]} of 16 hosts with links of {data['capacity']:g} Mbit/s"
    )
    of_goodput = _exhibit(data, "", title, "matrix", goodput)
    return (
        replace(
            of_goodput,
            quantity=f"aggregate goodput (Mbit/s), second {begin:g} to {end:g}",
            remarks=tuple(_to_be_measured_again(patterns)),
        ),
        replace(
            _exhibit(data, "-parts", "part of the goodput at one switch that does not block", "matrix", parts),
            checks=tuple(_checks(data)),
        ),
        *(_backends(data) if "beside" in data else ()),
    )


def _exhibit(data: Mapping[str, Any], suffix: str, title: str, axis: str, lines: Sequence[Line]) -> Exhibit:
    about = ("Hedera's testbed", data["backend"])
    return Exhibit(f"{NAME}{suffix}", title, *about, axis, _PART, tuple(lines), data["source"])


def _percent(label: str, ours: Mapping[str, float], theirs: Mapping[str, float]) -> Line:
    return Line.of(label, {x: 100 * part for x, part in ours.items()}, {x: 100 * part for x, part in theirs.items()})


def _published_parts(data: Mapping[str, Any], scheme: str) -> dict[str, float]:
    return {name: entry["published_part"][scheme] for name, entry in data["patterns"].items()}


def _checks(data: Mapping[str, Any]) -> Iterator[Check]:
    ours, theirs = data["mean"], data["published_mean"]
    if not data["quick"]:
        for scheme in _JUDGED:
            if scheme in ours:
                yield size(f"{scheme} of non-blocking", ours[scheme], theirs[scheme])
    elif ECMP in ours:
        for scheme in [each for each in ours if each not in UNSCHEDULED]:
            yield order(f"{scheme}, times what ecmp carries", ours[scheme] / ours[ECMP], low=QUICK_GAIN)


def _to_be_measured_again(patterns: Mapping[str, Any]) -> list[str]:
    found = {
        f"{scheme}, {name}: {'; '.join(reasons)}"
        for name, entry in patterns.items()
        for scheme, runs in entry["disturbed"].items()
        for reasons in runs
        if reasons
    }
    return ["To be measured again:", *sorted(found)] if found else []


def parts_by_backend(data: Mapping[str, Any]) -> dict[str, Parts]:
    """Return the parts by backend, pattern and scheme."""
    ours = {pattern: dict(entry["part"]) for pattern, entry in data["patterns"].items()}
    return {"packet": ours, **data["beside"]}


def _backends(data: Mapping[str, Any]) -> Iterator[Exhibit]:
    """Yield the means of each backend with the bars, and all matrices."""
    parts, schemes = parts_by_backend(data), data["schemes"][1:]

    def mean(backend: str, scheme: str) -> float:
        return fmean(row[scheme] for row in parts[backend].values())

    means = [
        _percent(backend, {scheme: mean(backend, scheme) for scheme in schemes}, data["published_mean"])
        for backend in parts
    ]
    matrices = [
        _percent(
            f"{scheme}, {backend}",
            {pattern: row[scheme] for pattern, row in found.items()},
            _published_parts(data, scheme) if backend == "packet" else {},
        )
        for scheme in schemes
        for backend, found in parts.items()
    ]
    judged = (
        []
        if data["quick"] or "emulation" not in parts
        else [each for each in (FIRST_FIT, ANNEALING) if each in schemes]
    )
    more = {scheme: mean("packet", scheme) - mean("emulation", scheme) for scheme in judged}
    title = "part of the goodput at one switch that does not block"
    yield replace(
        _exhibit(data, "-backends", f"{title}, by backend", "scheme", means),
        checks=tuple(
            limit(f"{scheme} in packets less in the emulation, parts", each, low=-_PACKETS_WITHIN, high=_PACKETS_WITHIN)
            for scheme, each in more.items()
        ),
        remarks=("Means over the matrices; the flow model has the hash of the packet model.",),
    )
    yield _exhibit(data, "-backends-matrices", f"{title}, by matrix and backend", "matrix", matrices)


def hedera_testbed(run: Execution) -> Outcome:
    options = options_from(run.args, run.backend, quick=run.settings.quick)
    if run.backend == "packet":
        return run_packets(run, options)
    refuse_packet_options(run.args, run.backend)
    if run.args.emulation is not None:
        raise InputError("option", "--emulation", "changes nothing on emulation", "--backend packet with it")
    return run_testbed(run, options)


SIZE_BARS = {
    "hedera-testbed-backends-matrices": None,
    "hedera-testbed-parts": SizeBar(cause="the authors' ECMP is one tree, and their switch without blocking two"),
    "hedera-testbed": SizeBar(cause="the authors' hosts sent less even where nothing blocked (docs/hedera_testbed.md)"),
}

EXPERIMENTS = offered(
    {
        NAME: Offered(
            hedera_testbed,
            without=("framework", "slots"),
            full="the authors' minute for each matrix, with rounds every 5 seconds",
            configure=configure,
            reader=each_file(exhibits),
        )
    }
)

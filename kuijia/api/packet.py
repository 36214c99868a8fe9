"""Packet studies for notebooks: flows simulated packet by packet, at loads and under schemes side by side."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from kuijia.api.packet_options import PacketStudyOptions
from kuijia.api.packet_study import (
    as_data,
    heading,
    is_there,
    refuse,
    require_network,
    results_of_runs,
    run_name,
    study_of,
    warn_of_overload,
    without_details,
)
from kuijia.api.picture import Picture
from kuijia.api.progress import progress_line
from kuijia.api.table import Column, Table, Text, html_page, number, words, written
from kuijia.api.table import rate as in_words
from kuijia.api.topology import FileName, TopologyLike, load_topology
from kuijia_base.errors import InputError
from kuijia_base.extras import require_installed
from kuijia_base.json_document import read_json
from kuijia_base.manifest import python_versions
from kuijia_base.option_values import whole_number
from kuijia_base.options import from_keywords, options_spelled, parsed_or_none
from kuijia_base.output_folder import OutputFolder
from kuijia_base.parallel import processors
from kuijia_base.picture_file import LIBRARY
from kuijia_base.progress import Progress
from kuijia_base.quantities import counted
from kuijia_base.reading import reading
from kuijia_base.sweep.workers import Workers
from kuijia_base.text import read_text
from simulator.studies.packet.networks import is_generated
from simulator.studies.packet.schemes import DEFAULT_BUFFER
from simulator.studies.packet.tables import summary_csv, summary_lines

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
OneOrMore: TypeAlias = T | Sequence[T]

FILES = ("packet.json", "packet.csv")
"""Names of the files in the output folder, beside those of details."""

_FORMAT, _VERSION = "kuijia-packet", 1
_EXPECTED = "results of `kuijia packet`, in JSON"

_RUN = (words("queue"), words("transport"), Column("load", number), Column("seed"))
_CLASSES = (
    *_RUN,
    words("class"),
    Column("flows"),
    Column("finished"),
    Column("completion_mean", number),
    Column("completion_p50", number),
    Column("completion_p99", number),
    Column("slowdown_mean", number),
    Column("slowdown_p99", number),
    Column("goodput_mean", in_words),
)
_FLOW_CELLS: dict[str, Callable[[str], object]] = {
    "flow": int,
    "source": str,
    "target": str,
    "size": int,
    **dict.fromkeys(("start", "completion", "ideal", "slowdown"), float),
    **dict.fromkeys(("received", "sent", "dropped", "marked", "retransmitted", "timeouts"), int),
}
"""Columns of the file of flows: bytes of payload, seconds, packets."""

_FLOWS = (*_RUN, *(words(name) if kind is str else Column(name, number) for name, kind in _FLOW_CELLS.items()))
_TOTALS = ("seconds", "goodput", "sent", "dropped", "marked", "lost", "retransmitted", "timeouts")
_QUEUES = ("mean", "busiest_mean", "peak")
_RUNS = (
    *_RUN,
    *(Column(name, in_words if name == "goodput" else number) for name in _TOTALS),
    *(Column(f"queue_{name}", number) for name in _QUEUES),
)


class PacketResult:
    """Results of a packet study: seconds, Mbit/s and bytes.

    Attributes:
        network: name of the network.
        runs: the result of every run, as JSON data.
        options: the options that decide the results.
        notes: what readers assumed about the network, one sentence each.
        files: with details, every flow and every link of each run as CSV, by file name.
        heading: lines on the network and its flows.
    """

    def __init__(
        self,
        network: str,
        runs: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
        notes: tuple[str, ...] = (),
        files: Mapping[str, str] | None = None,
        heading: Sequence[str] = (),
    ) -> None:
        self.network = network
        self.runs = tuple(runs)
        self.options = dict(options)
        self.notes = notes
        self.files = dict(files or {})
        self.heading = tuple(heading)

    def table(self) -> Table:
        """Return a row for each run and class of flow sizes: completion times, slowdowns and goodput."""
        return Table.of(_CLASSES, self._class_rows())

    def totals(self) -> Table:
        """Return a row for each run: packets sent, dropped, marked and lost, and queues."""
        return Table.of(_RUNS, self._run_rows())

    def flows(self) -> Table:
        """Return a row for each flow of each run: bytes, seconds, Mbit/s, and what happened to its packets.

        Raises:
            ValueError: the study was made without `details=True`.
        """
        rows = list(self._flow_rows())
        if not rows:
            raise ValueError("no flow was kept: packet(..., details=True) keeps them")
        return Table.of(_FLOWS, rows)

    def plot(self) -> Picture:
        """Draw the mean and the 99th percentile of slowdowns over the load, a line for each queue and transport."""
        require_installed(LIBRARY, "pictures")
        from simulator.studies.packet.figures import slowdowns  # noqa: PLC0415  # slow to import: matplotlib

        return Picture(slowdowns(self.runs), f"{self.network}, slowdowns")

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return a line for each run and class of sizes, as CSV; with a path also write it there."""
        return written(summary_csv(self.runs), path)

    def summary(self) -> Text:
        """Return the tables that `kuijia packet` prints, several seeds averaged."""
        return Text.of(summary_lines(self.runs))

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a data frame; raises MissingPackageError without pandas."""
        return self.table().to_frame()

    def to_json(self) -> dict[str, Any]:
        """Return all results and the options, as JSON data."""
        told = {"options": self.options, "assumptions": list(self.notes), "versions": python_versions()}
        return {"format": _FORMAT, "version": _VERSION, **told, "runs": list(self.runs)}

    def save(self, folder: str | Path) -> Path:
        """Write packet.json, packet.csv and the files of details into a folder; raises InputError."""
        output = OutputFolder(Path(folder))
        self.write(output)
        return output.path

    def write(self, output: OutputFolder) -> None:
        """Write what `save` writes into a folder that is open."""
        results, table = FILES
        output.write_json(results, self.to_json())
        output.write_text(table, summary_csv(self.runs))
        for name, text in self.files.items():
            output.write_text(name, text)

    def __repr__(self) -> str:
        return f"PacketResult({self.network!r}, {counted(len(self.runs), 'run')}, {self._flows()} flows)"

    def _repr_html_(self) -> str:
        title = f"{self.network}: {counted(len(self.runs), 'run')}, {self._flows()} flows"
        return html_page(title, ["seconds, Mbit/s", *self.notes], self.table())

    def _flows(self) -> int:
        return sum(each["classes"][0]["flows"] for each in self.runs)

    def _class_rows(self) -> Iterator[tuple[object, ...]]:
        for run in self.runs:
            for each in run["classes"]:
                if each["flows"]:
                    times, slowdown = each["completion"], each["slowdown"]
                    figures = (times["mean"], times["p50"], times["p99"], slowdown["mean"], slowdown["p99"])
                    counts = (each["name"], each["flows"], each["finished"])
                    yield *_label(run), *counts, *figures, each["goodput"]["mean"]

    def _flow_rows(self) -> Iterator[tuple[object, ...]]:
        for run in self.runs:
            text = self.files.get(f"flows-{run_name(run)}.csv", "")
            for flow in csv.DictReader(io.StringIO(text)):
                cells = (None if flow[name] == "" else kind(flow[name]) for name, kind in _FLOW_CELLS.items())
                yield *_label(run), *cells

    def _run_rows(self) -> Iterator[tuple[object, ...]]:
        for run in self.runs:
            yield *_label(run), *(run[name] for name in _TOTALS), *(run["queues"][name] for name in _QUEUES)


def _label(run: Mapping[str, Any]) -> tuple[object, ...]:
    return run["queue"], run["transport"], run["load"], run["seed"]


def load_packet(source: str | Path) -> PacketResult:
    """Return the results in a packet.json, or in its folder, as `kuijia packet -o` and `PacketResult.save` write them.

    Raises:
        InputError: there are none.
    """
    path = Path(source)
    path = path / FILES[0] if path.is_dir() else path
    data = read_json(path, "a file of results", _EXPECTED)
    with reading(path, _EXPECTED):
        if not isinstance(data, dict) or (data.get("format"), data.get("version")) != (_FORMAT, _VERSION):
            raise InputError(path, "", "holds something else", _EXPECTED)
        details = [each for kind in ("flows", "links") for each in sorted(path.parent.glob(f"{kind}-*.csv"))]
        files = {each.name: read_text(each, "details of runs") for each in details}
        options, notes = data["options"], tuple(data["assumptions"])
        result = PacketResult(options["network"], data["runs"], options, notes, files)
        result.summary(), result.table(), result.totals()  # they refuse what is no run
    return result


def packet(  # noqa: PLR0913  # options are keywords
    network: TopologyLike,
    *,
    load: OneOrMore[float] = 0.5,
    flows: int | None = None,
    sizes: FileName | int = "web-search",
    pattern: str = "random",
    at_once: bool = False,
    load_of: str | None = None,
    arrivals: str | None = None,
    queue: OneOrMore[str] = "drop-tail",
    transport: OneOrMore[str] = "cubic",
    load_balancer: str = "fixed",
    flowlet_gap: float | None = None,
    buffer: int = DEFAULT_BUFFER,
    mark: int | str = "40%",
    wait: float | None = None,
    credit_share: float | None = None,
    rate: float | str | None = None,
    fabric_rate: float | str | None = None,
    delay: float | None = None,
    faults: FileName | None = None,
    min_timeout: float | None = None,
    first_timeout: float | None = None,
    handshake: bool = False,
    initial_window: int = 10,
    packet_size: int = 1500,
    seed: int = 1,
    seeds: int = 1,
    until: float | None = None,
    classes: Sequence[int] = (100_000, 1_000_000),
    details: bool = False,
    own_streams: bool = False,
    threads: int = 1,
    workers: int | None = None,
    format: str | None = None,  # noqa: A002  # its name
    default_capacity: float | str | None = None,
    progress: bool = True,
) -> PacketResult:
    """Return the results of flows that are simulated packet by packet: a run for each queue, transport, load and seed.

    A single run that Ctrl-C stops gives the results so far, marked as `stopped`.

    Args:
        network: a generated network such as "leaf-spine:4,4,8", "fat-tree:4", "dumbbell:8" or "single-switch:8", or a
            network in any form, see `load_topology`, with a host at each node.
        load: offered loads as a share of capacity.
        flows: at a load: number of flows, 1000 by default.
        sizes: sizes of flows: a published distribution by name, a file of sizes and probabilities, or bytes.
        pattern: pairs of hosts: "random", "random:N", "permutation", "stride:N", "all-to-all" or "incast:N".
        at_once: start one flow for every pair of the pattern, all at 0 seconds, in place of a load.
        load_of: capacity that load 1 fills: all "hosts" (the default), or the busiest link of the "network".
        arrivals: gaps between flows: "poisson" (the default), "log-normal" or "log-normal:SIGMA".
        queue: queues at the outputs of switches.
        transport: transports; those with a star send data before the first credit.
        load_balancer: way in which packets are divided among paths.
        flowlet_gap: seconds of a flow's pause after which it may change its path.
        buffer: bytes of each output of a switch.
        mark: packets are marked when more bytes, or a greater percentage of the buffer, wait in their queue.
        wait: FlashPass: seconds from an emulation packet to its data.
        credit_share: FlashPass, ExpressPass: part of each link's rate for emulation packets or credits.
        rate: rate of hosts' links, in Mbit/s or as in "10G".
        fabric_rate: generated networks: rate of links between switches.
        delay: seconds of each link; in a topology, of hosts' links.
        faults: JSON file of switches that drop packets, and of cables that are cut or slow.
        min_timeout: seconds of TCP's shortest retransmission timeout; with credits, of silence before a sender asks.
        first_timeout: TCP: seconds of the timeout before a round-trip time is known.
        handshake: TCP: SYN and SYN-ACK precede the data of each flow.
        initial_window: TCP: segments.
        packet_size: bytes of a full packet, with its headers.
        seed: first seed of every random choice.
        seeds: number of seeds.
        until: longest simulated time in seconds; by default until all flows have ended and their timers run out.
        classes: bounds between classes of sizes in bytes.
        details: keep every flow and every link of each run, see `PacketResult.files`.
        own_streams: flows draw random numbers from streams of their own.
        threads: threads of each run.
        workers: processes for several runs; one per processor by default.
        format: format of the network's file.
        default_capacity: capacity of links without one, in Mbit/s or as in "10G".
        progress: show the progress of work that takes seconds.

    Raises:
        InputError: an input or an option cannot be used.
        InterruptedWorkError: Ctrl-C stopped several runs.
    """
    how = from_keywords(PacketStudyOptions, locals())
    processes = parsed_or_none("workers", workers, whole_number(1)) or processors()
    reading = {"format": format, "default_capacity": default_capacity}
    origin = {"network": str(network)}
    with (
        progress_line(patient=True, silent=not progress) as line,
        packet_study(network, how, reading, origin, Workers(processes), None, line) as result,
    ):
        return result


@contextmanager
def packet_study(
    network: TopologyLike,
    how: PacketStudyOptions,
    reading: Mapping[str, Any],
    origin: Mapping[str, object],
    workers: Workers,
    folder: OutputFolder | None,
    progress: Progress,
) -> Iterator[PacketResult]:
    """Yield the results of a study; a checkpoint in `folder` outlasts the block, which may write there.

    Args:
        network: as for `packet`.
        how: the options.
        reading: options of `load_topology`, for a network that is not generated.
        origin: where the network comes from, which the results name beside the options.
        workers: processes or a cluster, for several runs.
        folder: of the checkpoint.
        progress: shows the state.

    Raises:
        As `packet`.
    """
    with options_spelled():
        how = how.completed()
        topology, name = None, str(network)
        notes: tuple[str, ...] = ()
        if isinstance(network, str) and is_generated(network):
            refuse(network, reading, "a topology file")
        else:
            if isinstance(network, str):
                require_network(network, is_there=is_there(network))
            topology = load_topology(network, **reading)
            notes = topology.notes
            if not isinstance(network, str | Path):
                name = topology.name
                origin = {**origin, "network": name}
        study = study_of(name, topology, how)
        warn_of_overload(how, progress.say)
        with results_of_runs(study, how.runs(), workers, folder, progress) as results:
            runs, files = without_details(results)
            options = {**origin, **as_data(how)}
            yield PacketResult(name, runs, options, notes, dict(files), heading(name, study, how))

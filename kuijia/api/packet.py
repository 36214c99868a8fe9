"""Packet studies: flows simulated packet by packet, at loads and under schemes side by side."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from kuijia.api.names import (
    ArrivalsName,
    LoadBalancerName,
    LoadOfName,
    PatternName,
    QueueName,
    SizesName,
    TopologyFormatName,
    TransportName,
)
from kuijia.api.packet_options import HEADER, PacketStudyOptions, arrivals_of, pattern_of, sizes_of
from kuijia.api.table import Column, Picture, Table, Text, html_page, number, rates, seconds, words, written
from kuijia.api.topology import FileName, TopologyLike, load_topology
from kuijia_base.additions import require_installed
from kuijia_base.errors import InputError
from kuijia_base.json_document import read_json
from kuijia_base.manifest import python_versions
from kuijia_base.option_values import whole_number
from kuijia_base.options import bad_option, from_keywords, options_spelled, parsed_or_none, spelled
from kuijia_base.output_folder import OutputFolder
from kuijia_base.parallel import processors
from kuijia_base.picture_file import LIBRARY
from kuijia_base.progress import Progress, progress_line
from kuijia_base.quantities import counted, size
from kuijia_base.reading import reading
from kuijia_base.sweep.workers import Workers
from kuijia_base.text import read_text
from simulator.packet.load_balancing import LOAD_BALANCERS, SourceRouted
from simulator.packet.simulation import Simulation
from simulator.packet.traffic.load import Reference
from simulator.packet.transports import Tcp
from simulator.packet.units import LONGEST
from simulator.studies.packet.fault_file import FaultyNetwork, read_faults
from simulator.studies.packet.networks import (
    FORMS,
    Checked,
    LinkParameters,
    generated,
    is_generated,
    node_names,
    of_topology,
    require_links,
)
from simulator.studies.packet.study import Run, Study, Traffic, enough_memory, result_of, results_of, simulation_of
from simulator.studies.packet.tables import summary_csv, summary_lines
from simulator.studies.packet.transports import (
    DEFAULT_BUFFER,
    OPTIONS,
    Credits,
    draws,
    require_balancer,
    require_queues,
    require_room,
    transport_of,
    users,
    uses,
)
from te_solver.formats.topohub_networks import PREFIX
from te_solver.model.topology import Topology

if TYPE_CHECKING:
    import pandas as pd


def require_network(name: str, *, is_there: bool) -> None:
    """Raise InputError for an empty name, or that of a generated network that does not exist."""
    if not name:
        raise InputError("network", "", "an empty name", f"{', '.join(FORMS)}, or a topology file")
    if ":" in name and not name.startswith(PREFIX) and not is_there:
        raise InputError("network", name, "unknown", f"{', '.join(FORMS)}, or a topology file")


def is_there(name: str) -> bool:
    """Return True if there is a file of this name."""
    try:
        return Path(name).exists()
    except OSError:  # such as a name that is too long for a file
        return False


def refuse(name: str, given: Mapping[str, object], expected: str) -> None:
    """Raise InputError for options of other networks."""
    for option, value in given.items():
        if value is not None:
            raise bad_option(option, f"given for {name}", expected)


def study_of(name: str, topology: Topology | None, how: PacketStudyOptions) -> Study:
    """Return the study of complete options, on a topology or, without one, on the generated network of this name.

    Raises:
        InputError: a network or an option cannot be used.
    """
    links = LinkParameters(how.rate, how.fabric_rate, how.delay)
    if topology is None:
        network = generated(name, links)
    else:
        refuse(name, {"fabric_rate": how.fabric_rate}, "leaf-spine or dumbbell")
        network = of_topology(topology, name, links)
    names = node_names(network, topology)
    _require_sense(how, max(network.inputs))
    assert how.load_of is not None, "the options are complete"
    assert how.flows is not None, "the options are complete"
    assert how.arrivals is not None, "the options are complete"
    arrivals = None if how.at_once else arrivals_of(how.arrivals)
    pattern = pattern_of(how.pattern, len(network.hosts))
    traffic = Traffic(sizes_of(how.sizes), pattern, arrivals, Reference(how.load_of), how.flows)
    tcp, of_credits = _tcp(how, generated_network=topology is None), Credits(how.wait, how.credit_share)
    until = LONGEST if how.until is None else how.until
    transports = {each: transport_of(each, tcp, of_credits) for each in how.transport}
    source, place = ("network", name) if topology is None else (name, "")
    require_links(Checked(network, names, source, place), transports, until)
    if how.faults == "":
        raise bad_option("faults", "an empty name", "the name of a JSON file")
    faults = FaultyNetwork(network)
    if how.faults is not None:
        faults = read_faults(Path(how.faults), network, names)
        require_links(Checked(faults.network, names, how.faults), transports, until)
    return Study(
        faults.network,
        names,
        traffic,
        tcp,
        how.buffer,
        how.mark,
        until,
        how.classes,
        how.details,
        how.load_balancer,
        of_credits,
        faults.outages,
        faults.switches,
        how.flowlet_gap,
        how.own_streams,
        how.threads,
    )


def _require_sense(how: PacketStudyOptions, inputs: int) -> None:
    """Raise InputError for options that do not go together, or outputs whose buffer is too small for their inputs."""
    if how.flowlet_gap is not None and not LOAD_BALANCERS[how.load_balancer].has_flowlets:
        having = ", ".join(name for name, each in LOAD_BALANCERS.items() if each.has_flowlets)
        raise bad_option("flowlet_gap", f"given with {spelled('load_balancer', how.load_balancer)}", having)
    _require_users(how)
    if how.threads > 1:
        _require_divisible(how)
    require_queues(how.transport, how.queue)
    require_balancer(how.transport, how.load_balancer)
    for queue in how.queue:
        require_room(queue, how.buffer, inputs, how.packet)


def _require_users(how: PacketStudyOptions) -> None:
    """Raise InputError for an option that none of the transports uses."""
    defaults = PacketStudyOptions()
    for option in OPTIONS:
        given = getattr(how, option) != getattr(defaults, option)
        if given and not any(uses(transport, option) for transport in how.transport):
            with_these = spelled("transport", ",".join(how.transport))
            raise bad_option(option, f"given with {with_these}", ", ".join(users(option)))


def _require_divisible(how: PacketStudyOptions) -> None:
    """Raise InputError if another option keeps the parts of a network from running in threads of their own."""
    balancer = LOAD_BALANCERS[how.load_balancer]
    if balancer.several_paths or not isinstance(balancer.forwarding, SourceRouted):
        problem = f"given with {spelled('load_balancer', how.load_balancer)}, whose state the parts would share"
        raise bad_option("threads", problem, f"1, or {spelled('load_balancer', 'fixed')}")
    drawing = next((name for name in how.transport if draws(name)), None)
    if drawing is not None and not how.own_streams:
        given = f"given with {spelled('transport', drawing)}"
        problem = f"{given}, whose flows draw from one stream of random numbers"
        raise bad_option("threads", problem, f"1, or {spelled('own_streams', value=True)} as well")


def _tcp(how: PacketStudyOptions, *, generated_network: bool) -> Tcp:
    """Return TCP's settings; only with a handshake the first timeout defaults to RFC 6298's second."""
    shortest = how.min_timeout
    if shortest is None:
        shortest = 0.01 if generated_network else 0.2
    first = how.first_timeout
    if first is None:
        first = 1.0 if how.handshake else shortest
    return Tcp(
        payload=how.packet - HEADER,
        initial_window=how.initial_window,
        handshake=how.handshake,
        first_timeout=first,
        min_timeout=shortest,
    )


def warn_of_overload(how: PacketStudyOptions, say: Callable[[str], None]) -> None:
    """Warn if a load leaves no spare capacity."""
    if not how.at_once and max(how.load) >= 1:
        say(f"warning: load {max(how.load):g} leaves no spare capacity: queues grow without bound")


@contextmanager
def results_of_runs(
    study: Study, runs: Sequence[Run], workers: Workers, folder: OutputFolder | None, progress: Progress
) -> Iterator[list[dict[str, Any]]]:
    """Yield the results; those of a single run on this machine also if it is interrupted."""
    if len(runs) > 1 or workers.cluster is not None:
        with results_of(study, runs, workers, folder, progress) as results:
            yield results
        return
    simulation = simulation_of(study, runs[0])
    flows = sum(group.count for group in simulation.flows)

    def show(now: Simulation) -> None:
        progress.show(f"{now.now:.6f} s simulated, {flows - now.unfinished:,} of {flows:,} flows finished")

    with enough_memory():
        complete = simulation.run(study.until, show, study.patience)
        results = [result_of(study, runs[0], simulation, stopped=not complete)]
    yield results


def without_details(results: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the results without their details, and the details as files of flows and links."""
    files = [
        (f"{kind}-{run_name(result)}.csv", result[f"{kind}_csv"])
        for result in results
        for kind in ("flows", "links")
        if f"{kind}_csv" in result
    ]
    told = [{key: value for key, value in result.items() if not key.endswith("_csv")} for result in results]
    return told, files


def run_name(result: Mapping[str, Any]) -> str:
    """Return the part of the name of a run's files that says which run it is."""
    load = "at-once" if result["load"] is None else f"{result['load']}"
    transport = result["transport"].replace("*", "-early")
    return f"{result['queue']}-{transport}-{load}-{result['seed']}"


def heading(name: str, study: Study, how: PacketStudyOptions) -> list[str]:
    """Return the lines above the results, on the network and its flows."""
    hosts, switches = len(study.network.hosts), study.network.nodes - len(study.network.hosts)
    came = f"{how.pattern} at once" if how.at_once else f"{how.pattern}, {how.arrivals}, load of {how.load_of}"
    seeds = f"seed {how.seed}" if how.seeds == 1 else f"seeds {how.seed} to {how.seed + how.seeds - 1}"
    return [
        f"{name}: {counted(hosts, 'host')}, {counted(switches, 'switch', 'switches')}",
        f"flows: sizes {how.sizes} (mean {size(study.traffic.sizes.mean)}), {came}, {seeds}",
    ]


def as_data(how: PacketStudyOptions) -> dict[str, Any]:
    """Return the options that decide the results, as JSON data."""
    given = {field.name: getattr(how, field.name) for field in fields(how) if field.name != "threads"}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    return {**plain, "mark": str(how.mark)}


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
    seconds("completion_mean"),
    seconds("completion_p50"),
    seconds("completion_p99"),
    Column("slowdown_mean", number),
    Column("slowdown_p99", number),
    rates("goodput_mean"),
)
_FLOW_CELLS: dict[str, Callable[[str], object]] = {
    "flow": int,
    "source": str,
    "target": str,
    "size": int,
    **dict.fromkeys(("start", "completion", "ideal", "slowdown"), float),
    **dict.fromkeys(("received", "sent", "dropped", "marked", "retransmitted", "timeouts"), int),
}
"""Columns of the file of flows."""

_UNITS = {
    **dict.fromkeys(("size", "received"), "bytes"),  # of payload
    **dict.fromkeys(("start", "completion", "ideal"), "seconds"),
    **dict.fromkeys(("sent", "dropped", "marked", "lost", "retransmitted"), "packets"),
}
_FLOWS = (
    *_RUN,
    *(
        words(each) if kind is str else Column(each, number, unit=_UNITS.get(each))
        for each, kind in _FLOW_CELLS.items()
    ),
)
_TOTALS = ("seconds", "goodput", "sent", "dropped", "marked", "lost", "retransmitted", "timeouts")
_QUEUES = ("mean", "busiest_mean", "peak")
_RUNS = (
    *_RUN,
    *(rates(name) if name == "goodput" else Column(name, number, unit=_UNITS.get(name)) for name in _TOTALS),
    *(Column(f"queue_{name}", number, unit="bytes") for name in _QUEUES),
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
        from simulator.studies.packet.tables import slowdowns  # noqa: PLC0415  # slow to import: matplotlib

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
        with OutputFolder(Path(folder)) as output:
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
    sizes: SizesName | FileName | int = "web-search",
    pattern: PatternName | str = "random",
    at_once: bool = False,
    load_of: LoadOfName | None = None,
    arrivals: ArrivalsName | str | None = None,
    queue: OneOrMore[QueueName] = "drop-tail",
    transport: OneOrMore[TransportName | str] = "cubic",
    load_balancer: LoadBalancerName = "fixed",
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
    format: TopologyFormatName | str | None = None,  # noqa: A002  # its name
    default_capacity: float | str | None = None,
    progress: bool = True,
) -> PacketResult:
    """Simulate flows packet by packet: one run for each queue, transport, load and seed.

    A single run that Ctrl-C stops gives the results so far, marked as `stopped`.

    Args:
        network: a generated network such as "leaf-spine:4,4,8", "fat-tree:4", "dumbbell:8" or "single-switch:8", or a
            network in any form, see `load_topology`, with a host at each node.
        load: offered loads, as shares of capacity.
        flows: at a load: number of flows, 1000 by default.
        sizes: sizes of flows: a published distribution by name, a file of sizes and probabilities, or bytes.
        pattern: pairs of hosts: "random", "random:N", "permutation", "stride:N", "all-to-all" or "incast:N".
        at_once: start one flow for every pair of the pattern, all at 0 seconds, in place of a load.
        load_of: capacity that load 1 fills: all "hosts" (the default), or the busiest link of the "network".
        arrivals: gaps between flows: "poisson" (the default), "log-normal" or "log-normal:SIGMA".
        queue: queues of switch ports.
        transport: transports; those with a star send data before the first credit.
        load_balancer: how packets are spread over paths.
        flowlet_gap: seconds of a flow's pause after which it may change its path.
        buffer: bytes of buffer of each switch port.
        mark: bytes, or percentage of the buffer, above which a queue marks packets.
        wait: FlashPass: seconds from an emulation packet to its data.
        credit_share: FlashPass, ExpressPass: share of each link's rate for emulation packets or credits.
        rate: rate of the hosts' links, in Mbit/s or as in "10G".
        fabric_rate: generated networks: rate of links between switches.
        delay: seconds of delay of each link; in a topology, of the hosts' links.
        faults: JSON file of faults: switches that drop packets, cables that are cut or slow.
        min_timeout: seconds of TCP's shortest retransmission timeout; with credits, of silence before a sender asks.
        first_timeout: TCP: seconds of the timeout before a round-trip time is known.
        handshake: TCP: SYN and SYN-ACK precede the data of each flow.
        initial_window: TCP: segments.
        packet_size: bytes of a full packet, including headers.
        seed: first seed of every random choice.
        seeds: number of seeds.
        until: simulated seconds after which to stop; by default once all flows and their timers have ended.
        classes: limits between size classes, in bytes.
        details: keep every flow and every link of each run, see `PacketResult.files`.
        own_streams: draw random numbers from one stream per flow.
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

"""The tables of switches for notebooks: compiled from a plan, proved, and followed packet by packet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from kuijia.api.names import (
    FailuresName,
    LayoutName,
    LivenessName,
    NeighboursName,
    OtherTrafficName,
    PipelineName,
    SwitchSchemeName,
    TaggingName,
)
from kuijia.api.plan import Plan, PlanLike, load_plan
from kuijia.api.table import Column, Node, Table, Text, html_page, name_of, share, words
from kuijia.api.table_building import FAILURE_KINDS, Built, built_tables, followed, proved, write_tables
from kuijia_app.proof.model.network import ModelNetwork, Walk
from kuijia_app.proof.trace import trace_json, walk_text
from kuijia_app.proof.verification import Verification
from kuijia_app.tables.ofctl_text import flows_text, groups_text
from kuijia_app.tables.options import OptionWords, pipeline_options
from kuijia_app.tables.slots import SLOT_COUNTS
from kuijia_app.tables.table_sizes import TableSize
from kuijia_base.errors import InputError, quoted
from kuijia_base.options import bad_option, options_spelled, require_known
from kuijia_base.progress import progress_line
from kuijia_base.quantities import counted
from te_solver.model.failures import Failure
from te_solver.model.topology import Topology

if TYPE_CHECKING:
    from typing_extensions import Unpack

_SIZES = (words("switch"), Column("entries"), Column("fields"), Column("groups"), Column("buckets"))
_VIOLATIONS = (words("rule"), words("failure"), words("traffic"), words("problem"))


class TableOptions(TypedDict, total=False):
    """The options of `compile`."""

    scheme: SwitchSchemeName | str
    slots: int
    layout: LayoutName | str | Path
    tagging: TaggingName
    pipeline: PipelineName
    liveness: LivenessName
    wiring: str | Path
    other_traffic: OtherTrafficName
    neighbours: NeighboursName


class Tables:
    """The flow and group tables of every switch.

    Attributes:
        plan: the plan.
        rounding_error: largest difference between a tunnel's share of the hash slots and its weight.
    """

    def __init__(self, built: Built) -> None:
        self.built = built
        self.plan = Plan.of(built.plan)
        self.rounding_error = built.rounding_error()

    @property
    def switches(self) -> tuple[str, ...]:
        return tuple(self.built.tables)

    def table(self) -> Table:
        """Return a row for each switch: entries, their fields, groups and buckets."""
        return Table.of(_SIZES, ((switch, *asdict(size).values()) for switch, size in self.built.sizes().items()))

    def flows(self, switch: str) -> Text:
        """Return the flow entries of a switch in the syntax of `ovs-ofctl`."""
        require_known("switch", switch, self.switches)
        return Text.of([flows_text(self.built.tables[switch])])

    def groups(self, switch: str) -> Text:
        """Return the groups of a switch in the syntax of `ovs-ofctl`."""
        require_known("switch", switch, self.switches)
        return Text.of([groups_text(self.built.tables[switch])])

    def save(self, folder: str | Path) -> Path:
        """Write SWITCH.groups and SWITCH.flows for each switch; raises InputError."""
        write_tables(self.built, Path(folder), "plan")
        return Path(folder)

    def __repr__(self) -> str:
        total = TableSize.sum_of(self.built.sizes().values())
        counts = f"{counted(len(self.switches), 'switch', 'switches')}, {total.entries} entries, {total.groups} groups"
        return f"Tables({self.plan.topology.name!r}, {counts})"

    def _repr_html_(self) -> str:
        return html_page(self.plan.topology.name, [f"rounding error {share(self.rounding_error)}"], self.table())


class Proof:
    """The proof of tables under every failure of a kind; it is true if nothing was found.

    Attributes:
        verification: its size, and the violations found.
        kind: the failures: "links", "nodes" or "pairs".
        seconds: time that it took.
    """

    def __init__(self, name: str, verification: Verification, kind: str, seconds: float) -> None:
        self._name = name
        self.verification = verification
        self.kind = kind
        self.seconds = seconds

    @property
    def sound(self) -> bool:
        return self.verification.is_sound

    def table(self) -> Table:
        """Return a row for each violation."""
        found = self.verification.violations
        return Table.of(_VIOLATIONS, ((each.rule, each.failure, each.traffic, each.problem) for each in found))

    def __bool__(self) -> bool:
        return self.sound

    def __repr__(self) -> str:
        return f"Proof({self._name!r}, {self._size()}: {self._verdict()})"

    def _repr_html_(self) -> str:
        violations = () if self.sound else (self.table(),)
        return html_page(f"{self._name}: {self._verdict()}", [self._size()], *violations)

    def _verdict(self) -> str:
        return "sound" if self.sound else f"not sound, {counted(len(self.verification.violations), 'violation')}"

    def _size(self) -> str:
        failures = counted(self.verification.failures, "failure")
        return f"{failures} ({self.kind}), {counted(self.verification.cases, 'case')}"


class Trace:
    """Path of a packet, hop by hop and table by table.

    Attributes:
        nodes: the nodes that it passed.
        end: its end, such as "left" if it left for the host.
    """

    def __init__(self, failure: Failure, walk: Walk, network: ModelNetwork) -> None:
        self.failure = failure
        self.walk = walk
        self.nodes = tuple(walk.nodes)
        self.end = walk.end.value
        self._lines = list(walk_text(walk, network))

    def text(self) -> Text:
        """Return the lines that `kuijia trace` prints."""
        return Text.of(self._lines)

    def to_json(self) -> dict[str, Any]:
        return trace_json(self.walk, self.failure.name)

    def __repr__(self) -> str:
        return f"Trace({self._lines[-1]!r})"

    def _repr_html_(self) -> str:
        return self.text()._repr_html_()  # ours


def compile_plan(  # noqa: PLR0913  # options are keywords
    plan: PlanLike,
    *,
    scheme: SwitchSchemeName | str = "kuijia",
    slots: int = 64,
    layout: LayoutName | str | Path = "plain",
    tagging: TaggingName = "mpls",
    pipeline: PipelineName = "single",
    liveness: LivenessName = "controller",
    wiring: str | Path = "",
    other_traffic: OtherTrafficName = "drop",
    neighbours: NeighboursName = "wiring",
) -> Tables:
    """Return the tables of the switches for a plan.

    Args:
        plan: the plan, or its file.
        scheme: failure scheme for the traffic of failed tunnels, one that switches can be programmed with.
        slots: hash slots per pair and class: 16, 32, 64, 128 or 256.
        layout: queues of a port and classes of traffic: "plain", "eight", "four" or a YAML file.
        tagging: header fields that carry tunnel and queue, "mpls", "dscp-ecn" or "vlan".
        pipeline: one flow table, "single", or two that need less memory, "decomposed".
        liveness: detection of failures beyond a tunnel's first link, "controller" or "bfd".
        wiring: file of datapath ids, ports and prefixes of your own switches; by default by the topology.
        other_traffic: treatment of packets between sites without a planned pair, "drop" or "forward".
        neighbours: sites whose hosts the controller learns: those with a gateway in the wiring file ("wiring"), none
            ("static"), or all ("learned").

    Raises:
        InputError: an option has no such value, or the plan has no such tables.
    """
    if slots not in SLOT_COUNTS:
        require_known("slots", str(slots), [str(each) for each in SLOT_COUNTS])
    words = OptionWords(scheme, slots, str(layout), tagging, pipeline, liveness, str(wiring), other_traffic, neighbours)
    options = pipeline_options(words)
    source = plan if isinstance(plan, str | Path) else "plan"
    return Tables(built_tables(load_plan(plan), options, source))


def verify(plan: PlanLike | Tables, failures: FailuresName = "links", **options: Unpack[TableOptions]) -> Proof:
    """Return the proof that tables keep a plan's promises: every kind of traffic under every failure.

    Args:
        plan: the plan, its file, or compiled tables.
        failures: every one of the "links" or "nodes", or every two links ("pairs").
        options: those of `compile`.

    Raises:
        InputError: an option has no such value, or the plan has no such tables.
    """
    require_known("failures", failures, FAILURE_KINDS)
    built = _tables(plan, options).built
    with progress_line(patient=True) as progress:
        found, seconds = proved(built, failures, progress.patiently())
    return Proof(built.plan.topology.name, found, failures, seconds)


def trace(
    plan: PlanLike | Tables,
    packet: Node,
    target: Node | None = None,
    *,
    failures: str | Iterable[Node] = (),
    **options: Unpack[TableOptions],
) -> Trace:
    """Return the path of a packet through the tables, hop by hop and table by table.

    Args:
        plan: the plan, its file, or compiled tables.
        packet: its source if `target` is given; otherwise (SOURCE, TARGET), or "SOURCE->TARGET".
        target: its target. slot=N, class=N, dscp=N, control or ecn=N may follow it: "s4 slot=40".
        failures: links and nodes that are down: links such as "s2-s4" or ("s2", "s4"), and nodes.
        options: those of `compile`.

    Raises:
        InputError: an option has no such value, or the network has no such node or link.
    """
    tables = _tables(plan, options)
    with options_spelled():
        return Trace(*followed(tables.built, _packet(packet, target, tables.plan.topology), _names(failures)))


def _packet(packet: Node, target: Node | None, topology: Topology) -> str | tuple[str, str]:
    """Return a packet as text, or what stands before and after the arrow in it; raises InputError."""
    if target is None and isinstance(packet, tuple):
        if len(packet) != 2:
            raise InputError("packet", "", f"{quoted(str(packet))} is not a pair of nodes", "(SOURCE, TARGET)")
        packet, target = packet
    source = name_of(packet)
    if target is None:
        return source
    if "->" in source and not topology.has_node(source):
        raise bad_option("target", f"{quoted(source)} has one", "failures=... for what is down")
    return source, name_of(target)


def _names(failures: str | Iterable[Node]) -> list[str]:
    """Return failed links and nodes as on the command line; raises InputError."""
    listed: object = [failures] if isinstance(failures, str) else failures
    if not isinstance(listed, Iterable):
        raise bad_option("failures", f"found {quoted(type(listed).__name__)}", "a list of links and nodes")
    return ["-".join(map(name_of, each)) if isinstance(each, tuple) else name_of(each) for each in listed]


def _tables(plan: PlanLike | Tables, options: TableOptions) -> Tables:
    if not isinstance(plan, Tables):
        return compile_plan(plan, **options)
    if options:
        raise bad_option(
            min(options), "not allowed with compiled tables, which were compiled with their own options", "a plan"
        )
    return plan

"""Measures cases on Gscale; cases that differ only in the failing link and the protocol share a lab."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass

from experiments.experiment import Settings
from experiments.gscale.cases import EXPERIMENT, LAYOUTS, Case, aggregates_of, phases_of
from experiments.gscale.exhibits import role_loss
from experiments.gscale.plans import parameters_of, plan_of, with_roles_read
from experiments.measuring.emulation import (
    FIRST_SERVER_PORT,
    SOURCE_PORTS,
    LinkCut,
    MeasuredFlow,
    Reaction,
    Sending,
    code_point_of,
    describe_run,
    evaluate,
    failure_of,
    find_flows,
    record_failure,
    windows_of,
)
from experiments.measuring.failure_run import WantedFlow
from experiments.measuring.load import LoadWatch, load_at_rest, overload
from experiments.measuring.packet_options import BUFFER_PACKETS
from experiments.results.result import FlowResult, Result
from kuijia_app.tables.queues import Queue, TrafficClass
from kuijia_app.tables.wiring import Wiring
from te_solver.model.plan import Tunnel
from te_solver.schemes.all_schemes import failure_scheme
from te_solver.schemes.failure_scheme import VICTIM
from testbed.lab.lab import Ground, Lab
from testbed.lab.lab_options import LabOptions
from testbed.links.label_observer import EgressFlowKey, Protocol
from testbed.machine.machine import Machine
from testbed.network.bridges import NetworkOptions
from testbed.traffic.iperf import UDP_FRAME, UDP_PAYLOAD

PRIORITY = 1000
"""Priority above all entries of a plan (`kuijia_app.tables.identifiers`)."""

COOKIE = 0x6B70
"""Cookie that marks these entries."""

REACT_SECONDS = 6.0
"""Seconds that moving the victims may take: twice what twelve boxes over SSH took beside two compilers."""

Way = tuple[EgressFlowKey, Tunnel, Queue]


def any_flows(lab: Lab, flows: Iterable[WantedFlow], protocol: Protocol) -> list[MeasuredFlow]:
    """Return a source for each flow, each with its own port: any will do."""
    found = []
    for number, flow in enumerate(flows):
        address = str(lab.network.host(flow.source).address)
        code_point = code_point_of(lab.network.layout, flow)
        key = EgressFlowKey(protocol, address, SOURCE_PORTS[number], FIRST_SERVER_PORT + number, code_point)
        found.append(MeasuredFlow(flow, key))
    return found


class PrivateEntries:
    """Entries for each flow at its ingress and, for the way back, at its egress; removed at the end of the block.

    Args:
        lab: tagging by MPLS labels.
        demotes: True if victims go to the victims' queue, as under Kuijia.
    """

    def __init__(self, lab: Lab, flows: Sequence[MeasuredFlow], *, demotes: bool) -> None:
        self._lab = lab
        self._flows = flows
        self._demotes = demotes

    def __enter__(self) -> PrivateEntries:
        self._put((flow.key, flow.wanted.tunnel, self._served(flow).normal) for flow in self._flows)
        return self

    def __exit__(self, *_: object) -> None:
        for switch in sorted({end for flow in self._flows for end in (flow.wanted.source, flow.wanted.target)}):
            self._lab.network.ofctl(switch, "del-flows", f"cookie={COOKIE:#x}/-1")

    def move_victims(self) -> None:
        """Send the flows whose tunnel broke over their backup; the entries of all others are unchanged."""
        victims = [flow for flow in self._flows if flow.wanted.backup != flow.wanted.tunnel]
        self._put(
            (flow.key, flow.wanted.backup, self._served(flow).victim if self._demotes else self._served(flow).normal)
            for flow in victims
        )

    def _served(self, flow: MeasuredFlow) -> TrafficClass:
        classes = self._lab.network.layout.classes
        return next(each for each in classes if each.priority == flow.wanted.priority)

    def _put(self, ways: Iterable[Way]) -> None:
        """Add entries, replacing those with the same match, all of a switch at once, and the switches side by side."""
        lines = defaultdict[str, list[str]](list)
        for way in ways:
            for switch, line in entries_of(self._lab.wiring, *way):
                lines[switch].append(line)

        def add(switch: str) -> None:
            self._lab.network.ofctl(switch, "add-flows", "-", stdin="\n".join(lines[switch]) + "\n")

        with ThreadPoolExecutor(max(len(lines), 1)) as pool:
            list(pool.map(add, lines))  # raises what one of them raised


def entries_of(wiring: Wiring, key: EgressFlowKey, tunnel: Tunnel, queue: Queue) -> tuple[tuple[str, str], ...]:
    """Return (switch, entry in the syntax of ovs-ofctl) for each direction of a flow over a tunnel."""
    there, back = tunnel.nodes, tunnel.nodes[::-1]
    target = wiring.host_address(there[-1])
    out = f"nw_src={key.source_address},nw_dst={target},tp_src={key.source_port},tp_dst={key.server_port}"
    home = f"nw_src={target},nw_dst={key.source_address},tp_src={key.server_port},tp_dst={key.source_port}"
    mark = f"push_mpls:0x8847,set_field:{tunnel.path_id}->mpls_label,set_field:{queue.traffic_class}->mpls_tc"
    entries = []
    for nodes, fields in ((there, out), (back, home)):
        match = f"cookie={COOKIE:#x},priority={PRIORITY},in_port={wiring.host_port(nodes[0])},{key.protocol},{fields}"
        actions = f"{mark},set_queue:{queue.queue_id},output:{wiring.port(nodes[0], nodes[1])}"
        entries.append((nodes[0], f"{match},actions={actions}"))
    return tuple(entries)


CARRIED = 0.98
"""Share of the planned traffic that must get through before the failure."""

UNREACHED_LOSS = 0.01
"""Largest loss of flows that the failure does not reach: they are the control group."""

TCP_PAYLOAD, TCP_FRAME = 1448, 1514
"""Bytes of payload, with time stamps, and of the Ethernet frame without checksum."""

_PAYLOAD_SHARE = {"tcp": TCP_PAYLOAD / TCP_FRAME, "udp": UDP_PAYLOAD / UDP_FRAME}


def uncarried(flows: Sequence[FlowResult]) -> tuple[str, ...]:
    """Return reasons, in words, if the network did not carry the planned traffic before the failure."""
    planned = sum(flow.offered * _PAYLOAD_SHARE[flow.protocol] for flow in flows)
    carried = sum(flow.before for flow in flows)
    if carried >= CARRIED * planned:
        return ()
    return (f"before the cut {carried:.1f} of {planned:.1f} Mbit/s planned got through, less than {CARRIED:.0%}",)


def disturbed(flows: Sequence[FlowResult]) -> tuple[str, ...]:
    """Return reasons, in words, if flows that the failure cannot affect lost packets: something disturbed the run."""
    lost = role_loss([flow for flow in flows if flow.role == "aboriginal"])
    if lost is None or lost <= UNREACHED_LOSS:
        return ()
    return (f"flows that the failure does not reach lost {lost:.1%}, more than {UNREACHED_LOSS:.0%}",)


SENDING = Sending(burst_seconds=0.1)
"""TCP settings; with the usual half second, flows on a full link would catch up with initial losses for ten seconds."""

_OVERHEAD_SECONDS = 10.0
"""Seconds of a run beside its traffic: calibrating, looking for flows, starting and ending them."""


def expected_seconds(case: Case, *, quick: bool) -> float:
    """Return the approximate duration of a case."""
    return phases_of(case.protocol, quick=quick).total + _OVERHEAD_SECONDS


@dataclass(frozen=True)
class BenchKey:
    """Parameters of a lab; cases with the same key can be measured in the same lab."""

    layout: str
    demand: float
    scheme: str
    repetition: int

    @classmethod
    def of(cls, case: Case) -> BenchKey:
        return cls(LAYOUTS[case.traffic], case.demand, case.scheme, case.repetition)


class Bench:
    """A lab with all links up, for all cases with the key of the one it is created for.

    A context manager. After an error the lab may be in any state: leave the block and open another.
    """

    def __init__(
        self,
        case: Case,
        settings: Settings,
        ground: Ground,
        machine: Machine,
        show: Callable[[str], None],
        *,
        private_entries: bool,
    ) -> None:
        """Prepare a lab.

        Args:
            case: its key is the lab's.
            settings: of the experiment.
            ground: that the lab stands on.
            machine: description for the manifests.
            show: receives progress messages.
            private_entries: True if flows have their own entries instead of being hashed.
        """
        self.case = case
        self._private_entries = private_entries
        self._settings = settings
        self._ground = ground
        self._machine = machine
        self._show = show
        self._undo = ExitStack()

    def __enter__(self) -> Bench:
        case, settings = self.case, self._settings
        plan = plan_of(case, settings.capacity, settings.seed)
        options = LabOptions(
            scheme=case.scheme,
            slot_count=settings.slots,
            layout=LAYOUTS[case.traffic],
            framework=settings.framework,
            network=NetworkOptions(buffer_packets=BUFFER_PACKETS),
        )
        self._lab = self._undo.enter_context(Lab(plan, options, self._show, self._ground))
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def measure(self, case: Case) -> Result:
        """Run a case of the lab's key; an invalid result carries its reasons.

        Raises:
            TestbedError: something failed.
        """
        lab, settings, began = self._lab, self._settings, time.time()
        wanted = aggregates_of(lab.plan, case.link, case.scheme, settings.slots)
        cut = LinkCut(case.link)
        timing = phases_of(case.protocol, quick=settings.quick)
        self._show("checking whether the machine is busy")
        at_rest = load_at_rest(LoadWatch(lab.network.forwarding_process, lab.network.count_box_loads))
        busy = tuple(f"before the run {reason}" for reason in overload(at_rest))
        self._show("calibrating the links")
        calibration = lab.calibrate()
        if self._private_entries:
            flows = any_flows(lab, wanted, case.protocol)
            with PrivateEntries(lab, flows, demotes=failure_scheme(case.scheme).demotes(VICTIM)) as entries:
                reaction = Reaction(entries.move_victims, REACT_SECONDS)
                recording = record_failure(lab, flows, cut, timing, SENDING, self._show, reaction)
        else:
            self._show("looking for flows that hash to the wanted tunnels")
            keys = find_flows(lab, wanted, case.link, settings.seed, case.protocol)
            flows = [MeasuredFlow(flow, keys[flow.name]) for flow in wanted]
            recording = record_failure(lab, flows, cut, timing, SENDING, self._show)
        lab.heal(*case.link)
        results = evaluate(recording, flows, cut, lab.network.layout)
        before, after = windows_of(recording)
        return Result(
            experiment=EXPERIMENT,
            backend=settings.backend,
            scheme=case.scheme,
            seed=settings.seed,
            repetition=case.repetition,
            capacity=settings.capacity,
            started_at=recording.started_at,
            failure=failure_of(recording, cut),
            before=before,
            after=after,
            flows=with_roles_read(case, wanted, results),
            invalid=(*busy, *overload(recording.load), *uncarried(results), *disturbed(results)),
            manifest={
                **describe_run(self._machine, lab.network, calibration, began, time.time() - began),
                "settings": asdict(settings),
                "timing": asdict(timing),
                "sending": asdict(SENDING),
                "sources": {flow.wanted.name: asdict(flow.key) for flow in flows},
                "load_at_rest": asdict(at_rest),
                "load": asdict(recording.load),
            },
            parameters=parameters_of(case, lab.plan, private_entries=self._private_entries),
        )

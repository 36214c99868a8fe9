"""Conditions of a study that its plan leaves open: flows, transport, queues, delays and times of notice."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_base.errors import UnsoundError
from simulator.flow_sizes.distribution import FlowSizes
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.transports import Congestion, Tcp
from simulator.planned.events import controller_at
from simulator.planned.network import Physical
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from te_solver.schemes.failure_scheme import FailureScheme

WARMUP = 1.0
"""Seconds of traffic before the cut."""

DRAIN = 20.0
"""Most seconds in which flows may end after the last one began."""

MOST_PACKETS = 500_000
"""Data packets of a run to which rates are scaled, unless the user chooses the scale."""

TRANSPORTS = tuple(each.value for each in Congestion)

_MARKED = 0.4
"""Share of a queue from which packets are marked, for DCTCP."""

_LAYOUTS = tuple(LAYOUTS[name] for name in ("plain", "four", "eight"))
"""Layouts of queues, the one with the fewest classes first."""


@dataclass(frozen=True, eq=False)
class Conditions:
    """Flows, transport, queues, delays and times of notice; all runs of a study have the same.

    Attributes:
        sizes: of flows, in bytes of payload.
        load: mean share of the planned rates that flows offer, in payload.
        seconds: from the cut until the last flow begins, for which losses are counted.
        transport: congestion control of TCP.
        buffer: bytes that may wait in each queue of a port.
        detection: seconds from the cut until the switches beside it notice.
        controller: site of the controller; None for the one whose farthest site is nearest.
        link_delay: seconds of each link that has no delay of its own.
        scale: factor of all rates.
        seed: of the flows and of all other randomness.
    """

    sizes: FlowSizes
    load: float = 0.7
    seconds: float = 1.0
    transport: str = Congestion.CUBIC.value
    buffer: int = 1_500_000
    detection: float = 0.01
    controller: str | None = None
    link_delay: float = 0.005
    scale: float = 1.0
    seed: int = 1

    @property
    def tcp(self) -> Tcp:
        return Tcp(Congestion(self.transport), handshake=True)

    @property
    def end(self) -> float:
        """Seconds at which the last flow begins, counted from the first."""
        return WARMUP + self.seconds

    @property
    def physical(self) -> Physical:
        marks = self.transport == Congestion.DCTCP.value
        marking = Threshold(round(_MARKED * self.buffer)) if marks else None
        return Physical(queue=Fifo(self.buffer, marking))

    def packets(self, plan: Plan) -> float:
        """Return the mean number of data packets of a run; each flow's last one may be small."""
        flows = self.load * plan.allocated * 1e6 / 8 * self.end / self.sizes.mean
        return flows * (self.sizes.mean / self.tcp.payload + 1)

    def scaled_plan(self, plan: Plan) -> Plan:
        """Return the plan at scaled rates, on links that all have a delay."""
        links = [
            replace(link, capacity=link.capacity * self.scale, delay=link.delay or self.link_delay)
            for link in plan.topology.links
        ]
        pairs = [replace(pair, allocated=pair.allocated * self.scale) for pair in plan.pairs]
        return replace(plan, topology=replace(plan.topology, links=tuple(links)), pairs=tuple(pairs))


def central_site(topology: Topology) -> str:
    """Return the node whose farthest node has the least delay to it; raises UnsoundError if some are unconnected."""
    return min(topology.nodes, key=lambda node: max(controller_at(topology, node).values()))


def switch_options(plan: Plan, scheme: FailureScheme) -> PipelineOptions:
    """Return the options of a plan's tables, with the first layout of queues that serves all classes of its traffic.

    Raises:
        UnsoundError: no layout does.
    """
    wanted = {pair.priority for pair in plan.pairs}
    for layout in _LAYOUTS:
        if wanted <= {each.priority for each in layout.classes}:
            return PipelineOptions(scheme, layout=layout)
    most = len(_LAYOUTS[-1].classes) - 1
    raise UnsoundError(("priority",), f"traffic of class {max(wanted)}", f"classes 0 to {most}, which have queues")

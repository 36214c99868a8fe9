"""Conditions of runs in which things change, in the terms of the packet simulator."""

from __future__ import annotations

from dataclasses import replace

from experiments.measuring.load import Load
from experiments.measuring.notice_options import Notice
from experiments.measuring.packet_run import FRAME
from simulator.packet.queues import Fifo
from simulator.planned.events import Bfd, Timing, controller_at
from simulator.planned.network import Physical
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology

NO_LOAD = Load(idle=1.0, steal=0.0, softirq=0.0, switch=None, switch_waiting=None, unread=None)
"""Load of a machine that nothing waits for."""


def delayed(plan: Plan, notice: Notice) -> Plan:
    """Return the plan on links with the delay of the conditions."""
    links = tuple(replace(link, delay=notice.link_delay) for link in plan.topology.links)
    return replace(plan, topology=replace(plan.topology, links=links))


def timing_of(notice: Notice, topology: Topology, bfd_interval_ms: int | None = None) -> Timing:
    """Return who notices after how long, with BFD packets at this interval."""
    bfd = Bfd() if bfd_interval_ms is None else Bfd(interval=bfd_interval_ms / 1000)
    told = 0.0 if notice.controller is None else controller_at(topology, notice.controller)
    return Timing(notice.detection, told, notice.reaction, bfd=bfd)


def longest_message(timing: Timing, topology: Topology) -> float:
    """Return the seconds that the controller's message to the farthest switch takes."""
    return max(timing.to_controller(switch) for switch in topology.nodes)


def physical_of(notice: Notice) -> Physical:
    return Physical(queue=Fifo(notice.buffer_packets * FRAME))


def told_of(notice: Notice) -> str:
    """Return the conditions in a sentence."""
    where = "at once" if notice.controller is None else f"at {notice.controller} along the links"
    thinks = f", which answers after {1000 * notice.reaction:g} ms" if notice.reaction else ""
    return (
        f"Packet simulator, not measured: queues of {notice.buffer_packets} packets, {1000 * notice.link_delay:g} ms of"
        f" delay on each link, failures noticed after {1000 * notice.detection:g} ms by the switches beside them, who"
        f" tell the controller {where}{thinks}."
    )

"""What a plan needs of each switch beyond flow entries: queues, frame sizes and the ports of BFD sessions; pure.

The tables of a plan refer to queues and ports that OpenFlow cannot create. Whoever prepares switches, or asks whether
they are prepared, takes the needs from here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kuijia_app.tables.bfd import BfdSession, BfdSessions
from kuijia_app.tables.families import Family
from kuijia_app.tables.options import Liveness, OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.queues import Queue
from kuijia_app.tables.wiring import Wiring
from te_solver.model.plan import Plan

HOST_MTU = 1500
"""Bytes of the largest IP packet of a host on Ethernet (RFC 894)."""

LABEL_BYTES = 4
"""Bytes of a label stack entry (RFC 3032, section 2.1), and of a VLAN tag (IEEE 802.1Q, 9.3)."""

FAIL_MODE = "secure"
"""Without a controller, a switch keeps its tables and does not forward like a learning switch."""

PROTOCOL = "OpenFlow13"
"""Open vSwitch's name of the OpenFlow version that the controller speaks."""


@dataclass(frozen=True, slots=True)
class PortNeeds:
    """Needs of one port.

    Attributes:
        number: its OpenFlow number.
        leads_to: the neighbour, or the site of the host.
        is_host: True if it leads to a host.
        rate: Mbit/s that its queues share.
        mtu: bytes that a frame carries after its Ethernet header: the IP packet of a host with our labels.
    """

    number: int
    leads_to: str
    is_host: bool
    rate: float
    mtu: int


@dataclass(frozen=True, slots=True)
class SwitchNeeds:
    """Needs of one switch.

    Attributes:
        switch: its name in the topology.
        datapath_id: its number.
        ports: by OpenFlow number, those to hosts last; one to a host without traffic needs nothing.
        queues: of every port, in the strict order of service, each with its guaranteed share of the port's rate.
        sessions: BFD sessions that end here; each needs its watched and its inner port.
        reads_one_tag: True if it must not look at more than one VLAN tag: of hosts' packets that have two, it would
            lose one as it adds its own.
    """

    switch: str
    datapath_id: int
    ports: Mapping[int, PortNeeds]
    queues: tuple[Queue, ...]
    sessions: tuple[BfdSession, ...]
    reads_one_tag: bool = False


def needs_of(
    plan: Plan, options: PipelineOptions, wiring: Wiring, host_mtu: int = HOST_MTU, *, labelled_hosts: bool = False
) -> dict[str, SwitchNeeds]:
    """Return the needs of every switch of the plan's topology.

    All its links are included: the next plan, and restoration after failures, may use any of them. Ports to hosts are
    included where the plan has traffic, or where traffic of no pair is forwarded, too.

    Args:
        plan: the plan.
        options: of the tables; tagging and liveness decide about labels and sessions.
        wiring: numbers of switches and ports.
        host_mtu: bytes of the largest IP packet that hosts send.
        labelled_hosts: True if packets of hosts may have a label of their own already.

    Raises:
        UnsoundError: liveness is BFD, and a session has no port numbers.
    """
    sessions = tuple(BfdSessions(plan)) if options.liveness is Liveness.BFD else ()
    hosts = {(site.switch, port): site.name for site in wiring.sites for port in site.ports}
    link_mtu = host_mtu + label_bytes(options.tagging, labelled_hosts=labelled_hosts, families=wiring.families)
    tagged = {node for node in wiring.topology.nodes for end in wiring.host_ends(node) if end.tagged}
    link_mtu += LABEL_BYTES if tagged else 0
    ends = {end for pair in plan.pairs for end in (pair.source, pair.target)}
    if options.other_traffic is OtherTraffic.FORWARD:
        ends.update(wiring.topology.nodes)

    def ports_of(switch: str) -> Iterator[int]:
        return (port for port in wiring.ports(switch) if (switch, port) not in hosts or switch in ends)

    def port_needs(switch: str, number: int) -> PortNeeds:
        neighbour = wiring.neighbour_at(switch, number)
        rate = port_rate(wiring, switch, number)
        if neighbour is not None:
            return PortNeeds(number, neighbour, is_host=False, rate=rate, mtu=link_mtu)
        return PortNeeds(number, hosts[switch, number], is_host=True, rate=rate, mtu=host_mtu)

    return {
        switch: SwitchNeeds(
            switch,
            wiring.datapath_id(switch),
            {number: port_needs(switch, number) for number in ports_of(switch)},
            options.layout.queues,
            tuple(session for session in sessions if switch in (session.nodes[0], session.nodes[-1])),
            options.tagging is Tagging.VLAN and switch in tagged,
        )
        for switch in wiring.topology.nodes
    }


def session_ports(needs: SwitchNeeds) -> tuple[int, ...]:
    """Return the numbers of the ports that a switch needs for its BFD sessions."""
    return tuple(port for session in needs.sessions for port in (session.watched_port, session.inner_port))


def label_bytes(tagging: Tagging, *, labelled_hosts: bool = False, families: Collection[Family] = ()) -> int:
    """Return the bytes that packets of hosts gain on links; tags in the IP header add none.

    A packet of IPv6 gets a second label with tagging by MPLS, but has none of its own: what hosts label themselves is
    not carried.
    """
    own = 0 if tagging is Tagging.DSCP_ECN else LABEL_BYTES
    null = LABEL_BYTES if tagging is Tagging.MPLS and Family.IPV6 in families else 0
    return own + max(null, LABEL_BYTES if labelled_hosts else 0)


def port_rate(wiring: Wiring, switch: str, port: int) -> float:
    """Return the rate of a port's queues in Mbit/s.

    A host's port without a given capacity gets the sum of all links to its switch, a port of a link that only arrives
    there the link's capacity.
    """
    topology = wiring.topology
    neighbour = wiring.neighbour_at(switch, port)
    if neighbour is not None:
        ends = (switch, neighbour) if topology.has_link(switch, neighbour) else (neighbour, switch)
        return topology.link(*ends).capacity
    for site in wiring.sites:
        if site.switch == switch and port in site.ports and site.capacity is not None:
            return site.capacity
    arriving = sum(
        topology.link(other, switch).capacity
        for other in topology.neighbours[switch]
        if topology.has_link(other, switch)
    )
    return arriving or max(link.capacity for link in topology.links)  # nothing arrives at a site without links


def port_use(leads_to: str, *, is_host: bool) -> str:
    """Return in words what a port leads to."""
    return f"the host of {leads_to}" if is_host else leads_to

"""Schemes that experiments compare, the network that each uses, and options of several experiments."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

from experiments.experiment import Options, refuse_given
from hedera.network.data_centre import DataCentre
from hedera.network.fat_tree import FatTree
from hedera.network.multi_rooted import MultiRooted
from hedera.scheduling.options import SHORTEST_PERIOD
from kuijia_app.preparation.queues import MAX_CAPACITY, MIN_CAPACITY
from kuijia_base.errors import InputError
from kuijia_base.option_values import different_ones, positive_number, positive_number_within, positive_rate
from kuijia_base.sweep.workers import refuse_workers
from simulator.flow.timeline import Ramp
from simulator.packet.transports import Congestion, Tcp
from te_solver.model.topology import Link, Topology

NON_BLOCKING, ONE_TREE = "non-blocking", "one-tree"
"""Alternatives to the fat-tree: one switch for all hosts, or one core switch with one aggregation switch per pod."""

ECMP, FIRST_FIT, ANNEALING = "ecmp", "global-first-fit", "simulated-annealing"
ARRANGEMENTS = (NON_BLOCKING, ONE_TREE, ECMP, FIRST_FIT, ANNEALING)
UNSCHEDULED = (NON_BLOCKING, ONE_TREE, ECMP)
"""Schemes without a scheduler."""

PORTS_OF_SWITCH = 4
"""Of the authors' testbed, a fat-tree of 16 hosts."""

SOURCE_PORTS = range(20000, 30000)
"""TCP ports of senders, of which each flow draws one: ECMP hashes them."""

DEFAULT_PERIOD, PACKET_PERIOD, AUTHORS_PERIOD = 1.0, 0.5, 5.0
"""Seconds between two rounds."""

DEFAULT_NIC_RATE, AUTHORS_NIC_RATE = 5.0, 1000.0
"""Mbit/s: at 10 the userspace datapath uses a whole processor, and TCP loses packets to it."""

_BUFFERS = (1.5, 1e6)
"""KB: a full packet must fit."""

_DELAYS, _MESSAGE_DELAYS = (1e-3, 1e6), (1e-3, 1e4)
"""Microseconds and milliseconds."""

_INITIAL_WINDOW = 3
"""Segments: Linux had RFC 3390's window until 2011."""


def centre_of(scheme: str, ports: int, nic_rate: float) -> DataCentre:
    """Return the network that a scheme uses: a fat-tree, one tree of it, or one switch for the same hosts."""
    centre = DataCentre(FatTree(ports, nic_rate))
    if scheme == NON_BLOCKING:
        return DataCentre(MultiRooted(one_switch(centre)))
    if scheme == ONE_TREE:
        return DataCentre(MultiRooted(one_tree(centre)))
    return centre


def one_switch(centre: DataCentre) -> Topology:
    """Return the hosts of a data centre at one non-blocking switch."""
    switch, rate = "switch", centre.fabric.nic_rate
    names = [site.name for site in centre.wiring.sites]
    cables = [(name, switch) for name in names] + [(switch, name) for name in names]
    return Topology(NON_BLOCKING, (switch, *names), tuple(Link(a, b, rate) for a, b in cables))


def one_tree(centre: DataCentre) -> Topology:
    """Return the part of a data centre that remains when all flows use the first of their paths."""
    topology = centre.topology
    paths = (centre.fabric.path(0, host, 0) for host in range(1, centre.fabric.hosts))
    kept = {node for path in paths for link in path for node in topology.links[link].ends}
    return Topology(
        ONE_TREE,
        tuple(node for node in topology.nodes if node in kept),
        tuple(link for link in topology.links if kept.issuperset(link.ends)),
    )


def add_scheduling(options: Options) -> None:
    """Add the options of runs under a scheduler."""
    options.add_argument(
        "--placements",
        type=different_ones(ARRANGEMENTS[1:]),
        default=ARRANGEMENTS[1:],
        metavar="NAME[,NAME]",
        help=f"placements to compare with the non-blocking switch (default: {','.join(ARRANGEMENTS[1:])})",
    )
    options.add_argument(
        "--nic-rate",
        type=positive_number_within(
            MIN_CAPACITY, MAX_CAPACITY, f"{MIN_CAPACITY:g} to {MAX_CAPACITY:g} Mbit/s", positive_rate
        ),
        metavar="RATE",
        help="rate of every cable, in Mbit/s or as in 10M "
        f"(default: {DEFAULT_NIC_RATE:g}, with --backend packet {AUTHORS_NIC_RATE:g})",
    )
    options.add_argument(
        "--period",
        type=positive_number_within(SHORTEST_PERIOD, math.inf, f"{SHORTEST_PERIOD:g} seconds or more"),
        metavar="S",
        help=f"seconds between two rounds, from {SHORTEST_PERIOD:g} "
        f"(default: {DEFAULT_PERIOD:g}, in packets {PACKET_PERIOD:g}; with --full the authors' {AUTHORS_PERIOD:g})",
    )


def nic_rate_from(args: argparse.Namespace, backend: str) -> float:
    """Return the rate of cables that was asked for, or the backend's own."""
    return float(args.nic_rate or (AUTHORS_NIC_RATE if backend == "packet" else DEFAULT_NIC_RATE))


def add_ramp(options: Options) -> None:
    """Add the option for TCP's ramp in the flow model."""
    options.add_argument(
        "--ramp",
        type=positive_number,
        metavar="MS",
        help="round-trip time at which TCP reaches its rates by slow start and additive increase (default: at once)",
    )


def ramp_from(args: argparse.Namespace, backend: str) -> Ramp | None:
    """Return the ramp asked for on the command line, or None; raises InputError on a backend with real TCP."""
    if args.ramp is not None and backend != "flow":
        raise InputError("option", "--ramp", "changes nothing where TCP has its own", "--backend flow with it")
    return None if args.ramp is None else Ramp(args.ramp / 1000)


@dataclass(frozen=True)
class PacketOptions:
    """Properties of a simulated network.

    Attributes:
        buffer: kilobytes of the queue at each output of a switch.
        delay: microseconds of each cable, with the switch or host at its end.
        tcp: congestion control.
        message_delay: milliseconds of a message between scheduler and switch, one way.
        host_part: share of its cable at which a host sends and receives.
    """

    buffer: float = 128.0
    delay: float = 20.0
    tcp: str = Congestion.CUBIC.value
    message_delay: float = 1.0
    host_part: float = 1.0

    @property
    def transport(self) -> Tcp:
        """TCP as in the authors' Linux: SACK, delayed acknowledgements, timeouts of at least 200 ms."""
        return Tcp(Congestion(self.tcp), handshake=True, ack_every=2, initial_window=_INITIAL_WINDOW)


_DEFAULT = PacketOptions()


def configure_packets(options: Options) -> None:
    """Add the options of the packet model."""
    options.add_argument(
        "--switch-buffer",
        type=positive_number_within(*_BUFFERS, "{:g} to {:g} KB".format(*_BUFFERS)),
        default=_DEFAULT.buffer,
        metavar="KB",
        help="queue of each switch port (default: %(default)g, a port's share of a commodity switch's memory)",
    )
    options.add_argument(
        "--cable-delay",
        type=positive_number_within(*_DELAYS, "{:g} to {:g} microseconds".format(*_DELAYS)),
        default=_DEFAULT.delay,
        metavar="US",
        help="delay of each cable and the device at its end; a round trip has 12 (default: %(default)g)",
    )
    options.add_argument(
        "--tcp",
        choices=[Congestion.CUBIC.value, Congestion.NEW_RENO.value],
        default=_DEFAULT.tcp,
        help="congestion control (default: %(default)s, as in Linux)",
    )
    options.add_argument(
        "--message-delay",
        type=positive_number_within(*_MESSAGE_DELAYS, "{:g} to {:g} milliseconds".format(*_MESSAGE_DELAYS)),
        default=_DEFAULT.message_delay,
        metavar="MS",
        help="one-way delay between scheduler and switch (default: %(default)g)",
    )


def packet_options_from(args: argparse.Namespace) -> PacketOptions:
    """Return the options of the packet model that were given on the command line."""
    return PacketOptions(args.switch_buffer, args.cable_delay, args.tcp, args.message_delay)


def refuse_packet_options(args: argparse.Namespace, backend: str) -> None:
    """Raise InputError if options of the packet backend were given for another one."""
    refuse_workers(args, f"changes nothing on {backend}", ["those with --backend packet"])
    refuse_given(args, configure_packets, f"changes nothing on {backend}", "packet")

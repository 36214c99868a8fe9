"""The options of `kuijia packet`."""

from __future__ import annotations

import argparse

from kuijia.api import packet_values as values
from kuijia.api.packet_study import AT_A_LOAD, HEADER
from kuijia.cli.inputs import add_reading
from kuijia_base.option_values import folder_name, whole_number
from kuijia_base.sweep.workers import add_workers
from simulator.flow_sizes.published import published_names
from simulator.packet.load_balancing import LOAD_BALANCERS
from simulator.packet.traffic.load import Reference
from simulator.packet.transports import Congestion
from simulator.studies.packet.networks import FORMS
from simulator.studies.packet.schemes import DEFAULT_BUFFER, DISCIPLINES, Mark
from simulator.studies.packet.transports import transport_names


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topology",
        metavar="NETWORK",
        help=f"{', '.join(FORMS)}, or a topology file or shipped network with a host at each node",
    )
    add_reading(parser)
    links = parser.add_argument_group("links")
    links.add_argument(
        "--rate",
        type=values.rate,
        metavar="RATE",
        help="rate of hosts' links, Mbit/s or as in 10G (default: 10G; at a node of a topology, that of its links,"
        " each way)",
    )
    links.add_argument(
        "--fabric-rate",
        type=values.rate,
        metavar="RATE",
        help="leaf-spine, dumbbell: rate of links between switches (default: as hosts')",
    )
    links.add_argument(
        "--delay",
        type=values.seconds,
        metavar="SECONDS",
        help="delay of each link (default: 1e-6); on a topology, delay of hosts' links (default: 0)",
    )
    links.add_argument(
        "--faults", metavar="FILE", help="JSON file of switches that drop packets, and of cables that are cut or slow"
    )
    _add_schemes(parser.add_argument_group("schemes"))
    _add_traffic(parser.add_argument_group("traffic"))
    runs = parser.add_argument_group("runs")
    runs.add_argument(
        "--seeds",
        type=whole_number(1, 10_000),
        default=1,
        metavar="N",
        help="repeat with this many seeds, from --seed on (default: %(default)s)",
    )
    runs.add_argument(
        "--until",
        type=values.seconds,
        metavar="SECONDS",
        help="longest time to simulate (default: until all flows have ended and their last timers have run out)",
    )
    runs.add_argument(
        "--classes",
        type=values.bounds,
        default=(100_000, 1_000_000),
        metavar="BYTES",
        help="bounds between classes of sizes, separated by commas (default: 100000,1000000)",
    )
    runs.add_argument(
        "--threads",
        type=whole_number(1, 64),
        default=1,
        metavar="N",
        help="threads of each run, with the same results: for networks of several sites, whose links are long "
        "(default: %(default)s)",
    )
    runs.add_argument(
        "--own-streams",
        action="store_true",
        help="flows draw random numbers from streams of their own; FlashPass and BBR need this for --threads",
    )
    runs.add_argument("--details", action="store_true", help="with -o: also every flow and every link, as CSV")
    add_workers(parser)
    parser.add_argument("-o", "--output", type=folder_name, metavar="DIR", help="folder for results, as JSON and CSV")


def _add_schemes(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--queue",
        type=values.queues,
        default=("drop-tail",),
        metavar="NAMES",
        help=f"queues at the outputs of switches, separated by commas: {', '.join(DISCIPLINES)} (default: drop-tail)",
    )
    group.add_argument(
        "--buffer",
        type=whole_number(1, 10**9, of=" bytes"),
        default=DEFAULT_BUFFER,
        metavar="BYTES",
        help="total buffer of each output of a switch (default: %(default)s)",
    )
    group.add_argument(
        "--mark",
        type=values.mark,
        default=Mark(),
        metavar="BYTES|PERCENT%",
        help="mark ECN-capable packets when more than this waits in their queue (default: 40%%)",
    )
    group.add_argument(
        "--transport",
        type=values.transports,
        default=(Congestion.CUBIC.value,),
        metavar="NAMES",
        help=f"transports, separated by commas: {', '.join(transport_names())}; those with a star send data before "
        "the first credit (default: cubic)",
    )
    group.add_argument(
        "--wait",
        type=values.seconds,
        metavar="SECONDS",
        help="FlashPass: time from an emulation packet to its data (default: the largest round trip, queues included)",
    )
    group.add_argument(
        "--credit-share",
        type=values.share,
        metavar="NUMBER",
        help="FlashPass, ExpressPass: part of each link's rate for emulation packets or credits (default: as many as "
        "data packets, 0.053)",
    )
    group.add_argument(
        "--load-balancer",
        choices=LOAD_BALANCERS,
        default="fixed",
        metavar="NAME",
        help="; ".join(f"{name}: {each.what}" for name, each in LOAD_BALANCERS.items()) + " (default: fixed)",
    )
    group.add_argument(
        "--flowlet-gap",
        type=values.seconds,
        metavar="SECONDS",
        help="flowlets, letflow, conga: pause of a flow after which it may change its path",
    )
    group.add_argument(
        "--min-timeout",
        type=values.timeout,
        metavar="SECONDS",
        help="minimum retransmission timeout of TCP; with credits, silence after which a sender asks what has arrived "
        "(default: 0.01; on a topology 0.2)",
    )
    group.add_argument(
        "--first-timeout",
        type=values.timeout,
        metavar="SECONDS",
        help="TCP: retransmission timeout before a round-trip time is known "
        "(default: as --min-timeout; with --handshake 1)",
    )
    group.add_argument("--handshake", action="store_true", help="TCP: SYN and SYN-ACK precede the data of each flow")
    group.add_argument(
        "--initial-window",
        type=whole_number(1, 10**6, of=" segments"),
        default=10,
        metavar="SEGMENTS",
        help="TCP: first window of each flow (default: %(default)s)",
    )
    group.add_argument(
        "--packet",
        type=whole_number(HEADER + 1, 65_535, of=" bytes"),
        default=1500,
        metavar="BYTES",
        help=f"size of a full packet, with its {HEADER} bytes of headers (default: %(default)s)",
    )


def _add_traffic(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--sizes",
        default="web-search",
        metavar="WHICH",
        help=f"sizes of flows: {', '.join(published_names())}, a file of sizes and probabilities, or bytes "
        "(default: %(default)s)",
    )
    moment = group.add_mutually_exclusive_group()
    moment.add_argument(
        "--load",
        type=values.loads,
        default=(0.5,),
        metavar="NUMBERS",
        help="offered load as a share of capacity, separated by commas (default: 0.5)",
    )
    moment.add_argument(
        "--at-once", action="store_true", help="start one flow for every pair of the pattern, all at 0 s"
    )
    group.add_argument(
        "--load-of",
        choices=[each.value for each in Reference],
        help=f"capacity that load 1 fills: all hosts' links, or the busiest link (default: {AT_A_LOAD['load_of']})",
    )
    group.add_argument(
        "--flows",
        type=whole_number(1, 10**7, of=" flows"),
        metavar="N",
        help=f"at a load: number of flows (default: {AT_A_LOAD['flows']})",
    )
    group.add_argument(
        "--arrivals",
        metavar="HOW",
        help=f"at a load: gaps between flows: {values.ARRIVALS} (default: {AT_A_LOAD['arrivals']})",
    )
    group.add_argument(
        "--pattern",
        default="random",
        metavar="WHICH",
        help=f"pairs of hosts: {values.PATTERNS}; random:N not within groups of N hosts (default: %(default)s)",
    )

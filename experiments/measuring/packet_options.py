"""Options of experiments in the packet simulator: transports, queues, delays, clocks, and who notices changes."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from experiments.experiment import Options, refuse_given
from kuijia_base.errors import InputError
from kuijia_base.option_values import positive_count, positive_number, positive_number_within

BUFFER_PACKETS = 50
"""Default length of a queue: 30 ms of a link of 20 Mbit/s."""

_MOST_PPM = 100_000.0


def add_queues(options: Options, usual: str = str(BUFFER_PACKETS), delay: str = "none") -> None:
    """Add the options for queues and links; `usual` and `delay` are their defaults in words."""
    options.add_argument(
        "--buffer-packets",
        type=positive_count,
        metavar="N",
        help=f"length of every queue of a switch (default: {usual})",
    )
    options.add_argument(
        "--link-delay-seconds",
        type=positive_number,
        metavar="S",
        help=f"propagation delay of every link (default: {delay}); needs --backend packet, or the kernel's datapath and"
        " netem",
    )


def add_conditions(options: Options) -> None:
    """Add the options under which TCP flows run; only the packet simulator respects the last one."""
    options.add_argument(
        "--congestion-control",
        default="cubic",
        metavar="NAME",
        help="congestion control of the TCP flows (default: cubic); with --backend packet one of newreno, cubic,"
        " dctcp, vegas, copa, bbr",
    )
    add_queues(options)
    add_clocks(options)


def add_clocks(options: Options) -> None:
    """Add the option for clocks, which only the packet simulator respects."""
    options.add_argument(
        "--clock-ppm",
        type=positive_number_within(0.0, _MOST_PPM, f"up to {_MOST_PPM:g} parts per million"),
        default=0.0,
        metavar="N",
        help="with --backend packet: largest random error of the clocks of hosts and links, in parts per million;"
        " Ethernet allows 100 (default: 0)",
    )


DETECTION_SECONDS = 0.01
"""Default time from a cut until the switches beside it notice."""


@dataclass(frozen=True)
class Notice:
    """Conditions of a run in which things change.

    Attributes:
        detection: seconds from a cut or repair until the switches beside it notice.
        controller: site of the controller, whose messages take the links of least delay; None for no delay.
        reaction: seconds from a message's arrival at the controller until its answers leave.
        link_delay: seconds of each link.
        buffer_packets: length of a queue.
    """

    detection: float = DETECTION_SECONDS
    controller: str | None = None
    reaction: float = 0.0
    link_delay: float = 0.0
    buffer_packets: int = BUFFER_PACKETS


def add_notice(options: Options) -> None:
    """Add the options of the simulated network and its controller."""
    options.add_argument(
        "--detection-seconds",
        type=positive_number,
        default=DETECTION_SECONDS,
        metavar="S",
        help=f"time until the simulated switches at a cut link notice (default: {DETECTION_SECONDS:g})",
    )
    options.add_argument(
        "--controller-at",
        metavar="NODE",
        help="site of the simulated controller; its messages take the path of least delay (default: messages without"
        " delay)",
    )
    options.add_argument(
        "--reaction-seconds",
        type=positive_number,
        default=0.0,
        metavar="S",
        help="time that the simulated controller takes to answer (default: none)",
    )
    add_queues(options)


def notice_from(args: argparse.Namespace, nodes: tuple[str, ...]) -> Notice:
    """Return the conditions given on the command line.

    Raises:
        InputError: the controller's site is none of the network's nodes.
    """
    site = args.controller_at
    if site is not None and site not in nodes:
        raise InputError("option", "--controller-at", f"{site} is not in the network", f"one of {', '.join(nodes)}")
    return Notice(
        args.detection_seconds,
        site,
        args.reaction_seconds,
        args.link_delay_seconds or 0.0,
        args.buffer_packets or BUFFER_PACKETS,
    )


def refuse_notice(args: argparse.Namespace, backend: str) -> None:
    """Raise InputError for an option that only the packet simulator respects."""
    refuse_given(args, add_notice, f"changes nothing in {args.experiment} on {backend}", "packet")

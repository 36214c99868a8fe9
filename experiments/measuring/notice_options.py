"""Options of experiments about changes in the packet simulator: who notices them after how long; quick to import."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from experiments.experiment import Options, refuse_given
from experiments.measuring.packet_options import BUFFER_PACKETS, add_queues
from kuijia_base.errors import InputError
from kuijia_base.option_values import positive_number

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
        help=f"time from a cut to its notice by the simulated switches beside it (default: {DETECTION_SECONDS:g})",
    )
    options.add_argument(
        "--controller-at",
        metavar="NODE",
        help="site of the simulated controller: messages take as long as the links of least delay to it (default: no"
        " time at all)",
    )
    options.add_argument(
        "--reaction-seconds",
        type=positive_number,
        default=0.0,
        metavar="S",
        help="time that the simulated controller thinks before it answers (default: none)",
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
    """Raise InputError for an option that only the packet simulator heeds."""
    refuse_given(args, add_notice, f"changes nothing in {args.experiment} on {backend}", "packet")

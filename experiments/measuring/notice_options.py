"""Options of experiments about changes in the packet simulator: who notices them after how long; quick to import."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

from kuijia_base.errors import InputError
from kuijia_base.option_values import positive_number

DETECTION_SECONDS = 0.01
"""Default time from a cut until the switches beside it notice."""

BUFFER_PACKETS = 50
"""Default length of a queue, as on the emulated switches."""

NOTICE_DEFAULTS: Mapping[str, object] = {
    "detection_seconds": DETECTION_SECONDS,
    "controller_at": None,
    "reaction_seconds": 0.0,
    "buffer_packets": None,
    "link_delay_seconds": None,
}
"""Names of the options with their defaults; the last two are those of Tables 2 and 3."""


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


def configure_notice(group: argparse._ArgumentGroup) -> None:
    """Add the options that are not those of Tables 2 and 3."""
    group.add_argument(
        "--detection-seconds",
        type=positive_number,
        default=DETECTION_SECONDS,
        metavar="S",
        help=f"time from a cut to its notice by the simulated switches beside it (default: {DETECTION_SECONDS:g})",
    )
    group.add_argument(
        "--controller-at",
        metavar="NODE",
        help="site of the simulated controller: messages take as long as the links of least delay to it (default: no"
        " time at all)",
    )
    group.add_argument(
        "--reaction-seconds",
        type=positive_number,
        default=0.0,
        metavar="S",
        help="time that the simulated controller thinks before it answers (default: none)",
    )


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
    for name, default in NOTICE_DEFAULTS.items():
        if getattr(args, name) != default:
            option = f"--{name.replace('_', '-')}"
            raise InputError("option", option, f"changes nothing in {args.experiment} on {backend}", "--backend packet")

"""Options of Tables 2 and 3 that every experiment in the packet simulator heeds: quick to import."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from kuijia_base.option_values import positive_number_within

CONDITION_DEFAULTS: Mapping[str, object] = {
    "congestion_control": "cubic",
    "buffer_packets": None,
    "link_delay_seconds": None,
    "clock_ppm": 0.0,
}
"""Names of the options with their defaults; None for one that depends on the backend."""

_MOST_PPM = 100_000.0


def configure_clocks(group: argparse._ArgumentGroup) -> None:
    """Add the option for clocks, which only the packet simulator heeds."""
    group.add_argument(
        "--clock-ppm",
        type=positive_number_within(0.0, _MOST_PPM, f"up to {_MOST_PPM:g} parts per million"),
        default=CONDITION_DEFAULTS["clock_ppm"],
        metavar="N",
        help="with --backend packet: clocks of hosts and links are fast or slow by up to N parts per million, at"
        " random; Ethernet allows 100 (default: all are exact)",
    )

"""Options of experiments about switches that choose transports, queues, delays and clocks: quick to import."""

from __future__ import annotations

from experiments.experiment import Options
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
    """Add the options under which TCP flows run; the last one is heeded by the packet simulator only."""
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
    """Add the option for clocks, which only the packet simulator heeds."""
    options.add_argument(
        "--clock-ppm",
        type=positive_number_within(0.0, _MOST_PPM, f"up to {_MOST_PPM:g} parts per million"),
        default=0.0,
        metavar="N",
        help="with --backend packet: clocks of hosts and links are fast or slow by up to N parts per million, at"
        " random; Ethernet allows 100 (default: all are exact)",
    )

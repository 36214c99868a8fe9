"""`kuijia scheduler`: the scheduler of elephants in a data centre, on os-ken."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, replace
from pathlib import Path

from hedera.placement.registry import placement_names
from hedera.scheduling.options import MISSING, MOST_PORTS, SHORTEST_PERIOD, SchedulerOptions, build
from kuijia.cli.controller import (
    SUPERVISION,
    add_host_mtu,
    add_listening_options,
    add_peers,
    binding_option,
    outlet_options,
    peer_options,
    tls_files,
)
from kuijia.cli.table_options import add_neighbours, add_wiring
from kuijia_app.control.loss_watch import GRAY_LOSS, gray_loss_of
from kuijia_app.framework.launcher import run_application
from kuijia_base.option_values import positive_number, positive_rate, whole_number

APPLICATION = "hedera.scheduler"
_DEFAULTS = SchedulerOptions()

_MANY_SWITCHES = 100
"""Switches from which on their tables take a second or more, with no answer meanwhile."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = SUPERVISION % "scheduler"
    network = parser.add_mutually_exclusive_group()
    network.add_argument(
        "topology", nargs="?", metavar="TOPOLOGY", help="topology file; nodes with one neighbour are hosts"
    )
    network.add_argument(
        "--fat-tree",
        type=whole_number(2, 254, expected=f"an even number from 2 to {MOST_PORTS}"),
        default=_DEFAULTS.fat_tree,
        metavar="K",
        help="instead of a file: a fat-tree of K-port switches (default: %(default)s)",
    )
    parser.add_argument(
        "--nic-rate",
        type=positive_rate,
        default=_DEFAULTS.nic_rate,
        metavar="RATE",
        help="rate of all links of the fat-tree, in Mbit/s or as in 10G (default: %(default)g)",
    )
    parser.add_argument(
        "--placement",
        choices=placement_names(),
        default=_DEFAULTS.placement,
        help="placement of large flows; ecmp leaves them to the switches' hash (default: %(default)s)",
    )
    parser.add_argument(
        "--period",
        type=positive_number,
        default=_DEFAULTS.period,
        metavar="SECONDS",
        help=f"time between two rounds, from {SHORTEST_PERIOD:g} (default: %(default)g, the paper's)",
    )
    parser.add_argument(
        "--idle-timeout",
        type=whole_number(1, 0xFFFF, expected="1 to 65535 seconds"),
        default=_DEFAULTS.idle_timeout,
        metavar="SECONDS",
        help="time until switches remove the entry of a flow that sends nothing (default: %(default)s)",
    )
    add_neighbours(parser)
    add_wiring(parser)
    add_listening_options(parser)
    parser.add_argument(
        "--missing",
        choices=[each.value for each in MISSING],
        default=MISSING[0].value,
        help="probe links and avoid those that carry nothing (warn), or do not probe (ignore) (default: %(default)s)",
    )
    parser.add_argument(
        "--gray-loss",
        default=GRAY_LOSS,
        metavar="SHARE",
        help="share of lost frames, such as 0.5%%, above which a link is avoided; 100%%: only if it loses all; "
        "off: never (default: %(default)s)",
    )
    add_host_mtu(parser)
    add_peers(parser)


def run(args: argparse.Namespace) -> int:
    names = asdict(_DEFAULTS)
    options = SchedulerOptions(**{name: getattr(args, name) for name in names})
    if options.wiring:
        options = replace(options, wiring=str(Path(options.wiring).absolute()))
    centre, _ = build(options)  # bad ones are refused here, in one line, not in a thread of the framework
    switches = len(centre.wiring.topology.nodes)
    if switches >= _MANY_SWITCHES:
        print(f"preparing the tables of {switches:,} switches", file=sys.stderr, flush=True)
    tls = tls_files(args)
    gray_loss_of(args.gray_loss)
    checks = {"missing": args.missing, "host_mtu": args.host_mtu, "gray_loss": args.gray_loss}
    given = {**asdict(options), **checks, **outlet_options(args), **binding_option(args), **peer_options(args)}
    run_application(APPLICATION, args.host, args.port, given, tls)

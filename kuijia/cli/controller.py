"""`kuijia controller`: the controller alone, on os-ken."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from kuijia.cli.table_options import add_table_options, option_words
from kuijia_app.control.loss_watch import GRAY_LOSS, gray_loss_of
from kuijia_app.control.plan_checks import Missing
from kuijia_app.control.plan_files import require_regular
from kuijia_app.control.rollout import DEFAULT_DRAIN
from kuijia_app.framework.addresses import peer_addresses
from kuijia_app.framework.event_log import KEPT_FILES, LARGEST_FILE, MOST_KEPT
from kuijia_app.framework.launcher import run_application
from kuijia_app.framework.metrics.address import add_metrics_option
from kuijia_app.framework.tls import TlsFiles
from kuijia_app.gate.binding import load_binding
from kuijia_app.preparation.runner import Databases
from kuijia_app.preparation.sessions import DEFAULT_INTERVAL_MS, MAX_INTERVAL_MS, MIN_INTERVAL_MS
from kuijia_app.tables.needs import HOST_MTU
from kuijia_app.tables.options import pipeline_options
from kuijia_base.errors import InputError
from kuijia_base.log_lines import DEFAULT_FORM, DEFAULT_LEVEL, FORMS, LEVELS
from kuijia_base.option_values import positive_number, whole_number
from te_solver.formats.plan_file import load_plan

APPLICATION = "kuijia_app.controller"
SUPERVISION = (
    "Run it under a supervisor: when its own state may be wrong, or its loop hangs, it logs the reason and exits with "
    "status 70. After a restart it takes over the tables of the switches without losing a packet. In a shell: "
    "until kuijia %s ...; s=$?; [ $s -eq 0 ] || [ $s -eq 2 ]; do sleep 1; done. Under systemd: Restart=on-failure and "
    "RestartPreventExitStatus=2. Status 2 means bad input."
)
DEFAULT_PORT = 6653
MIN_HOST_MTU = 68
"""Bytes of the smallest MTU of IPv4 (RFC 791, section 3.2)."""

LAST_PORT = 0xFFFF


def add_listening_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of controllers: the address to listen on, TLS, events, logs, and metrics."""
    add_listening_address(parser)
    parser.add_argument("--events", type=Path, help="append events to this file, one JSON object per line")
    parser.add_argument(
        "--events-size",
        type=whole_number(1, expected="bytes, a whole number above 0"),
        default=LARGEST_FILE,
        metavar="BYTES",
        help="start a new events file at this size (default: %(default)s)",
    )
    parser.add_argument(
        "--events-kept",
        type=whole_number(1, MOST_KEPT, expected=f"files, from 1 to {MOST_KEPT}"),
        default=KEPT_FILES,
        metavar="N",
        help="number of earlier events files to keep (default: %(default)s)",
    )
    parser.add_argument(
        "--log-level", choices=LEVELS, default=DEFAULT_LEVEL, help="lowest level to log (default: %(default)s)"
    )
    parser.add_argument(
        "--log-format", choices=FORMS, default=DEFAULT_FORM, help="format of log lines (default: %(default)s)"
    )
    add_metrics_option(parser)


def outlet_options(args: argparse.Namespace) -> dict[str, object]:
    """Return the application's options for events, logs and metrics, without those that are not given."""
    given = {"events": args.events, "metrics": args.metrics}
    settings = {name: getattr(args, name) for name in ("events_size", "events_kept", "log_level", "log_format")}
    return settings | {name: str(value) for name, value in given.items() if value is not None}


def add_listening_address(parser: argparse.ArgumentParser) -> None:
    """Add the options of verbs that wait for switches: the address to listen on, and TLS."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument(
        "--port",
        type=whole_number(1, LAST_PORT, expected=f"a TCP port from 1 to {LAST_PORT}"),
        default=DEFAULT_PORT,
        help=f"port to listen on (default: {DEFAULT_PORT})",
    )
    tls = add_tls_files(parser, "all three or none: switches then connect by TLS and show a certificate")
    tls.add_argument(
        "--tls-bind",
        type=Path,
        metavar="FILE",
        help="file of lines `DATAPATH-ID SHA256-FINGERPRINT`",
    )


def add_tls_files(parser: argparse.ArgumentParser, what: str) -> argparse._ArgumentGroup:
    """Add the options for key, certificate and authority as a group that `what` describes; return the group."""
    tls = parser.add_argument_group("TLS", what)
    tls.add_argument("--tls-key", type=Path, metavar="FILE", help="our private key, in PEM")
    tls.add_argument("--tls-certificate", type=Path, metavar="FILE", help="our certificate")
    tls.add_argument("--tls-ca", type=Path, metavar="FILE", help="certificate authority of the others' certificates")
    tls.set_defaults(tls_bind=None)
    return tls


def tls_files(args: argparse.Namespace) -> TlsFiles | None:
    """Return the TLS files of the options, None without TLS; raises InputError if some are missing."""
    files = {"--tls-key": args.tls_key, "--tls-certificate": args.tls_certificate, "--tls-ca": args.tls_ca}
    missing = [name for name, file in files.items() if file is None]
    if missing and len(missing) < len(files):
        raise InputError("option", missing[0], "is missing", f"{', '.join(files)} together")
    if missing and args.tls_bind is not None:
        raise InputError("option", "--tls-bind", "switches do not connect by TLS", f"{', '.join(files)} besides")
    return None if missing else TlsFiles(*files.values())


def binding_option(args: argparse.Namespace) -> dict[str, object]:
    """Return the application's option for `--tls-bind`; raises InputError if the file cannot be used."""
    if args.tls_bind is None:
        return {}
    load_binding(args.tls_bind)  # a bad file is refused here, before the framework starts
    return {"tls_bind": str(args.tls_bind)}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = SUPERVISION % "controller"
    parser.add_argument("plan", type=Path, metavar="PLAN", help="plan file, as `kuijia solve -o` writes it")
    add_table_options(parser)
    add_listening_options(parser)
    parser.add_argument(
        "--drain",
        type=positive_number,
        default=DEFAULT_DRAIN,
        metavar="SECONDS",
        help="time to keep the paths of a replaced plan (default: %(default)g)",
    )
    parser.add_argument(
        "--reoptimise", action="store_true", help="after a failure, solve for the remaining network and apply that plan"
    )
    parser.add_argument(
        "--gray-loss",
        default=GRAY_LOSS,
        metavar="SHARE",
        help="share of lost packets, such as 0.5%%, above which a tunnel is avoided; 100%%: only if it loses all; "
        "off: never (default: %(default)s)",
    )
    parser.add_argument(
        "--ovsdb",
        metavar="ADDRESS",
        help="with --liveness bfd: Open vSwitch database of the switches, unless the wiring file has another; "
        "the controller then adds and removes BFD ports as plans change",
    )
    add_bfd_interval(parser, "with --ovsdb")
    parser.add_argument(
        "--missing",
        choices=[each.value for each in Missing],
        default=Missing.REFUSE.value,
        help="what to do with a plan if switches lack something, such as queues or link capacity: refuse it, apply it "
        "with a warning, or apply it unchecked (default: %(default)s)",
    )
    add_host_mtu(parser, told="; if given, learned hosts get an ICMP error for larger ones")
    add_peers(parser)


def add_bfd_interval(parser: argparse.ArgumentParser, condition: str) -> None:
    """Add the option on the speed of BFD sessions."""
    parser.add_argument(
        "--bfd-interval",
        type=whole_number(MIN_INTERVAL_MS, MAX_INTERVAL_MS, of=" milliseconds"),
        default=DEFAULT_INTERVAL_MS,
        metavar="MS",
        help=f"{condition}: time between two packets of a session (default: %(default)s)",
    )


def add_host_mtu(parser: argparse.ArgumentParser, told: str | None = None) -> None:
    """Add the option on the size of packets that links must carry; without default if it also has hosts `told`."""
    parser.add_argument(
        "--host-mtu",
        type=whole_number(MIN_HOST_MTU, expected=f"bytes, at least {MIN_HOST_MTU}"),
        default=HOST_MTU if told is None else None,
        metavar="BYTES",
        help=f"largest IP packet of the hosts; links must carry it with its labels (default: {HOST_MTU}){told or ''}",
    )


def add_peers(parser: argparse.ArgumentParser) -> None:
    """Add the options for other controllers of the same switches."""
    peers = parser.add_argument_group("peers", "further controllers of the same switches, of which one is active")
    peers.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="HOST:PORT",
        help="address of another controller; can be repeated",
    )
    peers.add_argument("--peer-listen", metavar="HOST:PORT", help="address at which the others reach this controller")


def peer_options(args: argparse.Namespace) -> dict[str, object]:
    """Return the application's options for peers; raises InputError if they cannot be used."""
    if bool(args.peer) != (args.peer_listen is not None):
        missing = "--peer-listen" if args.peer else "--peer"
        raise InputError("option", missing, "is missing", "--peer and --peer-listen together")
    if not args.peer:
        return {}
    peer_addresses(args.peer_listen, args.peer)
    return {"peers": args.peer, "peer_listen": args.peer_listen}


def run(args: argparse.Namespace) -> int:
    require_regular(args.plan)  # nobody may ever write into a pipe, and it could not be read again
    plan = load_plan(args.plan)  # a bad plan is refused here, in one line, not in a thread of the framework
    words = option_words(args)
    pipeline_options(words).wired(plan.topology)  # and so are a bad layout and a wiring of other switches
    options: dict[str, object] = {"plan": str(args.plan), **asdict(words)}
    options.update(drain=args.drain, reoptimise=args.reoptimise, missing=args.missing, host_mtu=args.host_mtu)
    gray_loss_of(args.gray_loss)
    options.update(gray_loss=args.gray_loss)
    tls = tls_files(args)
    if args.ovsdb is not None:
        Databases(args.ovsdb, tls=tls)  # a bad address is refused here
        options.update(ovsdb=args.ovsdb, bfd_interval=args.bfd_interval)
    options.update(outlet_options(args), **binding_option(args), **peer_options(args))
    run_application(APPLICATION, args.host, args.port, options, tls)

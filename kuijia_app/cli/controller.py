"""`kuijia controller`: the controller alone, on os-ken."""

from __future__ import annotations

import argparse
from pathlib import Path

from kuijia_app.launcher import run_controller
from kuijia_app.pipeline import Scheme
from kuijia_app.slots import DEFAULT_SLOT_COUNT, SLOT_COUNTS
from te_solver.plan_file import load_plan

HELP = "run the OpenFlow controller for a plan, until interrupted"
DEFAULT_PORT = 6653
LAST_PORT = 0xFFFF


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", type=Path, metavar="PLAN", help="plan file, as `kuijia solve -o` writes it")
    parser.add_argument("--scheme", choices=[scheme.value for scheme in Scheme], default=Scheme.KUIJIA.value)
    parser.add_argument(
        "--slots", type=int, choices=SLOT_COUNTS, default=DEFAULT_SLOT_COUNT, help="hash slots per pair"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=_port, default=DEFAULT_PORT, help=f"port to listen on (default: {DEFAULT_PORT})")
    parser.add_argument("--events", type=Path, help="append what happens to this file, one JSON object a line")


def run(args: argparse.Namespace) -> int:
    load_plan(args.plan)  # a bad plan is refused here, in one line, not in a thread of the framework
    options = {"plan": str(args.plan), "scheme": args.scheme, "slots": args.slots}
    if args.events is not None:
        options["events"] = str(args.events)
    run_controller(args.host, args.port, options)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= LAST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r}, expected a TCP port from 1 to {LAST_PORT}")
    return int(text)

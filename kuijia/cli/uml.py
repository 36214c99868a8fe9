"""`kuijia uml`: runs a command on user-mode Linux, whose kernel has features that this machine's may lack."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kuijia_base.errors import InputError
from kuijia_base.option_values import positive_number, whole_number
from testbed.uml.boot import DEFAULT_MEMORY_MB, Guest, run_in_guest


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "command",
        nargs="*",
        metavar="COMMAND",
        help="after --, such as `kuijia uml -- kuijia run table2`; its exit status becomes this command's",
    )
    parser.add_argument(
        "--writable",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="folder that the command may write to in addition to its working directory; can be repeated",
    )
    parser.add_argument(
        "--time-limit",
        type=positive_number,
        metavar="SECONDS",
        help="interrupt the command and shut down the guest after this time",
    )
    parser.add_argument(
        "--memory",
        type=whole_number(256, 65536, of=" MB of memory"),
        default=DEFAULT_MEMORY_MB,
        metavar="MB",
        help=f"memory of the guest (default: {DEFAULT_MEMORY_MB})",
    )


def run(args: argparse.Namespace) -> int:
    if not args.command:
        raise InputError("option", "COMMAND", "is missing", "a command after --, such as `-- kuijia doctor`")
    guest = Guest(Path.cwd(), tuple(args.writable), args.memory, args.time_limit)

    def output(chunk: bytes) -> None:
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()

    def errors(chunk: bytes) -> None:
        sys.stderr.buffer.write(chunk)
        sys.stderr.buffer.flush()

    return run_in_guest(args.command, guest, output, errors)

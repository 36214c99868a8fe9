"""Workers of a sweep and the options that select them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kuijia_base.errors import InputError, quoted
from kuijia_base.option_values import whole_number
from kuijia_base.parallel import processors

_ADDRESS = re.compile(r"(tcp|tls)://[^\s/]+:\d+")
_MOST_PROCESSES = 4096


@dataclass(frozen=True)
class Workers:
    """A number of processes on this machine, or the workers of a dask scheduler at an address."""

    processes: int
    cluster: str | None = None


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add --workers and --cluster, which exclude each other."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--workers",
        type=whole_number(1, _MOST_PROCESSES),
        metavar="N",
        help="processes that a sweep runs in (default: one per processor)",
    )
    group.add_argument(
        "--cluster",
        type=_address,
        metavar="ADDRESS",
        help="run a sweep on the workers of a dask scheduler, such as tcp://host:8786",
    )


def workers_from(args: argparse.Namespace) -> Workers:
    return Workers(processors() if args.workers is None else args.workers, args.cluster)


def refuse_workers(args: argparse.Namespace, problem: str, sweeps: Sequence[str]) -> None:
    """Raise InputError if the options were given to a command that is no sweep."""
    for option, value in (("--workers", args.workers), ("--cluster", args.cluster)):
        if value is not None:
            raise InputError("option", option, problem, f"one of {', '.join(sweeps)}")


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected an address such as tcp://host:8786")
    return text

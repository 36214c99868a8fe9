"""Options of simulations of large fat-trees with arriving flows."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

from experiments.experiment import Options
from kuijia_base.option_values import positive_number
from simulator.flow.ramp import Ramp

CLASSES = {"1 to 10 MB": (0.0, 1e7), "10 to 100 MB": (1e7, 1e8), "above 100 MB": (1e8, math.inf)}
"""Size classes of arriving flows: bytes from and below."""


@dataclass(frozen=True)
class LargeOptions:
    """A network and its arriving flows.

    Attributes:
        ports: of a switch.
        load: mean demand of the flows as a share of all hosts' interfaces.
        flow_sizes: name of a published distribution, or a file.
        ramp: TCP's ramp to its rates; None for rates at once.
    """

    ports: int
    load: float
    flow_sizes: str
    ramp: Ramp | None = None


def add_ramp(options: Options) -> None:
    """Add the option for TCP's ramp in the flow model."""
    options.add_argument(
        "--ramp",
        type=positive_number,
        metavar="MS",
        help="TCP reaches its rates by slow start and additive increase, at this round-trip time (default: at once)",
    )


def ramp_from(args: argparse.Namespace) -> Ramp | None:
    """Return the ramp asked for on the command line, or None."""
    return None if args.ramp is None else Ramp(args.ramp / 1000)

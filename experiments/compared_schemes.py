"""Failure schemes that experiments on switches compare: the paper's two, and any other that switches can have."""

from __future__ import annotations

from experiments.experiment import Options
from kuijia_base.option_values import different_ones
from te_solver.schemes.all_schemes import switch_schemes
from te_solver.schemes.shipped.kuijia import KUIJIA
from te_solver.schemes.shipped.rescaling import RESCALING

PAPERS_SCHEMES = (RESCALING.name, KUIJIA.name)
"""Schemes that the paper compares, in its order; experiments run these unless asked for others."""


def compared_schemes() -> tuple[str, ...]:
    """Return the names of all schemes that can be asked for, the paper's first."""
    return (*PAPERS_SCHEMES, *(each.name for each in switch_schemes() if each.name not in PAPERS_SCHEMES))


def add_schemes(options: Options) -> None:
    """Add the option that selects them."""
    options.add_argument(
        "--schemes",
        type=different_ones(compared_schemes()),
        default=PAPERS_SCHEMES,
        metavar="SCHEME[,SCHEME]",
        help=f"failure schemes for the victims (default: {','.join(PAPERS_SCHEMES)})",
    )

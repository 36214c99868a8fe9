"""Measures how long a failure interrupts traffic: a packet a millisecond across a network while links are cut.

The paper has no such figure: its Table 4 is the time TCP takes to settle. The bars are our own goals.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from experiments.motivation import positive_count
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Outcome, Settings, experiment

NETWORKS = {"gscale": ("1", "11"), "fig1": ("s1", "s4")}
"""Network to ingress and egress of the flow: among its demands, the pair with the longest tunnels in use."""

TICK_SECONDS, TICK_BYTES = 0.001, 8

DEFAULT_CUTS, QUICK_CUTS = 20, 4


@dataclass(frozen=True)
class Mode:
    """A kind of failure and the party that notices it.

    Attributes:
        liveness: as in `testbed.lab.LabOptions`.
        bfd_interval_ms: time between two packets of a BFD session, None without sessions.
        links: positions of the tunnel's links to cut in turn, the ingress's own being 0; those beyond its end are
            skipped.
        without_controller: True if the controller is killed before the first cut.
        median, maximum: longest interruption that passes, in seconds; None is no bar.
    """

    name: str
    title: str
    liveness: str
    bfd_interval_ms: int | None
    links: tuple[int, ...]
    without_controller: bool
    median: float | None = None
    maximum: float | None = None


MODES = {
    mode.name: mode
    for mode in (
        Mode("local", "first link, its port watched", "bfd", 30, (0,), without_controller=True, median=0.020),
        Mode(
            "bfd-30",
            "second or third link, BFD every 30 ms",
            "bfd",
            30,
            (1, 2),
            without_controller=True,
            median=0.130,
            maximum=0.200,
        ),
        Mode("bfd-10", "second or third link, BFD every 10 ms", "bfd", 10, (1, 2), without_controller=True),
        Mode(
            "controller",
            "second or third link, told by the controller",
            "controller",
            None,
            (1, 2),
            without_controller=False,
        ),
    )
}


@dataclass(frozen=True)
class RecoveryOptions:
    """Modes to measure, number of cuts of each, and the network."""

    modes: tuple[str, ...]
    cuts: int
    network: str

    @property
    def ends(self) -> tuple[str, str]:
        """Ingress and egress of the flow."""
        return NETWORKS[self.network]


def configure(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("recovery")
    group.add_argument(
        "--modes",
        type=_modes,
        default=tuple(MODES),
        metavar="MODE[,MODE]",
        help=f"what fails and who notices (default: {','.join(MODES)})",
    )
    group.add_argument(
        "--cuts",
        type=positive_count,
        metavar="N",
        help=f"cuts of each mode (default: {DEFAULT_CUTS}, with --quick {QUICK_CUTS})",
    )
    group.add_argument(
        "--network",
        choices=tuple(NETWORKS),
        default="gscale",
        help="network whose links are cut (default: gscale, of 12 switches; fig1 has 4)",
    )


def options_from(args: argparse.Namespace, *, quick: bool, repetitions: int) -> RecoveryOptions:
    """Return the options given on the command line; each repetition adds as many cuts again."""
    cuts = args.cuts or (QUICK_CUTS if quick else DEFAULT_CUTS)
    return RecoveryOptions(args.modes, cuts * repetitions, args.network)


@experiment(
    "recovery",
    title="a link of a tunnel is cut: how long no packet arrives",
    reproduces="goals of our own",
    backends=("emulation", "boxes"),
    configure=configure,
)
def recovery(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    options = options_from(args, quick=settings.quick, repetitions=settings.repetitions)
    # Measuring code takes seconds to import; listing the experiments must not need it.
    from experiments.recovery_run import run_recovery  # noqa: PLC0415

    return run_recovery(settings, options, output, progress)


def _modes(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    if not set(chosen) <= MODES.keys() or len(set(chosen)) < len(chosen):
        raise argparse.ArgumentTypeError(f"{text} is not a list of different modes among {', '.join(MODES)}")
    return chosen

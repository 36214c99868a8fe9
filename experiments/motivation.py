r"""Tables 2 and 3 of the paper: four TCP flows over three tunnels, one of which fails (section 3).

          s2                  T1 = s1-s2-s4   f1, f2: victims, go to T2 and T3
        /    \                T2 = s1-s4      f3
      s1 ---- s4              T3 = s1-s3-s4   f4
        \    /
          s3

All links have the same capacity; s2-s4 is cut. Alternatively s1-s4 is cut: then f1 and f2 are on T2, f3 on T1, f4 on
T3. That failure is local at both ends of its tunnel, so data and acknowledgements move without the controller. A
failure
of T1 is always remote for one of the two directions.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass

from experiments.judge import Bar, around
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Outcome, Settings, defaults_of, experiment
from kuijia_app.options import Liveness
from te_solver.errors import InputError
from te_solver.text import parse_number

NETWORK = "fig1"
INGRESS, EGRESS = "s1", "s4"
T1, T2, T3 = ("s1", "s2", "s4"), ("s1", "s4"), ("s1", "s3", "s4")
SCHEMES = ("rescaling", "kuijia")

FlowTunnels = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
"""Flow to its tunnels before and after the cut."""


@dataclass(frozen=True)
class Case:
    """Link to cut, and the tunnels of the flows.

    `local` is True if both ends of the failed tunnel see the failure on a port of their own.
    """

    link: tuple[str, str]
    flow_tunnels: FlowTunnels
    local: bool


_T1_FAILS = {"f1": (T1, T2), "f2": (T1, T3), "f3": (T2, T2), "f4": (T3, T3)}
_T2_FAILS = {"f1": (T2, T1), "f2": (T2, T3), "f3": (T1, T1), "f4": (T3, T3)}

CASES = {
    "s2-s4": Case(("s2", "s4"), _T1_FAILS, local=False),
    "s1-s2": Case(("s1", "s2"), _T1_FAILS, local=False),
    "s1-s4": Case(("s1", "s4"), _T2_FAILS, local=True),
}
PAPERS_CUT, LOCAL_CUT = "s2-s4", "s1-s4"

VICTIMS = ("f1", "f2")
UNTOUCHED = 0.98
"""Least share that aboriginal flows keep under Kuijia."""

STARVED = 0.03
"""Largest share that victims keep where the surviving tunnels are full."""


@dataclass(frozen=True)
class MotivationTable:
    """One of the two tables: rates offered by the flows, in parts of a link, and shares to keep under each scheme."""

    name: str
    title: str
    link_parts: int
    offered_parts: Mapping[str, int]
    bars: Mapping[str, tuple[Bar, ...]]


_KUIJIA_KEEPS = (Bar(("f3",), UNTOUCHED, None), Bar(("f4",), UNTOUCHED, None))

TABLE_2 = MotivationTable(
    name="table2",
    title="Table 2",
    link_parts=1000,
    offered_parts={"f1": 400, "f2": 400, "f3": 800, "f4": 800},
    bars={
        "rescaling": (around(("f3",), 0.77), around(("f4",), 0.77)),
        "kuijia": (*_KUIJIA_KEEPS, around(VICTIMS, 0.46)),
    },
)
TABLE_3 = MotivationTable(
    name="table3",
    title="Table 3",
    link_parts=1000,
    offered_parts={"f1": 500, "f2": 500, "f3": 1000, "f4": 1000},
    bars={
        "rescaling": (around(("f3",), 0.49), around(("f4",), 0.49)),
        "kuijia": (*_KUIJIA_KEEPS, Bar(VICTIMS, None, STARVED)),
    },
)


@dataclass(frozen=True)
class MotivationOptions:
    """Options of these experiments beyond the common settings; seconds as in `experiments.emulation.Timing`."""

    schemes: tuple[str, ...]
    cut: str
    kill_controller: bool
    liveness: str
    congestion_control: str
    buffer_packets: int
    link_delay_seconds: float | None
    warmup_seconds: float
    before_seconds: float
    settle_seconds: float
    after_seconds: float
    interval_seconds: float


_SECONDS = {
    "warmup": (4.0, 3.0, "from the start of the flows to the first measurement"),
    "before": (8.0, 4.0, "measured before the cut"),
    "settle": (6.0, 6.0, "from the cut to the second measurement, for TCP to settle"),
    "after": (30.0, 12.0, "measured after the cut"),
}
"""Phase to its default, its default with --quick, and its meaning."""

_MODELLED = ("schemes", "cut")
_UNMODELLED = {
    "kill_controller": "the model has no controller",
    "liveness": "in the model failures are noticed at once",
    "buffer_packets": "the model has no buffers",
    "link_delay_seconds": "the model has no delays",
    "congestion_control": "the model has one kind of TCP",
}
_MEASURED = "--backend emulation or boxes"


def configure(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("table2 and table3")
    group.add_argument(
        "--schemes",
        type=_schemes,
        default=SCHEMES,
        metavar="SCHEME[,SCHEME]",
        help=f"what happens to the victims (default: {','.join(SCHEMES)})",
    )
    group.add_argument("--cut", choices=CASES, default=PAPERS_CUT, help="the link that fails (default: %(default)s)")
    group.add_argument(
        "--kill-controller",
        action="store_true",
        help=f"kill the controller before the cut; needs --cut {LOCAL_CUT} or --liveness bfd",
    )
    group.add_argument(
        "--liveness",
        choices=[each.value for each in Liveness],
        default=Liveness.CONTROLLER.value,
        help="who notices a failure beyond a tunnel's first link (default: %(default)s)",
    )
    group.add_argument(
        "--congestion-control", default="cubic", metavar="NAME", help="of the TCP flows (default: cubic)"
    )
    group.add_argument(
        "--buffer-packets",
        type=positive_count,
        default=50,
        metavar="N",
        help="length of every queue of a switch (default: 50)",
    )
    group.add_argument(
        "--link-delay-seconds",
        type=positive_number,
        metavar="S",
        help="propagation delay of every link (default: none); needs the kernel's datapath and netem",
    )
    for phase, (usual, quick, meaning) in _SECONDS.items():
        group.add_argument(
            f"--{phase}-seconds",
            type=positive_number,
            metavar="S",
            help=f"seconds {meaning} (default: {usual:g}, with --quick {quick:g})",
        )
    group.add_argument(
        "--interval-seconds",
        type=positive_number,
        default=0.2,
        metavar="S",
        help="interval of the throughput series (default: 0.2)",
    )


def options_from(args: argparse.Namespace, *, quick: bool) -> MotivationOptions:
    """Return the options given on the command line.

    Raises:
        InputError: the controller is to be killed before a cut that one direction cannot notice without it.
    """
    if args.kill_controller and not CASES[args.cut].local and args.liveness != Liveness.BFD.value:
        problem = f"one end of the failed tunnel cannot notice a cut of {args.cut} without the controller"
        raise InputError("option", "--kill-controller", problem, f"--cut {LOCAL_CUT} or --liveness bfd")
    seconds = {}
    for phase, (usual, quick_one, _) in _SECONDS.items():
        given = getattr(args, f"{phase}_seconds")
        seconds[f"{phase}_seconds"] = given if given is not None else quick_one if quick else usual
    return MotivationOptions(
        schemes=args.schemes,
        cut=args.cut,
        kill_controller=args.kill_controller,
        liveness=args.liveness,
        congestion_control=args.congestion_control,
        buffer_packets=args.buffer_packets,
        link_delay_seconds=args.link_delay_seconds,
        interval_seconds=args.interval_seconds,
        **seconds,
    )


@experiment(
    "table2",
    title="a tunnel fails and the others have room: throughput of four TCP flows",
    reproduces="Table 2",
    backends=("emulation", "flow", "boxes"),
    configure=configure,
)
def table2(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    return _run(TABLE_2, settings, args, output, progress)


@experiment(
    "table3",
    title="a tunnel fails and the others are full: throughput of four TCP flows",
    reproduces="Table 3",
    backends=("emulation", "flow", "boxes"),
    configure=configure,
)
def table3(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    return _run(TABLE_3, settings, args, output, progress)


def refuse_unmodelled(args: argparse.Namespace) -> None:
    """Raise InputError when an option has a value that the fluid model, which has no packets, would ignore."""
    for name, default in defaults_of(configure).items():
        if name not in _MODELLED and getattr(args, name) != default:
            option = f"--{name.replace('_', '-')}"
            raise InputError("option", option, _UNMODELLED.get(name, "changes nothing in the model"), _MEASURED)


def positive_number(text: str) -> float:
    """Return the number of a command-line argument; argparse shows the error as its message."""
    value = parse_number(text)
    if value is None or not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text} is not a number greater than zero")
    return value


def positive_count(text: str) -> int:
    """Return the count of a command-line argument; argparse shows the error as its message."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from one on")
    return int(text)


def _schemes(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    if not set(chosen) <= set(SCHEMES) or len(set(chosen)) < len(chosen):
        raise argparse.ArgumentTypeError(f"{text} is not a list of different schemes among {', '.join(SCHEMES)}")
    return chosen


def _run(
    table: MotivationTable, settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress
) -> Outcome:
    options = options_from(args, quick=settings.quick)
    # Measuring code takes seconds to import; listing the experiments must not need it.
    if settings.backend == "flow":
        refuse_unmodelled(args)
        from experiments import motivation_flow  # noqa: PLC0415

        return motivation_flow.run_table(table, settings, options, output)
    from experiments import motivation_run  # noqa: PLC0415

    return motivation_run.run_table(table, settings, options, output, progress)

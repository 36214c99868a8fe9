"""`kuijia whatif --backend packet`: its options, and the study of a plan's first seconds after each failure."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.sweep.workers import Workers, workers_from
from kuijia.api.spelling import Setting, bad_option, require_known
from kuijia.api.whatif_study import DEFAULT_SCHEMES, Rerouting
from kuijia.cli.notes import print_notes
from kuijia.cli.printing import show
from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.manifest import python_versions
from kuijia_base.option_values import whole_number
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.quantities import duration, rate, significant, size
from kuijia_base.text import parse_number
from simulator.packet.units import FASTEST
from te_solver.failure_schemes.registry import failure_scheme, switch_schemes
from te_solver.formats.notes import counted

if TYPE_CHECKING:
    from experiments.whatif_packets.conditions import Conditions
    from experiments.whatif_packets.findings import Findings
    from experiments.whatif_packets.run import Play
    from experiments.whatif_packets.sweep import Questions
    from simulator.flow.what_if import Contender
    from te_solver.failures import Failure
    from te_solver.plan import Plan

FLOW, PACKET = BACKENDS = ("flow", "packet")

FILE = "whatif-packets.json"

_OPTIONS = ("sizes", "load", "seconds", "transport", "buffer", "detection", "controller_at", "link_delay", "rate_scale")
"""Of the packet backend alone; None by default, to tell those that were given."""

_OF_FLOW = {"split": "proportional", "udp": False, "weighting": "equal", "probabilities": None}
"""Options of the flow backend alone, with their defaults."""

_DEFAULT_SIZES = "web-search"

_MOST_PACKETS = 1e9
"""Data packets of a run."""

_LAST_SEED = 2**63 - 1


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        default=FLOW,
        help="flow: the rates after each failure by the fluid model; packet: its first seconds, packet by packet, with "
        "flows that come and go (default: %(default)s)",
    )
    group = parser.add_argument_group("--backend packet")
    group.add_argument(
        "--sizes",
        metavar="WHICH",
        help="sizes of flows: a published distribution by name, a file of sizes and probabilities, or bytes (default: "
        f"{_DEFAULT_SIZES})",
    )
    group.add_argument(
        "--load",
        type=_number(0.001, 10, ""),
        metavar="NUMBER",
        help="share of the planned rates that flows offer on the mean (default: 0.7)",
    )
    group.add_argument(
        "--seconds",
        type=_number(0.01, 60, " seconds"),
        metavar="S",
        help="seconds after each cut for which losses are counted, and new flows come (default: 1)",
    )
    group.add_argument("--transport", metavar="NAME", help="congestion control of TCP (default: cubic)")
    group.add_argument(
        "--buffer",
        type=whole_number(1500, 10**9, of=" bytes"),
        metavar="BYTES",
        help="room in each queue of a port, not scaled by --rate-scale (default: 1500000)",
    )
    group.add_argument(
        "--detection",
        type=_number(0, 60, " seconds"),
        metavar="S",
        help="seconds from a cut until the switches beside it notice (default: 0.01)",
    )
    group.add_argument(
        "--controller-at",
        metavar="NODE",
        help="site of the controller, which other switches hear from after the delays of the links on the way "
        "(default: the node whose farthest node is nearest)",
    )
    group.add_argument(
        "--link-delay",
        type=_number(0, 10, " seconds"),
        metavar="S",
        help="delay of each link that has none in the network's file (default: 0.005)",
    )
    group.add_argument(
        "--rate-scale",
        type=_number(1e-9, 1, ""),
        metavar="F",
        help="factor of all rates, so that large networks need less work (default: 1, or less for half a million data "
        "packets in a run)",
    )


def refuse_others(args: argparse.Namespace) -> None:
    """Raise OptionError for options that the chosen backend does not have."""
    if args.backend == FLOW:
        given = [name for name in _OPTIONS if getattr(args, name) is not None]
        if given:
            raise bad_option(given[0], "is of simulated packets", Setting("backend", PACKET))
        return
    for name, default in _OF_FLOW.items():
        if getattr(args, name) != default:
            raise bad_option(name, "is of the flow model", Setting("backend", FLOW))


def on_switches(how: Rerouting, source: str) -> Rerouting:
    """Return the options with the schemes that switches can be programmed with; those left out are noted.

    Raises:
        OptionError: another one was asked for.
    """
    known = {each.name for each in switch_schemes()}
    if how.schemes is None:
        kept = tuple(name for name in DEFAULT_SCHEMES if name in known)
        left = [name for name in DEFAULT_SCHEMES if name not in known]
        if how.protect is None and not how.new_tunnels:
            print_notes(source, [f"{', '.join(left)} left out: switches cannot be programmed with them"])
        return replace(how, schemes=kept)
    for each in how.found():
        if each.name not in known:
            problem = f"switches cannot be programmed with {each.name}"
            raise bad_option("schemes", problem, f"{' or '.join(sorted(known))}, or ", Setting("backend", FLOW))
    return how


def conditions_from(args: argparse.Namespace) -> Conditions:
    """Return the conditions that the options give, at rates as planned; raises InputError."""
    from experiments.whatif_packets.conditions import TRANSPORTS, Conditions  # noqa: PLC0415  # slow to import: NumPy
    from kuijia.api.packet_values import sizes  # noqa: PLC0415  # slow to import: NumPy

    if args.transport is not None:
        require_known("transport", args.transport, TRANSPORTS)
    if args.seed > _LAST_SEED:
        raise bad_option("seed", f"is {args.seed}", f"{_LAST_SEED} or less")
    args.sizes = args.sizes or _DEFAULT_SIZES
    given = {
        "load": args.load,
        "seconds": args.seconds,
        "transport": args.transport,
        "buffer": args.buffer,
        "detection": args.detection,
        "controller": args.controller_at,
        "link_delay": args.link_delay,
        "scale": args.rate_scale,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    return Conditions(sizes(args.sizes), seed=args.seed, **chosen)


def study(
    args: argparse.Namespace,
    contenders: Sequence[Contender],
    failures: Sequence[Failure],
    how: Conditions,
    progress: Progress,
    assumptions: Sequence[str],
) -> int:
    """Simulate all failures under all schemes, and print what they cost; raises InputError."""
    from experiments.whatif_packets.findings import Findings, Outcome  # noqa: PLC0415  # slow to import: NumPy
    from experiments.whatif_packets.sweep import Questions, results_of  # noqa: PLC0415  # slow to import: NumPy

    plans = [(each.traffic.plan, failure_scheme(each.scheme.name)) for each in contenders]
    if args.rate_scale is None:
        how = replace(how, scale=_scale(how, plans[0][0]))
    _require_bounds(how, plans[0][0])
    questions = Questions(plans, failures, how)
    play = _first(questions)
    source = str(args.plan or args.topology)
    lacking = sum(link.delay == 0 for link in plans[0][0].topology.links)
    if lacking and args.link_delay is None:
        sentence = f"{counted(lacking, 'link')} without a delay: each gets {how.link_delay:g} s (--link-delay)"
        print_notes(source, [sentence])
        assumptions = [*assumptions, sentence]
    folder = None if args.output is None else OutputFolder(args.output)
    workers = workers_from(args)
    if args.workers is None and args.cluster is None:
        workers = Workers(min(workers.processes, len(failures) * len(plans)))
    try:
        with results_of(questions, workers, folder, progress) as results:
            names = [failure.name for failure in failures]
            of_scheme = zip(contenders, results, strict=True)
            outcomes = {each.scheme.name: list(map(Outcome, names, of)) for each, of in of_scheme}
            found = Findings(outcomes)
            data = _as_json(args, how, play, found, assumptions)
            if folder is not None:
                folder.write_json(FILE, data)
    finally:
        progress.close()
        if folder is not None:
            folder.remove_if_empty()
    if args.json:
        print(json.dumps(data, indent=1, allow_nan=False))
        return 0
    show([*_heading(args, how, play, failures), "", *found.lines(None if args.verbose else 5)])
    if folder is not None:
        print(f"wrote {folder.path / FILE}")
    return 0


def _first(questions: Questions) -> Play:
    """Return the first contender, compiled; raises OptionError if the plan or an option cannot be simulated."""
    try:
        play = questions.play(0)
    except UnsoundError as error:
        place = {"controller": "controller_at"}.get(str(error.where[0]) if error.where else "", "backend")
        raise bad_option(place, error.problem, error.expected) from error
    if not play.traffic.count:
        raise bad_option(
            "load", "no flow comes", "a greater load, ", Setting("rate_scale"), ", more seconds or smaller flows"
        )
    return play


def _scale(how: Conditions, plan: Plan) -> float:
    """Return the factor of rates, two digits of it, at which a run can be simulated in some seconds; at most 1."""
    from experiments.whatif_packets.conditions import MOST_PACKETS  # noqa: PLC0415  # slow to import: NumPy

    wanted = min(MOST_PACKETS / max(how.packets(plan), 1.0), FASTEST / _fastest_link(plan))
    if wanted >= 1:
        return 1.0
    digit = 10.0 ** (math.floor(math.log10(wanted)) - 1)
    return math.floor(wanted / digit) * digit


def _require_bounds(how: Conditions, plan: Plan) -> None:
    """Raise OptionError if links are too fast for the simulator, or a run has more packets than anyone waits for."""
    if (fastest := _fastest_link(plan) * how.scale) > FASTEST:
        raise bad_option("rate_scale", f"a link of {rate(fastest)}", f"links of at most {rate(FASTEST)}")
    if (packets := how.packets(plan) * how.scale) > _MOST_PACKETS:
        problem = f"{packets:.3g} data packets in a run"
        raise bad_option("rate_scale", problem, f"a factor that leaves at most {_MOST_PACKETS:.0e}")


def _fastest_link(plan: Plan) -> float:
    return max(link.capacity for link in plan.topology.links)


def _heading(args: argparse.Namespace, how: Conditions, play: Play, failures: Sequence[Failure]) -> Iterator[str]:
    from experiments.whatif_packets.conditions import WARMUP  # noqa: PLC0415  # slow to import: NumPy

    flows = play.traffic.count
    yield f"{play.plan.topology.name}: {counted(len(failures), 'failure')}, {counted(len(play.plan.pairs), 'pair')}"
    yield (
        f"{counted(flows, 'flow')} of {args.sizes} ({size(play.traffic.payload)}), load {how.load:g}, {how.transport}; "
        f"cut after {duration(WARMUP)}, {duration(how.seconds)} counted"
    )
    scaled = (
        "rates as planned" if how.scale == 1 else f"all rates, and with them the number of flows, times {how.scale:g}"
    )
    yield f"{scaled}; queues of {size(how.buffer)}"
    far = max(play.controller_delays.values())
    yield (
        f"switches notice after {significant(how.detection * 1e3)} ms; controller at {play.controller}, "
        f"up to {significant(far * 1e3)} ms away"
    )


def _as_json(
    args: argparse.Namespace, how: Conditions, play: Play, found: Findings, assumptions: Sequence[str]
) -> dict[str, Any]:
    told = {key: value for key, value in vars(how).items() if key != "sizes"}
    return {
        "format": "kuijia-whatif-packets",
        "version": 1,
        "network": play.plan.topology.name,
        "conditions": {"sizes": args.sizes, **told, "controller": play.controller},
        "flows": play.traffic.count,
        "payload_bytes": play.traffic.payload,
        "schemes": found.as_json(),
        "assumptions": list(assumptions),
        "versions": python_versions(),
    }


def _number(least: float, most: float, of: str) -> Callable[[str], float]:
    """Return a parser of numbers from `least` to `most`."""

    def number(text: str) -> float:
        value = parse_number(text)
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{quoted(text)}, expected {least:g} to {most:g}{of}")
        return value

    return number

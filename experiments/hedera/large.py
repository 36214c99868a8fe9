"""8,192 hosts in the flow model: patterns as in Hedera's figure, and flows that come and go."""

from __future__ import annotations

import argparse

from experiments.experiment import Experiment, Options, Outcome, Settings
from experiments.hedera.large_options import LargeOptions, add_ramp, ramp_from
from experiments.hedera.packet.options import configure_packets, packet_options_from, refuse_packet_options
from experiments.results.stored_files import each_file
from kuijia_base.errors import InputError, quoted
from kuijia_base.option_values import positive_number_within
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import workers_from
from kuijia_base.text import parse_whole

_PORTS, _QUICK_PORTS = 32, 8
_PACKET_PORTS, _QUICK_PACKET_PORTS = 16, 4
_SECONDS, _QUICK_SECONDS = 5.0, 2.0
_SECONDS_WITHIN = (0.01, 600.0)
_ROUNDS = 10
"""Rounds of the scheduler in a run in packets."""
_FEWEST_PORTS, _MOST_PORTS = 4, 64
_LOAD = 0.4


def configure(options: Options) -> None:
    options.add_argument(
        "--ports",
        type=_ports,
        metavar="K",
        help=f"ports of a switch: K^3 / 4 hosts (default: {_PORTS}, with --quick {_QUICK_PORTS}; in packets"
        f" {_PACKET_PORTS}, with --full {_PORTS}, with --quick {_QUICK_PACKET_PORTS})",
    )
    options.add_argument(
        "--seconds",
        type=positive_number_within(*_SECONDS_WITHIN, "{:g} to {:g} seconds".format(*_SECONDS_WITHIN)),
        metavar="S",
        help="with --backend packet: seconds that are simulated, with ten rounds of the scheduler"
        f" (default: {_SECONDS:g}, with --quick {_QUICK_SECONDS:g})",
    )
    options.add_argument(
        "--arriving-load",
        type=positive_number_within(0.0, 1.0, "a number above 0, at most 1"),
        default=_LOAD,
        metavar="F",
        help="mean load of arriving flows as a part of hosts' interfaces (default: %(default)s)",
    )
    options.add_argument(
        "--flow-sizes",
        default="data-mining",
        metavar="NAME|FILE",
        help="sizes of arriving flows; only those above 1 MB are simulated (default: %(default)s)",
    )
    add_ramp(options)
    configure_packets(options)


def _ports(text: str) -> int:
    ports = parse_whole(text)
    if ports is None or ports % 2 or not _FEWEST_PORTS <= ports <= _MOST_PORTS:
        raise argparse.ArgumentTypeError(
            f"{quoted(text)}, expected an even number from {_FEWEST_PORTS} to {_MOST_PORTS}"
        )
    return ports


def hedera_8192(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    if settings.backend == "packet":
        return _in_packets(settings, args, output, progress)
    refuse_packet_options(args, settings.backend)
    if args.seconds is not None:
        raise InputError("option", "--seconds", "changes nothing on flow", "--backend packet with it")
    from experiments.hedera.large_run import run_large  # noqa: PLC0415  # slow to import: the simulator

    ports = args.ports or (_QUICK_PORTS if settings.quick else _PORTS)
    return run_large(
        settings, LargeOptions(ports, args.arriving_load, args.flow_sizes, ramp_from(args)), output, progress
    )


def _in_packets(settings: Settings, args: argparse.Namespace, output: OutputFolder, progress: Progress) -> Outcome:
    if args.ramp is not None:
        raise InputError("option", "--ramp", "changes nothing where TCP has its own", "--backend flow with it")
    from experiments.hedera.packet.arrivals import ArrivalCase  # noqa: PLC0415  # slow to import: the simulator
    from experiments.hedera.packet.arrivals_run import run_packet_arrivals  # noqa: PLC0415  # slow to import

    usual = _PORTS if args.full else _QUICK_PACKET_PORTS if settings.quick else _PACKET_PORTS
    seconds = args.seconds or (_QUICK_SECONDS if settings.quick else _SECONDS)
    case = ArrivalCase(
        scheme="",
        ports=args.ports or usual,
        load=args.arriving_load,
        flow_sizes=args.flow_sizes,
        end=seconds,
        period=seconds / _ROUNDS,
        seed=settings.seed,
        options=packet_options_from(args),
    )
    return run_packet_arrivals(settings, case, workers_from(args), output, progress)


EXPERIMENTS = {
    "hedera-8192": Experiment(
        hedera_8192,
        configure=configure,
        sweeps=True,
        without=("capacity", "repetitions"),
        own_help={"full": "with --backend packet: 8,192 hosts (default: 1,024)"},
        reader=each_file("experiments.hedera.large_run"),
    ),
}

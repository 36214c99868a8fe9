"""`kuijia lab web` and `kuijia lab replay`: a page with the network as it is, and the links to cut."""

from __future__ import annotations

import argparse
import ipaddress
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kuijia.api.solving import DEFAULT_TUNNELS, SolveOptions, planned
from kuijia.cli.inputs import (
    add_demands,
    add_paths,
    add_topology,
    add_tunnels,
    read_demands,
    read_topology,
)
from kuijia.cli.parsers import add_common_options
from kuijia.cli.printing import print_json
from kuijia_base.additions import require_installed
from kuijia_base.errors import InputError, quoted
from kuijia_base.option_values import different_ones, positive_number_within, whole_number
from kuijia_base.options import typed_options
from kuijia_base.progress import progress_line
from kuijia_base.reading import uncollected
from te_solver.model.demands import scaled_to
from te_solver.model.plan import DISJOINT
from te_solver.programs.effort import parts_for
from te_solver.schemes.all_schemes import scheme_names

if TYPE_CHECKING:
    from te_solver.model.demands import Demand
    from te_solver.model.plan import Plan
    from te_solver.model.topology import Topology
    from testbed.web.backend import Backend
    from testbed.web.server import PageLink
    from testbed.web.tls import TlsPair

PORT = 8400
LOOPBACK = "127.0.0.1"
BACKENDS = ("lab", "boxes", "flow", "packet")
SCHEMES = ("kuijia", "rescaling")
TRAFFIC = "tcp"
PACKET_CAPACITY = 100.0
"""Mbit/s of the largest link in the packet model; the others and the demands are scaled with it."""

_PAIRS_OF_A_PART = 2_500
"""Pairs of each part of a plan for very many: half of those of other plans. With 200 nodes and 39,800 demands the
solver takes a third of the time, and at most 0.6 % of the traffic is lost."""

_PURPOSE = "the live lab"
_MOST_SCHEMES = 4

_HOST_NAME = re.compile(r"[A-Za-z0-9._-]+")

_OF_SERVER: dict[str, tuple[str, object]] = {
    "--view": ("view", False),
    "--port": ("port", PORT),
    "--bind": ("bind", LOOPBACK),
    "--host-name": ("host_name", []),
    "--tls-key": ("tls_key", None),
    "--tls-certificate": ("tls_certificate", None),
}
_OF_MODELS: dict[str, tuple[str, object]] = {
    "--format": ("topology_format", None),
    "--default-capacity": ("default_capacity", None),
    "--rate-unit": ("rate_unit", None),
    "--demand-format": ("demand_format", None),
    "--row": ("row", None),
    "--drop-unreachable": ("drop_unreachable", False),
    "--tunnels": ("tunnels", DEFAULT_TUNNELS),
    "--paths": ("paths", DISJOINT),
    "--schemes": ("schemes", SCHEMES),
    "--traffic": ("traffic", TRAFFIC),
}
"""Options that need a server, and those of models: their names in the namespace and their defaults."""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    add_actions(actions)
    for action in actions.choices.values():
        add_common_options(action, below_another=True)


def run(args: argparse.Namespace) -> int:
    status: int = args.act(args)
    return status


def add_actions(actions: Any) -> None:  # noqa: ANN401  # argparse has no public name for it
    """Add the actions of this module to those of `kuijia lab`."""
    web = actions.add_parser("web", help="show the lab, or a model of a network, on a page where a click cuts links")
    add_topology(web, required=False)
    add_demands(web)
    add_tunnels(web)
    add_paths(web)
    web.add_argument(
        "--backend",
        choices=BACKENDS,
        help="the running lab (boxes: on physical boxes), or a model of the network: rates (flow), or packets (packet, "
        "for small networks) (default: flow with TOPOLOGY, else lab)",
    )
    web.add_argument(
        "--schemes",
        type=_schemes,
        default=SCHEMES,
        metavar="LIST",
        help="failure schemes that a model shows side by side (default: kuijia,rescaling)",
    )
    web.add_argument(
        "--traffic",
        choices=("tcp", "udp"),
        default=TRAFFIC,
        help="traffic in a model: tcp adapts to its share, udp loses the excess (default: %(default)s)",
    )
    web.add_argument(
        "--consoles",
        action="store_true",
        help="allow the page to run commands on the hosts of an emulated lab, as root",
    )
    web.add_argument("--record", type=Path, metavar="DIR", help="folder in which to record the session")
    add_serving(web)
    web.set_defaults(act=_web)

    replay = actions.add_parser("replay", help="play back a recording, or the results of an experiment")
    replay.add_argument("folder", type=Path, metavar="DIR", help="folder with a recording or with results")
    replay.add_argument(
        "--speed",
        type=positive_number_within(0.01, 1000, "a number from 0.01 to 1000"),
        default=1.0,
        help="recorded seconds per second (default: %(default)g)",
    )
    add_serving(replay)
    replay.set_defaults(act=_replay)


def add_serving(parser: argparse.ArgumentParser) -> None:
    """Add the options of the server."""
    parser.add_argument("--view", action="store_true", help="show only: refuse all actions")
    parser.add_argument(
        "--port",
        type=whole_number(0, 65535),
        default=PORT,
        metavar="PORT",
        help="port to listen on, 0 for a free one (default: %(default)s)",
    )
    parser.add_argument(
        "--bind",
        type=_address,
        default=LOOPBACK,
        metavar="ADDRESS",
        help="address to listen on (default: %(default)s, which only this machine reaches)",
    )
    parser.add_argument(
        "--host-name",
        type=_host_name,
        action="append",
        default=[],
        metavar="NAME",
        help="another name by which browsers may address the server, such as that of a reverse proxy or of its "
        "certificate; can be repeated; with TLS the first is printed",
    )
    tls = parser.add_argument_group("TLS", "both or none: the server then speaks HTTPS only")
    tls.add_argument("--tls-key", type=Path, metavar="FILE", help="private key of the server, in PEM")
    tls.add_argument("--tls-certificate", type=Path, metavar="FILE", help="its certificate, as of `kuijia pki web`")


def _web(args: argparse.Namespace) -> int:
    require_packages()
    tls_pair(args)  # bad files are refused before long work
    kind = args.backend or ("flow" if args.topology is not None else "lab")
    if args.consoles:
        _require_private(args)
    with uncollected():  # until `serve` excludes what is there then
        backend = _lab(args, kind) if kind in ("lab", "boxes") else _model(args, kind)
    return show(backend, args)


def _require_private(args: argparse.Namespace) -> None:
    """Raise InputError unless only this machine can reach the page."""
    for option, given in (("--bind", not ipaddress.ip_address(args.bind).is_loopback), ("--host-name", args.host_name)):
        if given:
            expected = f"no {option}: consoles are for this machine's own loopback addresses only"
            raise InputError("lab web", "--consoles", f"is given with {option}", expected)


def _replay(args: argparse.Namespace) -> int:
    require_packages()
    tls_pair(args)
    # Slow to import: NumPy, which --help should not wait for.
    from testbed.web.experiment_recording import read_results  # noqa: PLC0415
    from testbed.web.recording import FILE_NAME, read_recording  # noqa: PLC0415
    from testbed.web.replay_backend import ReplayBackend  # noqa: PLC0415

    if not args.folder.is_dir():
        raise InputError(args.folder, "", "is no folder", "one with a recording or with results")
    read = read_recording if (args.folder / FILE_NAME).exists() else read_results
    return show(ReplayBackend(read(args.folder), args.speed), args)


def refuse_serving(args: argparse.Namespace) -> None:
    """Raise InputError if an option of `add_serving` is given, for a command that serves nothing."""
    _refuse(args, _OF_SERVER, "lab up", "--web with it")


def _refuse(args: argparse.Namespace, options: Mapping[str, tuple[str, object]], verb: str, expected: str) -> None:
    for option, (name, default) in options.items():
        if getattr(args, name) != default:
            raise InputError(verb, option, "is given", expected)


def show(backend: Backend, args: argparse.Namespace) -> int:
    """Serve a backend until Ctrl-C by the options of `add_serving`; it is closed at the end."""
    from testbed.web.recording import Recorder  # noqa: PLC0415  # with the server, which an extra has
    from testbed.web.server import Serving, serve  # noqa: PLC0415  # an extra has it

    folder, tls = getattr(args, "record", None), tls_pair(args)
    with closing(backend), Recorder(folder) if folder is not None else nullcontext() as recorder:
        serving = Serving(args.bind, args.port, tuple(args.host_name), args.view, recorder, tls=tls)
        serve(backend, serving, _announcement(args, backend.describe().name))
    return 0


def tls_pair(args: argparse.Namespace) -> TlsPair | None:
    """Return the files for HTTPS, None without; raises InputError if they cannot be used."""
    from testbed.web.tls import TlsPair, follow  # noqa: PLC0415  # with the server

    if (args.tls_key is None) != (args.tls_certificate is None):
        missing = "--tls-key" if args.tls_key is None else "--tls-certificate"
        raise InputError("option", missing, "is missing", "--tls-key and --tls-certificate together")
    if args.tls_key is None:
        return None
    pair = TlsPair(args.tls_key, args.tls_certificate)
    follow(pair)
    return pair


def _announcement(args: argparse.Namespace, name: str) -> Callable[[PageLink], None]:
    """Return the function that prints the link once browsers can connect."""

    def announce(link: PageLink) -> None:
        if args.json:
            print_json("lab-web", {"url": link.url, "server": link.server, "token": link.token}, indent=None)
        else:
            print(f"{name}: {link.url}", flush=True)
            print("Ctrl-C ends it", file=sys.stderr, flush=True)
        if not ipaddress.ip_address(args.bind).is_loopback:
            reach = f"anyone who can reach {args.bind} and has the link can do everything that the page can"
            clear = ", and the link's token crosses the network in clear text; `ssh -L` is safer"
            print(f"note: --bind: {reach}{'' if link.is_encrypted else clear}", file=sys.stderr, flush=True)

    return announce


def show_lab(args: argparse.Namespace) -> int:
    """Serve the running lab of this machine until Ctrl-C by the options of `add_serving`; it stays up."""
    from testbed.web.real_lab import RealLab  # noqa: PLC0415  # slow to import, and only on Linux

    return show(RealLab(), args)


def _model(args: argparse.Namespace, kind: str) -> Backend:
    if args.consoles:
        raise InputError("lab web", "--consoles", "a model has no hosts", "the running lab")
    if args.topology is None:
        raise InputError("lab web", "", "no network is given", "TOPOLOGY and DEMANDS, such as gscale gscale")
    topology = read_topology(args)
    demands = read_demands(args, topology)
    from simulator.live.flow_model import LiveFlowModel, require_schemes  # noqa: PLC0415  # slow to import: NumPy
    from simulator.live.packet_model import LivePacketModel  # noqa: PLC0415  # as above
    from testbed.web.model_backend import ModelBackend  # noqa: PLC0415  # as above

    def solved(network: Topology, wanted: Sequence[Demand], source: str = "request") -> Plan:
        with progress_line() as progress, typed_options():
            how = SolveOptions(args.tunnels, partitions=parts_for(wanted, _PAIRS_OF_A_PART), paths=args.paths)
            how.require_sense()
            return planned(network, wanted, how, source, progress, is_quick=True)

    if kind == "packet":
        topology, demands = scaled_to(PACKET_CAPACITY, topology, demands)
    plan = solved(topology, demands, str(args.demands))
    require_schemes(args.schemes, plan, "--schemes")
    model = LivePacketModel if kind == "packet" else LiveFlowModel
    largest = PACKET_CAPACITY if kind == "packet" else None
    return ModelBackend(model(plan, args.schemes, elastic=args.traffic == "tcp"), solved, largest)


def _lab(args: argparse.Namespace, kind: str) -> Backend:
    if args.topology is not None:
        raise InputError("lab web", "TOPOLOGY", f"found {quoted(args.topology)}", "none: the running lab has its own")
    _refuse(args, _OF_MODELS, "lab web", "none: the running lab has its own network, plan and traffic")
    from testbed.web.real_lab import RealLab  # noqa: PLC0415  # slow to import, and only on Linux

    lab = RealLab(consoles=args.consoles)
    if args.consoles and lab.describe().backend != "lab":
        raise InputError("lab web", "--consoles", "the running lab is on boxes", "an emulated one")
    if kind == "boxes" and lab.describe().backend != "boxes":
        expected = "one on boxes, started with `kuijia lab up TOPOLOGY DEMANDS --inventory FILE`"
        raise InputError("lab web", "--backend", "the running lab is emulated", expected)
    return lab


def require_packages() -> None:
    """Raise InputError if a package of the server is not installed."""
    for module in ("starlette", "uvicorn"):
        require_installed(module, _PURPOSE)


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected an IP address of this machine") from error


def _host_name(text: str) -> str:
    if _HOST_NAME.fullmatch(text):
        return text
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        expected = "a name without scheme and port, or an IP address"
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected {expected}") from error


def _schemes(text: str) -> tuple[str, ...]:
    found = different_ones(scheme_names())(text)
    if len(found) > _MOST_SCHEMES:
        raise argparse.ArgumentTypeError(f"{len(found)} schemes, expected at most {_MOST_SCHEMES}")
    return found

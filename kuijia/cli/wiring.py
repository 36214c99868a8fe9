"""`kuijia wiring`: makes a file with the datapath ids, ports and prefixes of one's own switches."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from kuijia.cli.controller import add_listening_address, binding_option, tls_files
from kuijia.cli.inputs import add_reading, add_topology, read_topology
from kuijia.cli.parsers import add_common_options, fault
from kuijia_app.discovery.findings import DiscoveredNetwork, wiring_found
from kuijia_app.discovery.ovs_output import read_interfaces, read_output, wiring_of
from kuijia_app.framework.ending import EXIT_STATUS, end_process
from kuijia_app.framework.launcher import run_application
from kuijia_app.framework.listening import require_free
from kuijia_app.framework.tls import TlsFiles
from kuijia_app.tables.stated_wiring import Mask, StatedWiring, stated
from kuijia_app.tables.wiring import Neighbours, Wiring
from kuijia_app.tables.wiring_file import (
    DATAPATH_EXPECTED,
    mask_text,
    parse_datapath_id,
    parse_mask,
    wiring_text,
    wiring_to_json,
)
from kuijia_base.errors import InputError, KuijiaError, UnsoundError, key_path, one_line, quoted
from kuijia_base.option_values import path_name, whole_number
from kuijia_base.text import require_writable, write_text
from te_solver.model.topology import Topology

APPLICATION = "kuijia_app.discovery.application"
DEFAULT_SECONDS, MOST_SECONDS = 30, 3600

SPARE_SECONDS = 120
"""Seconds for the start and the end of discovery, even on a busy machine: if they take longer, it hangs."""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)

    example = actions.add_parser("example", help="write the default numbers of a topology, a file to start from")
    add_topology(example)
    example.set_defaults(act=_example)

    discover = actions.add_parser("discover", help="probe the links between switches that connect to this command")
    discover.add_argument(
        "topology",
        nargs="?",
        metavar="TOPOLOGY",
        help="topology to match: names the switches, and ends the search once all links are found",
    )
    add_reading(discover)
    discover.add_argument(
        "--switch",
        action="append",
        default=[],
        metavar="NODE=DATAPATH-ID",
        help="datapath id of a node, if the links fit several; can be repeated",
    )
    discover.add_argument(
        "--not-ours",
        action="append",
        default=[],
        metavar="DATAPATH-ID[/MASK]",
        help="other switches, to leave alone; can be repeated",
    )
    discover.add_argument(
        "--seconds",
        type=whole_number(1, MOST_SECONDS, of=" seconds"),
        default=DEFAULT_SECONDS,
        help="longest time to probe (default: %(default)s)",
    )
    add_listening_address(discover)
    discover.set_defaults(act=_discover)

    from_ovs = actions.add_parser("from-ovs", help="read the numbers from the output of ovs-ofctl or ovs-vsctl")
    from_ovs.add_argument(
        "interfaces", type=Path, metavar="INTERFACES", help="YAML file: the interface of each link, see docs/wiring.md"
    )
    from_ovs.add_argument(
        "outputs", nargs="+", metavar="NODE=FILE", help="output of `ovs-ofctl show` or `ovs-vsctl` for each switch"
    )
    from_ovs.set_defaults(act=_from_ovs)
    for action in (example, discover, from_ovs):
        action.add_argument(
            "-o", "--output", type=path_name, metavar="FILE", help="wiring file, JSON if its name ends in .json"
        )
        add_common_options(action, below_another=True)


def run(args: argparse.Namespace) -> int:
    if args.output is not None:
        require_writable(args.output)
    wiring, remarks = args.act(args)
    for remark in remarks:
        print(f"note: {remark}", file=sys.stderr)
    _write(wiring, remarks, args)
    return 0


def _example(args: argparse.Namespace) -> tuple[StatedWiring, list[str]]:
    return stated(Wiring(read_topology(args), neighbours=Neighbours.LEARNED)), []


def _from_ovs(args: argparse.Namespace) -> tuple[StatedWiring, list[str]]:
    cables = read_interfaces(args.interfaces)
    seen = {}
    for text in args.outputs:
        name, equals, file = text.partition("=")
        if not equals or name in seen:
            problem = f"{quoted(text)} gives {quoted(name)} again" if equals else f"{quoted(text)} has no ="
            raise InputError("option", "NODE=FILE", problem, "NODE=FILE, once for each switch")
        seen[name] = read_output(Path(file))
    return wiring_of(cables, seen, args.interfaces), []


def _discover(args: argparse.Namespace) -> tuple[StatedWiring, list[str]]:
    topology = None if args.topology is None else read_topology(args)
    given = dict(_given(text) for text in args.switch)
    try:
        masks = [parse_mask(text) for text in args.not_ours]
    except UnsoundError as error:
        raise InputError("option", "--not-ours", error.problem, error.expected) from error
    findings = _found(args, topology, masks)
    if not findings.ports:
        where = f"{args.host}:{args.port}"
        raise InputError("wiring", "discover", f"no switch connected to {where}", "switches that use it as controller")
    try:
        return wiring_found(findings, topology, given, masks)
    except UnsoundError as error:
        raise InputError("wiring", key_path(error.where), error.problem, error.expected) from error


def _given(text: str) -> tuple[str, int]:
    name, _, number = text.rpartition("=")
    found = parse_datapath_id(number)
    if not name or found is None:
        raise InputError("option", "--switch", quoted(text), f"NODE=DATAPATH-ID, with {DATAPATH_EXPECTED}")
    return name, found


def _found(args: argparse.Namespace, topology: Topology | None, masks: Sequence[Mask]) -> DiscoveredNetwork:
    """Return what the application finds, in a process of its own: it ends by leaving its threads."""
    tls = tls_files(args)
    require_free(args.host, args.port)  # refused here, not in the other process
    import_module(APPLICATION)  # likewise, if the framework is not installed
    with TemporaryDirectory(prefix="kuijia-") as folder:
        result = Path(folder) / "findings.json"
        options: dict[str, object] = {"result": str(result), "seconds": args.seconds, **binding_option(args)}
        options["not_ours"] = [mask_text(mask) for mask in masks]
        if topology is not None:
            options |= {"switches": len(topology.nodes), "links": len(topology.edges)}
        child = os.fork()
        if not child:
            _serve(args, options, tls)
        try:
            signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        except BaseException:  # a signal that the other process has not got
            os.kill(child, signal.SIGKILL)
            raise
        if status < 0:
            cause = f"ended by signal {-status} ({signal.strsignal(-status)})"
            print(f"error: wiring:discover: the process that probes has been {cause}", file=sys.stderr)
        if status:
            raise SystemExit(status if status > 0 else EXIT_STATUS)
        return DiscoveredNetwork.from_json(json.loads(result.read_text()))


def _serve(args: argparse.Namespace, options: Mapping[str, object], tls: TlsFiles | None) -> NoReturn:
    """Run the application to its end, and this process with it."""
    signal.alarm(args.seconds + SPARE_SECONDS)  # also for what hangs before there is a watchdog
    try:
        run_application(APPLICATION, args.host, args.port, options, tls)
    except KuijiaError as error:
        print(f"error: {one_line(str(error))}", file=sys.stderr, flush=True)
        os._exit(error.exit_status)
    except BaseException as error:  # noqa: BLE001  # nobody else would see it
        line = f"error: {fault(error)}"
        end_process(lambda: print(line, file=sys.stderr, flush=True))


def _write(wiring: StatedWiring, remarks: list[str], args: argparse.Namespace) -> None:
    if args.output is None:
        print(wiring_text(wiring, as_json=args.json, remarks=remarks), end="")
        return
    write_text(args.output, wiring_text(wiring, as_json=args.output.suffix == ".json", remarks=remarks))
    if args.json:
        print(json.dumps(wiring_to_json(wiring)))
    else:
        print(f"wrote {len(wiring.switches)} switches to {args.output}")

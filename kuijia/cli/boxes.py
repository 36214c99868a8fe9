"""`kuijia boxes`: checks physical switches and hosts, sets them up, watches and restores them."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from kuijia.cli.inputs import add_topology, read_topology
from kuijia.cli.parsers import add_common_options
from kuijia.cli.printing import print_json, show
from kuijia.cli.table_options import add_wiring
from kuijia_app.framework.metrics.address import add_metrics_option
from kuijia_app.framework.metrics.server import MetricsServer
from kuijia_app.tables.wiring_file import emulated_wiring
from kuijia_base.errors import KuijiaError
from kuijia_base.option_values import positive_number_within, positive_rate, whole_number
from kuijia_base.quantities import counted
from kuijia_base.text_table import TextTable
from te_solver.model.topology import Topology
from testbed.boxes.fleet import Examination, Fleet
from testbed.boxes.inventory import BoxInventory, read_inventory
from testbed.boxes.plans import Target
from testbed.boxes.watch import BoxesWatch
from testbed.machine.programs import ClockOffset
from testbed.network.bridges import NetworkOptions, require_possible_links

DEFAULT_CAPACITY, DEFAULT_BUFFER_PACKETS = 20.0, 50
"""Defaults of the experiments, so that these find the boxes as they need them."""


DEFAULT_LOOK, SHORTEST_LOOK, LONGEST_LOOK = 1.0, 0.1, 3600.0
_LOOKS = f"from {SHORTEST_LOOK:g} to {LONGEST_LOOK:g}"


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    check = actions.add_parser("check", help="check the boxes and their cables without changing anything")
    up = actions.add_parser("up", help="set up bridges, queues and hosts on the boxes, and record the previous state")
    down = actions.add_parser("down", help="restore the recorded state")
    watch = actions.add_parser("watch", help="report links and boxes that go down or come back, until it is stopped")
    for action, act in ((check, _check), (up, _up), (down, _down), (watch, _watch)):
        action.add_argument("inventory", type=Path, metavar="INVENTORY", help="YAML file, see docs/boxes.md")
        if action in (check, up):
            add_topology(action, scaled=True)
            action.add_argument(
                "--capacity",
                type=positive_rate,
                default=DEFAULT_CAPACITY,
                help="Mbit/s of the largest link; the others are scaled with it (default: %(default)g)",
            )
            action.add_argument(
                "--buffer-packets",
                type=whole_number(1, 100_000),
                default=DEFAULT_BUFFER_PACKETS,
                metavar="N",
                help="length of every queue of a switch (default: %(default)s)",
            )
            add_wiring(action)
        if action is watch:
            every = positive_number_within(SHORTEST_LOOK, LONGEST_LOOK, _LOOKS)
            action.add_argument(
                "--every",
                type=every,
                default=DEFAULT_LOOK,
                metavar="SECONDS",
                help=f"time between two looks, {_LOOKS} (default: %(default)g)",
            )
            add_metrics_option(action)
        action.set_defaults(act=act)
        add_common_options(action, below_another=True)


def run(args: argparse.Namespace) -> int:
    status: int = args.act(args)
    return status


def _check(args: argparse.Namespace) -> int:
    inventory = read_inventory(args.inventory)
    inventory.require_controller_here()
    target = _target(inventory, args)
    with Fleet(inventory) as fleet:
        fleet.connect()
        found = fleet.examine(target)
        clocks = fleet.clocks()
    if args.json:
        print_json("boxes-check", _as_data(found, clocks))
    else:
        show(_parts(inventory, found, clocks))
    return KuijiaError.exit_status if found.faults else 0


def _up(args: argparse.Namespace) -> int:
    inventory = read_inventory(args.inventory)
    inventory.require_controller_here()
    target = _target(inventory, args)
    with Fleet(inventory) as fleet:
        fleet.connect()
        changed = fleet.build(target, _say)
    said = (
        f"{counted(len(inventory.boxes), 'box', 'boxes')} up"
        if changed
        else "the boxes are up already, nothing was changed"
    )
    if args.json:
        print_json("boxes-up", {"changed": changed})
    else:
        print(said)
    return 0


def _down(args: argparse.Namespace) -> int:
    inventory = read_inventory(args.inventory)
    with Fleet(inventory) as fleet:
        fleet.connect()
        fleet.put_back()
    if args.json:
        print_json("boxes-down", {"down": True})
    else:
        print(f"{counted(len(inventory.boxes), 'box', 'boxes')} restored")
    return 0


def _watch(args: argparse.Namespace) -> int:
    inventory = read_inventory(args.inventory)

    def report(kind: str, name: str, is_up: bool) -> None:  # noqa: FBT001  # see `Report`
        state = "up" if is_up else "down"
        if args.json:
            print_json("boxes-event", {"time": time.time(), kind: name, "state": state}, indent=None)
        else:
            print(f"{time.strftime('%H:%M:%S')} {name if kind == 'box' else f'link {name}'} is {state}", flush=True)

    with ExitStack() as stack:
        watch = BoxesWatch(inventory, report)
        if args.metrics is not None:
            server = MetricsServer(args.metrics, watch.tally)
            stack.callback(server.close)
            server.start()
        stack.enter_context(watch)
        while True:
            began = time.monotonic()
            watch.look()
            time.sleep(max(began + args.every - time.monotonic(), 0.0))


def _target(inventory: BoxInventory, args: argparse.Namespace) -> Target:
    topology: Topology = read_topology(args)
    topology = topology.scaled(args.capacity / max(link.capacity for link in topology.links))
    require_possible_links(topology)
    inventory.require_fit(topology)
    wiring = emulated_wiring(topology, args.wiring)
    return Target(inventory, wiring, NetworkOptions(buffer_packets=args.buffer_packets))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _as_data(found: Examination, clocks: Mapping[str, ClockOffset]) -> dict[str, object]:
    return {
        "boxes": found.facts,
        "clocks": {name: asdict(clock) for name, clock in clocks.items()},
        "faults": found.faults,
        "notes": found.notes,
        "amiss": found.amiss,
        "up": found.built,
    }


def _parts(inventory: BoxInventory, found: Examination, clocks: Mapping[str, ClockOffset]) -> list[str | TextTable]:
    rows = [("box", "address", "kernel", "Open vSwitch", "iperf3", "clock")]
    for box in inventory.boxes:
        facts = found.facts.get(box.name)
        if facts is None:
            rows.append((box.name, box.login.address, "-", "-", "-", "-"))
            continue
        programs = facts["programs"]
        versions = (facts["kernel"], programs["ovs-vsctl"] or "-", programs["iperf3"] or "-")
        rows.append((box.name, box.login.address, *versions, _clock(clocks[box.name])))
    parts: list[str | TextTable] = [TextTable(rows, left=range(len(rows[0])))]
    for title, said in (
        ("problems", found.faults),
        ("repaired by `kuijia boxes up`", found.amiss),
        ("not checked", found.notes),
    ):
        if said:
            parts += ["", f"{title}:", *(f"  {each}" for each in said)]
    if not found.faults:
        parts += ["", "the boxes are up" if found.built else "no problems"]
    return parts


def _clock(clock: ClockOffset) -> str:
    return f"{clock.offset * 1000:+.1f} ms ± {clock.error * 1000:.1f}"

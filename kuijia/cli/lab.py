"""`kuijia lab`: runs an emulated network for manual tests: ping it, load it, cut its links."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kuijia.cli import lab_web
from kuijia.cli.inputs import (
    add_demands,
    add_paths,
    add_topology,
    add_tunnels,
    read_demands,
    read_finder,
    read_topology,
)
from kuijia.cli.parsers import add_common_options
from kuijia.cli.printing import print_json, show
from kuijia.cli.table_options import add_table_options, option_words
from kuijia_app.framework.metrics.address import add_metrics_option
from kuijia_app.preparation.sessions import DEFAULT_INTERVAL_MS
from kuijia_app.tables.options import pipeline_options
from kuijia_app.tables.pipeline import build_tables
from kuijia_base.errors import InputError, KuijiaError, UnsoundError, key_path
from kuijia_base.option_values import positive_rate, whole_number
from kuijia_base.options import options_named, typed_options
from kuijia_base.quantities import counted, rate
from kuijia_base.text_table import TextTable
from te_solver.formats.plan_file import load_plan, plan_to_json
from te_solver.model.demands import scaled_to
from te_solver.model.plan import Plan
from te_solver.model.topology import Link, Topology
from testbed.boxes.inventory import read_inventory
from testbed.lab.journal import (
    flow_text,
    handover_text,
    link_text,
    node_text,
    plan_text,
    reaction_text,
    withdrawn_text,
)
from testbed.lab.lab_client import ask_lab, on_host, remove_killed_lab, running_lab, start_lab, the_running_lab, watch
from testbed.lab.lab_options import Order
from testbed.lab.lab_plans import require_served
from testbed.lab.lab_requests import MOST_FLOW_SECONDS, MOST_PRIORITY

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  # it has no public name


_UDP_RATE = 5.0


def add_live_actions(actions: Actions) -> None:
    watching = actions.add_parser("watch", help="print events as they happen, until the lab is down")
    watching.add_argument(
        "--after",
        type=whole_number(0, expected="a whole number, zero or more"),
        metavar="N",
        help="start after event N; 0: with the oldest that the lab keeps (default: new events only)",
    )
    watching.set_defaults(act=_watch)
    flow = actions.add_parser("flow", help="start an iperf3 flow from the host of A to that of B")
    flow.add_argument("source", metavar="A", help="node whose host sends")
    flow.add_argument("target", metavar="B", help="node whose host receives")
    kind = flow.add_mutually_exclusive_group()
    kind.add_argument(
        "--rate", type=positive_rate, default=_UDP_RATE, help="send by UDP, Mbit/s (default: %(default)g)"
    )
    kind.add_argument("--tcp", action="store_true", help="send by TCP, as fast as it can")
    flow.add_argument(
        "--seconds",
        type=whole_number(1, MOST_FLOW_SECONDS, of=" seconds"),
        default=60,
        metavar="S",
        help="seconds until it ends (default: %(default)s)",
    )
    flow.add_argument(
        "--priority",
        type=whole_number(0, MOST_PRIORITY, expected=f"a whole number from 0 to {MOST_PRIORITY}"),
        default=0,
        metavar="N",
        help="class of traffic (default: %(default)s)",
    )
    flow.set_defaults(act=_flow)
    stop = actions.add_parser("stop", help="end a flow early")
    stop.add_argument("flow", metavar="FLOW", help="name of the flow, such as f1")
    stop.set_defaults(act=_stop)


def flow_table(flows: Sequence[Mapping[str, Any]]) -> TextTable:
    """Return the flows of a lab's state as a table."""
    rows = [
        (
            flow["flow"],
            f"{flow['source']}->{flow['target']}",
            flow["kind"].upper(),
            "-" if flow["rate"] is None else rate(flow["rate"]),
            "-" if flow["goodput"] is None else rate(flow["goodput"]),
            "-" if flow["path_id"] is None else f"{flow['path_id']}",
        )
        for flow in flows
    ]
    return TextTable((("flow", "hosts", "kind", "rate", "goodput", "tunnel"), *rows), left=(0, 1, 2))


def _watch(args: argparse.Namespace) -> int:
    for event in watch(the_running_lab(), args.after):
        if args.json:
            print_json("lab-event", event, indent=None)
        else:
            at = time.strftime("%H:%M:%S", time.localtime(event["time"]))
            print(f"{at}.{int(event['time'] * 1000) % 1000:03} {event['kind']}: {event['text']}")
        sys.stdout.flush()
    return 0


def _flow(args: argparse.Namespace) -> int:
    kind, wanted = ("tcp", None) if args.tcp else ("udp", args.rate)
    wish = {"source": args.source, "target": args.target, "seconds": args.seconds, "priority": args.priority}
    started = ask_lab("start-flow", kind=kind, rate=wanted, **wish)
    if args.json:
        print_json("lab-flow", started)
    else:
        print(f"{flow_text(started)} has started")
    return 0


def _stop(args: argparse.Namespace) -> int:
    done = ask_lab("stop-flow", flow=args.flow)
    if args.json:
        print_json("lab-flow", done)
    else:
        print(f"flow {args.flow} is stopped")
    return 0


def add_changes(actions: Actions) -> None:
    update = actions.add_parser("update", help="solve for other demands and replace the plan while traffic flows")
    add_demands(update, of_topology=False)
    update.add_argument("--plan", type=Path, metavar="PLAN", help="plan file to apply instead, after verifying it")
    update.set_defaults(act=_update)
    withdraw = actions.add_parser(
        "withdraw", help="withdraw the plan, or an update under way, which leaves the previous plan in force"
    )
    withdraw.set_defaults(act=_withdraw)
    handover = actions.add_parser("handover", help="hand over to the other of two controllers, without interruption")
    handover.set_defaults(act=_hand_over)
    for name, what in (("fail", "cut the link between A and B"), ("heal", "restore the link between A and B")):
        action = actions.add_parser(name, help=f"{what}, or all links of node A")
        action.add_argument("a", metavar="A", help="one end of the link, or the node")
        action.add_argument("b", metavar="B", nargs="?", help="the other end (default: all links of A)")
        action.set_defaults(act=_fail_or_heal, do=name)


def _update(args: argparse.Namespace) -> int:
    if (args.plan is None) == (args.demands is None):
        raise InputError(
            "lab",
            "update",
            "there are both demands and a plan" if args.plan else "there is no plan",
            "DEMANDS or --plan PLAN",
        )
    if args.plan is not None:
        done = ask_lab("replace", plan=plan_to_json(load_plan(args.plan)), source=str(args.plan))
    else:
        described = ask_lab("topology")
        links = tuple(Link(**link) for link in described["links"])
        demands = read_demands(args, Topology(described["name"], tuple(described["nodes"]), links))
        rows = [(demand.source, demand.target, demand.rate, demand.priority) for demand in demands]
        done = ask_lab("update", demands=rows, source=str(args.demands))
    if args.json:
        print_json("lab-update", done)
        return 0
    print(plan_text(done))
    for what in ("added", "removed"):
        print(*(f"{what:<8} {'-'.join(path)}" for path in done[what]), sep="\n", end="\n" if done[what] else "")
    return 0


def _withdraw(args: argparse.Namespace) -> int:
    done: dict[str, Any] = ask_lab("withdraw")
    if args.json:
        print_json("lab-update", done)
    else:
        print("the update is withdrawn" if "withdrawn" in done else withdrawn_text(done))
    return 0


def _hand_over(args: argparse.Namespace) -> int:
    done: dict[str, Any] = ask_lab("handover")
    if args.json:
        print_json("lab-handover", done)
    else:
        print(handover_text(done))
    return 0


def _fail_or_heal(args: argparse.Namespace) -> int:
    event = ask_lab(args.do, node=args.a) if args.b is None else ask_lab(args.do, a=args.a, b=args.b)
    if args.json:
        print_json("lab-event", event)
        return 0
    print(node_text(event) if args.b is None else link_text(event))
    reaction = reaction_text(event)
    if reaction is not None:
        print(reaction)
    return 0


DEFAULT_CAPACITY = 20.0


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)

    up = actions.add_parser("up", help="start switches, hosts and controller, and keep them running")
    add_topology(up, scaled=True)
    add_demands(up, optional=False)
    add_tunnels(up)
    add_paths(up)
    add_table_options(up)
    up.add_argument(
        "--bfd-interval",
        type=whole_number(0, expected="a whole number of milliseconds"),
        default=DEFAULT_INTERVAL_MS,
        metavar="MS",
        help="time between two packets of a BFD session, with --liveness bfd (default: %(default)s ms)",
    )
    up.add_argument("--framework", choices=["os-ken", "ryu"], default="os-ken", help="controller framework")
    up.add_argument(
        "--controllers",
        type=int,
        choices=[1, 2],
        default=1,
        help="number of controllers; of two, one is active and the other stands by (default: %(default)s)",
    )
    up.add_argument(
        "--reoptimise",
        action="store_true",
        help="after a failure, the controller solves and applies a plan for the remaining links",
    )
    up.add_argument(
        "--capacity",
        type=positive_rate,
        default=DEFAULT_CAPACITY,
        help="Mbit/s of the largest link; the others and the demands are scaled with it (default: %(default)g)",
    )
    up.add_argument(
        "--inventory",
        type=Path,
        metavar="FILE",
        help="YAML file of physical boxes to run on, see docs/boxes.md (default: emulate on this machine)",
    )
    add_metrics_option(up)
    up.add_argument("--web", action="store_true", help="also serve the lab as a page until Ctrl-C; the lab stays up")
    lab_web.add_serving(up)
    up.set_defaults(act=_up)

    actions.add_parser("status", help="show controller, links, tunnels and queues").set_defaults(act=_status)
    add_changes(actions)
    execute = actions.add_parser("exec", help="run a command on a host, such as `kuijia lab exec s1 ping 10.0.4.1`")
    execute.add_argument("node", metavar="NODE", help="node of the host")
    execute.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="command with its arguments")
    execute.set_defaults(act=_exec)
    add_live_actions(actions)
    actions.add_parser("down", help="stop everything and clean up").set_defaults(act=_down)
    lab_web.add_actions(actions)
    for name, action in actions.choices.items():
        if name != "exec":  # whose options are the command's
            add_common_options(action, below_another=True)


def run(args: argparse.Namespace) -> int:
    status: int = args.act(args)
    return status


def _up(args: argparse.Namespace) -> int:
    if args.web:
        lab_web.require_packages()
        lab_web.tls_pair(args)  # refused before the lab is started
    else:
        lab_web.refuse_serving(args)
    topology = read_topology(args)
    demands = read_demands(args, topology)
    words = option_words(args)
    tables = pipeline_options(words)
    tables.wired(topology)  # a wiring of another network is refused before the solver starts
    if args.inventory is not None:
        _require_boxes(args, topology)
    factor = args.capacity / max(link.capacity for link in topology.links)
    require_served(tables.layout, demands, args.demands)
    # The optimiser takes a second to import; --help and bad input should not wait for it.
    from te_solver.solve import solve  # noqa: PLC0415  # slow to import: CVXPY

    topology, demands = scaled_to(args.capacity, topology, demands)
    with typed_options(), options_named():
        finder = read_finder(args, topology)
        plan = solve(topology, demands, args.tunnels, finder=finder, source=args.demands)
    try:
        build_tables(plan, tables)
    except UnsoundError as error:
        raise InputError(args.demands, key_path(error.where), error.problem, error.expected) from error
    options = {"framework": args.framework, "bfd_interval_ms": args.bfd_interval, **asdict(words)}
    options["slot_count"] = options.pop("slots")
    options["tunnels_per_pair"] = args.tunnels
    options["demand_factor"] = factor
    options["controllers"] = args.controllers
    options["reoptimise"] = args.reoptimise
    options["metrics"] = "" if args.metrics is None else str(args.metrics)
    options["inventory"] = "" if args.inventory is None else str(args.inventory.absolute())
    status = start_lab(Order.of(plan, options), _say)
    if args.json:
        print_json("lab-status", status)
    else:
        show([*_status_parts(status), "", *_usage(plan, status)])
    return lab_web.show_lab(args) if args.web else 0


def _require_boxes(args: argparse.Namespace, topology: Topology) -> None:
    """Raise InputError if the boxes of the inventory cannot be this lab."""
    inventory = read_inventory(args.inventory)
    inventory.require_fit(topology)
    inventory.require_controller_here()


def _status(args: argparse.Namespace) -> int:
    status = ask_lab("status")
    if args.json:
        print_json("lab-status", status)
    else:
        show(_status_parts(status))
    return KuijiaError.exit_status if status["faults"] else 0


def _exec(args: argparse.Namespace) -> int:
    host = ask_lab("enter", node=args.node)
    if not args.command:
        raise InputError("lab", "exec", "no command is given", "one, such as `ping 10.0.4.1`")
    in_host, environment = on_host(host, args.command)
    sys.stdout.flush()
    os.execvpe("mnexec", in_host, environment)  # noqa: S606  # the command line is the user's own


def _down(args: argparse.Namespace) -> int:
    if running_lab() is not None or not remove_killed_lab(_say):
        ask_lab("down")
    if args.json:
        print_json("lab-status", {"lab": None})
    else:
        print("the lab is down")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _usage(plan: Plan, status: dict[str, Any]) -> list[str]:
    changes = "kuijia lab fail A B | heal A B | update DEMANDS | flow A B | watch | status | down"
    if status["ground"] == "boxes":
        return [changes]
    address_of = {host["node"]: host["address"] for host in status["hosts"]}
    pair = plan.pairs[0]
    example = shlex.join(["kuijia", "lab", "exec", pair.source, "ping", "-c", "3", address_of[pair.target]])
    return [
        f"kuijia lab exec NODE COMMAND runs a command on a node's host: {example}",
        changes,
    ]


def _status_parts(status: dict[str, Any]) -> list[str | TextTable]:
    controller = status["controller"]
    tables = f"{status['layout']} queues, tagging {status['tagging']}, pipeline {status['pipeline']}"
    alive = f"process {controller['pid']}" if controller["pid"] is not None else "dead"
    switches = counted(len(controller["switches"]), "switch", "switches")
    where = " on boxes" if status["ground"] == "boxes" else ""
    down = [f"down: {', '.join(status['nodes_down'])}"] if status["nodes_down"] else []
    parts: list[str | TextTable] = [
        f"lab {status['lab']}: {status['topology']}, scheme {status['scheme']}, {status['datapath']} datapath{where}",
        f"tables: {tables}, liveness by {status['liveness']}",
        f"controller: {controller['framework']}, {alive}, {switches} connected",
        *_member_lines(controller),
        *_metrics_lines(status["metrics"]),
        *down,
        "",
        _link_table(status["links"]),
        "",
        _tunnel_table(status["tunnels"]),
    ]
    if status["pairs_carried"]:
        parts += ["", _carried_table(status["pairs_carried"])]
    if status["sessions"]:
        parts += ["", _session_table(status["sessions"])]
    parts += ["", _queue_table(status["queues"])]
    if status["flows"]:
        parts += ["", flow_table(status["flows"])]
    if controller["errors"] or status["faults"]:
        parts += ["", "errors", *status["faults"]]
    for error in controller["errors"]:
        at = time.strftime("%H:%M:%S", time.localtime(error["time"]))
        said = ", ".join(f"{key} {value}" for key, value in error.items() if key not in ("time", "event"))
        parts.append(f"{at} {error['event']}: {said}")
    return [*parts, "", _host_table(status["hosts"])]


def _host_table(hosts: Sequence[Mapping[str, Any]]) -> TextTable:
    rows = [
        (host["node"], host["address"], "?" if host["dropped"] is None else f"{host['dropped']:,}") for host in hosts
    ]
    return TextTable((("host", "address", "packets dropped"), *rows), left=(0, 1))


def _member_lines(controller: Mapping[str, Any]) -> list[str]:
    """Return a line about each of several controllers."""
    return [f"controller {member['number']}: {_member_text(member)}" for member in controller.get("members", ())]


def _member_text(member: Mapping[str, Any]) -> str:
    if member["pid"] is None:
        return "dead"
    if not member["acts"]:
        return f"process {member['pid']}, stands by"
    return f"process {member['pid']}, acts since {time.strftime('%H:%M:%S', time.localtime(member['since']))}"


def _metrics_lines(addresses: Sequence[str]) -> list[str]:
    """Return a line about where metrics are served, if they are."""
    numbers = range(1, len(addresses))
    names = ["lab", *("controller" if len(numbers) == 1 else f"controller {number}" for number in numbers)]
    pages = [f"{name} http://{address}/metrics" for name, address in zip(names, addresses, strict=False)]
    return [f"metrics: {', '.join(pages)}"] if pages else []


def _link_table(links: Sequence[Mapping[str, Any]]) -> TextTable:
    rows = [(f"{link['a']}-{link['b']}", rate(link["capacity"]), "up" if link["up"] else "DOWN") for link in links]
    return TextTable((("link", "capacity", "state"), *rows), left=(0, 2))


def _tunnel_table(tunnels: Sequence[Mapping[str, Any]]) -> TextTable:
    rows = [
        (
            f"{tunnel['path_id']}",
            f"{tunnel['priority']}",
            f"{tunnel['weight']:.3f}",
            "alive" if tunnel["alive"] else "DEAD",
            "-".join(tunnel["nodes"]),
        )
        for tunnel in tunnels
    ]
    return TextTable((("tunnel", "class", "weight", "state", "path"), *rows), left=(3, 4))


def _carried_table(pairs: Sequence[Mapping[str, Any]]) -> TextTable:
    rows = [(f"{pair['ingress']}>{pair['egress']}", "-".join(pair["path"])) for pair in pairs]
    return TextTable((("pair without a live tunnel", "carried over"), *rows), left=(0, 1))


def _session_table(sessions: Sequence[Mapping[str, Any]]) -> TextTable:
    rows = [(f"{session['path_id']}", ", ".join(map(_end_text, session["ends"]))) for session in sessions]
    return TextTable((("BFD session", "its ends"), *rows), left=(1,))


def _end_text(end: Mapping[str, Any]) -> str:
    return f"{end['switch']} {end['state'] if end['up'] else end['state'].upper()}"


def _queue_table(queues: Sequence[Mapping[str, Any]]) -> TextTable:
    rows = [
        (
            f"{queue['switch']}->{queue['to']} {queue['queue']}",
            f"{queue['sent_packets']}",
            f"{queue['sent_bytes']}",
            f"{queue['dropped_packets']}",
            f"{queue['waiting_packets']}",
            "-" if queue["rate"] is None else rate(queue["rate"]),
        )
        for queue in queues
    ]
    return TextTable((("queue", "sent packets", "sent bytes", "dropped", "waiting", "rate now"), *rows))

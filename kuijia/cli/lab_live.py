"""The actions of `kuijia lab` around a lab's traffic and events: `watch`, `flow`, `stop`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.results.text_table import TextTable
from kuijia.cli.printing import print_json
from kuijia_base.option_values import positive_rate, whole_number
from kuijia_base.quantities import rate
from testbed.lab.lab_client import ask_lab, the_running_lab, watch
from testbed.lab.lab_requests import MOST_FLOW_SECONDS, MOST_PRIORITY
from testbed.lab.lab_texts import flow_text

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  # it has no public name

_UDP_RATE = 5.0


def add_live_actions(actions: Actions) -> None:
    watching = actions.add_parser("watch", help="print events as they happen, until the lab is down")
    watching.add_argument(
        "--after",
        type=whole_number(0, expected="a whole number, zero or more"),
        metavar="N",
        help="begin with the events after number N; 0 for all that the lab remembers (default: new ones only)",
    )
    watching.set_defaults(act=_watch)
    flow = actions.add_parser("flow", help="start an iperf3 flow from the host of A to that of B")
    flow.add_argument("source", metavar="A")
    flow.add_argument("target", metavar="B")
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
    stop = actions.add_parser("stop", help="end a flow before its time")
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

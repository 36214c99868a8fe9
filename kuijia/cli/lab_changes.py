"""The actions of `kuijia lab` that change the network or its plan: `fail`, `heal`, `update`, `withdraw`, `handover`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kuijia.cli.inputs import add_demands, read_demands
from kuijia.cli.printing import print_json
from kuijia_base.errors import InputError
from te_solver.plan_file import load_plan, plan_to_json
from te_solver.topology import Link, Topology
from testbed.lab.lab_client import ask_lab
from testbed.lab.lab_texts import handover_text, link_text, node_text, plan_text, reaction_text, withdrawn_text

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  # it has no public name


def add_changes(actions: Actions) -> None:
    update = actions.add_parser("update", help="solve for other demands and replace the plan while traffic flows")
    add_demands(update, of_topology=False)
    update.add_argument("--plan", type=Path, metavar="PLAN", help="plan file to put in force instead, verified before")
    update.set_defaults(act=_update)
    withdraw = actions.add_parser(
        "withdraw", help="take the plan out of force, or an update that is under way: the plan before stays"
    )
    withdraw.set_defaults(act=_withdraw)
    handover = actions.add_parser("handover", help="let the other of two controllers act, without an interruption")
    handover.set_defaults(act=_hand_over)
    for name, what in (("fail", "cut the link between A and B"), ("heal", "restore the link between A and B")):
        action = actions.add_parser(name, help=f"{what}, or all links of node A")
        action.add_argument("a", metavar="A")
        action.add_argument("b", metavar="B", nargs="?")
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

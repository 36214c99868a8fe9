"""`kuijia switches`: gives one's own switches what a plan needs beyond flow entries, and restores them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from kuijia.cli.controller import add_bfd_interval, add_host_mtu, add_tls_files, tls_files
from kuijia.cli.parsers import add_common_options
from kuijia.cli.printing import print_json
from kuijia.cli.table_options import add_plan_and_options, build
from kuijia_app.preparation.changes import Change, script_lines
from kuijia_app.preparation.examination import Lack, Wanted, restoring_all
from kuijia_app.preparation.runner import (
    DEFAULT_ADDRESS,
    Databases,
    lacks_of,
    prepare,
    require_bridges,
    restore,
    survey,
)
from kuijia_app.tables.needs import SwitchNeeds, needs_of
from kuijia_base.quantities import counted


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    check = actions.add_parser("check", help="list what is missing, per switch and port")
    check.set_defaults(act=_check)
    supply = actions.add_parser("prepare", help="add what is missing; the switch keeps a note of its previous state")
    supply.set_defaults(act=_prepare)
    back = actions.add_parser("restore", help="restore the previous state")
    back.set_defaults(act=_restore)
    for action in (supply, back):
        action.add_argument("--print", action="store_true", help="print the commands instead of running them")
    for action in (check, supply, back):
        add_plan_and_options(action)
        action.add_argument(
            "--ovsdb",
            default=DEFAULT_ADDRESS,
            metavar="ADDRESS",
            help="Open vSwitch database of the switches, unless the wiring file has another (default: %(default)s)",
        )
        add_host_mtu(action)
        action.add_argument(
            "--labelled-hosts", action="store_true", help="hosts may send packets that already carry a label"
        )
        add_bfd_interval(action, "with --liveness bfd")
        add_tls_files(action, "all three for databases at ssl:HOST:PORT")
        add_common_options(action, below_another=True)


def run(args: argparse.Namespace) -> int:
    built = build(args)
    wiring = built.options.wired(built.plan.topology)
    needs = needs_of(built.plan, built.options, wiring, args.host_mtu, labelled_hosts=args.labelled_hosts)
    stated = built.options.wiring
    own = {} if stated is None else stated.databases
    databases = Databases(args.ovsdb, own, tls_files(args))
    status: int = args.act(
        args, needs, databases, Wanted(built.options.layout, built.options.tagging, args.bfd_interval)
    )
    return status


def _check(args: argparse.Namespace, needs: Mapping[str, SwitchNeeds], databases: Databases, wanted: Wanted) -> int:
    return _show(args, needs, lacks_of(survey(needs, databases), wanted))


def _prepare(args: argparse.Namespace, needs: Mapping[str, SwitchNeeds], databases: Databases, wanted: Wanted) -> int:
    if args.print:
        lacks = lacks_of(survey(needs, databases), wanted)
        _print_commands(args, [change for lack in lacks for change in lack.changes])
        left = [lack for lack in lacks if not lack.changes]
        for lack in left:
            print(f"note: {lack}", file=sys.stderr)
        return 1 if left else 0
    return _show(args, needs, prepare(needs, databases, wanted, lambda line: print(f"note: {line}", file=sys.stderr)))


def _restore(args: argparse.Namespace, needs: Mapping[str, SwitchNeeds], databases: Databases, _: Wanted) -> int:
    if args.print:
        found = survey(needs, databases)
        _print_commands(args, restoring_all(found))
        require_bridges(found)
        return 0
    count = restore(needs, databases)
    if args.json:
        _print({"changes": count})
    elif count:
        print(f"{counted(len(needs), 'switch', 'switches')} restored by {counted(count, 'change')}")
    else:
        print("nothing to restore")
    return 0


def _show(args: argparse.Namespace, needs: Mapping[str, SwitchNeeds], lacks: Iterable[Lack]) -> int:
    lacks = list(lacks)
    if args.json:
        _print({"missing": [_as_data(lack) for lack in lacks]})
    else:
        for lack in lacks:
            print(lack)
        what = counted(len(lacks), "item") if lacks else "nothing"
        print(f"{what} missing on {counted(len(needs), 'switch', 'switches')}")
    return 1 if lacks else 0


def _print(data: Mapping[str, Any]) -> None:
    print_json("switches", data, indent=2)


def _as_data(lack: Lack) -> dict[str, Any]:
    data = {"switch": lack.switch, "port": lack.port, "text": lack.text, "advice": lack.advice}
    return {**data, "is_preparable": bool(lack.changes)}


def _print_commands(args: argparse.Namespace, changes: Iterable[Change]) -> None:
    lines = [line for change in changes for line in script_lines(change)]
    if args.json:
        _print({"commands": lines})
    else:
        print("".join(f"{line}\n" for line in lines), end="")

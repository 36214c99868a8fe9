"""`kuijia whatif`: finds the loss of each pair after each failure, under each scheme, by flows or packet by packet."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from kuijia.api.solving import DEFAULT_TUNNELS
from kuijia.api.whatif import Asker, Inputs, whatif_study
from kuijia.api.whatif_options import FLOW, WhatIfOptions, other_options
from kuijia.cli.inputs import add_demands, add_paths, add_topology, add_tunnels, read_demands, read_topology
from kuijia.cli.parsers import add_alias
from kuijia.cli.printing import print_notes, show
from kuijia_base.additions import command_for, require_installed
from kuijia_base.errors import InputError
from kuijia_base.option_values import folder_or_page, is_page
from kuijia_base.options import add_options, from_arguments, typed_options
from kuijia_base.output_folder import OutputFolder, output_folder
from kuijia_base.picture_file import LIBRARY
from kuijia_base.progress import progress_line
from kuijia_base.sweep.workers import add_workers, workers_from
from te_solver.formats.plan_file import load_plan
from te_solver.formats.topology_file import document_kind
from te_solver.model.demands import Demand
from te_solver.model.plan import MOST_PATHS

_WORST = 5
"""Worst failures in the summary of each scheme, unless -v asks for all."""

_READING = ("topology_format", "default_capacity", "rate_unit", "demand_format", "row", "drop_unreachable")
_MAKING = ("tunnels", "node_disjoint", "paths", "objective", "partitions")
_FIRST = ("schemes", "failures", "sample", "seed")
"""Options in the order in which a command line that reproduces a study has them; others follow."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_topology(parser, required=False)
    add_demands(parser)
    add_tunnels(parser, MOST_PATHS)
    add_paths(parser)
    parser.add_argument(
        "--plan",
        type=Path,
        metavar="PLAN",
        help="plan file to study instead of TOPOLOGY and DEMANDS, also without `--plan`",
    )
    add_options(parser, WhatIfOptions)
    add_alias(parser, "--scheme", "--schemes")
    add_workers(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=folder_or_page,
        metavar="DIR",
        help="folder for the report, its pictures and all numbers, or FILE.html for the report alone",
    )


def run(args: argparse.Namespace) -> int:
    _take_plan(args)
    how = from_arguments(WhatIfOptions, args)
    how = replace(how, tunnels=None if how.tunnels == DEFAULT_TUNNELS else how.tunnels)
    assumptions: list[str] = []

    def say(source: str, words: str) -> None:
        print_notes(source, [words])

    def assume(source: str, words: str) -> None:
        print_notes(source, [words])
        assumptions.append(words)

    with typed_options():
        how.require_backend()
        inputs = _inputs(args, how, assumptions)
        with _output(args) as folder, progress_line() as progress:
            workers = None if args.workers is None and args.cluster is None else workers_from(args)
            asker = Asker(workers, folder, progress, assumptions, say, assume, partial(_command, args))
            with whatif_study(inputs, how, asker) as result:
                data = result.to_json()
                if folder is not None and not result.write(folder):
                    without = f"no report and no pictures without {LIBRARY}: {command_for(LIBRARY)}"
                    print_notes(str(folder.path), [without])
    if args.json:
        print(json.dumps(data, indent=1, allow_nan=False))
        return 0
    show(result.summary(None if args.verbose else _WORST))
    if folder is not None:
        print(f"wrote {', '.join(str(folder.path / name) for name in folder.written)}")
    return 0


def _take_plan(args: argparse.Namespace) -> None:
    """Make a plan file in the place of TOPOLOGY the one of --plan."""
    if args.topology is not None and document_kind(Path(args.topology)) == "plan" and args.plan is None:
        if args.demands is not None:
            raise InputError(args.topology, 1, "a plan, which has demands itself", f"no {args.demands} after it")
        args.plan, args.topology = Path(args.topology), None


def _inputs(args: argparse.Namespace, how: WhatIfOptions, assumptions: list[str]) -> Inputs:
    """Return the network and its demands, from their files or from a plan, and that plan; raises InputError."""
    if args.plan is None:
        if args.topology is None:
            raise InputError("kuijia whatif", "", "TOPOLOGY missing", "TOPOLOGY and DEMANDS, or a plan")
        how.require_planning()
        topology = read_topology(args, assumptions)
        return Inputs(None, topology, read_demands(args, topology), str(args.demands), str(args.topology))
    if args.topology is not None:
        raise InputError(
            "option", "--plan", "the plan has a topology and demands itself", "neither of the two with a plan"
        )
    how.refuse_planning()
    plan = load_plan(args.plan)
    demands = [Demand(pair.source, pair.target, pair.demand, pair.priority) for pair in plan.pairs]
    return Inputs(plan, plan.topology, demands, str(args.plan), str(args.plan))


def _output(args: argparse.Namespace) -> AbstractContextManager[OutputFolder | None]:
    """Return where the results go, None without --output; a page alone needs the library that draws."""
    if args.output is not None and is_page(args.output):
        require_installed(LIBRARY, "the report")
    return output_folder(args.output)


def _command(args: argparse.Namespace, how: WhatIfOptions) -> str:
    """Return the command line that reproduces a study; defaults are written out too, as they may change."""
    names = ["kuijia", "whatif", *(str(each) for each in (args.topology, args.demands) if each is not None)]
    return shlex.join([*names, *_words(args, how)])


def _words(args: argparse.Namespace, how: WhatIfOptions) -> Iterator[str]:
    left_out = {*_MAKING, *_FIRST, *other_options(how.backend), "backend"}
    values: dict[str, Any] = {"backend": None if how.backend == FLOW else how.backend}
    values |= {name.removeprefix("topology_"): getattr(args, name) for name in _READING}
    values |= {name: getattr(how, name) for name in _MAKING} | {"plan": args.plan}
    values |= {name: getattr(how, name) for name in _FIRST}
    values |= {each.name: getattr(how, each.name) for each in fields(how) if each.name not in left_out}
    values |= {"tunnels": how.tunnels_per_pair} if args.plan is None else {"paths": None}
    for name, value in values.items():
        if value is not None and value is not False:
            yield f"--{name.replace('_', '-')}"
            if value is not True:
                yield ",".join(value) if isinstance(value, tuple) else f"{value}"

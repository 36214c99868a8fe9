"""`kuijia solve`: from a topology and demands to a plan."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from kuijia_app.cli.inputs import add_demands, add_topology, add_tunnels, read_demands, read_topology
from te_solver.plan import PairPlan, Plan
from te_solver.plan_file import plan_text, save_plan
from te_solver.tunnels import TunnelFinder

HELP = "choose tunnels for demands and divide the traffic over them"

OBJECTIVES = ("max-throughput",)
_LISTED = 10
"""Lines that each part of the summary has at most, unless -v asks for all."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_topology(parser)
    add_demands(parser)
    add_tunnels(parser)
    parser.add_argument("--objective", choices=OBJECTIVES, default=OBJECTIVES[0], help="what to optimise")
    parser.add_argument("-o", "--output", type=Path, metavar="PLAN", help="write the plan to this file (JSON)")


def run(args: argparse.Namespace) -> int:
    topology = read_topology(args.topology)
    demands = read_demands(args.demands, topology)
    # The optimiser takes a second to import, which neither --help nor bad input should cost.
    from te_solver.solve import solve  # noqa: PLC0415

    plan = solve(topology, demands, args.tunnels, source=args.demands)
    if args.output is not None:
        save_plan(plan, args.output)
    if args.json:
        print(plan_text(plan), end="")
    else:
        print("\n".join(summary(plan, args.tunnels, None if args.verbose else _LISTED)))
        if args.output is not None:
            print(f"wrote {args.output}")
    return 0


def summary(plan: Plan, tunnels_per_pair: int, listed: int | None) -> list[str]:
    """What a reader wants to know of a plan, as lines; `listed` bounds how many pairs and links are named."""
    demand = sum(pair.demand for pair in plan.pairs)
    allocated = sum(pair.allocated for pair in plan.pairs)
    share = f" ({allocated / demand:.1%})" if demand > 0 else ""
    sizes = [
        _counted(len(plan.topology.nodes), "node"),
        _counted(len(plan.topology.edges), "edge"),
        _counted(len(plan.pairs), "pair"),
        _counted(len(plan.tunnels), "tunnel"),
    ]
    return [
        f"{plan.topology.name}: {', '.join(sizes)}",
        f"{plan.objective}: {allocated:g} of {demand:g} Mbit/s{share} allocated",
        f"{plan.solver}: {plan.solve_seconds * 1e3:.1f} ms",
        "",
        "tunnels (share of the pair's traffic, Mbit/s, path)",
        *_bounded([_pair_lines(pair) for pair in plan.pairs], listed, "pair"),
        "",
        "most loaded links",
        *_bounded([[line] for line in _load_lines(plan)], listed, "link"),
        *_shared_lines(plan, tunnels_per_pair, listed),
    ]


def _pair_lines(pair: PairPlan) -> list[str]:
    head = f"  {pair.source} -> {pair.target}: {pair.allocated:g} of {pair.demand:g} Mbit/s"
    return [
        head,
        *(f"    {tunnel.weight:6.1%} {tunnel.rate:10.4g}  {' '.join(tunnel.nodes)}" for tunnel in pair.tunnels),
    ]


def _load_lines(plan: Plan) -> list[str]:
    used = [(plan.link_loads[link.ends], link) for link in plan.topology.links if plan.link_loads[link.ends] > 0]
    used.sort(key=lambda each: each[0] / each[1].capacity, reverse=True)
    return [
        f"  {load / link.capacity:6.1%}  {link.source} -> {link.target}: {load:g} of {link.capacity:g} Mbit/s"
        for load, link in used
    ] or ["  no link carries traffic"]


def _shared_lines(plan: Plan, tunnels_per_pair: int, listed: int | None) -> list[str]:
    finder = TunnelFinder(plan.topology)
    disjoint = ((pair, finder.count_disjoint(pair.source, pair.target, tunnels_per_pair)) for pair in plan.pairs)
    fewer = [(pair, count) for pair, count in disjoint if count < tunnels_per_pair]
    if not fewer:
        return []
    lines = [
        f"  {pair.source} -> {pair.target}: {count} of its {len(pair.tunnels)} tunnels are edge-disjoint"
        for pair, count in fewer
    ]
    return [
        "",
        f"pairs with fewer than {tunnels_per_pair} edge-disjoint tunnels: {len(fewer)} of {len(plan.pairs)}",
        *_bounded([[line] for line in lines], listed, "pair"),
    ]


def _bounded(entries: Sequence[list[str]], listed: int | None, what: str) -> list[str]:
    """The lines of the first `listed` entries, and how many more there are."""
    lines = [line for entry in entries[:listed] for line in entry]
    left_out = len(entries) - listed if listed is not None else 0
    return [*lines, f"  ... and {_counted(left_out, what)} more; -v shows all"] if left_out > 0 else lines


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"

"""Runs many sequences of faults: `python -m tests.rehearsal --sequences 100000 --seed 0`.

With `--cut 3 --network gscale`, draws sets of three links of a network instead, cuts them, and counts pairs that are
dead a second later although other links connect them.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time

from kuijia_app.tables.options import Liveness
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_names, shipped_network
from tests.rehearsal.cuts import plan_of_all_pairs, rehearse_cuts
from tests.rehearsal.sequence import BrokenPromise, run_sequence, shortest

_SHOWN = 10


def main() -> int:
    """Run sequences one after the other; print findings, and the count and speed at the end."""
    parser = argparse.ArgumentParser(prog="python -m tests.rehearsal", description=__doc__)
    parser.add_argument("--sequences", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="of the first; the next have the next (default: 0)")
    parser.add_argument("--controllers", type=int, default=1, help="controllers of a network (default: 1)")
    parser.add_argument("--cut", type=int, metavar="LINKS", help="cut so many drawn links of a network at a time")
    parser.add_argument("--network", default="gscale", help="its file, or name of a shipped one (default: gscale)")
    parser.add_argument("--tunnels", type=int, default=3, help="of each of its pairs (default: 3)")
    parser.add_argument("--liveness", choices=[each.value for each in Liveness], default=Liveness.CONTROLLER.value)
    args = parser.parse_args()
    if args.cut is not None:
        return _cut(args)
    gc.set_threshold(50_000)  # worlds are cycles: to look for them often takes a tenth of the time
    began = time.monotonic()
    findings = []
    for seed in range(args.seed, args.seed + args.sequences):
        found = run_sequence(seed, controllers=args.controllers)
        if found is not None:
            findings.append(found)
            if len(findings) <= _SHOWN:
                _show(shortest(found, args.controllers))
    seconds = time.monotonic() - began
    rate = 60 * args.sequences / seconds
    sys.stdout.write(f"{args.sequences} sequences, {len(findings)} findings, {rate:.0f} sequences a minute\n")
    return 1 if findings else 0


def _cut(args: argparse.Namespace) -> int:
    network = shipped_network(args.network) if args.network in shipped_names() else args.network
    plan = plan_of_all_pairs(load_topology(network), args.tunnels)
    connected = carried = dead = 0
    for tried in rehearse_cuts(plan, Liveness(args.liveness), args.cut, args.sequences, args.seed):
        connected += tried.connected
        carried += tried.restored
        dead += len(tried.dead)
        for ends in tried.dead[:_SHOWN]:
            sys.stdout.write(f"{'-'.join(ends)} is dead after cuts of {', '.join(map('-'.join, tried.edges))}\n")
    sys.stdout.write(
        f"{args.sequences} times {args.cut} links: {connected} connected pairs, {carried} of them without a tunnel, "
        f"{dead} dead\n"
    )
    return 1 if dead else 0


def _show(finding: BrokenPromise) -> None:
    lines = [f"seed {finding.seed}: {finding.problem}"]
    lines += [f"  after {each.gap:.3f} s: {each}" for each in finding.faults]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

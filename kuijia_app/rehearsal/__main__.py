"""Runs many sequences of faults: `python -m kuijia_app.rehearsal --sequences 100000 --seed 0`."""

from __future__ import annotations

import argparse
import gc
import sys
import time

from kuijia_app.rehearsal.sequence import Finding, run_sequence, shortest

_SHOWN = 10


def main() -> int:
    """Run sequences one after the other; print findings, and the count and speed at the end."""
    parser = argparse.ArgumentParser(prog="python -m kuijia_app.rehearsal", description=__doc__)
    parser.add_argument("--sequences", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="of the first; the next have the next (default: 0)")
    parser.add_argument("--controllers", type=int, default=1, help="controllers of a network (default: 1)")
    args = parser.parse_args()
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


def _show(finding: Finding) -> None:
    lines = [f"seed {finding.seed}: {finding.problem}"]
    lines += [f"  after {each.gap:.3f} s: {each}" for each in finding.faults]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

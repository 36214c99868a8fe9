"""The packet model compared with ns-3: `python -m benchmarks.ns3 [SCENARIO...]` prints a line for each quantity."""

from __future__ import annotations

import sys

from benchmarks.ns3.agreement import GOALS, agreements, scenarios
from benchmarks.ns3.peer import Ns3MissingError, program
from kuijia_base.errors import KuijiaError


class UnknownScenarioError(KuijiaError):
    """Raised for an unknown scenario name."""


def main(names: list[str]) -> int:
    """Run the scenarios; return the exit status, 1 if a goal is missed."""
    known = {scenario.name: scenario for scenario in scenarios()}
    try:
        if unknown := sorted(set(names) - set(known)):
            raise UnknownScenarioError(f"unknown scenario {unknown[0]}, expected one of {', '.join(known)}")
        missed = 0
        with program() as peer:
            sys.stdout.write("| scenario | quantity | ours | ns-3 | deviation | goal |\n|---|---|---|---|---|---|\n")
            for name in names or known:
                for row in agreements(known[name], peer):
                    missed += not row.met
                    sys.stdout.write(
                        f"| {row.scenario} | {row.quantity} | {row.ours:.5g} | {row.ns3:.5g} | {row.deviation:+.1%} | "
                        f"{GOALS[row.quantity]:.0%}{'' if row.met else ', missed'} |\n"
                    )
                    sys.stdout.flush()
    except (Ns3MissingError, UnknownScenarioError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1 if isinstance(error, Ns3MissingError) else 2
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Compare the compiled core with the reference on many random cases: `python -m tests.simulator.flow.compare 10000`."""

from __future__ import annotations

import sys

import numpy as np

from simulator.flow.model import FluidFlows, share
from tests.simulator import reference
from tests.simulator.flow.cases import ROUNDING, Case


def random_case(generator: np.random.Generator) -> Case:
    """Up to 20 links and 30 flows, with every difficulty: ties, zeros, cycles, all kinds of flows."""
    links, count = int(generator.integers(1, 21)), int(generator.integers(0, 31))
    round_numbers = bool(generator.integers(2))

    def rates(size: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return generator.integers(0, 20, size).astype(float) if round_numbers else generator.uniform(0, 100, size)

    paths = [generator.permutation(links)[: generator.integers(0, 7)].tolist() for _ in range(count)]
    elastic = generator.random(count) < generator.choice([0.0, 0.5, 1.0])
    endless = elastic & np.array([bool(path) for path in paths], dtype=np.bool_) & (generator.random(count) < 0.2)
    weight = np.ones(count) if generator.integers(2) else generator.lognormal(0, 2, count)
    flows = FluidFlows.of(
        paths,
        np.where(endless, np.inf, rates(count)),
        level=generator.integers(0, 4, count),
        elastic=elastic,
        weight=weight,
    )
    return Case(rates(links) * 2, flows)


def greatest_difference(cases: int, seed: int) -> float:
    """Return the largest difference of goodput, load or losses, in Mbit/s."""
    generator = np.random.default_rng(seed)
    worst = 0.0
    for number in range(cases):
        case = random_case(generator)
        fast, slow = share(case.capacity, case.flows), reference.share(case.capacity, case.flows)
        for name in ("goodput", "load", "dropped"):
            difference = np.abs(getattr(fast, name) - getattr(slow, name)).max(initial=0.0)
            if not difference <= ROUNDING:
                raise AssertionError(f"case {number}: {name} differs by {difference:g}: {case}")
            worst = max(worst, float(difference))
    return worst


if __name__ == "__main__":
    asked = int(sys.argv[1])
    sys.stdout.write(f"{asked} cases, greatest difference {greatest_difference(asked, seed=1):.3g} Mbit/s\n")

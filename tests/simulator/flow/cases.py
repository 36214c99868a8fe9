"""Hypothesis strategies for small networks under flows of all kinds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from simulator.flow.model import FluidFlows, Vector

ROUNDING = 1e-9
"""Mbit/s below which two rates are the same."""


@dataclass(frozen=True)
class Case:
    capacity: Vector
    flows: FluidFlows

    def __repr__(self) -> str:
        paths = [self.flows.path(flow).tolist() for flow in range(self.flows.size)]
        rest = ", ".join(
            f"{name}={getattr(self.flows, name).tolist()}" for name in ("offered", "level", "elastic", "weight")
        )
        return f"Case({self.capacity.tolist()}, FluidFlows.of({paths}, {rest}))"


def rates() -> st.SearchStrategy[float]:
    """Round rates tie exactly, which exposes mistakes; others hardly ever do."""
    return st.integers(0, 12).map(float) | st.floats(0.001, 1000.0)


@st.composite
def cases(draw: st.DrawFn, *, max_links: int = 7, max_flows: int = 9, levels: int = 3) -> Case:
    """Paths cross any links in any order, so some networks contain cycles of links that feed each other."""
    links = draw(st.integers(1, max_links))
    flows = draw(st.integers(0, max_flows))

    def of_each(values: st.SearchStrategy[float] | st.SearchStrategy[int] | st.SearchStrategy[bool]) -> list[float]:
        return draw(st.lists(values, min_size=flows, max_size=flows))

    path = st.lists(st.integers(0, links - 1), unique=True, max_size=links)
    paths = draw(st.lists(path, min_size=flows, max_size=flows))
    kinds = draw(st.sampled_from([st.just(True), st.just(False), st.booleans()]))
    elastic = of_each(kinds)
    endless = of_each(st.sampled_from([False, False, False, True]))
    offered = [
        np.inf if (without_end and adapts and crossed) else rate
        for rate, without_end, adapts, crossed in zip(of_each(rates()), endless, elastic, paths, strict=True)
    ]
    weight = of_each(st.just(1.0) | st.integers(1, 5).map(float) | st.floats(0.01, 100.0))
    level = of_each(st.integers(0, levels - 1))
    capacity = draw(st.lists(rates(), min_size=links, max_size=links))
    return Case(np.array(capacity), FluidFlows.of(paths, offered, level=level, elastic=elastic, weight=weight))

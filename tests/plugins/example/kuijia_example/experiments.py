"""The row of the experiment `hops`, which `kuijia list` shows."""

from __future__ import annotations

from kuijia.experiments.catalog import ExperimentEntry

HOPS = ExperimentEntry(
    "hops", "no paper", "hops of the tunnels of a plan for Gscale", ("solver",), "kuijia_example.hops"
)

"""Directly affected TCP flows whose goodput a failure changes by more than some share, beside Table 4; pure.

A flow whose goodput stays within the tolerance of its final one is stable at once. So the table's times say how many
flows a failure changes by more than that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.compared_schemes import compared_schemes
from experiments.gscale.cases import case_of
from experiments.gscale.convergence_definitions import TOLERANCES
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Result

_LIGHT = 0.8
"""Demand that overloads no link after a failure."""


def changes_table(results: Sequence[Result]) -> Exhibit:
    """Return the share of flows whose goodput after the failure differs by more than each tolerance from before."""
    changes = {
        scheme: np.array(
            [
                abs(flow.after - flow.before) / flow.before
                for result in results
                if result.scheme == scheme and case_of(result).demand > _LIGHT
                for flow in result.flows
                if flow.role == "direct" and flow.before > 0
            ]
        )
        for scheme in compared_schemes()
    }
    changes = {scheme: found for scheme, found in changes.items() if found.size}
    lines = [
        Line(scheme, tuple(Point(f"{beyond:.0%}", 100 * float(np.mean(found > beyond))) for beyond in TOLERANCES))
        for scheme, found in changes.items()
    ]
    counts = ", ".join(f"{found.size} under {scheme}" for scheme, found in changes.items())
    return Exhibit(
        "table4-changes",
        "directly affected TCP flows whose goodput after the failure differs from before by more than a tolerance",
        "Table 4",
        results[0].backend,
        "tolerance",
        "share of these flows (%)",
        tuple(lines),
        remarks=(f"Flows of the runs with demands above {_LIGHT:g}: {counts}.",) if lines else (),
    )

"""TCP goodput over time around a failure in the fluid model, as if links had 1 Gbit/s; pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from experiments.results.result import Series, Window
from simulator.flow.events import FlowsRerouted, LinksFail, stages
from simulator.flow.model import Flows
from simulator.flow.ramp import Ramp
from simulator.flow.timeline import play

ROUND_TRIP = 0.02
"""Round-trip time in seconds. The paper gives neither delays nor buffers; full queues of 1000 packets, Linux's default,
hold 12 ms each at 1 Gbit/s, so this is a round trip through one or two of them. Climbing takes time in proportion to
its square."""

BACKOFF = 0.5
"""Backoff factor of Reno; the model's additive increase is Reno's too."""

PAPER_CAPACITY = 1000.0
"""Mbit/s of the paper's links: a segment per round trip is a smaller share of them than of slower links."""

DETECTION = 0.05
"""Seconds until victims are rerouted; it only matters that this is less than TCP's timeout."""

CUT = 3.0
_INTERVAL = 0.2
BEFORE, AFTER = Window(0.0, CUT), Window(CUT, CUT + 60.0)

_SEGMENT = Ramp().segment


def climbs(
    capacity: Sequence[float],
    failed: Sequence[int],
    planned: Flows,
    rerouted: Flows,
    round_trip: float = ROUND_TRIP,
) -> list[Series]:
    """Return the goodput of each flow over time, in Mbit/s of these links, at the times of links of `PAPER_CAPACITY`.

    Args:
        capacity: Mbit/s of each link.
        failed: positions of the links that fail.
        planned: the flows until the failure is detected.
        rerouted: the same flows from then on.
        round_trip: seconds.
    """
    limits = np.asarray(capacity, np.float64)
    events = (LinksFail(CUT, tuple(failed)), FlowsRerouted(CUT + DETECTION, rerouted, "detected"))
    scale = float(limits.max()) / PAPER_CAPACITY
    ramp = Ramp(round_trip, segment=_SEGMENT * scale, backoff=BACKOFF)
    history = play(stages(limits, planned, events, AFTER.end), ramp)
    edges = np.arange(round(AFTER.end / _INTERVAL) + 1) * _INTERVAL
    goodput = np.array([history.mean(start, end) for start, end in pairwise(edges.tolist())])
    start, end = tuple(edges[:-1].tolist()), tuple(edges[1:].tolist())
    return [Series(start, end, tuple(own)) for own in goodput.T.tolist()]

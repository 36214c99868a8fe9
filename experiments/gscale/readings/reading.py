"""Choices that the paper leaves open about its evaluation on Gscale, and the readings to compare; pure data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from experiments.gscale.scenario import PLANNED_SHARE

Tunnels = Literal["edge-disjoint", "node-disjoint", "k-shortest"]
Rates = Literal["spread", "fewest hops", "interior point", "equal"]
Direct = Literal["one direction", "both directions", "all but victims"]
Average = Literal["of the role", "of flows"]


@dataclass(frozen=True)
class GscaleReading:
    """One reading of the paper's section 5; the defaults are those of `directed`, the first one that was measured.

    Attributes:
        redrawn: pairs are drawn until each of the three links has victims and directly affected flows at each demand.
        ten_sites: no site is an end of two pairs.
        two_left: no failing link is in two tunnels of a pair, so that victims can go to "the two remaining tunnels".
        three_disjoint: no edge is in two tunnels of a pair, which holds for 32 of the 132 ordered pairs.
        tunnels: method that finds the three tunnels of a pair.
        rates: choice among the plans of greatest throughput: spread over the tunnels, over the shortest ones, or the
            one in the middle where interior-point methods, such as CVX's solvers, stop; or equal rates on all tunnels
            of a pair, the middle among these plans.
        measurable: in one class and in two, every pair sends something at each demand, and each of the three links has
            victims and directly affected flows; otherwise runs of a campaign would measure nothing.
        planned_share: share of each link that plans fill.
        shared: both directions of a link share its capacity in the plan; the links themselves are full duplex.
        whole_links: demands are in parts of a link, not in parts of the capacity that may be planned on it.
        halves: the two aggregates of a tunnel are equal instead of weighted by the other tunnels.
        unthrottled: flows send their demand, not their allocation.
        round_trips: TCP shares full links by round-trip times, otherwise by max-min fairness.
        direct: directly affected flows: those that share a link with rescaled victims in its direction, or in either
            direction, or all but victims.
        average: loss of a role's flows together, or the mean of each flow's own.
    """

    redrawn: bool = True
    ten_sites: bool = False
    two_left: bool = False
    three_disjoint: bool = False
    measurable: bool = False
    tunnels: Tunnels = "edge-disjoint"
    rates: Rates = "spread"
    planned_share: float = PLANNED_SHARE
    shared: bool = False
    whole_links: bool = False
    halves: bool = False
    unthrottled: bool = False
    round_trips: bool = True
    direct: Direct = "one direction"
    average: Average = "of the role"


DIRECTED = GscaleReading()
NEAREST = GscaleReading(redrawn=False, ten_sites=True, two_left=True, rates="interior point", average="of flows")
SHARED = GscaleReading(
    redrawn=False,
    ten_sites=True,
    two_left=True,
    rates="interior point",
    planned_share=1.0,
    shared=True,
    direct="both directions",
    average="of flows",
)

READINGS = {
    "as reproduced": DIRECTED,
    "pairs: any five": replace(DIRECTED, redrawn=False),
    "pairs: any five, of ten sites": replace(DIRECTED, redrawn=False, ten_sites=True),
    "pairs: any five, two tunnels left": replace(DIRECTED, redrawn=False, two_left=True),
    "pairs: any five, both": replace(DIRECTED, redrawn=False, ten_sites=True, two_left=True),
    "pairs: any five, three disjoint tunnels": replace(DIRECTED, redrawn=False, three_disjoint=True),
    "tunnels: node-disjoint": replace(DIRECTED, tunnels="node-disjoint"),
    "tunnels: three shortest": replace(DIRECTED, tunnels="k-shortest"),
    "plan: fewest hops": replace(DIRECTED, rates="fewest hops"),
    "plan: interior point": replace(DIRECTED, rates="interior point"),
    "plan: equal rates on tunnels": replace(DIRECTED, rates="equal"),
    "plan: directions share a link": replace(DIRECTED, shared=True),
    "planned: the whole link": replace(DIRECTED, planned_share=1.0),
    "planned: 90 % of it": replace(DIRECTED, planned_share=0.9),
    "planned: 80 % of it": replace(DIRECTED, planned_share=0.8),
    "demand in parts of a whole link": replace(DIRECTED, whole_links=True),
    "aggregates: halves of a tunnel": replace(DIRECTED, halves=True),
    "sent: all that is demanded": replace(DIRECTED, unthrottled=True),
    "TCP: max-min fair": replace(DIRECTED, round_trips=False),
    "direct: in either direction": replace(DIRECTED, direct="both directions"),
    "direct: all but victims": replace(DIRECTED, direct="all but victims"),
    "loss: mean of flows": replace(DIRECTED, average="of flows"),
    "nearest": NEAREST,
    "nearest, but pairs of any sites": replace(NEAREST, ten_sites=False),
    "nearest, but any tunnels left": replace(NEAREST, two_left=False),
    "nearest, but plan spread": replace(NEAREST, rates="spread"),
    "nearest, but loss of the role": replace(NEAREST, average="of the role"),
    "nearest, redrawn until all hurt": replace(NEAREST, redrawn=True),
    "nearest, planned 90 %": replace(NEAREST, planned_share=0.9),
    "nearest, direct in either direction": replace(NEAREST, direct="both directions"),
    "shared": SHARED,
    "shared, but directions apart": replace(SHARED, shared=False),
    "shared, but pairs of any sites": replace(SHARED, ten_sites=False),
    "shared, but any tunnels left": replace(SHARED, two_left=False),
    "shared, but plan spread": replace(SHARED, rates="spread"),
    "shared, but equal rates on tunnels": replace(SHARED, rates="equal"),
    "shared, but loss of the role": replace(SHARED, average="of the role"),
    "shared, planned 95 %": replace(SHARED, planned_share=PLANNED_SHARE),
    "shared, direct in one direction": replace(SHARED, direct="one direction"),
}
"""Ours, and ours with one change; then two readings near to the published losses, with one change likewise: the nearest
of full-duplex plans, and the nearest of those whose links share their capacity between both directions."""

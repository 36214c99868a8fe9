"""Load balancers under plain TCP, whose flows are not marked: Hermes judges paths by delays alone."""

from __future__ import annotations

from dataclasses import replace

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hermes.loads import SEEDS, WEB, WHOLE, extent_of
from experiments.hermes.networks import SIMULATED
from experiments.hermes.runs import Grid, swept_grids
from experiments.hermes.schemes import ONE_WAY, PUBLISHED, SIMULATED_HERMES, Scheme
from experiments.hermes.tables import Naming, over_loads
from experiments.results.result import Check
from simulator.packet.transports import Congestion

LONGER = 1.5
"""Factor of T_RTT_high and Delta_RTT under plain TCP, the paper's."""

TCP_FLOWLET = 500e-6
"""Seconds of CONGA's gap under plain TCP, the paper's."""

WITHIN = (0.75, 1.25)
"""Bar: Hermes relative to CONGA; published is that it is within 10 to 25 % of it."""

HERMES = replace(
    SIMULATED_HERMES,
    uses_ecn=False,
    high=LONGER * (SIMULATED_HERMES.high + ONE_WAY * 1e-6) - ONE_WAY * 1e-6,
    better_round_trip=LONGER * SIMULATED_HERMES.better_round_trip,
)
"""Hermes without marks. The factor is for the paper's T_RTT_high, which contains the way of an empty network."""


def plain(scheme: Scheme) -> Scheme:
    """Return the scheme with NewReno, which does not react to marks."""
    return replace(scheme, transport=replace(scheme.transport, congestion=Congestion.NEW_RENO))


def run_plain_tcp(execution: Execution) -> Outcome:
    """Run ECMP, CONGA and Hermes with web search in the symmetric network."""
    name = execution.name
    extent = extent_of(execution, WEB)
    (workload,) = extent.flows
    schemes = {
        "ecmp": Scheme.of("ecmp", SIMULATED),
        "conga": Scheme.conga(TCP_FLOWLET, SIMULATED),
        "hermes": Scheme.hermes(HERMES, SIMULATED),
    }
    grid = Grid(
        SIMULATED,
        workload,
        {scheme: plain(each) for scheme, each in schemes.items()},
        extent.counts(SIMULATED, workload),
    )
    with swept_grids([grid], execution) as (found,):
        checks = [
            Check(f"Hermes / CONGA at {load:g}", found.ratio("hermes", "conga", load), *WITHIN) for load in extent.loads
        ]
        remark = "Published, in words alone: Hermes is within 10 to 25 % of CONGA."
        naming = Naming(name, "plain TCP", f"{workload}, NewReno, {SIMULATED.name}", bars=True, remarks=(remark,))
        exhibit = over_loads(naming, found, "overall average", None, checks)
        exhibit = replace(exhibit, published=PUBLISHED["source"])  # in words alone, so without points
        return execution.written(exhibit)


EXPERIMENTS = offered(
    {
        "hermes-plain-tcp": Offered(run_plain_tcp, SEEDS, full=WHOLE),
    }
)

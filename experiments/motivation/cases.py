r"""Tables 2 and 3 of the paper: four TCP flows over three tunnels; one tunnel fails (section 3).

          s2                  T1 = s1-s2-s4   f1, f2: victims, go to T2 and T3
        /    \                T2 = s1-s4      f3
      s1 ---- s4              T3 = s1-s3-s4   f4
        \    /
          s3

All links have the same capacity; s2-s4 is cut. Alternatively s1-s4 is cut: then f1 and f2 are on T2, f3 on T1, f4 on
T3. That failure is local at both ends of its tunnel, so data and acknowledgements move without the controller. A
failure
of T1 is always remote for one of the two directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.results.judge import Bar, around

NETWORK = "fig1"
INGRESS, EGRESS = "s1", "s4"
T1, T2, T3 = ("s1", "s2", "s4"), ("s1", "s4"), ("s1", "s3", "s4")

FlowTunnels = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
"""Flow to its tunnels before and after the cut."""


@dataclass(frozen=True)
class Case:
    """Link to cut, and the tunnels of the flows.

    `local` is True if both ends of the failed tunnel see the failure on a port of their own.
    """

    link: tuple[str, str]
    flow_tunnels: FlowTunnels
    local: bool


_T1_FAILS = {"f1": (T1, T2), "f2": (T1, T3), "f3": (T2, T2), "f4": (T3, T3)}
_T2_FAILS = {"f1": (T2, T1), "f2": (T2, T3), "f3": (T1, T1), "f4": (T3, T3)}

CASES = {
    "s2-s4": Case(("s2", "s4"), _T1_FAILS, local=False),
    "s1-s2": Case(("s1", "s2"), _T1_FAILS, local=False),
    "s1-s4": Case(("s1", "s4"), _T2_FAILS, local=True),
}
PAPERS_CUT, LOCAL_CUT = "s2-s4", "s1-s4"

VICTIMS = ("f1", "f2")
UNTOUCHED = 0.98
"""Least share that aboriginal flows keep under Kuijia, which is its promise; published 1."""

STARVED = 0.03
"""Largest share that victims keep where the surviving tunnels are full."""


@dataclass(frozen=True)
class MotivationTable:
    """One of the two tables: rates offered by the flows, in parts of a link, and shares to keep under each scheme."""

    name: str
    title: str
    link_parts: int
    offered_parts: Mapping[str, int]
    bars: Mapping[str, tuple[Bar, ...]]


_KUIJIA_KEEPS = (Bar(("f3",), UNTOUCHED, None, 1.0), Bar(("f4",), UNTOUCHED, None, 1.0))

TABLE_2 = MotivationTable(
    name="table2",
    title="Table 2",
    link_parts=1000,
    offered_parts={"f1": 400, "f2": 400, "f3": 800, "f4": 800},
    bars={
        "rescaling": (around(("f3",), 0.77), around(("f4",), 0.77)),
        "kuijia": (*_KUIJIA_KEEPS, around(VICTIMS, 0.46)),
    },
)
TABLE_3 = MotivationTable(
    name="table3",
    title="Table 3",
    link_parts=1000,
    offered_parts={"f1": 500, "f2": 500, "f3": 1000, "f4": 1000},
    bars={
        "rescaling": (around(("f3",), 0.49), around(("f4",), 0.49)),
        "kuijia": (*_KUIJIA_KEEPS, Bar(VICTIMS, 0.0, STARVED, 0.0)),
    },
)


@dataclass(frozen=True)
class MotivationOptions:
    """Options of these experiments beyond the common settings.

    Seconds as in `experiments.measuring.emulation.Timing`.
    """

    schemes: tuple[str, ...]
    cut: str
    kill_controller: bool
    liveness: str
    tagging: str
    congestion_control: str
    buffer_packets: int
    link_delay_seconds: float | None
    warmup_seconds: float
    before_seconds: float
    settle_seconds: float
    after_seconds: float
    interval_seconds: float

from __future__ import annotations

from dataclasses import replace

import pytest

from kuijia_base.errors import UnsoundError
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology
from te_solver.solve import require_feasible

TOPOLOGY = Topology(
    "net", ("a", "b", "c"), (Link("a", "b", 10.0), Link("b", "c", 10.0), Link("a", "c", 10.0), Link("b", "a", 10.0))
)
DIRECT = Tunnel(16, ("a", "c"), 10.0, 0.8)
AROUND = Tunnel(17, ("a", "b", "c"), 2.5, 0.2)
PAIR = PairPlan("a", "c", 20.0, 12.5, (DIRECT, AROUND))
OTHER = PairPlan("a", "b", 5.0, 5.0, (Tunnel(18, ("a", "b"), 5.0, 1.0),))


def plan(*pairs: PairPlan) -> Plan:
    return Plan(TOPOLOGY, pairs, "max-throughput", 0.0, "none", 0.0)


def with_direct(**changes: object) -> PairPlan:
    return replace(PAIR, tunnels=(replace(DIRECT, **changes), AROUND))  # type: ignore[arg-type]


def test_a_plan_within_all_bounds_passes() -> None:
    require_feasible(plan(PAIR, OTHER))


def test_classes_of_a_pair_share_its_tunnels() -> None:
    low = replace(PAIR, priority=2, demand=1.0, allocated=0.0, tunnels=(replace(DIRECT, rate=0.0), AROUND))
    require_feasible(plan(PAIR, OTHER, low))
    with pytest.raises(UnsoundError) as raised:
        require_feasible(plan(PAIR, OTHER, replace(low, tunnels=(AROUND, DIRECT))))
    assert str(raised.value) == "pairs[2].tunnels: other tunnels than another class of the pair has, expected the same"


def test_the_loads_of_all_classes_count_together() -> None:
    low = replace(PAIR, priority=1, tunnels=(replace(DIRECT, rate=0.1), replace(AROUND, rate=0.0)), allocated=0.1)
    with pytest.raises(UnsoundError, match=r"^topology\.links\[2\]\.capacity: tunnels put 10\.1 Mbit/s on link a-c"):
        require_feasible(plan(PAIR, low))


def test_a_plan_that_carries_everything_may_fill_links_as_far_as_it_says() -> None:
    full = replace(
        PAIR, demand=12.5, tunnels=(replace(DIRECT, rate=12.5, weight=1.0), replace(AROUND, rate=0, weight=0))
    )
    carried = replace(plan(full), objective="min-max-utilisation", objective_value=1.25)
    require_feasible(carried)
    with pytest.raises(UnsoundError) as raised:
        require_feasible(replace(carried, objective_value=1.2))
    assert str(raised.value) == (
        "topology.links[2].capacity: tunnels put 12.5 Mbit/s on link a-c, "
        "expected no more than 12, 1.2 times its capacity"
    )
    with pytest.raises(UnsoundError) as raised:
        require_feasible(replace(carried, pairs=(replace(full, allocated=12.0),)))
    assert str(raised.value) == "pairs[0].allocated: 12 Mbit/s allocated, expected the demand, 12.5"


def test_what_is_protected_fits_into_what_failures_leave() -> None:
    protected = replace(plan(replace(PAIR, allocated=2.5)), protected_failures=1)
    require_feasible(protected)
    with pytest.raises(UnsoundError) as raised:
        require_feasible(replace(protected, pairs=(replace(PAIR, allocated=2.6),)))
    assert str(raised.value) == (
        "pairs[0].allocated: 2.6 Mbit/s allocated, "
        "expected no more than protection against 1 leaves of the tunnels' rates, 2.5"
    )
    with pytest.raises(UnsoundError, match=r"against 2 leaves of the tunnels' rates, 0$"):
        require_feasible(replace(protected, protected_failures=2))


def test_rounding_does_not_count() -> None:
    require_feasible(plan(with_direct(rate=10.0 * (1 + 0.9e-6), weight=0.8 + 0.9e-6)))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([replace(PAIR, source="x")], "pairs[0].source: unknown node 'x', expected a node of the topology"),
        ([OTHER, replace(PAIR, target="y")], "pairs[1].target: unknown node 'y', expected a node of the topology"),
        ([replace(PAIR, target="a")], "pairs[0].target: a pair of a with itself, expected two different nodes"),
        (
            [PAIR, OTHER, PAIR],
            "pairs[2]: a second pair from a to c with priority 0, expected each pair once in a class",
        ),
        (
            [with_direct(nodes=("a", "b"))],
            "pairs[0].tunnels[0].nodes: the tunnel does not join the pair, expected a path from a to c",
        ),
        (
            [with_direct(nodes=("a", "b", "a", "c"))],
            "pairs[0].tunnels[0].nodes: the tunnel meets a node twice, expected a path without a loop",
        ),
        (
            [replace(OTHER, target="b", tunnels=(replace(DIRECT, nodes=("a", "c", "b")),))],
            "pairs[0].tunnels[0].nodes: there is no link c-b, expected a path over links of the topology",
        ),
        ([with_direct(path_id=17)], "pairs[0].tunnels[1].path_id: path id 17 is given twice, expected different ids"),
        ([with_direct(weight=1.1)], "pairs[0].tunnels[0].weight: weight 1.1, expected a number from 0 to 1"),
        ([with_direct(weight=-0.1)], "pairs[0].tunnels[0].weight: weight -0.1, expected a number from 0 to 1"),
        ([with_direct(weight=0.79999)], "pairs[0].tunnels: the weights sum to 0.99999, expected a sum of 1"),
        ([replace(PAIR, tunnels=())], "pairs[0].tunnels: the weights sum to 0, expected a sum of 1"),
        ([with_direct(rate=-1.0)], "pairs[0].tunnels[0].rate: rate -1, expected no less than 0"),
        ([with_direct(rate=float("nan"))], "pairs[0].tunnels[0].rate: rate nan, expected no less than 0"),
        (
            [replace(PAIR, allocated=12.6)],
            (
                "pairs[0].allocated: 12.6 Mbit/s allocated, "
                "expected no more than the demand, 20, and the tunnels' rates together, 12.5"
            ),
        ),
        (
            [replace(PAIR, demand=12.0)],
            (
                "pairs[0].allocated: 12.5 Mbit/s allocated, "
                "expected no more than the demand, 12, and the tunnels' rates together, 12.5"
            ),
        ),
        (
            [replace(PAIR, tunnels=(DIRECT, replace(AROUND, rate=5.001))), OTHER],
            "topology.links[0].capacity: tunnels put 10.001 Mbit/s on link a-b, expected no more than its capacity, 10",
        ),
    ],
)
def test_each_broken_bound_is_named(pairs: list[PairPlan], message: str) -> None:
    with pytest.raises(UnsoundError) as raised:
        require_feasible(plan(*pairs))
    assert str(raised.value) == message

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain, combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_base.errors import UnsoundError
from te_solver.formats.plan_file import save_plan
from te_solver.model.demands import Demand
from te_solver.model.exposure import Exposure
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology
from te_solver.programs.ffc import ForwardFaultCorrection, _takes_compact
from te_solver.programs.incidence import Vector
from te_solver.programs.program import Allocation, Formulation, Options
from tests.te_solver.programs.problems import RHOMBUS, Case, Rows, cases, within_capacities

pytestmark = pytest.mark.slow

FORMULATIONS: tuple[Formulation, ...] = ("enumeration", "compact", "smaller")


def both_ways(name: str, *edges: tuple[str, str]) -> Topology:
    nodes = tuple(dict.fromkeys(node for edge in edges for node in edge))
    return Topology(name, nodes, tuple(Link(*ends, 10.0) for a, b in edges for ends in ((a, b), (b, a))))


LADDER = both_ways(
    "ladder",
    *(("s", "a"), ("s", "b"), ("s", "c"), ("s", "d"), ("a", "t"), ("b", "t"), ("c", "t"), ("d", "t"), ("s", "t")),
)


def allocate(case: Case, protect: int, formulation: Formulation = "smaller", *, spread: bool = False) -> Allocation:
    options = Options(protect=protect, formulation=formulation, spread=spread)
    return ForwardFaultCorrection(case.incidence, options).solve(case.capacity, case.demand)


def reference(case: Case, protect: int) -> float:
    """Return the greatest surviving sum, with a row for every set of failed edges of the network and every pair."""
    return most_that_survives(case, case.failures(protect))


def most_that_survives(case: Case, failures: Collection[Sequence[tuple[str, str]]]) -> float:
    """Return the same for these failures of edges."""
    paths, pairs = len(case.paths), len(case.demands)
    rows = Rows(paths + pairs)
    within_capacities(case, rows)
    granted = np.eye(pairs)
    for pair, demand in enumerate(case.demands):
        rows.at_most([*[0.0] * paths, *granted[pair]], demand.rate)
        for failed in failures:
            left = np.array(case.alive(failed)) * case.owned(pair)
            rows.at_least([*left, *-granted[pair]], 0.0)
    return rows.maximum([*[0.0] * paths, *[1.0] * pairs])


def require_no_loss(case: Case, allocation: Allocation, protect: int) -> None:
    """Rescale by hand: after any failure each pair sends its whole grant and no link is overloaded."""
    for number in range(protect + 1):
        for failed in case.failures(number):
            alive = np.array(case.alive(failed))
            load = dict.fromkeys((link.ends for link in case.topology.links), 0.0)
            for pair, rate in enumerate(allocation.granted.tolist()):
                weights = allocation.rates * alive * case.owned(pair)
                if rate == 0:
                    continue
                assert weights.sum() > 0, "everything that the pair was granted would be lost"
                for path, sent in zip(case.paths, rate * weights / weights.sum(), strict=True):
                    for hop in pairwise(path):
                        load[hop] += sent
            for link in case.topology.links:
                assert load[link.ends] <= link.capacity * (1 + 1e-6)


@settings(max_examples=60)
@given(cases(max_nodes=6), st.integers(1, 3), st.sampled_from(FORMULATIONS))
def test_as_much_survives_as_an_independent_program_says(case: Case, protect: int, formulation: Formulation) -> None:
    allocation = allocate(case, protect, formulation)
    assert (allocation.granted <= case.demand * (1 + 1e-12)).all()
    assert allocation.granted.sum() == pytest.approx(reference(case, protect), rel=1e-6, abs=1e-6)


@settings(max_examples=60)
@given(cases(max_nodes=6), st.integers(1, 3), st.booleans())
def test_no_failure_that_is_protected_against_loses_anything(case: Case, protect: int, spread: bool) -> None:  # noqa: FBT001
    allocation = allocate(case, protect, spread=spread)
    require_no_loss(case, allocation, protect)
    again = allocate(case, protect, spread=spread)
    assert (again.rates.tolist(), again.granted.tolist()) == (allocation.rates.tolist(), allocation.granted.tolist())


@settings(max_examples=40)
@given(cases(max_tunnels=6), st.integers(1, 4))
def test_the_formulations_agree(case: Case, protect: int) -> None:
    sums = [allocate(case, protect, formulation).granted.sum() for formulation in FORMULATIONS]
    assert sums == pytest.approx([sums[0]] * 3, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(("protect", "granted"), [(1, 40), (2, 30), (3, 20), (4, 10), (5, 0), (9, 0)])
def test_of_five_disjoint_tunnels_as_many_count_as_survive(
    formulation: Formulation, protect: int, granted: float
) -> None:
    case = Case.of(LADDER, [Demand("s", "t", 100)], 5)
    assert allocate(case, protect, formulation).granted.tolist() == pytest.approx([granted])


def test_tunnels_that_share_an_edge_fall_together() -> None:
    # s-t, s-a-t and s-a-b-t: the failure of s-a takes down two of the three.
    topology = both_ways("shared", ("s", "t"), ("s", "a"), ("a", "t"), ("a", "b"), ("b", "t"))
    case = Case(topology, (Demand("s", "t", 100),), ((("s", "t"), ("s", "a", "t"), ("s", "a", "b", "t")),))
    assert allocate(case, 1).granted.tolist() == pytest.approx([10])


def test_both_directions_of_an_edge_fail_together() -> None:
    case = Case.of(both_ways("line", ("a", "b"), ("b", "c")), [Demand("a", "c", 5), Demand("c", "a", 5)], 2)
    assert allocate(case, 1).granted.tolist() == [0, 0]


def test_the_shorter_tunnels_are_preferred_or_all_are_used_alike() -> None:
    edges = (("s", "t"), ("s", "a"), ("a", "t"), ("s", "b"), ("b", "c"), ("c", "d"), ("d", "t"))
    case = Case.of(both_ways("long", *edges), [Demand("s", "t", 6)], 3)
    assert allocate(case, 1).rates.tolist() == pytest.approx([6, 6, 0])
    assert allocate(case, 1, spread=True).rates.tolist() == pytest.approx([3, 3, 3])


def test_what_is_carried_already_is_left_alone() -> None:
    case = Case.of(RHOMBUS, [Demand("s", "t", 30)], 3)
    carried: Vector = np.array([10.0, 4.0, 0.0, 0.0, 0.0])
    allocation = ForwardFaultCorrection(case.incidence).solve(case.capacity, case.demand, carried)
    assert allocation.granted.tolist() == pytest.approx([6])
    assert allocation.rates.tolist() == pytest.approx([0, 6, 6])


def test_a_pair_without_tunnels_gets_nothing() -> None:
    case = Case(RHOMBUS, (Demand("s", "t", 5), Demand("s", "a", 5)), ((("s", "t"), ("s", "a", "t")), ()))
    assert allocate(case, 1).granted.tolist() == pytest.approx([5, 0])


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_pair_with_fewer_tunnels_than_failures_gets_nothing_and_takes_nothing(formulation: Formulation) -> None:
    tunnels = ((("s", "a"),), (("s", "t"), ("s", "a", "t"), ("s", "b", "t")))
    case = Case(RHOMBUS, (Demand("s", "a", 5), Demand("s", "t", 30)), tunnels)
    assert allocate(case, 2, formulation).granted.tolist() == pytest.approx([0, 10])


@pytest.mark.parametrize(
    ("groups", "failures", "compact"),
    [(0, 1, False), (3, 1, False), (3, 2, False), (4, 2, True), (5, 2, True), (2, 5, False)],
)
def test_the_smaller_formulation_is_the_one_with_fewer_rows(groups: int, failures: int, compact: bool) -> None:  # noqa: FBT001
    """Enumeration takes a row for each choice of failed groups, the compact one a row for each group and one more."""
    exposure = Exposure.of([(edge,) for edge in range(groups)])
    assert [_takes_compact(exposure, failures, each) for each in FORMULATIONS] == [False, True, compact]


def test_tunnels_that_overlap_are_enumerated_whatever_is_asked_for() -> None:
    exposure = Exposure.of([(0, 1), (1, 2), (2, 3)])
    assert not any(_takes_compact(exposure, 2, each) for each in FORMULATIONS)


def of_settings(case: Case, **values: float | str) -> Allocation:
    return ForwardFaultCorrection(case.incidence, Options(settings=values)).solve(case.capacity, case.demand)


@settings(max_examples=40)
@given(cases(max_nodes=6), st.integers(1, 2))
def test_as_much_survives_failed_links_and_switches_as_rows_for_all_of_them_say(case: Case, switches: int) -> None:
    paths, pairs = len(case.paths), len(case.demands)
    rows = Rows(paths + pairs)
    within_capacities(case, rows)
    granted = np.eye(pairs)
    nodes = case.topology.nodes
    for pair, demand in enumerate(case.demands):
        rows.at_most([*[0.0] * paths, *granted[pair]], demand.rate)
        for edges in case.failures(1):
            for down in combinations(nodes, min(switches, len(nodes))):
                up = [not set(path[1:-1]) & set(down) for path in case.paths]
                left = np.array(case.alive(edges)) * up * case.owned(pair)
                rows.at_least([*left, *-granted[pair]], 0.0)
    expected = rows.maximum([*[0.0] * paths, *[1.0] * pairs])
    assert of_settings(case, switches=switches).granted.sum() == pytest.approx(expected, rel=1e-6, abs=1e-6)


@settings(max_examples=30)
@given(st.floats(1, 60), st.floats(1, 60), st.integers(1, 2), st.integers(3, 5), st.data())
def test_as_much_survives_shared_risks_as_rows_for_all_of_them_say(
    tmp_path_factory: pytest.TempPathFactory, long: float, short: float, shared: int, tunnels: int, data: st.DataObject
) -> None:
    case = Case.of(LADDER, [Demand("s", "t", long), Demand("a", "d", short)], tunnels)
    some = st.lists(st.sampled_from(case.topology.edges), min_size=1, max_size=3, unique=True)
    ducts = data.draw(st.lists(some, min_size=1, max_size=3))
    file = tmp_path_factory.mktemp("risks") / "risks.csv"
    lines = [f"{number},{a},{b}" for number, duct in enumerate(ducts) for a, b in duct]
    file.write_text("\n".join(["failure,a,b", *lines, ""]))
    together = list(combinations(ducts, min(shared, len(ducts))))
    failures = [[edge, *chain.from_iterable(risks)] for (edge,) in case.failures(1) for risks in together]
    expected = most_that_survives(case, failures)
    assert of_settings(case, risks=str(file), shared=shared).granted.sum() == pytest.approx(
        expected, rel=1e-6, abs=1e-6
    )


def test_cables_that_share_a_risk_fail_together(tmp_path: Path) -> None:
    risks = tmp_path / "risks.csv"
    risks.write_text("failure,a,b\nduct,s,a\nduct,s,b\n")
    case = Case.of(LADDER, [Demand("s", "t", 100)], 5)
    # Of five tunnels of 10, one failed cable and the duct leave two.
    assert of_settings(case).granted.tolist() == pytest.approx([40])
    assert of_settings(case, risks=str(risks)).granted.tolist() == pytest.approx([20])


@settings(max_examples=30)
@given(cases(max_nodes=5, max_tunnels=3), st.integers(1, 2), st.data())
def test_links_have_room_for_any_ingresses_that_an_update_does_not_reach(
    tmp_path_factory: pytest.TempPathFactory, case: Case, faults: int, data: st.DataObject
) -> None:
    weights = []
    pairs = []
    for number, (demand, paths) in enumerate(zip(case.demands, case.tunnels, strict=True)):
        whole = [data.draw(st.integers(0, 3)) for _ in paths]
        share = [each / (sum(whole) or 1) if sum(whole) else 1 / len(paths) for each in whole]
        weights += share
        tunnels = tuple(
            Tunnel(100 * number + place + 16, path, 0.0, weight)
            for place, (path, weight) in enumerate(zip(paths, share, strict=True))
        )
        pairs.append(PairPlan(*demand.pair, demand.rate, 0.0, tunnels))
    before = tmp_path_factory.mktemp("before") / "plan.json"
    save_plan(Plan(case.topology, tuple(pairs), "max-throughput", 0.0, "none", 0.0), before)
    width, count = len(case.paths), len(case.demands)
    ingresses = sorted({demand.source for demand in case.demands})
    rows = Rows(2 * width + count)
    granted = np.eye(count)
    for pair, demand in enumerate(case.demands):
        rows.at_most([*[0.0] * 2 * width, *granted[pair]], demand.rate)
        for failed in case.failures(1):
            rows.at_least([*(np.array(case.alive(failed)) * case.owned(pair)), *[0.0] * width, *-granted[pair]], 0.0)
    for tunnel, weight in enumerate(weights):
        own = [float(at == tunnel) for at in range(width)]
        rows.at_least([*[-each for each in own], *own], 0.0)
        rows.at_least([*[0.0] * width, *own, *(-weight * granted[case.owners[tunnel]])], 0.0)
    for size in range(min(faults, len(ingresses)) + 1):
        for unreached in combinations(ingresses, size):
            old = np.array([case.demands[owner].source in unreached for owner in case.owners])
            for link in case.topology.links:
                uses = np.array(case.uses(link))
                rows.at_most([*(uses * ~old), *(uses * old)], link.capacity)
    expected = rows.maximum([*[0.0] * 2 * width, *[1.0] * count])
    allocation = of_settings(case, control=faults, before=str(before))
    assert allocation.granted.sum() == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_control_faults_need_the_plan_before_and_its_tunnels(tmp_path: Path) -> None:
    case = Case.of(LADDER, [Demand("s", "t", 100)], 2)
    with pytest.raises(UnsoundError, match=r"^objective: control faults leave weights .*, expected before=PLAN$"):
        of_settings(case, control=1)
    other = PairPlan("s", "t", 1.0, 0.0, (Tunnel(16, ("s", "d", "t"), 0.0, 1.0),))
    save_plan(Plan(LADDER, (other,), "ffc", 0.0, "none", 0.0), tmp_path / "plan.json")
    with pytest.raises(UnsoundError, match=r"^objective: the plan before uses other tunnels from s to t, "):
        of_settings(case, control=1, before=str(tmp_path / "plan.json"))


def test_an_ingress_that_is_not_reached_sends_no_more_than_its_old_tunnel_holds(tmp_path: Path) -> None:
    case = Case.of(LADDER, [Demand("s", "t", 100)], 3)
    (paths,) = case.tunnels
    tunnels = tuple(Tunnel(16 + number, path, 0.0, float(number == 0)) for number, path in enumerate(paths))
    plan = Plan(LADDER, (PairPlan("s", "t", 1.0, 0.0, tunnels),), "ffc", 0.0, "none", 0.0)
    save_plan(plan, tmp_path / "plan.json")
    assert of_settings(case).granted.tolist() == pytest.approx([20])
    assert of_settings(case, control=1, before=str(tmp_path / "plan.json")).granted.tolist() == pytest.approx([10])


def with_capacities(name: str, *links: tuple[str, float]) -> Topology:
    """Return a network of one-way links, each given as "a-b"."""
    ends = [link.split("-") for link, _ in links]
    found = tuple(Link(a, b, rate) for (a, b), (_, rate) in zip(ends, links, strict=True))
    return Topology(name, tuple(dict.fromkeys(chain(*ends))), found)


def granted_beside(folder: Path, case: Case, weights: Sequence[float], control: int) -> list[float]:
    """Return what each pair is granted if `control` ingresses may send by these weights of all tunnels."""
    given, pairs = iter(enumerate(weights, 16)), []
    for demand, paths in zip(case.demands, case.tunnels, strict=True):
        old = [(path, *next(given)) for path in paths]
        tunnels = tuple(Tunnel(path_id, path, 0.0, weight) for path, path_id, weight in old)
        pairs.append(PairPlan(*demand.pair, demand.rate, 0.0, tunnels))
    save_plan(Plan(case.topology, tuple(pairs), "ffc", 0.0, "none", 0.0), folder / "plan.json")
    granted = of_settings(case, control=control, before=str(folder / "plan.json")).granted
    return [float(rate) for rate in granted]


def paths_of(*texts: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(text.split("-")) for text in texts)


def test_a_tunnel_that_shrinks_at_an_ingress_makes_no_room_for_another_that_grows(tmp_path: Path) -> None:
    """Of s-m, which holds 10, the first pair's old split takes all that it is granted, the second's takes a fifth.

    Each unit of the second pair on s-m beyond the 4 that its other tunnels protect costs the first one a unit.
    """
    wide = ("s-m", "m-t", "m-u", "s-x", "x-t", "s-z", "z-t")
    narrow = ("s-p", "p-u", "s-q", "q-u")
    topology = with_capacities("shared", *((each, 10.0) for each in wide), *((each, 4.0) for each in narrow))
    tunnels = paths_of("s-m-t", "s-x-t", "s-z-t"), paths_of("s-m-u", "s-p-u", "s-q-u")
    case = Case(topology, (Demand("s", "t", 10), Demand("s", "u", 20)), tunnels)
    assert sum(granted_beside(tmp_path, case, [1, 0, 0, 0.2, 0.4, 0.4], 1)) == pytest.approx(14)


@pytest.mark.parametrize(("control", "granted"), [(1, 20), (2, 10), (3, 10)])
def test_as_many_ingresses_as_are_named_send_by_their_old_weights_at_a_time(
    tmp_path: Path, control: int, granted: float
) -> None:
    """Both send all of the 10 that they may over m-t, of 10, if the update does not reach them."""
    own = ("a-m", "a-x", "x-t", "a-z", "z-t", "b-m", "b-p", "p-t", "b-q", "q-t", "m-t")
    tunnels = paths_of("a-m-t", "a-x-t", "a-z-t"), paths_of("b-m-t", "b-p-t", "b-q-t")
    topology = with_capacities("two ingresses", *((each, 10.0) for each in own))
    case = Case(topology, (Demand("a", "t", 10), Demand("b", "t", 10)), tunnels)
    assert sum(granted_beside(tmp_path, case, [1, 0, 0] * 2, control)) == pytest.approx(granted)

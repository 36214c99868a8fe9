"""TEAVAR against its program with a row for every set of failed cables, and its paper's triangle."""

from __future__ import annotations

from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kuijia_base.errors import InputError, UnsoundError
from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.failure_scenarios import drawn
from te_solver.programs.incidence import Vector
from te_solver.programs.program import Options
from te_solver.programs.settings import Values
from te_solver.programs.teavar import Teavar, _implied
from te_solver.solve import solve
from tests.te_solver.programs.problems import Case, Rows, cases, within_capacities

WAYS = (("s", "t"), ("s", "a"), ("a", "t"), ("s", "b"), ("b", "t"))
THREE_WAYS = Topology("three ways", ("s", "a", "b", "t"), tuple(Link(*way, 10.0) for way in WAYS))


def least_risk(case: Case, probability: float, beta: float, loss: str) -> float:
    """The least conditional value at risk, with all sets of failed cables."""
    asking = [pair for pair, rate in enumerate(case.demand.tolist()) if rate > 0]
    edges = case.topology.edges
    failures = list(chain.from_iterable(combinations(edges, size) for size in range(len(edges) + 1)))
    paths = len(case.paths)
    # Rates, the threshold, the excess of each scenario, and the loss of each pair in each.
    width = paths + 1 + len(failures) + len(failures) * len(asking)
    rows = Rows(width)
    within_capacities(case, rows)
    cost = [0.0] * width
    cost[paths] = 1.0
    weights = case.demand / case.demand.sum()
    for number, failed in enumerate(failures):
        excess = paths + 1 + number
        cost[excess] = probability ** len(failed) * (1 - probability) ** (len(edges) - len(failed)) / (1 - beta)
        alive = np.array(case.alive(failed))
        mean = [0.0] * width
        mean[excess] = mean[paths] = 1.0
        for place, pair in enumerate(asking):
            lost = paths + 1 + len(failures) + number * len(asking) + place
            row = [*(alive * case.owned(pair) / case.demand[pair]).tolist(), *[0.0] * (width - paths)]
            row[lost] = 1.0
            rows.at_least(row, 1.0)
            mean[lost] = -weights[pair]
            if loss == "max":
                worst = [0.0] * width
                worst[excess] = worst[paths] = 1.0
                worst[lost] = -1.0
                rows.at_least(worst, 0.0)
        if loss == "mean":
            rows.at_least(mean, 0.0)
    return rows.minimum(cost)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    cases(max_nodes=4, max_tunnels=3),
    st.sampled_from([0.01, 0.1, 0.3]),
    st.sampled_from([0.5, 0.9, 0.99]),
    st.sampled_from(["max", "mean"]),
)
def test_the_risk_is_that_of_the_program_with_all_failures(
    case: Case, probability: float, beta: float, loss: str
) -> None:
    assume((case.demand > 0).any())
    assume(len(case.topology.edges) <= 5)
    values: Values = {"beta": beta, "loss": loss, "probability": probability, "cutoff": 1e-9}
    allocation = Teavar(case.incidence, Options(settings=values)).solve(case.capacity, case.demand)
    assert allocation.value == pytest.approx(least_risk(case, probability, beta, loss), abs=1e-5)
    assert (case.incidence.links @ allocation.rates <= case.capacity * (1 + 1e-9)).all()


@pytest.mark.slow
@settings(max_examples=25)
@given(cases(max_nodes=4, max_tunnels=3), st.sampled_from([0.5, 0.9]))
def test_rows_that_are_taken_in_two_at_a_time_give_rates_of_the_same_risk(case: Case, beta: float) -> None:
    assume((case.demand > 0).any())
    assume(len(case.topology.edges) <= 5)
    options = Options(settings={"beta": beta, "probability": 0.1, "cutoff": 1e-9})
    at_once = Teavar(case.incidence, options).solve(case.capacity, case.demand)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("te_solver.programs.teavar._MOST_ROWS", 0)
        patch.setattr("te_solver.programs.teavar._ROWS_AT_ONCE", 2)
        patch.setattr("te_solver.programs.teavar._ENTRIES_AT_ONCE", 3)
        in_turn = Teavar(case.incidence, options).solve(case.capacity, case.demand)
    assert in_turn.value == pytest.approx(at_once.value, abs=1e-6)
    assert in_turn.granted.sum() <= at_once.granted.sum() * (1 + 1e-5) + 1e-5
    assert risk_of(case, in_turn.rates, 0.1, beta) == pytest.approx(in_turn.value, abs=1e-5)


def risk_of(case: Case, rates: Vector, probability: float, beta: float) -> float:
    """Return the conditional value at risk of given rates: the mean of the greatest losses, those of the worst tail."""
    edges = case.topology.edges
    losses = []
    for failed in chain.from_iterable(combinations(edges, size) for size in range(len(edges) + 1)):
        share = probability ** len(failed) * (1 - probability) ** (len(edges) - len(failed))
        kept = np.array(
            [np.array(case.owned(pair)) @ (rates * case.alive(failed)) for pair in range(len(case.demands))]
        )
        asking = case.demand > 0
        losses.append((float(np.max(1 - kept[asking] / case.demand[asking], initial=0.0)), share))
    left, value = 1 - beta, 0.0
    for loss, share in sorted(losses, reverse=True):
        value += loss * min(share, left) / (1 - beta)
        left = max(left - share, 0.0)
    return value


@pytest.mark.parametrize(
    ("pair", "lost", "allowed", "implied"),
    [
        ([0, 0, 0, 0], [1, 2, 4, 7], [0.2] * 4, [False, True, True, False]),  # the first is too far from the last
        ([0, 0], [1, 2], [0.2] * 2, [False, False]),
        ([0, 0, 0], [1, 3, 7], [0.2, 0.3, 0.1], [True, True, False]),
        ([0, 1], [1, 3], [0.2] * 2, [False, False]),
        ([0, 0], [1, 3], [0.2, 0.2 + 4e-8], [True, False]),
        ([0, 0], [1, 3], [0.2, 0.2 + 8e-8], [False, False]),
        ([0, 1, 1], [1, 1, 3], [0.2, 0.2, 0.1], [False, True, False]),
        ([0], [1], [0.2], [False]),
    ],
)
def test_a_row_is_implied_by_that_of_more_lost_tunnels_with_less_loss_allowed(
    monkeypatch: pytest.MonkeyPatch, pair: list[int], lost: list[int], allowed: list[float], implied: list[bool]
) -> None:
    monkeypatch.setattr("te_solver.programs.teavar._COMPARED", 2)
    found = _implied(np.array(pair), np.array(lost, dtype=np.uint64), np.array(allowed))
    assert found.tolist() == implied


@pytest.mark.slow
@settings(max_examples=25)
@given(cases(max_nodes=5, max_tunnels=3))
def test_the_risk_grows_with_beta_and_falls_with_what_is_left_out_by_its_bound(case: Case) -> None:
    assume((case.demand > 0).any())

    def risk(**values: float) -> float:
        program = Teavar(case.incidence, Options(settings={"probability": 0.05, **values}))
        found = program.solve(case.capacity, case.demand).value
        assert found is not None
        return found

    risks = [risk(beta=beta, cutoff=1e-9) for beta in (0.5, 0.8, 0.9)]
    assert risks == sorted(risks) or risks == pytest.approx(sorted(risks), abs=1e-6)
    down = np.full(len(case.topology.edges), 0.05)
    left_out = drawn(case.incidence, down, 1e-3).left_out - drawn(case.incidence, down, 1e-9).left_out
    assume(left_out < 0.1)
    pruned = risk(beta=0.9, cutoff=1e-3)
    assert risks[-1] - 1e-6 <= pruned <= risks[-1] + left_out / 0.1 + 1e-6


@pytest.fixture
def probabilities(tmp_path: Path) -> Path:
    """Of the three ways, two fail once in a thousand moments and one in ten."""
    file = tmp_path / "down.csv"
    file.write_text("a,b,probability\ns,t,0.001\ns,a,0.001\ns,b,0.1\na,t,0\nb,t,0\n")
    return file


@pytest.mark.parametrize(("demand", "beta"), [(20.0, 0.998), (30.0, 0.89)])
def test_on_three_links_it_sends_more_than_ffc_for_as_long_as_its_paper_says(
    demand: float, beta: float, probabilities: Path
) -> None:
    """TEAVAR's example: FFC against two failures sends 10; 20 hold for 99.8 % of the time, 30 for about 90 %."""
    asked = [Demand("s", "t", demand)]
    (pair,) = solve(THREE_WAYS, asked, 3, "ffc", options=Options(protect=2)).pairs
    assert pair.allocated == pytest.approx(10)
    (pair,) = solve(THREE_WAYS, asked, 3, f"teavar:beta={beta},file={probabilities}").pairs
    assert pair.allocated == pytest.approx(demand)
    down = {("s", "t"): 0.001, ("s", "a"): 0.001, ("s", "b"): 0.1}
    held = 0.0
    for up in range(8):
        live = [way for number, way in enumerate(down) if up >> number & 1]
        rate = sum(tunnel.rate for tunnel in pair.tunnels if any(tunnel.crosses(*way) for way in live))
        if rate >= demand * (1 - 1e-6):
            held += float(np.prod([1 - down[way] if way in live else down[way] for way in down]))
    assert held >= beta


def test_the_most_likely_scenarios_are_merged_where_tunnels_cannot_tell_them_apart() -> None:
    case = Case.of(THREE_WAYS, [Demand("s", "t", 10)], 2)
    found = drawn(case.incidence, np.array([0.1, 0.2, 0.3, 0.0, 0.0]), 1e-9)
    either = 1 - 0.8 * 0.7
    assert found.probability.tolist() == pytest.approx(
        sorted([0.9 * (1 - either), 0.1 * (1 - either), 0.9 * either, 0.1 * either], reverse=True)
    )
    assert found.left_out == pytest.approx(0)


def test_scenarios_in_which_one_failure_cuts_a_pair_off_are_merged() -> None:
    """A way in front of the three ones is all that two pairs have, of which one asks for nothing."""
    topology = Topology("and one", ("r", *THREE_WAYS.nodes), (Link("r", "s", 10.0), *THREE_WAYS.links))
    case = Case.of(topology, [Demand("r", "t", 10), Demand("s", "t", 10)], 2)
    down = np.array([0.4, 0.1, 0.2, 0.0, 0.0, 0.0])
    assert drawn(case.incidence, down, 1e-9).probability.size == 7  # both ways of s fail: nothing is left to r either
    found = drawn(case.incidence, down, 1e-9, np.array([True, True]))
    uncut = [0.6 * 0.9 * 0.8, 0.6 * 0.1 * 0.8, 0.6 * 0.9 * 0.2, 0.6 * 0.1 * 0.2]
    assert found.probability.tolist() == pytest.approx(sorted([*uncut, 0.4], reverse=True))
    assert found.left_out == pytest.approx(0)
    cut = found.down.toarray()[np.argmin(abs(found.probability - 0.4))]
    assert cut.tolist() == [1, 1, 0, 0]
    assert drawn(case.incidence, down, 1e-9, np.array([False, True])).probability.size == 7


def test_a_cutoff_that_leaves_out_more_than_beta_allows_is_refused() -> None:
    case = Case.of(THREE_WAYS, [Demand("s", "t", 10)], 2)
    program = Teavar(case.incidence, Options(settings={"probability": 0.2, "cutoff": 0.1, "beta": 0.99}))
    with pytest.raises(UnsoundError, match=r"^objective: scenarios below cutoff=0.1 have probability 0\.\d+, "):
        program.solve(case.capacity, case.demand)


def test_a_file_of_probabilities_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "down.csv"
    file.write_text("failure,probability\ns-t,0.1\n")
    with pytest.raises(InputError, match="a,b,probability"):
        solve(THREE_WAYS, [Demand("s", "t", 10)], 2, f"teavar:file={file}")

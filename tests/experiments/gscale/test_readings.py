"""Other readings of the evaluation on Gscale: each changes what it claims to, and the default is the reproduction."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from itertools import pairwise, permutations

import numpy as np
import pytest

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.experiment import Settings
from experiments.gscale.cases import CURVES, DEMANDS, FIGURES, LINKS, Case
from experiments.gscale.exhibits import mean_loss, role_loss
from experiments.gscale.models import compute
from experiments.gscale.plans import DIRECTED, NEAREST, SHARED, GscaleReading, pairs_under
from experiments.gscale.programs import EQUAL, INTERIOR, with_shared_capacity
from experiments.gscale.reading_search import combinations, nearest, search_to_json
from experiments.gscale.reading_search import exhibits as search_exhibits
from experiments.gscale.readings import (
    READINGS,
    Losses,
    exhibits,
    losses_of_each,
    readings_to_json,
    summary_of,
)
from experiments.reporting.exhibit_output import exhibit_figure
from experiments.results.exhibit import exhibit_text
from experiments.results.published import published_curves
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.networks import shipped_network
from te_solver.programs.program import Objective
from te_solver.programs.registry import MAX_THROUGHPUT, find_objective
from te_solver.solve import solve
from te_solver.tunnels.finder import TunnelFinder

SETTINGS = Settings("flow", 20.0, "os-ken", 64, 1, True, 1)


def test_the_default_reading_is_what_is_reproduced() -> None:
    found = losses_of_each([DIRECTED], 1, SETTINGS.seed)[0]
    of_flows = losses_of_each([replace(DIRECTED, average="of flows")], 1, SETTINGS.seed)[0]
    for scheme in PAPERS_SCHEMES:
        run = compute(Case("udp", 1.6, LINKS[1], scheme, 1), SETTINGS)
        for figure, role in (("fig11", "direct"), ("fig13", "victim")):
            flows = [flow for flow in run.flows if flow.role == role]
            loss, mean = role_loss(flows), mean_loss(flows)
            assert loss is not None
            assert mean is not None
            assert found[figure][scheme][-1][1] == pytest.approx(100 * loss, abs=1e-6)
            assert of_flows[figure][scheme][-1][1] == pytest.approx(100 * mean, abs=1e-6)


@pytest.mark.parametrize("draw", range(1, 6))
def test_pairs_are_of_ten_sites_and_keep_two_tunnels_where_a_reading_says_so(draw: int) -> None:
    topology = load_topology(shipped_network("gscale"))
    pairs = pairs_under(NEAREST, draw, 1)
    assert len({site for pair in pairs for site in pair}) == 10
    for pair in pairs:
        for link in LINKS:
            paths = TunnelFinder(topology).tunnels(*pair, 3)
            assert (
                sum(set(link) <= set(path) and abs(path.index(link[0]) - path.index(link[1])) == 1 for path in paths)
                < 2
            )


def test_each_reading_changes_one_thing_of_the_three_that_are_compared() -> None:
    bases = [asdict(DIRECTED), asdict(NEAREST), asdict(SHARED)]
    for name, reading in READINGS.items():
        changed = min(sum(value != base[key] for key, value in asdict(reading).items()) for base in bases)
        # The choice of pairs has two more aspects, as they are drawn once.
        assert changed <= (3 if name.startswith("pairs") else 1), name
    assert len(set(READINGS.values())) == len(READINGS)


def test_an_interior_point_is_as_good_as_a_corner_and_leaves_no_tunnel_empty() -> None:
    links = [("a", "b"), ("a", "c"), ("c", "b"), ("a", "d"), ("d", "b")]
    topology = Topology("three ways", ("a", "b", "c", "d"), tuple(Link(*ends, 1.0) for ends in links))
    light, heavy = (solve(topology, [Demand("a", "b", rate)], 3, INTERIOR) for rate in (0.5, 4.0))
    assert light.objective_value == pytest.approx(0.5)
    assert min(tunnel.rate for tunnel in light.pairs[0].tunnels) > 0.1
    assert heavy.objective_value == pytest.approx(3.0)


def test_equal_rates_fill_the_tunnel_with_the_least_room() -> None:
    links = [("a", "b", 1.0), ("a", "c", 1.0), ("c", "b", 1.0), ("a", "d", 0.25), ("d", "b", 1.0)]
    topology = Topology("three ways", ("a", "b", "c", "d"), tuple(Link(*link) for link in links))
    plan = solve(topology, [Demand("a", "b", 4.0)], 3, EQUAL)
    assert [tunnel.rate for tunnel in plan.pairs[0].tunnels] == pytest.approx([0.25] * 3)


@pytest.mark.parametrize("objective", [INTERIOR, EQUAL, find_objective(MAX_THROUGHPUT)], ids=lambda each: each.name)
def test_directions_that_share_a_link_carry_together_what_one_of_them_could(objective: Objective) -> None:
    topology = Topology("a link", ("a", "b"), (Link("a", "b", 1.0), Link("b", "a", 1.0)))
    both = [Demand("a", "b", 0.8), Demand("b", "a", 0.8)]
    assert solve(topology, both, 1, objective).objective_value == pytest.approx(1.6)
    assert solve(topology, both, 1, with_shared_capacity(objective)).objective_value == pytest.approx(1.0)


def test_32_of_the_132_ordered_pairs_have_three_disjoint_tunnels() -> None:
    topology = load_topology(shipped_network("gscale"))
    disjoint = 0
    for pair in permutations(topology.nodes, 2):
        edges = [frozenset(hop) for path in TunnelFinder(topology).tunnels(*pair, 3) for hop in pairwise(path)]
        disjoint += len(edges) == len(set(edges))
    assert disjoint == 32
    for pair in pairs_under(GscaleReading(redrawn=False, three_disjoint=True), 1, 1):
        edges = [frozenset(hop) for path in TunnelFinder(topology).tunnels(*pair, 3) for hop in pairwise(path)]
        assert len(edges) == len(set(edges))


def test_readings_that_share_their_runs_lose_the_same_as_alone() -> None:
    readings = [SHARED, replace(SHARED, average="of the role"), replace(SHARED, direct="one direction"), NEAREST]
    assert losses_of_each(readings, 2, 1) == [losses_of_each([reading], 2, 1)[0] for reading in readings]


@pytest.mark.parametrize(
    ("change", "figure", "scheme"),
    [
        (GscaleReading(unthrottled=True), "fig11", "kuijia"),
        (GscaleReading(planned_share=1.0), "fig13", "kuijia"),
        (GscaleReading(whole_links=True), "fig13", "kuijia"),
        (GscaleReading(halves=True), "fig13", "rescaling"),
        (GscaleReading(round_trips=False), "fig10", "rescaling"),
        (GscaleReading(direct="both directions"), "fig11", "rescaling"),
        (GscaleReading(direct="all but victims"), "fig11", "rescaling"),
        (GscaleReading(tunnels="k-shortest"), "fig13", "rescaling"),
        (GscaleReading(tunnels="node-disjoint"), "fig13", "rescaling"),
        (GscaleReading(rates="fewest hops"), "fig13", "rescaling"),
        (GscaleReading(rates="equal"), "fig13", "rescaling"),
        (GscaleReading(shared=True), "fig13", "rescaling"),
    ],
)
def test_what_is_read_otherwise_changes_what_is_lost(change: GscaleReading, figure: str, scheme: str) -> None:
    ours, other = (losses_of_each([reading], 1, 1)[0][figure][scheme] for reading in (DIRECTED, change))
    assert ours != other


def test_a_summary_holds_what_campaigns_show_against_the_published_numbers() -> None:
    def draw(more: float) -> Losses:
        return {
            figure: {
                scheme: [[(published_curves(figure).at(scheme, demand) or 0.0) + more] for demand in DEMANDS]
                for scheme in PAPERS_SCHEMES
            }
            for figure in FIGURES
        }

    exact = summary_of([draw(-1), draw(0), draw(1)])
    assert exact.distance == pytest.approx(0, abs=1e-9)
    above = summary_of([draw(1), draw(2), draw(3), draw(5), draw(5), draw(8)])
    assert above.distance == pytest.approx(4)
    assert above.nearest == pytest.approx(2)
    assert above.held == 0
    around = summary_of([draw(-2)] * 3 + [draw(2)] * 6)
    assert around.held == 5 * len(CURVES)
    cell = around.curves["fig10", "rescaling"][0]
    assert cell.below == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="2 draws, expected at least 3"):
        summary_of([draw(0)] * 2)


def test_all_readings_are_shown() -> None:
    generator = np.random.default_rng(1)
    draws: list[Losses] = [
        {
            figure: {scheme: [generator.uniform(0, 40, 2).tolist() for _ in DEMANDS] for scheme in PAPERS_SCHEMES}
            for figure in FIGURES
        }
        for _ in range(6)
    ]
    summaries = dict.fromkeys(READINGS, summary_of(draws))
    data = json.loads(json.dumps({**readings_to_json(summaries, 6), "experiment": "r"}, allow_nan=False))
    curves, readings = exhibits(data)
    text = exhibit_text(readings)
    assert all(f"\n{name} " in text for name in READINGS)
    assert list(data["readings"]) == list(READINGS)
    assert len(exhibit_figure(curves).axes) == 4


def test_the_nearest_of_all_combinations_is_chosen_and_shown_on_draws_that_were_held_out() -> None:
    def draws(more: float) -> list[Losses]:
        return [
            {
                figure: {
                    scheme: [[(published_curves(figure).at(scheme, demand) or 0.0) + more] for demand in DEMANDS]
                    for scheme in PAPERS_SCHEMES
                }
                for figure in FIGURES
            }
        ] * 3

    tried = combinations()
    assert len(tried) == len(set(tried.values())) == 144
    assert SHARED in tried.values()
    far = summary_of(draws(9))
    chosen = next(name for name, reading in tried.items() if reading == SHARED)
    summaries = {name: summary_of(draws(2)) if name == chosen else far for name in tried}
    assert nearest(summaries) == chosen
    data = json.loads(json.dumps({**search_to_json(summaries, 3, summary_of(draws(3)), 3), "experiment": "s"}))
    curves, best = search_exhibits(data)
    assert best.columns[0] == chosen
    assert best.line("distance").at(chosen).value == pytest.approx(2)
    assert f"Chosen among 144 combinations on 3 draws: {chosen}." in curves.remarks
    assert any("2.0 percentage points there, and 3.0 on 3 other draws" in remark for remark in curves.remarks)
    assert max(abs(point.deviation or 0.0) for line in curves.lines for point in line.points) == pytest.approx(3)

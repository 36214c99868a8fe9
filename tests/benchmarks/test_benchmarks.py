"""The benchmarks on tiny problems: only their completeness is tested, not their figures."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from benchmarks import (
    fig4_full,
    flow_maxmin,
    hedera,
    learned_hosts,
    live_page,
    networks,
    packet_rates,
    packet_two_cores,
    te_large,
    te_paths,
    te_resolve,
    verify,
)
from benchmarks.__main__ import as_json
from benchmarks.measure import Apart
from benchmarks.registry import BenchmarkSetting, Comparison, benchmarks
from experiments import fig4
from kuijia_app.tables.options import Form, PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.table_sizes import table_size
from kuijia_base.progress import Progress
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.tunnels.finder import Paths, TunnelFinder

pytestmark = pytest.mark.slow


@pytest.fixture
def setting() -> BenchmarkSetting:
    return BenchmarkSetting(None, Progress(io.StringIO()))


def at_hand(work: Callable[[Any], Any], argument: object) -> Apart[Any]:
    """Replace `apart` by a run in this process, where the tests' small sizes apply."""
    return Apart(work(argument), 1.0)


def complete(name: str, comparisons: Iterator[Comparison]) -> list[Comparison]:
    """Return the comparisons after checking that all are of times and can be written as JSON."""
    found = list(comparisons)
    for comparison in found:
        assert json.loads(json.dumps(as_json(name, comparison)))["ratio"] > 0
        assert min(comparison.ours, comparison.peer) > 0
    return found


HEDERA = {"hedera-estimate", "hedera-anneal", "hedera-round", "hedera-8192"}


@pytest.mark.parametrize(("name", "problem"), [("learned-hosts", "24 hosts"), ("host-storms", "500 a second")])
def test_learned_hosts_and_storms(
    name: str, problem: str, setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {
        "_HOSTS": 24,
        "_SETTLED": 1.0,
        "_LOOKS": 1,
        "_CUTS": 2,
        "_SPENT": 0.1,
        "_STORM": 500.0,
        "_STORMS": ("ARP", "advertisements"),
        "_WITHIN": 20.0,
    }
    for constant, value in small.items():
        monkeypatch.setattr(learned_hosts, constant, value)
    found = complete(name, benchmarks([name])[name](setting))
    assert [str(each.detail["problem"]).startswith(problem) for each in found] == [True, True]


def test_every_benchmark_is_registered() -> None:
    assert set(benchmarks([])) == {
        "te-resolve",
        "te-truth",
        "te-all-pairs",
        "te-scenarios",
        "te-large",
        "te-paths",
        "install",
        "table-polls",
        "learned-hosts",
        "host-storms",
        "verify",
        "flow-maxmin",
        "live-lab",
        "live-page",
        "fig4-full",
        "packet-balancers",
        "packet-growth",
        "packet-plans",
        "packet-two-cores",
        "packet-vs-ns3",
        "packet-vs-htsim",
        *HEDERA,
    }


def test_the_benchmark_of_the_page_opens_the_printed_link() -> None:
    server = pytest.importorskip("testbed.web.server", reason="no starlette or uvicorn")
    link = server.PageLink("127.0.0.1", 8400, "secret")
    said = {"server": link.server, "token": link.token}
    assert live_page.page_of(said) == link.url
    assert live_page.document_of(said) == "http://127.0.0.1:8400/openapi.json"


@pytest.mark.parametrize(
    ("page", "serving", "states", "met"),
    [(29, 3, 5.0, True), (25, 3, 4.0, False), (3, 25, 4.0, False), (3, 3, 0.0, False)],
)
def test_a_page_that_shows_fewer_states_does_not_meet_the_goal_by_that(
    page: float,
    serving: float,
    states: float,
    met: bool,  # noqa: FBT001  # a parameter
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_page, "_watched", lambda *_, **__: (page, page + 2, serving, states))
    (goal,) = as_json("live-page", live_page._compared(1, {}, "few links"))["detail"]["goals"]
    assert goal["met"] == met


def test_resolving_is_compared_with_cvxpy(setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(te_resolve, "_CHANGES", 6)
    monkeypatch.setattr(te_resolve, "_CHANGES_OF_PEERS", 4)
    once, anew = complete("te-resolve", te_resolve.te_resolve(setting))
    assert (once.peer_name, anew.peer_name) == ("CVXPY compiled once", "CVXPY built anew")
    difference = once.detail["largest difference in throughput from CVXPY"]
    assert isinstance(difference, float)
    assert difference <= 1e-6


def test_max_min_fairness_is_compared_with_the_reference(
    setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow_maxmin, "_PORTS", 4)
    monkeypatch.setattr(flow_maxmin, "_FLOWS", 50)
    monkeypatch.setattr(flow_maxmin, "_FLOWS_OF_REFERENCE", 20)
    monkeypatch.setattr(flow_maxmin, "_GROWTH", (10, 100))
    (comparison,) = complete("flow-maxmin", flow_maxmin.flow_maxmin(setting))
    difference = comparison.detail["largest difference from the reference in Mbit/s"]
    assert isinstance(difference, float)
    assert difference <= 1e-9


def test_figure_4_is_compared_with_cvxpy(setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("NODES", 8), ("EDGES", 14), ("PAIRS", 4), ("DEMANDS", (0.8, 3.0))):
        monkeypatch.setattr(fig4, name, value)
    monkeypatch.setattr(fig4_full, "processors", lambda: 1)  # where the figure is small
    for name, value in (("_GRAPHS", 1), ("_RUNS", 2), ("_EVERY_DEMAND", 1), ("_EVERY_FAILURE", 3)):
        monkeypatch.setattr(fig4_full, name, value)
    once, anew = complete("fig4-full", fig4_full.fig4_full(setting))
    assert (once.peer_name, anew.peer_name) == ("CVXPY compiled once per plan", "CVXPY built anew")
    for comparison in (once, anew):
        assert isinstance(comparison.detail["difference in loss"], float)
        assert comparison.detail["difference in loss"] <= 1e-6
        assert str(comparison.detail["problem"]).startswith("56 failures of a link")
        assert comparison.detail["cases compared"] == 2 * 5


def test_estimation_is_compared_with_the_reference(setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedera, "_AUTHORS_ESTIMATES", {(50, 100): 1.0})
    monkeypatch.setattr(hedera, "_ESTIMATED", ((100, 300),))
    monkeypatch.setattr(hedera, "_LARGEST_ESTIMATE", (50, 100))
    monkeypatch.setattr(hedera, "_ESTIMATED_SLOWLY", (50, 100))
    (comparison,) = complete("hedera-estimate", hedera.hedera_estimate(setting))
    difference = comparison.detail["largest difference from the reference, in interfaces"]
    assert isinstance(difference, float)
    assert difference <= 1e-9


def test_annealing_is_compared_with_the_reference(setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedera, "_PORTS", 4)
    monkeypatch.setattr(hedera, "_ANNEALED_FLOWS", 50)
    monkeypatch.setattr(hedera, "_ANNEALED", ((4, 50),))
    monkeypatch.setattr(hedera, "_ANNEALED_SLOWLY", (4, 30, 20))
    (comparison,) = complete("hedera-anneal", hedera.hedera_anneal(setting))
    assert comparison.detail["the same state as the reference, after as many improvements"]


def test_a_round_is_compared_with_the_references(setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedera, "_PORTS", 4)
    monkeypatch.setattr(hedera, "_ROUND_PORTS", (6,))
    monkeypatch.setattr(hedera, "_ROUND_SLOWLY", 4)
    (comparison,) = complete("hedera-round", hedera.hedera_round(setting))
    rows = comparison.detail["ms by size, best of a few rounds"]
    assert isinstance(rows, list)
    assert [row["hosts"] for row in rows] == [16, 16, 16, 54]


def test_a_minute_of_arrivals_is_compared_with_the_minute(
    setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hedera, "_MINUTE_PORTS", 4)
    (comparison,) = complete("hedera-8192", hedera.hedera_8192(setting))
    assert comparison.peer == 60


def test_a_fat_tree_has_paths_of_two_four_and_six_links() -> None:
    capacity, flows = flow_maxmin.fat_tree(4, 500)
    assert capacity.size == 6 * 16  # three layers of 16 cables for 16 hosts, both ways
    assert set(np.diff(flows.first).tolist()) == {2, 4, 6}
    assert set(flows.links.tolist()) == set(range(96))


def test_large_programs_are_compared_with_highs(setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(networks.NODES, "UsCarrier", 20)
    monkeypatch.setattr(te_large, "apart", at_hand)
    monkeypatch.setattr(te_large, "_SIZES", (12,))
    monkeypatch.setitem(networks.NODES, "Kdl", 20)
    monkeypatch.setattr(te_large, "_PAIRS_PER_PART", 200)
    build, warm, parts = complete("te-large", te_large.te_large(setting))
    assert build.unit == "s to build and solve"
    assert isinstance(build.detail["difference in throughput"], float)
    assert build.detail["difference in throughput"] <= 1e-6
    assert warm.unit == "s to solve again"
    rows = parts.detail["networks"]
    assert isinstance(rows, list)
    assert [row["network"] for row in rows] == ["made-12", "made-20"]
    assert all(0 <= row["loss, at most"] < 0.1 for row in rows)


def test_paths_are_compared_with_networkx(setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(networks.NODES, "Kdl", 20)
    monkeypatch.setattr(te_paths, "_OWN_SAMPLE", 30)
    monkeypatch.setattr(te_paths, "apart", at_hand)
    monkeypatch.setattr(te_paths, "_SAMPLE", 5)
    cheapest, disjoint, shortest = complete("te-paths", te_paths.te_paths(setting))
    assert cheapest.peer_name.startswith("networkx.max_flow_min_cost")
    assert disjoint.peer_name.startswith("networkx.edge_disjoint_paths")
    assert shortest.peer_name.startswith("networkx.shortest_simple_paths")
    assert disjoint.detail["all pairs"] == 20 * 19


def test_packets_of_growing_networks_are_compared_with_those_of_the_smallest(
    setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packet_rates, "_GROWTH_SECONDS", {2: 1e-3, 4: 1e-3})
    monkeypatch.setattr(packet_rates, "_COMPARED", 4)
    monkeypatch.setattr(packet_rates, "_REPETITIONS", 1)
    monkeypatch.setattr(packet_rates, "apart", at_hand)
    (comparison,) = complete("packet-growth", packet_rates.packet_growth(setting))
    rows = comparison.detail["growth"]
    assert isinstance(rows, list)
    assert [row["hosts"] for row in rows] == [2, 16]
    for row in rows:  # packets cross 6 links, and so do their acknowledgements
        assert row["hops/s"] / row["data packets/s"] == pytest.approx(12, rel=0.1)


def test_the_packet_rate_of_each_load_balancer_is_compared_with_that_of_ecmp(
    setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packet_rates, "_BALANCED_SECONDS", 2e-3)
    monkeypatch.setattr(packet_rates, "_FLOWS", 100)
    monkeypatch.setattr(packet_rates, "_REPETITIONS", 1)
    compared = complete("packet-balancers", packet_rates.packet_balancers(setting))
    assert [comparison.peer_name for comparison in compared] == ["ECMP"] * 5
    with_goals = [comparison for comparison in compared if "goals" in comparison.detail]
    assert [str(comparison.detail["problem"]).partition(",")[0] for comparison in with_goals] == ["CONGA", "Hermes"]


def test_packets_of_many_flows_over_a_plan_are_compared_with_those_of_few(
    setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = {name: replace(each, flows_per_pair=2) for name, each in packet_rates._PROBLEMS.items()}
    monkeypatch.setattr(packet_rates, "_PROBLEMS", problems)
    monkeypatch.setattr(packet_rates, "_PLAN_SECONDS", 0.02)
    monkeypatch.setattr(packet_rates, "_REPETITIONS", 1)
    monkeypatch.setattr(packet_rates, "apart", at_hand)
    (comparison,) = complete("packet-plans", packet_rates.packet_plans(setting))
    rows = comparison.detail["plans"]
    assert isinstance(rows, list)
    assert [row["flows"] for row in rows] == [10, 10, 264]
    for row in rows:  # two hops with hosts, and one to eleven between switches
        assert 2 < row["hops/s"] / row["packets/s"] < 13


def test_a_run_by_two_threads_is_compared_with_one_by_one(
    setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packet_two_cores, "_SECONDS", {"FlashPass": 0.2, "DCTCP": 0.5})
    monkeypatch.setattr(packet_two_cores, "_REPETITIONS", 1)
    for comparison in complete("packet-two-cores", packet_two_cores.packet_two_cores(setting)):
        goals = comparison.detail["goals"]
        assert isinstance(goals, list)
        assert goals[0]["met"]


@pytest.mark.ovs
def test_verifying_is_compared_with_a_real_switch(setting: BenchmarkSetting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(networks.NODES, "Kdl", 20)
    monkeypatch.setattr(verify, "_NODES", 12)
    monkeypatch.setattr(verify, "_EDGES", 20)
    monkeypatch.setattr(verify, "_PAIRS", 6)
    monkeypatch.setattr(verify, "_PEER_NODES", 6)
    monkeypatch.setattr(verify, "_PEER_PACKETS", 5)
    (comparison,) = complete("verify", verify.verify(setting))
    assert comparison.detail["violations"] == 0
    assert comparison.detail["failures"] == 20


def test_the_busiest_switch_is_sized_as_its_tables_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(networks.NODES, "Kdl", 15)
    topology = networks.network("Kdl", None)
    pairs = tuple(
        PairPlan(source, target, 1.0, 1.0, tunnels, 0)
        for number, (source, target) in enumerate(permutations(topology.nodes, 2))
        if (tunnels := equal_tunnels(TunnelFinder(topology).tunnels(source, target, 3), 16 + 3 * number))
    )
    plan = Plan(topology, pairs, "none", 0.0, "none", 0.0)
    sizes = {form: build_tables(plan, PipelineOptions(form=form)) for form in Form}
    told = verify._all_pairs(None)
    for form, tables in sizes.items():
        said = told[f"its busiest switch, {form.value}"]
        assert said in {verify._size_json(table_size(of_switch)) for of_switch in tables.values()}


def equal_tunnels(paths: Paths, label: int) -> tuple[Tunnel, ...]:
    return tuple(Tunnel(label + number, path, 1.0, 1 / len(paths)) for number, path in enumerate(paths))

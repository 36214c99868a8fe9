"""The experiments of the Hermes paper, on runs small enough for a test."""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.catalog import find_entry
from experiments.experiment import Outcome
from experiments.grid import Execution, Offered
from experiments.hermes import loads, motivation, runs
from experiments.hermes.loads import Extent
from experiments.hermes.networks import CUT_TESTBED, PUBLIC_UNEQUAL, PUBLISHED, SIMULATED, BalancingScheme, Drops, Hole
from experiments.hermes.runs import (
    PATIENCE,
    Grid,
    GridRuns,
    LeafSpineRun,
    order_as_published,
    outcome,
    ratio_bar,
    swept_grids,
    theirs_of,
)
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from simulator.packet.load_balancing import HERMES_NS3, CloveEcn, Hermes, PathsInTurn
from tests.experiments.executions import QUICK, TWO_SEEDS, execution_in, options

SMALL = replace(SIMULATED, leaves=2, spines=2, leaf_hosts=4)


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all experiments few flows, and small networks in the place of the large one."""
    monkeypatch.setattr(loads, "_TESTBED_FLOWS", {"quick": (12, 6)})
    monkeypatch.setattr(loads, "_SIMULATED_FLOWS", {"quick": (12, 6)})


def run(name: str, folder: Path, **given: object) -> Mapping[str, Any]:
    """Run an experiment and return its exhibits by name."""
    found = find_entry(name).load().run(QUICK, options(**given), OutputFolder(folder), Progress(io.StringIO()))
    assert isinstance(found.summary["exhibits"], list)
    return {exhibit["name"]: exhibit for exhibit in found.summary["exhibits"]}


def test_all_flows_end_and_large_ones_take_longer() -> None:
    found = outcome(LeafSpineRun(SMALL, BalancingScheme.of("ecmp", SMALL), "web-search", 0.3, 60, 1))
    assert found["unfinished"] == 0
    assert found["small average"] < found["overall average"] < found["large average"]


def test_the_profile_of_the_public_code_changes_hermes_and_not_conga_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert BalancingScheme.of("hermes", SMALL, "ns3").balancer.choice == HERMES_NS3
    for profile, hashed in (("paper", False), ("ns3", True)):
        for name in ("clove-ecn", "hermes"):
            choice = BalancingScheme.of(name, SMALL, profile).balancer.choice
            assert isinstance(choice, CloveEcn | Hermes)
            assert choice.hashed_answers == hashed
    assert BalancingScheme.of("conga", SMALL, "ns3") == BalancingScheme.of("conga", SMALL)
    shrink(monkeypatch)
    for profile, told in (("paper", False), ("ns3", True)):
        exhibits = run("hermes-fig16", tmp_path / profile, profile=profile).values()
        remarks = [" ".join(exhibit["remarks"]) for exhibit in exhibits]
        assert ["public simulation" in text for text in remarks] == [told] * len(remarks)


def test_the_profile_of_the_public_buffer_gives_it_to_all_receivers_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ecmp", "conga", "letflow", "clove-ecn", "hermes", "presto"):
        usual, buffered = BalancingScheme.of(name, SMALL), BalancingScheme.of(name, SMALL, "buffer")
        assert buffered.balancer == usual.balancer
        assert (buffered.transport.resequencing, buffered.transport.resequencing_stays) == (200e-6, True)
    shrink(monkeypatch)
    for exhibit in run("hermes-fig16", tmp_path, profile="buffer").values():
        assert exhibit["remarks"][-1].startswith("All receivers have the resequencing buffer")


def test_the_profile_of_the_public_code_has_its_slow_links_and_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert BalancingScheme.of("presto", SMALL, "ns3").balancer.choice == PathsInTurn(weighted=True)
    presto = BalancingScheme.of("presto", PUBLIC_UNEQUAL, "ns3")
    assert presto.balancer.choice == PathsInTurn(weighted=True, rates=PUBLIC_UNEQUAL.mistaken_rates())
    assert (presto.transport.resequencing, presto.transport.resequencing_stays) == (100e-6, True)
    shrink(monkeypatch)
    for profile, part, told in (("paper", "a fifth of the links", False), ("ns3", "8 of 64 links", True)):
        for exhibit in run("hermes-fig13", tmp_path / profile, profile=profile).values():
            assert part in exhibit["title"]
            assert ("the network its slow links" in " ".join(exhibit["remarks"])) == told


def test_parts_are_left_out_of_hermes_with_the_constants_of_the_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch)
    for exhibit in run("hermes-fig18", tmp_path, profile="ns3").values():
        assert exhibit["remarks"][-1] == (
            "Hermes has the constants of the authors' public simulation, acknowledgements keep a path by hash."
        )
        assert "slow links" not in exhibit["title"]


def test_loads_of_the_testbed_count_headers_with_the_profile_of_the_public_programs(tmp_path: Path) -> None:
    usual, public = (loads.testbed(Extent((0.5,), {"web-search": 9}, each), cut=True) for each in ("paper", "ns3"))
    assert usual == CUT_TESTBED
    assert public.load(0.5).part == pytest.approx(usual.load(0.5).part * 1448 / 1538)
    assert public.offered(0.5) == pytest.approx(usual.offered(0.5) * 1448 / 1538)
    for profile, flows in (("paper", 2_000), ("ns3", 20_000)):
        execution = execution_in(tmp_path, "hermes-fig10", replace(QUICK, quick=False), profile=profile)
        assert loads.extent_of(execution, ("web-search",), on_testbed=True).flows == {"web-search": flows}


def test_table_2_is_shown_with_its_columns_exchanged_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    usual, exchanged = run("hermes-table2", tmp_path).values()
    assert (usual["name"], exchanged["name"]) == ("hermes-table2", "hermes-table2-exchanged")
    for one, other in zip(usual["lines"], exchanged["lines"], strict=True):
        values = [[point["value"] for point in line["points"]] for line in (one, other)]
        assert values[0] == values[1]
        published = [point["published"] for line in (one, other) for point in line["points"]]
        assert len(set(published)) == 2
        assert published == [*reversed(published)]


def test_a_flow_that_never_ends_counts_with_its_age() -> None:
    hole = Hole(1.0)
    found = outcome(LeafSpineRun(SMALL, BalancingScheme.of("ecmp", SMALL), "web-search", 0.3, 60, 1, hole))
    assert found["unfinished"] > 10
    assert found["overall average"] > 1e3 * PATIENCE * found["unfinished"] / 100


def test_unfinished_flows_whose_data_vanishes_are_those_from_hosts_at_the_hole() -> None:
    case = LeafSpineRun(SMALL, BalancingScheme.of("ecmp", SMALL), "web-search", 0.3, 60, 1, Hole(1.0, wide=True))
    flows = case.drawn(SMALL.network(1))
    assert case.loses_data(flows).tolist() == (flows.source < SMALL.leaf_hosts).tolist()
    found = outcome(case)
    assert 0 < found["unfinished data"] < found["unfinished"]
    left_out = found["unfinished data"] / 100
    age = (found["overall average"] - (1 - left_out) * found["received average"]) / left_out
    assert 1e3 * PATIENCE < age < 1e3 * (PATIENCE + float(flows.start.max()))
    assert replace(case, fault=Drops(0.01)).loses_data(flows).all()
    assert not replace(case, fault=None).loses_data(flows).any()


def test_silent_drops_make_flows_slower_and_all_end() -> None:
    ecmp = BalancingScheme.of("ecmp", SMALL)
    plain, dropping = (
        outcome(LeafSpineRun(SMALL, ecmp, "web-search", 0.5, 80, 1, fault)) for fault in (None, Drops(0.02))
    )
    assert dropping["overall average"] > plain["overall average"]
    assert dropping["unfinished"] == 0


def test_a_grid_has_a_run_for_each_scheme_load_and_seed_in_their_places(tmp_path: Path) -> None:
    schemes = {name: BalancingScheme.of(name, SMALL) for name in ("ecmp", "letflow")}
    grid = Grid(SMALL, "web-search", schemes, dict.fromkeys((0.3, 0.6), 20))
    execution = execution_in(tmp_path, settings=TWO_SEEDS, workers=2)
    with swept_grids([grid], execution) as (found,):
        assert set(found.runs) == {(name, load) for name in schemes for load in grid.loads}
    single = outcome(LeafSpineRun(SMALL, schemes["letflow"], "web-search", 0.6, 20, 2))
    assert found.runs["letflow", 0.6][1] == single
    assert found.ratio("letflow", "letflow", 0.3) == 1.0


def test_a_case_that_grids_share_runs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[LeafSpineRun] = []

    def counted(case: LeafSpineRun) -> dict[str, Any]:
        ran.append(case)
        return outcome(case)

    monkeypatch.setattr(runs, "outcome", counted)
    ecmp, letflow = BalancingScheme.of("ecmp", SMALL), BalancingScheme.of("letflow", SMALL)
    grids = [
        Grid(SMALL, "web-search", schemes, {0.5: 10}) for schemes in ({"ecmp": ecmp, "other": letflow}, {"plain": ecmp})
    ]
    execution = execution_in(tmp_path)
    with swept_grids(grids, execution) as (one, other):
        assert len(ran) == 2
    assert other.runs["plain", 0.5] == one.runs["ecmp", 0.5] != one.runs["other", 0.5]


def test_the_order_of_schemes_is_held_against_the_published_one(tmp_path: Path) -> None:
    schemes = {name: BalancingScheme.of("ecmp", SMALL) for name in ("conga", "hermes", "presto")}
    grid = Grid(SMALL, "web-search", schemes, {0.7: 10})
    execution = execution_in(tmp_path)
    with swept_grids([grid], execution) as (found,):
        names = [check.name for check in order_as_published(found, "fig13", "overall average", (0.5, 0.7))]
    assert names == ["Hermes / CONGA at 0.7", "Presto* / Hermes at 0.7"]


def test_schemes_that_are_equal_as_published_have_no_order(tmp_path: Path) -> None:
    overall = theirs_of("fig14", "overall average")[1]
    assert overall["conga"][2] == overall["presto"][2] != overall["letflow"][2]
    schemes = {name: BalancingScheme.of("ecmp", SMALL) for name in ("presto", "conga", "letflow")}
    grid = Grid(SMALL, "data-mining", schemes, {0.5: 10})
    execution = execution_in(tmp_path)
    with swept_grids([grid], execution) as (found,):
        names = [check.name for check in order_as_published(found, "fig14", "overall average", (0.5,))]
    assert names == ["LetFlow / Presto* at 0.5", "LetFlow / CONGA at 0.5"]


def test_finished_runs_are_kept_until_the_results_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)

    def full_disk(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as failing:
        failing.setattr("experiments.grid.write_exhibits", full_disk)
        with pytest.raises(OSError, match="no space left"):
            run("hermes-fig16", tmp_path)
    monkeypatch.setattr(runs, "outcome", None)  # nothing is left to run
    assert run("hermes-fig16", tmp_path)


def test_published_numbers_have_one_for_each_load() -> None:
    for name, figure in PUBLISHED.items():
        if isinstance(figure, dict) and "loads" in figure:
            for key, lines in figure.items():
                if key != "loads":
                    assert {len(line) for line in lines.values()} == {len(figure["loads"])}, (name, key)


def test_flows_of_the_full_extent_start_for_two_seconds_at_every_load() -> None:
    execution = execution_in(Path("unused"), "hermes-fig12", replace(QUICK, quick=False), full=True)
    extent = loads.extent_of(execution, loads.BOTH)
    for workload, at_most_loaded in (("web-search", 84_200), ("data-mining", 11_400)):
        counts = extent.counts(SIMULATED, workload)
        assert counts[0.9] == pytest.approx(at_most_loaded, rel=0.01)
        assert counts[0.3] == pytest.approx(counts[0.9] / 3, abs=1)
        case = LeafSpineRun(SIMULATED, BalancingScheme.of("ecmp", SIMULATED), workload, 0.7, counts[0.7], 1)
        assert float(case.drawn(SIMULATED.network(1)).start.max()) == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("size", ["quick", "default", "full"])
def test_only_the_full_extent_has_all_loads_and_seeds_of_the_paper(size: str) -> None:
    settings = replace(QUICK, quick=size == "quick")
    ran: list[Execution] = []

    def run_nothing(execution: Execution) -> Outcome:
        ran.append(execution)
        return Outcome("", {}, ())

    experiment = Offered(run_nothing, loads.SEEDS).experiment("hermes-fig13")
    for repetitions in (None, 7):
        args = options(full=size == "full", repetitions=repetitions)
        experiment.run(settings, args, OutputFolder(Path("unused")), Progress(io.StringIO()))
    by_size, as_given = ran
    assert (len(loads.extent_of(by_size, loads.WEB).loads) == 7) == (size == "full")
    assert (len(by_size.seeds) == 5) == (size == "full")
    assert len(as_given.seeds) == 7


@pytest.mark.parametrize("name", ["hermes-fig9", "hermes-fig10", "hermes-fig11"])
def test_testbed_experiments_have_published_numbers_beside_ours(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch)
    for exhibit in run(name, tmp_path).values():
        for line in exhibit["lines"]:
            assert [point["x"] for point in line["points"]] == [0.5]
            assert line["points"][0]["value"] is None or line["points"][0]["value"] > 0
        assert any(line["points"][0]["value"] for line in exhibit["lines"]) or exhibit["name"] == "hermes-fig11-large"
        assert any(point["published"] for line in exhibit["lines"] for point in line["points"])
        assert (tmp_path / f"{exhibit['name']}.svg").is_file()


@pytest.mark.parametrize("workload", ["web-search", "data-mining"])
def test_figures_of_asymmetry_are_relative_to_hermes(
    workload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch)
    name = "hermes-fig13" if workload == "web-search" else "hermes-fig14"
    exhibits = run(name, tmp_path)
    lines = {line["label"]: line["points"][0] for line in exhibits[f"{name}-overall-average"]["lines"]}
    assert lines["Hermes"]["value"] == 1.0
    assert lines["CONGA"]["published"] == (0.7 if workload == "web-search" else 1.08)
    absolute = {line["label"]: line["points"][0]["value"] for line in exhibits[f"{name}-ms"]["lines"]}
    assert lines["LetFlow"]["value"] == pytest.approx(absolute["LetFlow"] / absolute["Hermes"])


@pytest.mark.parametrize(
    "name",
    [*(f"hermes-fig{figure}" for figure in (12, 15, 16, 17, 18, 19)), "hermes-plain-tcp", "hermes-table2"],
)
def test_other_experiments_have_our_numbers_and_published_ones(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch)
    for exhibit in run(name, tmp_path).values():
        assert exhibit["published"]
        bars_elsewhere = name == "hermes-fig17" or exhibit["name"] == "hermes-fig16-small"
        assert exhibit["checks"] or bars_elsewhere
        assert any(point["value"] is not None for line in exhibit["lines"] for point in line["points"])
        assert (tmp_path / f"{exhibit['name']}.svg").is_file()


def test_bars_of_the_black_hole_are_for_all_hosts_of_a_rack_and_for_received_flows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch)
    exhibits = run("hermes-fig17", tmp_path)
    with_bars = [
        name
        for name, exhibit in exhibits.items()
        if any(not bar["name"].startswith("size: ") for bar in exhibit["checks"])
    ]
    assert with_bars == ["hermes-fig17-a-overall", "hermes-fig17-a-unfinished-data"]
    overall = exhibits["hermes-fig17-a-overall"]
    means = {line["label"]: line["points"][0]["value"] for line in overall["lines"]}
    (bar,) = (bar for bar in overall["checks"] if bar["name"].endswith("/ Hermes at 0.7"))
    others = [value for label, value in means.items() if label != "Hermes"]
    assert bar["measured"] == pytest.approx(min(others) / means["Hermes"])


def test_no_flow_of_hermes_is_left_in_a_black_hole_that_keeps_flows_of_ecmp() -> None:
    hole = Hole(1.0)
    found = {
        name: outcome(LeafSpineRun(SMALL, BalancingScheme.of(name, SMALL), "web-search", 0.3, 60, 1, hole))
        for name in ("ecmp", "hermes")
    }
    assert found["ecmp"]["unfinished"] > 10
    assert found["hermes"]["unfinished"] == 0


def test_hermes_avoids_a_spine_that_drops_packets() -> None:
    cases = [
        LeafSpineRun(SMALL, BalancingScheme.of(name, SMALL), "web-search", 0.5, 100, 1, Drops(0.05))
        for name in ("ecmp", "hermes")
    ]
    ecmp, hermes = (outcome(case) for case in cases)
    assert hermes["dropped"] < 0.5 * ecmp["dropped"]
    assert hermes["overall average"] < ecmp["overall average"]


def test_probes_and_their_bytes_are_those_that_agents_send() -> None:
    paths, size = motivation.probed(2, 1)
    assert paths == 3
    assert size == 3 * 64


def test_the_examples_show_what_the_paper_says() -> None:
    assert motivation.with_udp("presto", 1) < 0.3 * motivation.with_udp("hermes", 1)
    assert motivation.mixed_rates("hermes", 1) > 9
    assert motivation.mixed_rates("presto", 1) < 7
    long = 8e3 * motivation.LONG / 1e10
    for name in motivation.FLOWLETS:
        assert motivation.waiting(name, 1) > motivation.ideal() > long
    windows_less_the_path = (2 * motivation.WINDOW - 67) * 1.5
    assert motivation.stale("conga", 1) == pytest.approx(windows_less_the_path, rel=0.1)


def test_the_examples_show_how_many_runs_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = [(names, lambda *_: 1.0) for names, _ in motivation.EXAMPLES]
    monkeypatch.setattr(motivation, "EXAMPLES", examples)
    monkeypatch.setattr("kuijia_base.progress.PATIENCE_SECONDS", 2.0)
    told, seconds = io.StringIO(), itertools.count()
    progress = Progress(told, clock=lambda: float(next(seconds)))
    settings = TWO_SEEDS
    motivation.run_motivation(Execution("hermes-motivation", settings, options(), OutputFolder(tmp_path), progress))
    lines = told.getvalue().splitlines()
    assert lines[0] == "hermes-motivation: example 1, 2 of 28 runs"
    assert len(lines) > 4
    assert lines[-1].startswith("hermes-motivation: example 4, ")


@pytest.mark.parametrize(
    ("times", "low", "is_tie"),
    [
        (((9.0, 10.0), (10.0, 10.0)), 1.0, True),
        (((9.5, 9.6), (10.0, 10.0)), 1.0, False),
        (((9.0, 10.0), (10.0, 10.0)), 1.01, False),
    ],
)
def test_schemes_published_nearer_to_each_other_than_seeds_differ_are_a_tie(
    times: tuple[tuple[float, float], tuple[float, float]], low: float, *, is_tie: bool
) -> None:
    """Published are 10.2 and 10.0, a ratio of 1.02; seeds lie .05, or .005, around theirs. An effect is no order."""
    grid = Grid(
        SMALL, "web-search", {name: BalancingScheme.of("ecmp", SMALL) for name in ("conga", "letflow")}, {0.5: 10}
    )
    seeds = [[{"overall average": time} for time in each] for each in times]
    found = GridRuns(grid, {("letflow", 0.5): seeds[0], ("conga", 0.5): seeds[1]})
    (check,) = ratio_bar(found, "letflow", "conga", 0.5, low, theirs=((0.5,), {"letflow": [10.2], "conga": [10.0]}))
    assert check.published == pytest.approx(1.02)
    assert check.is_tie == check.passed == is_tie

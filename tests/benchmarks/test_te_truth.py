"""Published optima are computed again from a folder of clones; here from one made for the test."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.published_rows import (
    concurrency,
    least_of_any_paths,
    least_of_tunnels,
    most_total_flow,
    optimal_for_some_demands,
)
from benchmarks.registry import BenchmarkSetting
from benchmarks.sr_wan import ShortestPaths, drawn_pairs, read_network, utilisation_of_greatest
from benchmarks.te_truth import te_truth
from kuijia_base.errors import InputError
from kuijia_base.progress import Progress
from te_solver.model.demands import Demand
from te_solver.model.ncflow_demands import parsed_model
from te_solver.model.topology import Link, Topology
from te_solver.programs.incidence import Incidence

SQUARE = Topology(
    "square", tuple("abcd"), tuple(Link(*way, 10.0) for a, b in ("ab", "bd", "ac", "cd") for way in ((a, b), (b, a)))
)
TUNNELS: list[list[tuple[str, ...]]] = [[("a", "b", "d"), ("a", "c", "d")], [("b", "d")]]


def test_the_programs_have_the_optima_that_can_be_counted() -> None:
    incidence = Incidence.of(SQUARE, TUNNELS)
    capacity = np.array([link.capacity for link in SQUARE.links])
    # b-d is shared: 20 of a-d's 30 and b-d's 8 compete for 20 over the links to d.
    assert most_total_flow(incidence, capacity, np.array([30.0, 8.0])) == pytest.approx(20)
    assert most_total_flow(incidence, capacity, np.array([5.0, 8.0])) == pytest.approx(13)
    assert least_of_tunnels(incidence, capacity, np.array([30.0, 8.0])) == pytest.approx(1.9)
    assert least_of_tunnels(incidence, capacity * 10, np.array([4.0, 8.0])) == pytest.approx(0.08)


def test_concurrency_is_at_most_one_whether_demands_fit_simply_or_by_a_program_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    incidence = Incidence.of(SQUARE, TUNNELS)
    capacity = np.array([link.capacity for link in SQUARE.links])
    assert concurrency(incidence, capacity, np.array([30.0, 8.0])) == pytest.approx(1 / 1.9)
    # b-d carries 4 and at most 6 of the other 15: less than the half, and not all.
    assert concurrency(incidence, capacity, np.array([15.0, 4.0])) == 1
    monkeypatch.delattr("benchmarks.published_rows.least_utilisation")
    assert concurrency(incidence, capacity, np.array([4.0, 8.0])) == 1
    # c-d has room for one pair, b-d for the other one.
    shortest = Incidence.of(SQUARE, [TUNNELS[0], [("c", "d")]])
    assert concurrency(shortest, capacity, np.array([8.0, 10.0])) == 1
    with pytest.raises(NameError):
        concurrency(incidence, capacity, np.array([15.0, 4.0]))


def test_any_paths_are_as_good_as_the_best_of_them() -> None:
    square = [Demand("a", "d", 30.0), Demand("b", "d", 8.0)]
    assert least_of_any_paths(SQUARE, square) == pytest.approx(1.9)
    over_all = [Demand("a", "d", 3.0), Demand("a", "b", 15.0)]
    # 18 leave a by two links.
    assert least_of_any_paths(SQUARE, over_all) == pytest.approx(0.9)


def test_shortest_paths_by_inverse_capacity_share_equally() -> None:
    # Three paths of weight 2 from a to e; the direct link has a tenth of their capacity.
    ends = [(x, y) for middle in "bcd" for x, y in (("a", middle), (middle, "e"))]
    network = Topology("net", tuple("abcde"), (*(Link(*way, 100.0) for way in ends), Link("a", "e", 10.0)))
    paths = ShortestPaths(network)
    assert paths.utilisation([Demand("a", "e", 60.0)]) == pytest.approx(0.2)
    assert paths.utilisation([Demand("a", "e", 60.0), Demand("a", "b", 50.0)]) == pytest.approx(0.7)


def test_weights_of_ways_around_are_optimal_for_no_demands() -> None:
    ends = [(a, b) for a in "abc" for b in "abc" if a != b]
    ring = Topology("ring", tuple("abc"), tuple(Link(*way, 10.0) for way in ends))
    ways = [[way, (way[0], next(iter(set("abc") - set(way))), way[1])] for way in ends]
    incidence = Incidence.of(ring, ways)
    assert optimal_for_some_demands(incidence, np.tile([1.0, 0.0], 6))
    assert optimal_for_some_demands(incidence, np.array([0.5, 0.5, *[1.0, 0.0] * 5]))
    assert not optimal_for_some_demands(incidence, np.tile([0.0, 1.0], 6))


def triangle(*capacities: float) -> Topology:
    cables = zip((("0", "1"), ("1", "2"), ("0", "2")), capacities, strict=True)
    return Topology("triangle", tuple("012"), tuple(Link(*way, c) for (a, b), c in cables for way in ((a, b), (b, a))))


def test_demands_of_the_greatest_sum_have_one_utilisation_or_several() -> None:
    # On a line 1-2 is full whichever of 0-2 and 1-2 fills it; 0-1 may be full, too, or empty.
    line = Topology("line", tuple("012"), (Link("0", "1", 10.0), Link("1", "2", 10.0)))
    pairs = [("0", "2"), ("1", "2")]
    loads = ShortestPaths(line).loads(pairs)
    assert utilisation_of_greatest(line, pairs, loads, 1.0) == pytest.approx(1)
    # Of 0-2's 15 Mbit/s over both ways all take the direct link, which has 10.
    network = triangle(5.0, 5.0, 10.0)
    loads = ShortestPaths(network, "uniform_weights").loads([("0", "2")])
    assert utilisation_of_greatest(network, [("0", "2")], loads, 1.5) == pytest.approx(1.5)
    assert utilisation_of_greatest(network, [("0", "2")], loads, 1.2) == pytest.approx(1.5)
    assert utilisation_of_greatest(network, [("0", "2")], loads, 1.7) == pytest.approx(1.5)
    # All 15 that leave 0 count, whoever has them: 0-1 up to 10, by 2, too; then its own link would carry 10 of 5.
    pairs = [("0", "2"), ("0", "1")]
    loads = ShortestPaths(network, "uniform_weights").loads(pairs)
    assert np.isnan(utilisation_of_greatest(network, pairs, loads, 1.2))
    assert utilisation_of_greatest(network, pairs, loads, 0.5) == pytest.approx(1)
    assert utilisation_of_greatest(network, pairs, loads, 2.5) == pytest.approx(2)


def test_pairs_of_a_sample_are_a_fifth_of_all_and_the_same_again() -> None:
    pairs = drawn_pairs(12, 0)
    assert len(set(pairs)) == int(12 * 11 * 0.2)
    assert all(a != b for a, b in pairs)
    assert pairs == drawn_pairs(12, 0) != drawn_pairs(12, 1)


def comparisons(
    folder: Path | None, said: io.StringIO, rows: int | None = None, kept: Path | None = None, source: str | None = None
) -> list[dict[str, object]]:
    setting = BenchmarkSetting(None, Progress(said), reference=folder, rows=rows, kept=kept, source=source)
    return [dict(comparison.detail) for comparison in te_truth(setting)]


def written(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def figret(folder: Path, optima: str) -> None:
    links = [{"source": a, "target": b, "capacity": 10} for a, b in ((0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0))]
    graph = {"directed": True, "multigraph": False, "graph": {}, "nodes": [{"id": 0}, {"id": 1}, {"id": 2}]}
    written(folder, "figret/Data/ring/ring.json", json.dumps({**graph, "links": links}))
    pairs = [(a, b, 3 - a - b) for a in range(3) for b in range(3) if a != b]
    written(folder, "figret/Data/ring/tunnels.txt", "".join(f"{a} {b}:{a}-{b},{a}-{c}-{b}\n" for a, b, c in pairs))
    written(folder, "figret/Data/ring/test/1.hist", "0 16 0 0 0 0 0 0 0\n0 4 0 0 0 0 0 0 0\n0 0 0 0 0 0 6 0 0\n")
    written(folder, "figret/Data/ring/test/1.opt", optima)


def test_rows_that_agree_are_counted_and_others_named(tmp_path: Path) -> None:
    figret(tmp_path, "0.8\n0.2\n0.25\n")
    said = io.StringIO()
    [found] = comparisons(tmp_path, said)
    assert found["rows that agree"] == "2 of 3"
    assert found["rows by network"] == {"ring 1.opt": "2 of 3"}
    [other] = found["other rows"]  # type: ignore[misc]
    assert str(other).startswith("ring 1.opt matrix 3: 0.3")  # type: ignore[has-type]
    assert "left out: total flow in POP's repository: there is no pop-ncflow-lptop" in said.getvalue()
    [first] = comparisons(tmp_path, said, rows=1)
    assert first["rows that agree"] == "1 of 1"


def test_rows_computed_before_are_kept_and_not_computed_again(tmp_path: Path) -> None:
    figret(tmp_path, "0.8\n0.2\n0.3\n")
    kept = tmp_path / "rows"
    comparisons(tmp_path, io.StringIO(), rows=1, kept=kept)
    [line] = kept.read_text().splitlines()
    # Were the first row computed again, it would agree.
    kept.write_text(line.replace("0.8", "0.7") + "\n")
    [found] = comparisons(tmp_path, io.StringIO(), kept=kept)
    assert found["rows that agree"] == "2 of 3"
    assert len(kept.read_text().splitlines()) == 3
    kept.write_text("{}\n")
    with pytest.raises(InputError, match="line 1: is no row"):
        comparisons(tmp_path, io.StringIO(), kept=kept)


def test_sets_are_chosen_by_words_of_their_titles(tmp_path: Path) -> None:
    figret(tmp_path, "0.8\n0.2\n0.3\n")
    assert len(comparisons(tmp_path, io.StringIO(), source="FIGRET")) == 1
    assert comparisons(tmp_path, io.StringIO(), source="TEAVAR") == []


POP_TABLES = "pop-ncflow-lptop/benchmarks/csvs"
COLUMNS = "problem,num_nodes,traffic_seed,scale_factor,tm_model,total_demand,obj_val"


def zoo_network(folder: Path, name: str, nodes: int, cables: Iterable[tuple[int, int]]) -> None:
    edges = "".join(f'<edge source="{a}" target="{b}"/>' for a, b in cables)
    inside = "".join(f'<node id="{number}"/>' for number in range(nodes))
    graph = f'<graph edgedefault="undirected">{inside}{edges}</graph>'
    xml = f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{graph}</graphml>'
    written(folder, f"ncflow/topologies/topology-zoo/{name}.graphml", xml)


def ring(folder: Path) -> float:
    """Write a ring of four with a fifth node and POP's tables of optima for it; return the sum of seed 4's demands."""
    cables = (0, 1), (1, 2), (2, 3), (3, 0), (2, 4)
    zoo_network(folder, "Ring", 6, cables)  # the last node is alone
    table = {"ring": {"uniform": {"max_demand": 10.0}, "gravity": {}, "fname": "Ring.graphml"}}
    written(folder, "pop-ncflow-lptop/lib/problems.py", f"PROBLEM_ARGS = {table!r}\n")
    links = tuple(Link(str(x), str(y), 1000.0) for a, b in cables for x, y in ((a, b), (b, a)))
    network = Topology("r", tuple("01234"), links)
    total = sum(demand.rate for demand in parsed_model("uniform,most=10").demands(network, 4, 2.0))
    rows = "".join(f"Ring.graphml,5,{seed},2.0,uniform,{total},{total}\n" for seed in (4, 5))
    rows += "Away.graphml,9,1,1.0,uniform,1,1\n"
    for name in ("total-flow/path-form-total_flow", "mcf/path-form-mcf"):
        written(folder, f"{POP_TABLES}/{name}-slice_0_1_2_3_4.csv", f"{COLUMNS}\n{rows}")
    return total


def test_rows_of_the_zoo_come_from_their_seeds(tmp_path: Path) -> None:
    total = ring(tmp_path)
    said = io.StringIO()
    [flow] = comparisons(tmp_path, said, source="total flow")
    [concurrent] = comparisons(tmp_path, said, source="concurrent")
    # All fits: the sum is the total of the seed; that of another seed is not the published one.
    assert flow["rows by network"] == {"Ring.graphml": "1 of 2"}
    assert flow["other rows"] == [f"Ring.graphml uniform seed 5 scale 2.0: None, published {total}"]
    assert concurrent["rows that agree"] == "0 of 2"
    assert "left out: Away.graphml, which is not in ncflow" in said.getvalue()


def test_gravity_counts_links_from_a_node_to_itself(tmp_path: Path) -> None:
    zoo_network(tmp_path, "Loop", 3, ((0, 1), (1, 2), (1, 1)))
    table = {"loop": {"gravity": {"total_demand": 10.0, "random": True}, "fname": "Loop.graphml"}}
    written(tmp_path, "pop-ncflow-lptop/lib/problems.py", f"PROBLEM_ARGS = {table!r}\n")
    ends = np.array([1.0, 3.0, 1.0]) / 5  # of five links that leave nodes the middle one has its loop, too
    shares = np.outer(ends / (1 - ends), ends)[~np.eye(3, dtype=bool)]
    total = 10 * np.maximum(np.random.RandomState(4).normal(shares, shares / 4), 0).sum()
    row = f"Loop.graphml,3,4,1.0,gravity,{total},{total}\n"
    written(tmp_path, f"{POP_TABLES}/total-flow/path-form-total_flow-slice_0_1_2_3_4.csv", f"{COLUMNS}\n{row}")
    [flow] = comparisons(tmp_path, io.StringIO(), source="total flow")
    assert flow["rows by network"] == {"Loop.graphml": "1 of 1"}


def test_a_resumed_run_finds_no_paths_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring(tmp_path)
    kept = tmp_path / "rows"
    [first] = comparisons(tmp_path, io.StringIO(), kept=kept, source="total flow")
    monkeypatch.delattr("benchmarks.zoo_rows.PathFinder")
    [again] = comparisons(tmp_path, io.StringIO(), kept=kept, source="total flow")
    assert again == first
    with pytest.raises(NameError):
        comparisons(tmp_path, io.StringIO(), source="total flow")


def test_a_network_that_ncflow_lacks_has_demands_of_the_published_sums(tmp_path: Path) -> None:
    ring(tmp_path)
    zoo_network(tmp_path, "AttMpls", 25, ((0, number) for number in range(1, 25)))
    # Of two published rows whose sums depend on the number of nodes alone; in a star all of them fits.
    rows = ["1121068594,1.0,uniform,2972.5224609375", "109718110,4.0,bimodal,11507.23096601819"]
    table = "".join(f"AttMpls.graphml,25,{row},{row.split(',')[-1]}\n" for row in rows)
    written(tmp_path, f"{POP_TABLES}/total-flow/path-form-total_flow-slice_0_1_2_3_4.csv", f"{COLUMNS}\n{table}")
    [flow] = comparisons(tmp_path, io.StringIO(), source="total flow")
    assert flow["rows by network"] == {"AttMpls.graphml": "2 of 2"}


def test_shares_of_the_optimum_are_compared_by_their_means(tmp_path: Path) -> None:
    total = ring(tmp_path)
    rows = [f"Ring.graphml,5,{seed},2.0,uniform,{total}" for seed in (4, 5)]
    pop = "".join(f"{row},{total * share},2,0.5\n" for row, share in zip(rows, (0.75, 0.5), strict=True))
    name = f"{POP_TABLES}/total-flow/pop-total_flow-slice_0_1_2_3_4-k_16.csv"
    written(tmp_path, name, f"{COLUMNS},num_subproblems,split_fraction\n{pop}")
    [of_pop] = comparisons(tmp_path, io.StringIO(), source="by POP")
    assert of_pop["rows"] == "1, and 1 whose demands are unknown"
    assert of_pop["means, ours and published"] == {"Ring.graphml": [1.0, 0.75]}
    # A hundredth of a link is less than what a pair of node 4 asks for.
    written(tmp_path, name, f"{COLUMNS},num_subproblems,split_fraction\n{rows[0]},{total},100,0\n")
    [of_pop] = comparisons(tmp_path, io.StringIO(), source="by POP")
    assert of_pop["goals"] == [{"goal": "a mean at most 0.01 below the published one", "met": False}]
    # What two iterations add, and one of demands whose optimum is not published.
    ncflow = "".join(f"{rows[0]},{total * share},5\n" for share in (0.9, 0.09)) + "Ring.graphml,5,6,2,uniform,1,1,5\n"
    name = f"{POP_TABLES}/total-flow/ncflow-total_flow-slices_0_1_2_3_4.csv"
    written(tmp_path, name, f"{COLUMNS},num_partitions\n{ncflow}")
    [of_ncflow] = comparisons(tmp_path, io.StringIO(), source="by NCFlow")
    assert of_ncflow["means, ours and published"] == {"Ring.graphml": [1.0, 0.99]}
    assert of_ncflow["goals"] == [{"goal": "a mean at most 0.01 below the published one", "met": True}]


def test_weights_without_matrices_that_fit_are_judged_by_themselves(tmp_path: Path) -> None:
    ends = [(a, b) for a in (1, 2, 3) for b in (1, 2, 3) if a != b]
    folder = "teavar/code/data/Ring"
    written(tmp_path, f"{folder}/topology.txt", "a b c p\n" + "".join(f"{a} {b} 10 .01\n" for a, b in ends))
    written(tmp_path, f"{folder}/demand.txt", " ".join("1" * 16) + "\n")
    for name, around in (("SMORE", 1), ("SMORE_ED", 0)):
        ways = [
            f"h{a} -> h{b} :\n[(h{a},s{a}), (s{a},s{b}), (s{b},h{b})] @ {1 - around}\n"
            f"[(h{a},s{a}), (s{a},s{6 - a - b}), (s{6 - a - b},s{b}), (s{b},h{b})] @ {around}\n\n"
            for a, b in ends
        ]
        written(tmp_path, f"{folder}/paths/{name}", "".join(ways))
    written(tmp_path, f"{folder}/paths/SMORE_2", "h0 -> h1 :\n[(h0,s0), (s0,s9), (s9,h1)] @ 1\n")
    said = io.StringIO()
    comparisons(tmp_path, said, source="TEAVAR")
    verdicts = [line for line in said.getvalue().splitlines() if "optimal for no demands above zero" in line]
    assert [line.partition(":")[0].rpartition("/")[2] for line in verdicts] == ["SMORE"]
    assert "SMORE_2" in said.getvalue()


def test_demands_of_repetita_load_the_busiest_link_to_nine_tenths(tmp_path: Path) -> None:
    edges = [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)]
    lines = [f"edge_{number} {a} {b} 1 1000 5" for number, (a, b) in enumerate(edges)]
    nodes = ["NODES 3", "label x y", "a 0 0", "b 0 1", "c 1 0", "", "EDGES 6", "label src dest weight bw delay"]
    folder = "Repetita/data/2016TopologyZooUCL_unary"
    written(tmp_path, f"{folder}/Ring.graph", "\n".join([*nodes, *lines, ""]))
    for number, rate in enumerate((1800, 1700)):
        demands = f"DEMANDS 1\nlabel src dest bw\ndemand_0 0 1 {rate}\n"
        written(tmp_path, f"{folder}/Ring.000{number}.demands", demands)
    [found] = comparisons(tmp_path, io.StringIO())
    assert found["rows that agree"] == "1 of 2"
    [other] = found["other rows"]  # type: ignore[misc]
    assert str(other).startswith("2016TopologyZooUCL_unary Ring.0001.demands: 0.8")  # type: ignore[has-type]


SNDLIB = """<network xmlns="http://sndlib.zib.de/network"><networkStructure>
<nodes><node id="x"/><node id="y"/><node id="z"/></nodes><links>
<link id="1"><source>x</source><target>y</target><additionalModules><addModule><capacity>5.0</capacity></addModule>
<addModule><capacity>9.0</capacity></addModule></additionalModules></link>
<link id="2"><source>y</source><target>z</target>
<preInstalledModule><capacity>5.0</capacity></preInstalledModule></link></links></networkStructure></network>"""


def test_drawn_demands_fill_networks_of_two_libraries(tmp_path: Path) -> None:
    data = "TE_SR_WAN_simulation/data/topologies"
    written(tmp_path, f"{data}/sndlib/path.xml", SNDLIB)
    line = '<edge source="0" target="1"><data key="d0">5</data></edge><edge source="1" target="2"/>'
    nodes = "".join(f'<node id="{number}"/>' for number in range(3))
    xml = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d0" for="edge" attr.name="LinkSpeedRaw" '
    xml += f'attr.type="double"/><graph edgedefault="undirected">{nodes}{line}</graph></graphml>'
    written(tmp_path, f"{data}/topology_zoo/Line.graphml", xml)
    network = read_network(tmp_path / data / "sndlib" / "path.xml")
    assert {link.ends: link.capacity for link in network.links} == dict.fromkeys(
        [("0", "1"), ("1", "0"), ("1", "2"), ("2", "1")], 5.0
    )
    line_of = read_network(tmp_path / data / "topology_zoo" / "Line.graphml")
    assert [link.capacity for link in line_of.links] == [5, 5, 1, 1]
    row = {"#nodes": 3, "algorithm": "inverse_capacity", "sample_idx": 0}
    rows = [{**row, "topology_name": name, "objective": value} for name, value in (("path", 1.0), ("line", 2.0))]
    written(tmp_path, "TE_SR_WAN_simulation/results_paper/results_all_topologies.json", json.dumps(rows))
    uniform = {**row, "topology_name": "away", "algorithm": "uniform_weights", "objective": 1.0}
    written(tmp_path, "TE_SR_WAN_simulation/results_paper/results_all_algorithms.json", json.dumps([uniform]))
    said = io.StringIO()
    [found] = comparisons(tmp_path, said, source="drawn demands")
    assert found["rows by network"] == {"line": "0 of 1", "path": "1 of 1"}
    assert "left out: away, which is not there" in said.getvalue()


def test_without_clones_nothing_is_computed(tmp_path: Path) -> None:
    said = io.StringIO()
    assert comparisons(None, said) == []
    assert "left out: no folder with clones of the projects is given (--reference)" in said.getvalue()
    with pytest.raises(InputError, match="is no folder, expected a folder with clones of the projects"):
        comparisons(tmp_path / "absent", said)

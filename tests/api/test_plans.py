from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import kuijia
from kuijia.cli.main import main
from te_solver.formats.plan_file import load_plan


def test_a_plan_is_that_of_the_command(fig1: kuijia.Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "fig1", "fig1", "-o", str(tmp_path / "plan.json")]) == 0
    printed = capsys.readouterr().out.splitlines()
    theirs = json.loads((tmp_path / "plan.json").read_text())
    assert {**fig1.to_json(), "solve_seconds": 0} == {**theirs, "solve_seconds": 0}
    differing = [line for line in fig1.summary().splitlines() if line not in printed]
    assert len(differing) <= 1  # the solver's time


def test_a_plan_is_saved_and_read_again(fig1: kuijia.Plan, tmp_path: Path) -> None:
    path = fig1.save(tmp_path / "plan.json")
    again = kuijia.load_plan(path)
    assert again.to_json() == fig1.to_json()
    assert isinstance(again.topology, kuijia.Topology)
    assert load_plan(path).pairs == fig1.pairs
    assert kuijia.load_plan(load_plan(path)).pairs == fig1.pairs
    assert kuijia.load_plan(fig1) is fig1


def test_a_graph_and_a_mapping_are_enough() -> None:
    graph: nx.Graph[Any] = nx.Graph()
    nx.add_cycle(graph, range(4), capacity=100)
    plan = kuijia.solve(graph, {(0, 2): 150}, tunnels=2)
    assert plan.allocated == pytest.approx(150)
    assert [tunnel.nodes for tunnel in plan.tunnels] == [("0", "1", "2"), ("0", "3", "2")]
    assert plan.demands == (kuijia.Demand("0", "2", 150.0),)


def test_options_reach_the_solver() -> None:
    plan = kuijia.solve("fig1", objective="ffc", protect=2, tunnels=3)
    assert (plan.objective, plan.protected_failures) == ("ffc", 2)
    parts = kuijia.solve("fig1", partitions=2, tunnel_weight="delay", node_disjoint=True)
    assert parts.upper_bound is not None
    assert kuijia.solve("fig1", spread=1).options == kuijia.solve("fig1", spread=True).options  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "python", "typed"),
    [
        (
            {"protect": 1},
            "option:protect: max-throughput protects against nothing, expected objective='ffc'",
            "option:--protect: max-throughput protects against nothing, expected --objective ffc",
        ),
        (
            {"objective": "max-min", "partitions": 2},
            "option:partitions: max-min is not solved in parts, expected objective='max-throughput'",
            "option:--partitions: max-min is not solved in parts, expected --objective max-throughput",
        ),
        (
            {"solver": "ABACUS"},
            "option:solver: solver 'ABACUS' is not installed, expected one of ",
            "option:--solver: solver 'ABACUS' is not installed, expected one of ",
        ),
        (
            {"objective": "ffc", "protect": 3},
            "option:protect: every pair can be cut off by 3 failed edges, expected at most 2",
            "option:--protect: every pair can be cut off by 3 failed edges, expected at most 2",
        ),
    ],
)
def test_errors_are_those_of_the_command_with_options_as_in_python(
    options: dict[str, Any], python: str, typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(kuijia.InputError) as raised:
        kuijia.solve("fig1", **options)
    assert str(raised.value).startswith(python)
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    assert main(["solve", "fig1", "fig1", *words]) == 2
    assert capsys.readouterr().err.startswith(f"error: {typed}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tunnels": 0}, "option:tunnels: '0' tunnels per pair, expected a whole number from 1 to 64"),
        ({"tunnels": "many"}, "option:tunnels: 'many' tunnels per pair, expected a whole number from 1 to 64"),
        (
            {"objective": "least-effort"},
            "option:objective: 'least-effort' is unknown, expected one of max-throughput, ",
        ),
        (
            {"objective": "swann:alpha=1.5"},
            "option:objective: 'swann' is unknown (did you mean swan?)",
        ),
        ({"tunnel_weight": "kg"}, "option:tunnel_weight: 'kg' is unknown, expected one of hops, delay, "),
        ({"demands": "nowhere"}, "nowhere: no such file or shipped network, expected a file or one of fig1, gscale"),
    ],
)
def test_bad_values_are_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(kuijia.InputError) as raised:
        kuijia.solve("fig1", **options)
    assert str(raised.value).startswith(message)


def test_without_demands_it_says_where_they_can_come_from(tmp_path: Path) -> None:
    file = kuijia.load_topology("fig1").save(tmp_path / "net.yaml")
    expected = "expected demands=..., or a network that comes with demands"
    for network, source in (
        (file, f"{file}: has no demands"),
        (kuijia.load_topology("fig1"), "demands: are not given"),
    ):
        with pytest.raises(kuijia.InputError) as raised:
            kuijia.solve(network)
        assert str(raised.value) == f"{source}, {expected}"


def test_a_file_with_demands_needs_no_other_and_its_notes_are_kept(tmp_path: Path) -> None:
    network = tmp_path / "tiny.txt"
    network.write_text(
        "?SNDlib native format; type: network; version: 1.0\n"
        "NODES (\n a ( 0 0 )\n b ( 1 0 )\n)\n"
        "LINKS (\n l ( a b ) 100.00 0.00 0.00 0.00 ( )\n)\n"
        "DEMANDS (\n d ( a b ) 1 40.00 UNLIMITED\n)\n"
    )
    plan = kuijia.solve(network)
    assert plan.allocated == pytest.approx(40)
    assert plan.notes


def test_a_large_plan_is_shown_in_a_line_and_a_short_page() -> None:
    plan = kuijia.solve("gscale")
    assert len(repr(plan)) < 120
    page = plan._repr_html_()
    assert len(page) < 10_000
    assert page.count("<tr>") == (1 + 10) + (1 + 5)
    assert "<b>gscale, max-throughput: " in page


def test_tables_have_a_row_for_each_pair_tunnel_and_link(fig1: kuijia.Plan) -> None:
    assert fig1.table().to_dicts() == [
        {
            "source": "s1",
            "target": "s4",
            "priority": 0,
            "demand": 3000.0,
            "allocated": pytest.approx(3000),
            "tunnels": 3,
        }
    ]
    assert [row[4] for row in fig1.table("tunnels")] == ["s1 s4", "s1 s2 s4", "s1 s3 s4"]
    assert len(fig1.table("links")) == 10
    first = fig1.table("links").sort("load").head(1)
    assert first.rows[0][4] == pytest.approx(1.0)
    assert fig1.to_networkx().edges["s1", "s2"]["utilisation"] == pytest.approx(1.0)
    with pytest.raises(
        kuijia.InputError, match=r"^option:of: 'nodes' is unknown, expected one of pairs, tunnels, links$"
    ):
        fig1.table("nodes")  # type: ignore[arg-type]


def test_the_columns_of_a_table_are_names_and_those_of_its_frame_and_file_have_units(fig1: kuijia.Plan) -> None:
    table = fig1.table("links")
    assert list(table.columns) == ["source", "target", "capacity", "load", "utilisation"]
    assert list(table.to_frame()) == ["source", "target", "capacity_mbps", "load_mbps", "utilisation"]
    assert table.to_csv().splitlines()[0].split(",") == list(table.to_frame())


def test_a_list_of_columns_makes_a_table_of_them_as_in_pandas(fig1: kuijia.Plan) -> None:
    table = fig1.table("links")[["load", "target"]].head(1)
    assert (table.heads, table.rows) == (("load", "target"), ((pytest.approx(1000.0), "s2"),))
    assert repr(table).splitlines() == ["    load  target", "1 Gbit/s  s2"]
    assert table[:1] == table == fig1.table("links")[:1][["load", "target"]]
    assert table[1:].rows == ()
    for wrong in (0, ["load", "laod"], "laod"):
        with pytest.raises(KeyError):
            table[wrong]  # type: ignore[index]


def test_a_long_table_shows_its_first_rows_and_says_how_many_are_left() -> None:
    table = kuijia.Table.of(kuijia.solve("fig1").table("links").columns, [("a", "b", 1, 2, 0.5)] * 23)
    assert repr(table).splitlines()[-1] == "and 3 rows more"
    assert len(repr(table).splitlines()) == 22
    assert len(table.text().splitlines()) == 24
    assert table._repr_html_().endswith("<p>and 3 rows more</p>")
    with pytest.raises(KeyError):
        table.sort("colour")


def test_a_table_is_sorted_with_empty_cells_last() -> None:
    table = kuijia.Table.of(kuijia.solve("fig1").table("links").columns[:1], [(2,), (None,), (3,)])
    assert [row[0] for row in table.sort("source")] == [3, 2, None]
    assert [row[0] for row in table.sort("source", ascending=True)] == [2, 3, None]


def test_a_plan_of_another_type_is_refused_in_one_line() -> None:
    with pytest.raises(kuijia.InputError, match=r"^plan: 'int' is not a plan, expected a plan or its file$"):
        kuijia.load_plan(3)  # type: ignore[arg-type]


def test_names_cannot_break_a_page() -> None:
    plan = kuijia.solve(nx.Graph([("<b>", "&")]), [("<b>", "&", 5)])
    assert '<td style="text-align:left">&lt;b&gt;</td>' in plan._repr_html_()


def test_a_picture_is_shown_and_saved_by_its_suffix(fig1: kuijia.Plan, tmp_path: Path) -> None:
    picture = fig1.plot()
    assert repr(picture) == "Picture('fig1, max-throughput')"
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert picture.save(tmp_path / "plan.svg").read_text(encoding="utf-8").startswith("<?xml")
    with pytest.raises(
        kuijia.InputError, match=r"plan\.txt: \.txt is not the suffix of a picture, expected \.png, \.svg, \.pdf$"
    ):
        picture.save(tmp_path / "plan.txt")


def test_nodes_of_a_path_with_spaces_in_their_names_have_commas_between_them() -> None:
    plan = kuijia.solve(nx.path_graph(["New York", "Oslo", "Rome"]), {("New York", "Rome"): 5})
    assert plan.table("tunnels").to_dicts()[0]["path"] == "New York, Oslo, Rome"
    assert "  New York, Oslo, Rome\n" in plan.summary()


PAIR = ("s1", "s4")


def test_given_paths_make_a_plan_that_may_overload_links() -> None:
    paths: dict[tuple[str, str], list[Any]] = {PAIR: [(["s1", "s4"], 3), (["s1", "s2", "s4"], 1)]}
    paths["s1", "s3"] = [("s1", "s3")]
    plan = kuijia.plan_from_paths("fig1", {PAIR: 2000}, paths)
    assert [(tunnel.nodes, tunnel.rate) for tunnel in plan.tunnels] == [
        (("s1", "s4"), 1500.0),
        (("s1", "s2", "s4"), 500.0),
    ]
    assert plan.maximum_utilisation == 1.5
    assert "none: " not in plan.summary()  # no solver has made it
    study = kuijia.whatif(plan, schemes=["kuijia"], failures="s2-s4")
    assert study.table().to_dicts()[0]["lost"] == pytest.approx(0.5)  # victims wait behind 1,500 Mbit/s on a full link


@pytest.mark.parametrize(
    ("paths", "line"),
    [
        (5, "paths: 'int' holds no paths, expected a mapping from (source, target) to paths"),
        ({}, "paths: there is no path, expected at least one"),
        ({PAIR: 5}, "paths:('s1', 's4'): found '5', expected a list of paths"),
        ({PAIR: ["s1"]}, "paths:('s1', 's4') [0]: found 's1', expected nodes, or a tuple of nodes and a share"),
        (
            {PAIR: [["s1", "s2"]]},
            "paths:('s1', 's4') [0]: the path 's1 s2' does not join the pair, expected one from s1 to s4",
        ),
        ({PAIR: [["s1", "s3", "s2", "s4"]]}, "paths:('s1', 's4') [0]: there is no link s3-s2, expected a link of fig1"),
        ({PAIR: [(["s1", "s4"], -1)]}, "paths:('s1', 's4') [0]: share '-1', expected a number, zero or more"),
        ({("s1", "s3"): [["s1", "s3"]]}, "demands:[0]: no path from s1 to s4, expected one in paths"),
    ],
)
def test_paths_that_cannot_be_used_are_named(paths: Any, line: str) -> None:  # noqa: ANN401  # what users may write
    with pytest.raises(kuijia.InputError) as error:
        kuijia.plan_from_paths("fig1", {PAIR: 2000}, paths)
    assert str(error.value) == line


def test_names_that_can_be_chosen_are_listed_and_taken() -> None:
    assert {"fig1", "gscale"} <= set(kuijia.networks())
    for name in kuijia.networks()[:3]:
        assert kuijia.load_topology(name).nodes
    for name in kuijia.path_choices():
        if ":" not in name:
            assert kuijia.solve("fig1", paths=name, objective="static-splits").tunnels
    for name in kuijia.objectives():
        assert kuijia.solve("fig1", objective=name).objective == name
    assert set(kuijia.schemes()) >= {"kuijia", "rescaling"}
    assert set(kuijia.transports()) >= {"cubic", "dctcp"}

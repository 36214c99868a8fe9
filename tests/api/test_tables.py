from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

import kuijia
from kuijia.cli.main import main


@pytest.fixture(scope="module")
def plan_file(fig1: kuijia.Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fig1.save(tmp_path_factory.mktemp("plan") / "plan.json")


def test_compiled_tables_are_the_files_of_the_command(fig1: kuijia.Plan, plan_file: Path, tmp_path: Path) -> None:
    tables = kuijia.compile(fig1, tagging="dscp-ecn", slots=32)
    tables.save(tmp_path / "mine")
    assert main(["compile", str(plan_file), "--tagging", "dscp-ecn", "--slots", "32", "-o", str(tmp_path / "its")]) == 0
    mine, its = ({path.name: path.read_text() for path in (tmp_path / name).iterdir()} for name in ("mine", "its"))
    assert mine == its
    assert tables.flows("s2") == mine["s2.flows"]
    assert tables.groups("s1") == mine["s1.groups"]
    assert tables.switches == ("s1", "s2", "s3", "s4")
    assert repr(tables).startswith("Tables('fig1', 4 switches, ")
    assert [row[0] for row in tables.table()] == list(tables.switches)
    assert tables._repr_html_().count("<tr>") == 5


def test_a_proof_is_true_if_the_tables_are_sound(fig1: kuijia.Plan, plan_file: Path) -> None:
    proof = kuijia.verify(plan_file, failures="nodes", slots=16)
    assert proof
    assert proof.kind == "nodes"
    assert repr(proof) == f"Proof('fig1', 4 failures (nodes), {proof.verification.cases} cases: sound)"
    assert len(proof.table()) == 0
    assert kuijia.verify(kuijia.compile(fig1, slots=16), "nodes").verification == proof.verification


def test_a_proof_of_broken_tables_is_false_and_lists_what_is_wrong(fig1: kuijia.Plan) -> None:
    tables = kuijia.compile(fig1, slots=16)
    tables.built.tables["s2"] = tables.built.tables["s3"]
    proof = kuijia.verify(tables)
    assert not proof
    assert "not sound" in repr(proof)
    assert proof.table().rows[0][0] in {"delivered", "path", "loop", "stray"}
    assert "<table>" in proof._repr_html_()


def test_a_trace_is_that_of_the_command(fig1: kuijia.Plan, plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = kuijia.trace(fig1, "s1->s4 slot=40", failures=[("s2", "s4"), "s3"])
    assert main(["trace", str(plan_file), "s1->s4 slot=40", "--fail", "s2-s4", "--fail", "s3"]) == 0
    assert f"{found.text()}\n" == capsys.readouterr().out
    assert main(["trace", str(plan_file), "s1->s4", "--json"]) == 0
    assert kuijia.trace(fig1, "s1->s4").to_json() == json.loads(capsys.readouterr().out)
    assert (found.nodes, repr(found)) == (("s1", "s4"), "Trace('delivered to the host: s1-s4')")


@pytest.mark.parametrize("packet", [("s1", "s4 slot=40"), ("s1 -> s4  slot=40",), (("s1", "s4 slot=40"),)])
def test_a_packet_has_two_nodes_in_any_form(fig1: kuijia.Plan, packet: tuple[str]) -> None:
    wanted = kuijia.trace(fig1, "s1->s4 slot=40").text()
    assert kuijia.trace(fig1, *packet).text() == wanted


def test_nodes_of_graphs_are_traced_as_the_graph_has_them() -> None:
    ring = kuijia.solve(nx.cycle_graph(4), {(0, 1): 10})
    assert kuijia.trace(ring, 0, 1, failures=[(0, 1)]).nodes == ("0", "3", "2", "1")
    grid = kuijia.solve(nx.grid_2d_graph(2, 2), {((0, 0), (0, 1)): 10})
    assert kuijia.trace(grid, (0, 0), (0, 1)).nodes == ("(0, 0)", "(0, 1)")
    arrow = kuijia.solve(nx.Graph([("a->b", "c")]), {("a->b", "c"): 10})
    assert kuijia.trace(arrow, "a->b", "c").nodes == ("a->b", "c")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda plan: kuijia.compile(plan, slots=17), "option:slots: '17' is unknown, expected one of 16, 32, 64,"),
        (
            lambda plan: kuijia.compile(plan, scheme="ffc"),
            "scheme: found 'ffc', expected kuijia or rescaling or rescaling-renormalised",
        ),
        (
            lambda plan: kuijia.compile(plan).flows("s9"),
            "option:switch: 's9' is unknown, expected one of s1, s2, s3, s4",
        ),
        (
            lambda plan: kuijia.verify(plan, "ducts"),  # type: ignore[arg-type]
            "option:failures: 'ducts' is unknown, expected one of links, nodes,",
        ),
        (
            lambda plan: kuijia.verify(kuijia.compile(plan), slots=64),
            "option:slots: not allowed with compiled tables, whi",
        ),
        (lambda plan: kuijia.trace(plan, "s1"), "packet: 's1', expected two nodes, or SOURCE->TARGET"),
        (
            lambda plan: kuijia.trace(plan, "s1", "s04"),
            "packet: unknown node 's04' (did you mean s4?), expected a node of",
        ),
        (
            lambda plan: kuijia.trace(plan, ("s1",)),
            "packet: \"('s1',)\" is not a pair of nodes, expected (SOURCE,",
        ),
        (
            lambda plan: kuijia.trace(plan, "s1->s4", "s2-s4"),
            "option:target: 's1->s4' has one, expected failures=... for what is down",
        ),
        (
            lambda plan: kuijia.trace(plan, "s1", "s4", failures=3),  # type: ignore[arg-type]
            "option:failures: found 'int', expected a list of links and nodes",
        ),
        (
            lambda plan: kuijia.trace(plan, "s1->s4", failures="s1-s9"),
            "option:failures: 's1-s9' is no link (did you mean s1-s4?), expected",
        ),
        (lambda _: kuijia.verify("nowhere.json"), "nowhere.json: "),
    ],
)
def test_bad_options_are_refused_in_one_line(
    fig1: kuijia.Plan, call: Callable[[kuijia.Plan], object], message: str
) -> None:
    with pytest.raises(kuijia.InputError) as raised:
        call(fig1)
    assert str(raised.value).startswith(message)

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import pytest

import kuijia
from kuijia.cli.main import main
from kuijia_base.picture_file import picture_bytes
from te_solver.schemes.models.rescaling import Rescaling
from te_solver.schemes.shipped.kuijia import KuijiaScheme
from tests.terminals import terminal

if TYPE_CHECKING:
    from te_solver.schemes.models.interface import RateSolver, Scheme, SchemeOptions

TWO = ("kuijia", "rescaling")


@pytest.fixture(scope="module")
def both(fig1: kuijia.Plan) -> kuijia.WhatIf:
    return kuijia.whatif(fig1, schemes=TWO)


def numbers(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "provenance"}


def test_it_finds_what_the_command_finds(capsys: pytest.CaptureFixture[str]) -> None:
    schemes = ["kuijia", "ffc", "recompute"]
    mine = kuijia.whatif("fig1", schemes=schemes, failures="nodes,links", sample=3, seed=2, udp=True)
    options = ["--failures", "nodes,links", "--sample", "3", "--seed", "2", "--udp", "--json"]
    assert main(["whatif", "fig1", "fig1", "--schemes", ",".join(schemes), *options]) == 0
    assert numbers(json.loads(json.dumps(mine.to_json()))) == numbers(json.loads(capsys.readouterr().out))


def test_a_plan_and_its_file_and_its_network_give_the_same(
    fig1: kuijia.Plan, both: kuijia.WhatIf, tmp_path: Path
) -> None:
    of_network = kuijia.whatif("fig1", schemes="kuijia,rescaling")
    of_file = kuijia.whatif(fig1.save(tmp_path / "plan.json"), schemes=TWO)
    assert both.outcomes() == of_network.outcomes() == of_file.outcomes()


def test_a_plan_keeps_its_tunnels_where_a_scheme_needs_another_objective() -> None:
    plan = kuijia.solve("fig1", tunnels=2)
    found = kuijia.whatif(plan, schemes=["rescaling", "ffc"])
    assert found.plan("rescaling").to_json() == plan.to_json()
    protected = found.plan("ffc")
    assert (protected.objective, protected.protected_failures) == ("ffc", 1)
    assert [each.nodes for each in protected.tunnels] == [each.nodes for each in plan.tunnels]
    assert kuijia.whatif(protected, schemes=["ffc"]).plan("ffc").to_json() == protected.to_json()


def test_wide_tables_come_in_pieces_on_a_narrow_terminal_alone(
    both: kuijia.WhatIf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLUMNS", raising=False)
    table, summary = both.table(), both.summary()
    assert repr(table) == table.text()
    assert repr(summary) == summary
    with terminal(80) as seen:
        monkeypatch.setattr(sys, "stdout", seen.stream)
        in_pieces = repr(table)
        assert max(map(len, in_pieces.splitlines())) <= 80 < max(map(len, table.text().splitlines()))
        repeated = ["scheme", *TWO] * in_pieces.count("\n\n")
        assert sorted(in_pieces.split()) == sorted([*table.text().split(), *repeated])
        assert max(map(len, repr(summary).splitlines())) <= 80 < max(map(len, summary.splitlines()))
        monkeypatch.setenv("COLUMNS", "200")
        assert repr(table) == table.text()
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setenv("COLUMNS", "20")
        assert repr(table) == table.text()


def test_tables_tell_who_loses(both: kuijia.WhatIf) -> None:
    mine, theirs = both.table().to_dicts()
    assert (mine["scheme"], theirs["scheme"]) == TWO
    assert (mine["direct"], mine["victim"]) == (0, pytest.approx(1))
    assert theirs["direct"] == pytest.approx(0.5)
    assert len(both.outcomes()) == 10
    assert both.outcomes().rows[0][:2] == ("kuijia", "s1-s2")
    assert [row[1] for row in both.worst("rescaling", 2)] == ["s1-s2", "s2-s4"]
    assert repr(both) == "WhatIf('fig1', 5 failures, kuijia, rescaling)"
    assert both.summary(1).splitlines()[0] == "fig1: 5 failures, 1 pair"
    assert both._repr_html_().count("<tr>") == 3


def test_the_picture_of_a_study_is_who_loses(both: kuijia.WhatIf) -> None:
    shown, ranked = (picture_bytes(each.figure, ".svg") for each in (both.plot(), both.plot("loss-ranked")))
    assert shown == ranked


def test_failures_may_be_listed(fig1: kuijia.Plan) -> None:
    site = kuijia.Failure("site", nodes=("s3",))
    found = kuijia.whatif(fig1, schemes=["kuijia"], failures=[("s2", "s4"), site, "s1-s2", "s3"])
    assert found.failures == ("s2-s4", "site", "s1-s2", "s3")
    assert kuijia.whatif(fig1, schemes=["kuijia"], failures="s2-s4,s3").failures == ("s2-s4", "s3")
    ring = kuijia.solve(nx.cycle_graph(4), {(0, 1): 10})
    assert kuijia.whatif(ring, schemes=["kuijia"], failures=[(0.0, 1)]).failures == ("0-1",)


class Undemoted(KuijiaScheme):
    """Rescaling under another name."""

    name = "undemoted"
    demoted = frozenset()

    def model(self, solver: RateSolver, options: SchemeOptions) -> Scheme:
        del solver
        found = Rescaling(options.split)
        object.__setattr__(found, "name", self.name)
        return found


def test_a_scheme_of_ones_own_is_compared_without_being_registered(fig1: kuijia.Plan) -> None:
    mine, theirs = kuijia.whatif(fig1, schemes=[Undemoted(), "rescaling"]).table()
    assert mine[0] == "undemoted"
    assert mine[1:] == theirs[1:]


def test_by_default_ffc_is_left_out_with_a_note_where_it_can_protect_no_pair() -> None:
    line = nx.path_graph(["a", "b", "c"])
    found = kuijia.whatif(line, [("a", "c", 5)], tunnels=1)
    assert found.schemes == ("kuijia", "rescaling", "precomputed", "recompute")
    assert found.notes[-1] == (
        "ffc is left out: every pair can be cut off by 1 failed edge; schemes chooses the schemes"
    )
    with pytest.raises(kuijia.InputError, match=r"^option:schemes='ffc': every pair can be cut off by 1 failed edge"):
        kuijia.whatif(line, [("a", "c", 5)], schemes=["ffc"])


def test_a_study_knows_the_call_that_makes_it(both: kuijia.WhatIf) -> None:
    assert both.provenance.command == (
        "kuijia.whatif('fig1', schemes=['kuijia', 'rescaling'], failures='links', seed=1, paths='disjoint', "
        "split='proportional', weighting='equal')"
    )


def test_probabilities_give_availability(fig1: kuijia.Plan, tmp_path: Path) -> None:
    (tmp_path / "odds.csv").write_text("a,b,probability\ns1,s2,0.1\n")
    found = kuijia.whatif(fig1, schemes=["kuijia"], probabilities=tmp_path / "odds.csv")
    assert any(line.startswith("availability by ") for line in found.summary().splitlines())
    assert found.notes


def test_a_study_is_saved_with_its_report(both: kuijia.WhatIf, tmp_path: Path) -> None:
    folder = both.save(tmp_path / "study")
    assert {"whatif.json", "whatif.csv", "whatif.html"} <= {path.name for path in folder.iterdir()}
    assert (folder / "whatif.csv").read_text() == both.to_csv()
    assert both.plot("loss-ranked")._repr_png_().startswith(b"\x89PNG")


def test_a_saved_study_is_read_again(tmp_path: Path) -> None:
    square = kuijia.load_topology(nx.cycle_graph(4))
    demands = [kuijia.Demand("0", "1", 1500), kuijia.Demand("0", "2", 900, 1)]
    schemes, chances = ["kuijia", "ffc"], "table1-5min"
    found = kuijia.whatif(square, demands, schemes=schemes, failures="links,pairs", probabilities=chances)
    folder = found.save(tmp_path / "study")
    again = kuijia.load_whatif(folder)
    assert isinstance(again, kuijia.WhatIf)
    assert (repr(again), again.notes, again.provenance) == (repr(found), found.notes, found.provenance)
    assert (again.table(), again.outcomes()) == (found.table(), found.outcomes())
    assert again.worst("ffc") == found.worst("ffc")
    mine, theirs = again.summary().splitlines(), found.summary().splitlines()
    assert (mine[0], theirs[0]) == ("graph: 10 failures", "graph: 10 failures, 2 pairs")
    assert mine[1:] == theirs[1:]
    assert again.to_frame().equals(found.to_frame())
    assert again.plot("loss-and-vacancy")._repr_png_() == found.plot("loss-and-vacancy")._repr_png_()
    copy = again.save(tmp_path / "copy")
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == {
        name: (folder / name).read_bytes() for name in ("whatif.csv", "whatif.json")
    }
    assert repr(kuijia.load_whatif(copy / "whatif.json")) == repr(found)
    with pytest.raises(ValueError, match=r"^results from a file have no plans: whatif\(\.\.\.\) makes them again$"):
        again.plan("ffc")


def test_a_saved_study_in_packets_is_read_again(seconds_after: kuijia.WhatIfPackets, tmp_path: Path) -> None:
    folder = seconds_after.save(tmp_path / "study")
    again = kuijia.load_whatif(folder)
    assert isinstance(again, kuijia.WhatIfPackets)
    assert (again.notes, repr(again)) == (seconds_after.notes, repr(seconds_after))
    assert (again.table(), again.outcomes()) == (seconds_after.table(), seconds_after.outcomes())
    mine, theirs = again.summary().splitlines(), seconds_after.summary().splitlines()
    assert (mine[0], theirs[0]) == ("fig1: 5 failures", "fig1: 5 failures, 1 pair")
    assert theirs[3].startswith(f"{mine[3]}, up to ")
    assert [*mine[1:3], *mine[4:]] == [*theirs[1:3], *theirs[4:]]
    again.save(tmp_path / "copy")
    (copied,) = (tmp_path / "copy").iterdir()
    assert copied.read_bytes() == (folder / copied.name).read_bytes()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "holds something else"),
        ('{"format": "kuijia-whatif", "version": 2}', "holds something else"),
        ('{"format": "kuijia-whatif", "version": 1}', "cannot be read (KeyError: 'schemes')"),
        ('{"format": "kuijia-whatif-packets", "version": 1}', "cannot be read (KeyError: 'schemes')"),
        ("{", "malformed JSON"),
    ],
)
def test_other_files_are_no_studies(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "whatif.json").write_text(text)
    with pytest.raises(kuijia.InputError) as refusal:
        kuijia.load_whatif(tmp_path)
    assert problem in str(refusal.value)
    assert str(refusal.value).startswith(f"{tmp_path / 'whatif.json'}:")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schemes": ["magic"]}, "option:schemes: 'magic' is unknown, expected one of kuijia,"),
        ({"schemes": []}, "option:schemes: none, expected at least one"),
        ({"schemes": ["kuijia", KuijiaScheme()]}, "option:schemes: two are called kuijia, expected different names"),
        ({"tunnels": 2}, "option:tunnels: the plan has its tunnels and rates, expected plan without tunnels"),
        (
            {"failures": "ducts"},
            "option:failures: 'ducts' is unknown, expected links, pairs, nodes, A-B or a node of fig1, or a CSV file",
        ),
        ({"failures": 5}, "option:failures: found 'int', expected names such as 'links', a CSV file, or a list of"),
        ({"failures": [("s1", "s9")]}, "option:failures: there is no link between 's1' and 's9', expected a link of"),
        ({"failures": [7]}, "option:failures: found '7', expected failures, nodes, or links such as ('s2', 's4')"),
        (
            {"failures": ["s2-s04"]},
            "option:failures: 's2-s04' is no link (did you mean s2-s4?), expected A-B or a node of fig1",
        ),
        (
            {"schemes": TWO, "protect": 1},
            "option:protect: none of the compared schemes has this option, expected ffc in",
        ),
        ({"demands": "fig1"}, "option:demands: given with a plan, which has its own, expected a network in the place"),
        ({"protect": 5}, "option:protect: every pair can be cut off by 5 failed edges, expected at most 2"),
        ({"split": "evenly"}, "option:split: 'evenly' is unknown, expected one of proportional, failover-order"),
        ({"probabilities": "odds"}, "option:probabilities: 'odds' is unknown, expected "),
        ({"workers": 0}, "option:workers: '0', expected a whole number from 1 on"),
    ],
)
def test_bad_options_are_refused_in_one_line(fig1: kuijia.Plan, options: dict[str, Any], message: str) -> None:
    with pytest.raises(kuijia.InputError) as raised:
        kuijia.whatif(fig1, **options)
    assert str(raised.value).startswith(message)


@pytest.fixture(scope="module")
def seconds_after(fig1: kuijia.Plan) -> kuijia.WhatIfPackets:
    return kuijia.whatif(fig1, backend="packet", sizes=20_000, seconds=0.2, rate_scale=0.05, workers=1)


def test_packets_find_what_the_command_finds(
    seconds_after: kuijia.WhatIfPackets, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--sizes", "20000", "--seconds", "0.2", "--rate-scale", "0.05", "--workers", "1", "--json"]
    assert main(["whatif", "fig1", "fig1", "--backend", "packet", *options]) == 0
    theirs = json.loads(capsys.readouterr().out)
    mine = json.loads(json.dumps(seconds_after.to_json()))
    assert {**mine, "assumptions": None} == {**theirs, "assumptions": None}


def test_tables_of_packets_tell_who_misses_payload(seconds_after: kuijia.WhatIfPackets) -> None:
    mine, theirs = seconds_after.table().to_dicts()
    assert (mine["scheme"], theirs["scheme"]) == TWO
    assert mine["missing_aboriginal"] < 0.02 < theirs["missing_aboriginal"]
    assert mine["slowdown_aboriginal_small"] == pytest.approx(1, abs=0.05)
    of_one = [row for row in seconds_after.outcomes().to_dicts() if row["scheme"] == "rescaling"]
    assert [row["failure"] for row in of_one] == list(seconds_after.failures)
    lines = str(seconds_after.summary(1)).splitlines()
    assert lines[0] == "fig1: 5 failures, 1 pair"
    assert lines[-1] == "  and 4 failures more with losses (-v lists all)"
    worst = [row["missing"] for row in seconds_after.worst("rescaling").to_dicts()]
    assert worst == sorted((row["missing"] for row in of_one), reverse=True)


def test_packets_have_a_page_with_the_call_that_makes_them_again(
    seconds_after: kuijia.WhatIfPackets, tmp_path: Path
) -> None:
    folder = seconds_after.save(tmp_path / "out")
    page = (folder / "whatif-packets.html").read_text()
    called = "backend=&#39;packet&#39;", "rate_scale=0.05", "schemes=[&#39;kuijia&#39;, &#39;rescaling&#39;]"
    assert all(part in page for part in called)
    assert page.count("data:image/svg+xml;base64,") == 2
    assert "precomputed, ffc, recompute left out" in page
    assert {each.name for each in folder.iterdir()} >= {"whatif-packets.json", "missing-ranked.svg"}
    assert "10 links without a delay: each gets 0.005 s (link_delay)" in seconds_after.notes
    assert seconds_after.plot("completion-times")._repr_png_()[1:4] == b"PNG"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"backend": "packets"}, "option:backend: 'packets' is unknown"),
        ({"backend": "packet", "udp": True}, "option:udp: is of the flow model, expected backend='flow'"),
        ({"load": 0.5}, "option:load: is of simulated packets, expected backend='packet'"),
        ({"backend": "packet", "load": -1}, "option:load: '-1', expected 0.001 to 10"),
        ({"backend": "packet", "schemes": "ffc"}, "option:schemes: switches cannot be programmed with ffc"),
    ],
)
def test_options_of_the_other_backend_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(kuijia.InputError, match=re.escape(said)):
        kuijia.whatif("fig1", **options)

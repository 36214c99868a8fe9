"""`kuijia whatif` on failures: which are examined, how likely they are, and what FFC can protect against."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kuijia.cli.main import main
from tests.docs.schemas import validator

pytestmark = pytest.mark.usefixtures("folder")


def whatif(*arguments: str) -> int:
    return main(["whatif", *arguments])


def test_a_failure_that_cuts_a_pair_off_is_a_loss_of_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("fig1", "fig1", "--schemes", "kuijia,ffc", "--failures", "nodes") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  100.00%  s1: victims 3 of 3 Gbit/s, others 0 of 0 Mbit/s" in lines
    assert "  100.00%  s1: victims 2 of 2 Gbit/s, others 0 of 0 Mbit/s" in lines


def test_several_kinds_of_failures_and_a_sample_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    def names(*options: str) -> list[list[str]]:
        command = ("--schemes", "kuijia,rescaling", "--failures", "links,pairs", "--json", *options)
        assert whatif("gscale", "gscale", *command) == 0
        outcomes = json.loads(capsys.readouterr().out)["outcomes"]
        schemes = ("kuijia", "rescaling")
        return [[each["failure"] for each in outcomes if each["scheme"] == scheme] for scheme in schemes]

    every, _ = names()
    assert len(every) == 19 + 171
    drawn, of_rescaling = names("--sample", "25", "--seed", "3")
    assert drawn == of_rescaling
    assert drawn[:19] == every[:19]
    assert len(set(drawn[19:])) == 25
    assert set(drawn) < set(every)
    assert drawn == names("--sample", "25", "--seed", "3")[0]
    assert drawn != names("--sample", "25", "--seed", "4")[0]


def test_ffc_protects_against_as_many_failures_as_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("fig1", "fig1", "--schemes", "ffc", "--protect", "2", "--failures", "links,pairs") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[4].split()[:4] == ["ffc", "1", "Gbit/s", "0%"]


@pytest.fixture
def line(folder: Path) -> Path:
    """A network that every failed link cuts in two, with the probabilities of TEAVAR's format."""
    (folder / "line.txt").write_text(
        "to_node from_node capacity prob_failure\n1 2 1000 .1\n2 1 1000 .1\n2 3 1000 .2\n3 2 1000 .2\n"
    )
    (folder / "line.csv").write_text("source,target,rate\n1,3,500\n")
    return folder / "line.txt"


def test_a_scheme_by_default_that_can_protect_no_pair_is_left_out(
    line: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert whatif(line.name, "line.csv") == 0
    printed = capsys.readouterr()
    note = "note: line.csv: ffc is left out: every pair can be cut off by 1 failed edge; --schemes chooses the schemes"
    assert note in printed.err.splitlines()
    assert "ffc" not in printed.out
    for asked in (("--schemes", "kuijia,ffc"), ("--protect", "1"), ("--objective", "ffc", "--schemes", "kuijia")):
        assert whatif(line.name, "line.csv", *asked) == 2
        option = " ".join(("--schemes", "ffc") if asked[0] == "--schemes" else asked[:2]).removesuffix(" 1")
        assert capsys.readouterr().err.startswith(f"error: option:{option}: every pair can be cut off by 1 failed edge")


def test_pairs_that_ffc_cannot_protect_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "net.yaml").write_text(
        "nodes: [a, b, c, d]\nlinks:\n"
        + "".join(f"  - {{a: {a}, b: {b}, capacity: 100}}\n" for a, b in ("ab", "bc", "ca", "cd"))
    )
    (folder / "two.csv").write_text("source,target,rate\na,b,50\na,d,50\n")
    assert whatif("net.yaml", "two.csv") == 0
    told = capsys.readouterr().err.splitlines()
    assert "note: two.csv: ffc sends nothing for 1 of 2 pairs, which 1 failed edge can cut off" in told


def test_failure_probabilities_of_the_topology_are_used(line: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Both links are up for .9 * .8 of the time, else the pair is cut off.
    assert whatif(line.name, "line.csv", "--schemes", "kuijia", "--failures", "links,pairs", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["probabilities"]["source"] == "topology"
    assert data["probabilities"]["none"] == pytest.approx(0.72)
    assert [each["probability"] for each in data["probabilities"]["failures"]] == pytest.approx([0.08, 0.18, 0.02])
    assert data["schemes"][0]["all"]["availability"]["throughput"] == pytest.approx({"low": 0.72, "high": 0.72})
    assert "--probabilities topology" in data["provenance"]["command"]


def test_failure_probabilities_of_the_topology_may_be_left_aside(
    line: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert whatif(line.name, "line.csv", "--schemes", "kuijia", "--probabilities", "none", "--json") == 0
    assert "probabilities" not in json.loads(capsys.readouterr().out)
    assert whatif(line.name, "line.csv", "--schemes", "kuijia", "--failures", "nodes", "--json") == 0
    printed = capsys.readouterr()
    assert "probabilities" not in json.loads(printed.out)
    assert "its failure probabilities are not used: failure '1' takes a node down" in printed.err


def test_availability_follows_from_probabilities_of_links(capsys: pytest.CaptureFixture[str]) -> None:
    # Any single failure costs a third. All five links up: .99^5 = .95099; one down: 5 * .01 * .99^4 = .04803.
    Path("p.csv").write_text("a,b,probability\ns1,s2,.01\ns2,s4,.01\ns1,s4,.01\ns1,s3,.01\ns3,s4,.01\n")
    assert whatif("fig1", "fig1", "--schemes", "kuijia", "--probabilities", "p.csv") == 0
    lines = capsys.readouterr().out.splitlines()
    row = [line.split() for line in lines if line.startswith("kuijia ")][2]
    assert row == ["kuijia", "98.30-98.40%", "95.10-95.20%", "95.10-95.20%", "95.10-95.20%", "66.67%"]
    assert whatif("fig1", "fig1", "--schemes", "kuijia", "--probabilities", "p.csv", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert list(validator("whatif").iter_errors(data)) == []
    assert data["probabilities"]["none"] == pytest.approx(0.99**5)
    assert data["schemes"][0]["all"]["availability"]["pair_worst"]["pair"] == ["s1", "s4"]


def test_failures_may_be_those_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ducts.csv").write_text("failure,a,b\nduct,s1,s2\nduct,s1,s3\n")
    assert whatif("fig1", "fig1", "--schemes", "kuijia", "--failures", "ducts.csv") == 0
    assert "  66.67%  duct: victims 2 of 2 Gbit/s, others 0 of 1 Gbit/s" in capsys.readouterr().out.splitlines()


def test_failures_may_be_links_and_nodes_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("fig1", "fig1", "--schemes", "kuijia", "--failures", "s4-s2,s3", "--json") == 0
    named = json.loads(capsys.readouterr().out)["outcomes"]
    assert {each["failure"] for each in named} == {"s4-s2", "s3"}
    for kind, name, same in (("links", "s4-s2", "s2-s4"), ("nodes", "s3", "s3")):
        assert whatif("fig1", "fig1", "--schemes", "kuijia", "--failures", kind, "--json") == 0
        all_of_kind = json.loads(capsys.readouterr().out)["outcomes"]
        (mine,) = [{**each, "failure": ""} for each in named if each["failure"] == name]
        assert mine in [{**each, "failure": ""} for each in all_of_kind if each["failure"] == same]


def test_names_of_failed_nodes_may_have_commas_dashes_and_dots(capsys: pytest.CaptureFixture[str]) -> None:
    Path("net.yaml").write_text(
        "nodes: ['Paris, 1.er', b-c, d]\n"
        "links: [{a: 'Paris, 1.er', b: b-c, capacity: 9}, {a: b-c, b: d, capacity: 9}]\n"
    )
    Path("net.csv").write_text("source,target,rate\nb-c,d,1\n")
    for asked, names in (
        ("Paris, 1.er", ["Paris, 1.er"]),
        ("Paris, 1.er-b-c", ["Paris, 1.er-b-c"]),
        ("b-c-d,d", ["b-c-d", "d"]),
    ):
        assert whatif("net.yaml", "net.csv", "--schemes", "kuijia", "--failures", asked, "--json") == 0
        outcomes = json.loads(capsys.readouterr().out)["outcomes"]
        assert [each["failure"] for each in outcomes] == names

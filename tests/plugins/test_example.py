"""The example package adds one of everything, and nothing of ours names it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kuijia.cli import doctor
from kuijia.cli.main import main
from kuijia_base import additions
from te_solver.formats.topology_file import topology_formats
from te_solver.programs.registry import objective_names
from te_solver.schemes.making import scheme_names
from te_solver.tunnels.path_finders import path_choice_names
from tests.plugins.packages import EXAMPLE, entry_points_of_example, install_example
from tests.testbed.lab.test_other_grounds import ALL
from tests.testbed.machine.test_machine import ABLE

DEMANDS = "source,target,rate\nparis,berlin,1500\n"
EDGES = "paris london 1000\nlondon berlin 1000\nparis berlin\n"


@pytest.fixture(autouse=True)
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_example(tmp_path / "installed", monkeypatch)
    monkeypatch.chdir(tmp_path)
    additions._imported.cache_clear()
    for module in [each for each in sys.modules if each.startswith("kuijia_example")]:
        monkeypatch.delitem(sys.modules, module)


def test_it_adds_one_of_everything() -> None:
    groups = {additions.SCHEMES, additions.OBJECTIVES, additions.PATH_CHOICES, additions.TOPOLOGY_FORMATS}
    assert set(entry_points_of_example()) == groups | {additions.TRANSPORTS, additions.EXPERIMENTS}


def test_names_are_known_before_its_code_is_loaded() -> None:
    assert objective_names()[-1] == "half-full"
    assert scheme_names()[-1] == "drop-victims"
    assert topology_formats()[-1] == "edge-list"
    assert path_choice_names()[-1] == "one-hop-more"
    assert not [each for each in sys.modules if each.startswith("kuijia_example")]


def test_its_scheme_stands_in_a_what_if(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", "fig1", "fig1", "--schemes", "kuijia,drop-victims", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    kuijia, drops = report["schemes"]
    assert drops["name"] == "drop-victims"
    assert set(drops) == set(kuijia)
    assert drops != {**kuijia, "name": "drop-victims"}


def test_its_format_is_read_and_its_objective_solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.edges").write_text(EDGES, encoding="utf-8")
    (tmp_path / "demands.csv").write_text(DEMANDS, encoding="utf-8")
    assert main(["solve", "net.edges", "demands.csv", "--objective", "half-full", "--json"]) == 0
    streams = capsys.readouterr()
    plan = json.loads(streams.out)
    assert (plan["objective"], plan["objective_value"]) == ("half-full", 1000.0)
    assert "net.edges: 1 of 3 edges without a capacity: 1 Gbit/s assumed" in streams.err


def test_its_choice_of_paths_finds_tunnels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "fig1", "fig1", "--paths", "one-hop-more", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["options"]["paths"] == "one-hop-more"
    hops = [len(tunnel["nodes"]) - 1 for tunnel in plan["pairs"][0]["tunnels"]]
    assert max(hops) - min(hops) <= 1


def test_its_format_may_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.list").write_text("paris london 1\nlondon\n", encoding="utf-8")
    assert main(["topology", "describe", "net.list", "--format", "edge-list"]) == 2
    expected = "error: net.list:2: found 'london', expected two nodes and a capacity in Mbit/s\n"
    assert capsys.readouterr().err == expected


def test_its_transport_carries_flows(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["packet", "leaf-spine:2,2,2", "--transport", "dctcp,eager-dctcp", "--load", "0.3", "--flows", "40"]
    assert main([*command, "--sizes", "web-search", "--workers", "1"]) == 0
    assert "eager-dctcp" in capsys.readouterr().out


def test_its_experiment_is_listed_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert "hops of the tunnels of a plan for Gscale" in capsys.readouterr().out
    assert main(["run", "hops", "-o", "out"]) == 0
    assert Path("out/hops.txt").read_text(encoding="utf-8") == capsys.readouterr().out
    assert main(["run", "hops", "--quick", "-o", "out"]) == 0
    assert "note: hops: --quick changes nothing in it" in capsys.readouterr().err


def test_doctor_names_what_it_adds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "examine_machine", lambda: ABLE)
    monkeypatch.setattr(doctor, "examine_other_grounds", lambda: ALL)
    assert main(["doctor"]) == 0
    assert "Installed packages add:\n  experiment hops, by kuijia-example 1.0\n" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "kuijia_example.transports", None)
    additions._imported.cache_clear()
    assert main(["doctor", "--json"]) == 0
    added = {each["name"]: each["problem"] for each in json.loads(capsys.readouterr().out)["additions"]}
    assert added.pop("eager-dctcp").startswith("package kuijia-example 1.0: transport 'eager-dctcp' cannot be loaded")
    assert added == dict.fromkeys(("hops", "half-full", "drop-victims", "edge-list", "one-hop-more"))


def test_nothing_of_ours_names_it() -> None:
    root = Path(__file__).parents[2]
    packages = [
        root / name for name in ("kuijia", "kuijia_base", "te_solver", "simulator", "kuijia_app", "experiments")
    ]
    found = [
        file for folder in packages for file in folder.rglob("*.py") if "kuijia_example" in file.read_text("utf-8")
    ]
    assert found == []


def test_the_page_on_extending_shows_or_links_its_files() -> None:
    page = (EXAMPLE.parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    files = [EXAMPLE / "pyproject.toml", *sorted((EXAMPLE / "kuijia_example").glob("*.py"))]
    shown = {file.name for file in files if file.read_text("utf-8").strip() in page}
    linked = {file.name for file in files if f"(../{file.relative_to(EXAMPLE.parents[2])})" in page}
    assert {file.name for file in files} - {"__init__.py"} == shown | linked


@pytest.mark.slow
def test_pip_installs_it_with_these_entry_points(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="64")
    target = tmp_path / "target"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    source = tmp_path / "source"
    subprocess.run(["cp", "-r", EXAMPLE, source], check=True)
    subprocess.run([*pip, "--target", target, source], check=True, capture_output=True)
    (found,) = target.glob("kuijia_example-1.0.dist-info/entry_points.txt")
    lines = found.read_text(encoding="utf-8").split()
    assert all(f"[{group}]" in lines for group in entry_points_of_example())

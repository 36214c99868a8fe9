"""Published experiments give the same results on boxes, over SSH and on their own switches, as in emulation."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from experiments.gscale.exhibits import role_loss
from experiments.gscale.plans import pairs_of
from experiments.motivation.report import EGRESS, INGRESS
from experiments.results.result import Result, Role, load_result
from kuijia.cli.main import main
from kuijia_base.errors import TestbedError
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network
from tests.testbed.boxes.rig import Rig, needs_sshd, rig

_FLOWS_SECONDS, _POLL_SECONDS = 60.0, 0.1


def test_boxes_need_an_inventory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["run", "table2", "--backend", "boxes", "-o", str(tmp_path / "results")]) == 2
    assert "--inventory FILE" in capsys.readouterr().err


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with rig(tmp_path_factory.mktemp("rig"), load_topology(shipped_network("fig1")), [INGRESS, EGRESS]) as made:
        yield made


def _run(experiment: str, boxes: Rig, results: Path, *words: str) -> int:
    on_boxes = ["--backend", "boxes", "--inventory", str(boxes.inventory), "--schemes", "kuijia", "--quick"]
    return main(["run", experiment, *on_boxes, *words, "-o", str(results)])


@pytest.mark.emulation
@needs_sshd
def test_table_2_meets_its_bars(boxes: Rig, tmp_path: Path) -> None:
    shorter = ["--warmup-seconds", "2", "--before-seconds", "3", "--settle-seconds", "3", "--after-seconds", "6"]
    assert _run("table2", boxes, tmp_path / "results", *shorter) == 0
    assert boxes.records() == ""
    result = json.loads((tmp_path / "results" / "table2-kuijia-1.json").read_text())
    assert result["backend"] == "boxes"
    manifest = result["manifest"]
    assert set(manifest["boxes"]) == {f"switch s{n}" for n in (1, 2, 3, 4)} | {"host s1", "host s4"}
    assert len(manifest["calibration"]) == 10
    loads = manifest["load"]["boxes"]
    assert set(loads) == set(manifest["boxes"])
    assert {name for name, load in loads.items() if load["switch"]} == {f"switch s{n}" for n in (1, 2, 3, 4)}


@pytest.mark.emulation
@pytest.mark.beside
@pytest.mark.slow
@needs_sshd
def test_a_box_that_dies_while_traffic_flows_ends_the_run_and_the_others_are_put_back(
    boxes: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = boxes.boxes[f"host-{EGRESS}"]
    inside = ["ip", "netns", "exec", "kuijia-4"]
    connections = [*inside, "ss", "-Htn", "state", "established"]

    def kill_when_traffic_flows() -> None:
        deadline = time.monotonic() + _FLOWS_SECONDS
        while time.monotonic() < deadline:
            with suppress(TestbedError):  # there is no such namespace yet
                if victim.run(*connections):
                    break
            time.sleep(_POLL_SECONDS)
        # The kernel would remove the cable some time after the box; without power it is gone at once.
        for link in json.loads(victim.run(*inside, "ip", "-json", "link", "show", "type", "veth")):
            victim.run(*inside, "ip", "link", "delete", link["ifname"])
        victim.kill()

    killer = threading.Thread(target=kill_when_traffic_flows)
    killer.start()
    assert _run("table2", boxes, tmp_path / "results") == 1
    killer.join()
    assert f"error: host {EGRESS} has closed the connection" in capsys.readouterr().err
    # The cable of the dead box died with it, and with the cable an interface of the egress.
    assert {line.split()[0] for line in boxes.records().splitlines()} == {EGRESS}


@pytest.mark.emulation
@needs_sshd
def test_a_failure_on_gscale_spares_all_but_its_victims(tmp_path: Path) -> None:
    topology = load_topology(shipped_network("gscale"))
    sites = sorted({site for pair in pairs_of(1, 1) for site in pair}, key=topology.nodes.index)
    with rig(tmp_path, topology, sites) as boxes:
        directed = ("--reading", "directed")  # whose pairs these are
        status = _run("fig11", boxes, tmp_path / "results", "--capacity", "10", "--private-entries", *directed)
        assert status in (0, 1)  # narrowly missed bars do not count here
        assert boxes.records() == ""
    result = load_result(tmp_path / "results" / "udp-1.2-7-9-kuijia-1.json")
    assert result.backend == "boxes"
    assert result.parameters["private_entries"] is True
    assert _loss(result, "direct") < 0.05
    assert _loss(result, "victim") > 0.1


def _loss(result: Result, role: Role) -> float:
    found = role_loss([flow for flow in result.flows if flow.role == role])
    assert found is not None
    return found

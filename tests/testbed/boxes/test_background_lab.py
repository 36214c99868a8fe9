"""A lab on real boxes in the background: the requests and the page of any lab, and boxes that are put back."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network
from testbed.lab.lab_client import ask, running_lab, the_running_lab
from testbed.machine.run_directory import owner_of
from testbed.web.backend import SetLink, StartFlow, State
from testbed.web.real_lab import RealLab
from tests.kuijia_app.dummy_switches import wait_until
from tests.testbed.boxes.rig import Rig, needs_sshd, rig
from tests.testbed.lab.test_lab import KUIJIA, kuijia

pytestmark = [pytest.mark.emulation, needs_sshd, pytest.mark.slow]


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    if running_lab() is not None:
        pytest.skip("a lab is up on this machine")
    with rig(tmp_path_factory.mktemp("rig"), load_topology(shipped_network("fig1")), ["s1", "s4"]) as made:
        yield made


def up_command(boxes: Rig) -> list[str]:
    return ["lab", "up", "fig1", "fig1", "--inventory", str(boxes.inventory)]


@pytest.fixture
def lab(boxes: Rig) -> Iterator[Path]:
    up = kuijia(*up_command(boxes), timeout=120)
    assert up.returncode == 0, up.stderr
    assert "datapath on boxes" in up.stdout
    yield the_running_lab()
    kuijia("lab", "down")


def rate(state: State, ends: tuple[str, str]) -> float:
    """Return what a direction of a link carries."""
    return sum(
        queue.rate
        for link in state.views[0].links
        for direction in link.directions
        if (direction.from_, direction.to) == ends
        for queue in direction.queues
    )


def test_boxes_are_shown_cut_and_loaded_as_any_lab_and_put_back(lab: Path, boxes: Rig) -> None:
    shown = RealLab(lab)
    assert shown.describe().backend == "boxes"
    assert kuijia("lab", "status").returncode == 0
    assert [host["node"] for host in ask(lab, "status")["hosts"]] == ["s1", "s4"]

    shown.act(StartFlow("s1", "s4", 6.0, "udp", 60))
    wait_until(lambda: max(rate(shown.state(), ("s1", to)) for to in ("s2", "s3", "s4")) > 4.0, "the flow is seen")
    shown.act(SetLink("s2~s4", up=False))
    state = shown.state()
    assert {link.id for link in state.views[0].links if not link.up} == {"s2~s4"}
    assert len(state.views[0].tunnels_dead) == 1
    shown.act(SetLink("s2~s4", up=True))
    assert kuijia("lab", "exec", "s1", "true").stderr.startswith("error: lab exec: hosts of a lab on boxes")

    boxes.boxes["s3"].kill_forwarder()
    wait_until(lambda: "Open vSwitch has died on s3" in shown.state().faults, "the dead switch is named")
    dead = set(shown.state().views[0].tunnels_dead)
    assert dead == {tunnel.path_id for tunnel in shown.describe().tunnels if "s3" in tunnel.nodes}
    boxes.boxes["s3"].start_forwarder()
    wait_until(lambda: not shown.state().faults, "the switch is back")

    assert kuijia("lab", "down", timeout=60).returncode == 0
    assert boxes.records() == ""


def test_boxes_follow_the_controller_that_acts(boxes: Rig) -> None:
    up = kuijia(*up_command(boxes), "--controllers", "2", timeout=120)
    assert up.returncode == 0, up.stderr
    try:
        lab = the_running_lab()
        first = ask(lab, "status")["controller"]
        done = ask(lab, "handover")
        assert {done["before"], done["after"]} == {1, 2}
        second = ask(lab, "status")["controller"]
        assert second["pid"] != first["pid"]
        os.kill(second["pid"], signal.SIGKILL)
        wait_until(lambda: ask(lab, "status")["controller"]["pid"] == first["pid"], "the first acts again")
        assert ask(lab, "fail", a="s2", b="s4")["tunnels_told"] == 1
    finally:
        kuijia("lab", "down")
    assert boxes.records() == ""


def test_boxes_of_a_lab_that_was_killed_are_put_back_by_down(lab: Path, boxes: Rig) -> None:
    owner = owner_of(lab)
    assert owner is not None
    os.kill(owner.pid, signal.SIGKILL)
    with boxes.boxes["s2"].out_of_reach():
        down = kuijia("lab", "down", timeout=60)
        assert (down.returncode, down.stderr.count("error:")) == (1, 1)
        assert f"`kuijia boxes down {boxes.inventory}` does it later" in down.stderr
    assert kuijia("lab", "down", timeout=60).returncode == 0
    assert boxes.records() == ""
    assert not lab.exists()


def test_boxes_are_put_back_when_the_start_is_interrupted(boxes: Rig) -> None:
    start = subprocess.Popen([*KUIJIA, *up_command(boxes)], stderr=subprocess.PIPE, text=True)
    assert start.stderr is not None
    wait_until(lambda: "changing the boxes" in str(start.stderr and start.stderr.readline()), "it changes the boxes")
    start.send_signal(signal.SIGINT)
    start.communicate(timeout=60)
    assert start.returncode != 0
    assert boxes.records() == ""
    assert running_lab() is None

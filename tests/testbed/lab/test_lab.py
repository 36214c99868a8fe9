"""A lab carries traffic, survives failures, and leaves nothing behind: real packets through the whole system."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kuijia_app.preparation.queues import leaf_class
from kuijia_app.tables.queues import PLAIN_LAYOUT
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.plan import Plan
from te_solver.networks import shipped_demands, shipped_network
from te_solver.solve import solve
from testbed.controllers.application_process import Framework
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from testbed.machine.processes import processes_with_environment
from testbed.machine.run_directory import LAB_VARIABLE
from tests.kuijia_app.dummy_switches import wait_until

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.slow]

CAPACITY = 20.0
SOURCE_PORTS = range(21000, 21040)

_CONNECT = """
import socket, sys
target, *ports = sys.argv[1:]
for port in map(int, ports):
    with socket.socket() as probe:
        probe.settimeout(3)
        probe.bind(("", port))
        try:
            probe.connect((target, 9))
        except ConnectionRefusedError:
            print(port)
        except TimeoutError:
            pass
"""
"""Tries a port without a listener: a refusal has come all the way back from the other host."""


@pytest.fixture(scope="module")
def plan() -> Plan:
    topology = load_topology(shipped_network("fig1"))
    demands = load_demands(shipped_demands("fig1"), topology)
    return solve(topology.with_capacity(CAPACITY), demands)


def answered(lab: Lab) -> set[int]:
    """Return the source ports to which s4's host answered s1's host."""
    target = str(lab.emulated_network.host("s4").address)
    command = [sys.executable, "-c", _CONNECT, target, *map(str, SOURCE_PORTS)]
    return {int(line) for line in lab.emulated_network.host("s1").run(command, timeout=150).stdout.split()}


def group_tables(lab: Lab) -> list[str]:
    network = lab.emulated_network
    return [
        "\n".join(sorted(network.ovs.ofctl("dump-groups", network.bridge(node)).splitlines()[1:]))
        for node in lab.plan.topology.nodes
    ]


@pytest.mark.parametrize("framework", ["os-ken", "ryu"])
def test_a_remote_failure_is_survived_through_the_controller_and_undone(plan: Plan, framework: Framework) -> None:
    with Lab(plan, LabOptions(framework=framework), lambda _: None) as lab:
        before = group_tables(lab)
        assert answered(lab) == set(SOURCE_PORTS)

        cut = lab.fail("s2", "s4")
        assert cut.tunnels_told == 1
        assert cut.reaction_seconds is not None
        assert [tunnel["nodes"] for tunnel in lab.status()["tunnels"] if not tunnel["alive"]] == [["s1", "s2", "s4"]]
        assert answered(lab) == set(SOURCE_PORTS)

        lab.heal("s2", "s4")
        assert group_tables(lab) == before
        assert answered(lab) == set(SOURCE_PORTS)


def test_a_local_failure_is_survived_without_any_controller(plan: Plan) -> None:
    with Lab(plan, LabOptions(), lambda _: None) as lab:
        lab.kill_controller()
        cut = lab.fail("s1", "s2")
        assert cut.reaction_seconds is None
        # s4 sends its answers over the tunnel that it believes alive, so the way back is cut at its own port as well.
        lab.fail("s2", "s4")
        assert answered(lab) == set(SOURCE_PORTS)
        lab.heal("s1", "s2")
        lab.heal("s2", "s4")
        assert answered(lab) == set(SOURCE_PORTS)


KUIJIA = (sys.executable, "-m", "kuijia")


def kuijia(*arguments: str, timeout: float = 90) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*KUIJIA, *arguments], capture_output=True, text=True, timeout=timeout, check=False)


def status() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(kuijia("lab", "status", "--json").stdout)
    return result


@pytest.fixture
def no_lab() -> Iterator[None]:
    assert kuijia("lab", "status").returncode == 2, "a lab is up on this machine; these tests need to start their own"
    yield
    kuijia("lab", "down")


def owner_of_lab(lab_id: str) -> int:
    pid: int = json.loads(Path("/run/kuijia", lab_id, "owner.json").read_text())["pid"]
    return pid


def lab_processes(lab_id: str) -> list[int]:
    return processes_with_environment(f"{LAB_VARIABLE}={lab_id}")


@pytest.mark.usefixtures("no_lab")
def test_the_command_keeps_a_lab_running_until_it_is_taken_down() -> None:
    up = kuijia("lab", "up", "fig1", "fig1")
    assert up.returncode == 0, up.stderr
    lab_id = status()["lab"]
    assert status()["controller"]["switches"] == ["s1", "s2", "s3", "s4"]

    assert "1 received" in kuijia("lab", "exec", "s1", "ping", "-c", "1", "10.0.4.1").stdout
    assert "link s2-s4 is down" in kuijia("lab", "fail", "s2", "s4").stdout
    assert [link for link in status()["links"] if not link["up"]] == [
        {"a": "s2", "b": "s4", "capacity": CAPACITY, "up": False}
    ]
    assert "link s2-s4 is up" in kuijia("lab", "heal", "s2", "s4").stdout

    again = kuijia("lab", "up", "fig1", "fig1")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "is up already" in again.stderr

    assert kuijia("lab", "down").returncode == 0
    assert lab_processes(lab_id) == []
    assert not Path("/run/kuijia", lab_id).exists()


@pytest.mark.usefixtures("no_lab")
def test_the_plan_of_a_running_lab_is_replaced_and_rates_are_told(tmp_path: Path) -> None:
    assert kuijia("lab", "up", "fig1", "fig1").returncode == 0
    assert status()["controller"]["errors"] == []
    others = tmp_path / "others.csv"
    others.write_text("source,target,rate\ns2,s3,500\ns1,s4,500\n")
    before = {tuple(tunnel["nodes"]): tunnel["path_id"] for tunnel in status()["tunnels"]}
    done = json.loads(kuijia("lab", "update", str(others), "--json").stdout)
    after = {tuple(tunnel["nodes"]): tunnel["path_id"] for tunnel in status()["tunnels"]}
    assert {tuple(path) for path in done["added"]} == after.keys() - before.keys() != set()
    assert {path: after[path] for path in before} == before
    for source, target in (("s1", "10.0.4.1"), ("s2", "10.0.3.1")):
        assert "1 received" in kuijia("lab", "exec", source, "ping", "-c", "1", target).stdout
    assert all(queue["rate"] >= 0 for queue in status()["queues"])

    other_network = kuijia("lab", "update", "gscale")
    assert (other_network.returncode, other_network.stderr.count("\n")) == (2, 1)
    assert kuijia("lab", "down").returncode == 0


@pytest.mark.usefixtures("no_lab")
def test_a_lab_whose_service_was_killed_is_cleared_away_by_down() -> None:
    assert kuijia("lab", "up", "fig1", "fig1").returncode == 0
    lab_id = status()["lab"]
    os.kill(owner_of_lab(lab_id), signal.SIGKILL)
    down = kuijia("lab", "down")
    assert (down.returncode, down.stdout) == (0, "the lab is down\n")
    assert f"removed what the killed lab {lab_id}" in down.stderr
    assert lab_processes(lab_id) == []
    assert not Path("/run/kuijia", lab_id).exists()


@pytest.mark.usefixtures("no_lab")
def test_a_lab_with_a_broken_part_can_be_used_and_taken_down_with_what_runs_in_it() -> None:
    assert kuijia("lab", "up", "fig1", "fig1").returncode == 0
    lab_id = status()["lab"]
    in_lab = ["nsenter", f"--target={owner_of_lab(lab_id)}", "--net"]
    subprocess.run([*in_lab, "ip", "link", "delete", "s3-eth2"], check=True)

    broken = kuijia("lab", "status")
    assert (broken.returncode, broken.stderr) == (1, "")
    assert "errors\ninterface s3-eth2 has vanished\n" in broken.stdout
    assert [link["a"] + link["b"] for link in status()["links"] if not link["up"]] == ["s3s4"]
    assert {queue["to"] for queue in status()["queues"] if queue["switch"] == "s3"} == {"s1"}
    assert kuijia("lab", "fail", "s3", "s4").stderr == "error: interface s3-eth2 has vanished\n"
    assert "link s2-s4 is down" in kuijia("lab", "fail", "s2", "s4").stdout
    assert "1 received" in kuijia("lab", "exec", "s1", "ping", "-c", "1", "10.0.4.1").stdout

    with subprocess.Popen([*KUIJIA, "lab", "exec", "s1", "sleep", "600"]) as program:
        wait_until(lambda: Path(f"/proc/{program.pid}/comm").read_text() == "sleep\n", "it runs in s1's host")
        assert kuijia("lab", "down").returncode == 0
        assert program.wait(timeout=10) == -signal.SIGTERM
    assert lab_processes(lab_id) == []


@pytest.mark.usefixtures("no_lab")
def test_a_queue_that_is_missing_is_told_of_beside_all_else() -> None:
    assert kuijia("lab", "up", "fig1", "fig1").returncode == 0
    in_lab = ["nsenter", f"--target={owner_of_lab(status()['lab'])}", "--net"]
    victim = next(queue for queue in PLAIN_LAYOUT.queues if queue.name == "victim")
    subprocess.run([*in_lab, "tc", "qdisc", "delete", "dev", "s3-eth2", "parent", leaf_class(victim)], check=True)
    broken = kuijia("lab", "status")
    assert (broken.returncode, broken.stderr) == (1, "")
    assert "errors\ninterface s3-eth2 has lost its queue victim\n" in broken.stdout
    assert all(tunnel["alive"] for tunnel in status()["tunnels"])


@pytest.mark.usefixtures("no_lab")
@pytest.mark.parametrize("liveness", ["controller", "bfd"])
def test_that_open_vswitch_has_died_is_said_at_once(liveness: str) -> None:
    assert kuijia("lab", "up", "fig1", "fig1", f"--liveness={liveness}").returncode == 0
    lab_id = status()["lab"]
    assert all(tunnel["alive"] for tunnel in status()["tunnels"])
    daemon = int(Path("/run/kuijia", lab_id, "ovs", "ovs-vswitchd.pid").read_text())
    os.kill(daemon, signal.SIGKILL)
    wait_until(lambda: kuijia("lab", "status").returncode == 1, "the status is not good")
    assert status()["faults"][0] == "Open vSwitch has died"
    assert not any(tunnel["alive"] for tunnel in status()["tunnels"])
    update = kuijia("lab", "update", "fig1", timeout=20)
    assert (update.returncode, update.stderr) == (
        1,
        "error: Open vSwitch has died: there are no switches to update\n",
    )
    assert kuijia("lab", "down").returncode == 0
    assert lab_processes(lab_id) == []


@pytest.mark.usefixtures("no_lab")
def test_a_lab_whose_starter_is_killed_before_it_is_up_gives_up(tmp_path: Path) -> None:
    marker = ("KUIJIA_TEST", str(tmp_path))
    start = subprocess.Popen(
        [*KUIJIA, "lab", "up", "fig1", "fig1"],
        env={**os.environ, marker[0]: marker[1]},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert start.stderr is not None
    assert start.stderr.readline().startswith("starting 4 switches")
    start.kill()
    start.communicate(timeout=30)
    wait_until(lambda: processes_with_environment("=".join(marker)) == [], "all processes have ended")
    assert kuijia("lab", "status").returncode == 2


@pytest.mark.usefixtures("no_lab")
def test_of_two_labs_started_at_once_one_comes_up() -> None:
    starts = [
        subprocess.Popen([*KUIJIA, "lab", "up", "fig1", "fig1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    said = {start.wait(timeout=90): start.communicate()[1].decode() for start in starts}
    assert said.keys() == {0, 2}, said
    assert said[2].startswith("error: lab: ")
    assert said[2].count("\n") == 1
    assert len(status()["links"]) == 5


@pytest.mark.usefixtures("no_lab")
def test_what_a_killed_lab_leaves_is_removed_by_the_next_start() -> None:
    assert kuijia("lab", "up", "fig1", "fig1").returncode == 0
    lab_id = status()["lab"]
    os.kill(owner_of_lab(lab_id), signal.SIGKILL)

    up = kuijia("lab", "up", "fig1", "fig1")
    assert up.returncode == 0, up.stderr
    assert f"removed what the killed lab {lab_id}" in up.stderr
    assert lab_processes(lab_id) == []
    assert not Path("/run/kuijia", lab_id).exists()


@pytest.mark.usefixtures("no_lab")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("status",), "error: lab: no lab is up, expected one, started with `kuijia lab up`\n"),
        (("down",), "error: lab: no lab is up, expected one, started with `kuijia lab up`\n"),
        (
            ("up", "nowhere", "fig1"),
            "error: nowhere: no such file or shipped network, expected a file or one of fig1, gscale\n",
        ),
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_two(arguments: tuple[str, ...], message: str) -> None:
    result = kuijia("lab", *arguments)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", message)

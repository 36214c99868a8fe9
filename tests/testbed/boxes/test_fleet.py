"""Real boxes over real SSH: checked without changes, changed once, restored exactly; one of them may die."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from kuijia.cli.main import EXIT_INTERRUPTED, main
from kuijia_app.tables.wiring import Wiring
from kuijia_base.commands import MODULES
from kuijia_base.errors import TestbedError
from testbed.boxes.fleet import Fleet
from testbed.boxes.inventory import read_inventory
from testbed.boxes.network import BoxHost, BoxNetwork
from testbed.boxes.plans import Target
from testbed.boxes.ssh import DeadBoxError
from testbed.boxes.watch import BoxesWatch
from testbed.network.bridges import NetworkOptions
from tests.kuijia_app.dummy_switches import wait_until
from tests.testbed.boxes.box_state import state_of
from tests.testbed.boxes.rig import Rig, TestBox, needs_sshd, rig
from tests.testbed.emulated import topology

pytestmark = [pytest.mark.emulation, needs_sshd, pytest.mark.beside, pytest.mark.slow]

NETWORK = topology([("a", "b")])


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with rig(tmp_path_factory.mktemp("rig"), NETWORK, ["a", "b"]) as made:
        for box in made.boxes.values():
            box.run("mkdir", "-p", "/var/lib/kuijia")
            box.run("ip", "link", "set", _cabled(box), "up")
            _use_for_something_else(box)
        host = made.boxes["host-a"]
        host.run("sysctl", "-q", "-w", "net.ipv6.conf.to-switch.disable_ipv6=1", "net.ipv4.conf.to-switch.rp_filter=1")
        host.run("sysctl", "-q", "-w", "net.ipv4.neigh.to-switch.gc_stale_time=77")
        yield made


def _use_for_something_else(box: TestBox) -> None:
    """Give a box objects that are none of our business."""
    box.run("ip", "link", "add", "theirs0", "type", "veth", "peer", "name", "theirs1")
    box.run("ip", "address", "add", "198.51.100.1/24", "dev", "theirs0")
    box.run("ip", "link", "set", "theirs0", "up")
    box.run("tc", "qdisc", "add", "dev", "theirs0", "root", "handle", "7:", "htb", "default", "1")
    box.run("tc", "qdisc", "add", "dev", "theirs0", "ingress")
    box.run("ip", "netns", "add", "theirs")
    if box.is_switch:
        port = ["add-port", "theirs", "theirs1", "--", "set", "Port", "theirs1", "qos=@q"]
        queues = ["--id=@q", "create", "QoS", "type=linux-htb", "other_config:max-rate=1000000"]
        bridge = ["add-br", "theirs", "--", "set", "Bridge", "theirs", "datapath_type=netdev"]
        box.run("ovs-vsctl", *bridge, "--", *port, "--", *queues)


def _cabled(box: TestBox) -> str:
    return "to-host" if box.is_switch else "to-switch"


def _target(inventory: Path) -> Target:
    return Target(read_inventory(inventory), Wiring(NETWORK), NetworkOptions())


def test_a_check_changes_nothing_and_says_what_it_could_not_look_at(
    boxes: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {name: state_of(box) for name, box in boxes.boxes.items()}
    assert main(["boxes", "check", str(boxes.inventory), str(boxes.topology_file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["notes"] == [
        "switch a: to-b is down, so its cable cannot be followed",
        "switch b: to-a is down, so its cable cannot be followed",
    ]
    assert said["up"] is False
    clock = said["clocks"]["host a"]  # the same as this machine's
    assert abs(clock["offset"]) <= clock["error"]
    assert {name: state_of(box) for name, box in boxes.boxes.items()} == before


def test_up_is_idempotent_and_down_puts_everything_back(boxes: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    before = {name: state_of(box) for name, box in boxes.boxes.items()}
    words = [str(boxes.inventory), str(boxes.topology_file)]
    said = []
    for _ in range(2):
        assert main(["boxes", "up", *words, "--json"]) == 0
        said.append(json.loads(capsys.readouterr().out)["changed"])
    assert said == [True, False]
    up = {name: state_of(box) for name, box in boxes.boxes.items()}
    assert all(up[name] != before[name] for name in before)
    assert "to-b" in boxes.boxes["a"].run("ovs-vsctl", "list-ports", "kuijia")
    assert main(["boxes", "up", *words, "--capacity", "10", "--json"]) == 0
    assert "10Mbit" in boxes.boxes["a"].run("tc", "class", "show", "dev", "to-b")
    boxes.boxes["a"].run("ovs-vsctl", "del-br", "kuijia")  # somebody has removed a part already
    for _ in range(2):
        assert main(["boxes", "down", str(boxes.inventory)]) == 0
        assert {name: state_of(box) for name, box in boxes.boxes.items()} == before


def test_a_watch_sees_the_queues_and_a_link_that_goes_down(boxes: Rig) -> None:
    said: list[tuple[str, str, bool]] = []
    assert main(["boxes", "up", str(boxes.inventory), str(boxes.topology_file)]) == 0
    a = boxes.boxes["a"]
    try:
        with BoxesWatch(read_inventory(boxes.inventory), lambda *words: said.append(words)) as watch:
            watch.look()
            seen = {metric.name: dict(values) for metric, values in watch.tally.read()}
            assert said == []
            a.run("ip", "link", "set", "to-b", "down")
            watch.look()
    finally:
        a.run("ip", "link", "set", "to-b", "up")
        assert main(["boxes", "down", str(boxes.inventory)]) == 0
    assert said == [("link", "a-b", False)]
    assert set(seen["kuijia_boxes_box_up"].values()) == {1}
    sent = seen["kuijia_boxes_queue_sent_packets_total"]
    assert sorted(sent) == [
        (one, other, queue) for one, other in (("a", "b"), ("b", "a")) for queue in ("control", "normal", "victim")
    ]


def test_a_bridge_whose_daemon_has_died_is_put_back_when_that_is_started_again(
    boxes: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {name: state_of(box) for name, box in boxes.boxes.items()}
    assert main(["boxes", "up", str(boxes.inventory), str(boxes.topology_file)]) == 0
    a = boxes.boxes["a"]
    a.kill_forwarder()
    assert main(["boxes", "down", str(boxes.inventory)]) == 1
    assert "error: switch a: ovs-vswitchd has to be started first" in capsys.readouterr().err
    assert boxes.records() == "a switch-61.jsonl\n"
    a.start_forwarder()
    assert main(["boxes", "down", str(boxes.inventory)]) == 0
    assert {name: state_of(box) for name, box in boxes.boxes.items()} == before


@pytest.mark.parametrize(
    ("blow", "status", "moment"),
    [
        (signal.SIGINT, EXIT_INTERRUPTED, ["find", "/var/lib/kuijia", "-name", "*.jsonl"]),
        (signal.SIGKILL, -signal.SIGKILL, ["ovs-vsctl", "list-ports", "kuijia"]),
    ],
)
def test_up_that_is_stopped_half_way_leaves_nothing_that_down_does_not_put_back(
    boxes: Rig, blow: signal.Signals, status: int, moment: list[str]
) -> None:
    before = {name: state_of(box) for name, box in boxes.boxes.items()}
    command = [sys.executable, "-m", "kuijia", "boxes", "up"]
    up = subprocess.Popen([*command, str(boxes.inventory), str(boxes.topology_file)], cwd=MODULES)

    def has_come() -> bool:
        with suppress(TestbedError):  # there is no such bridge yet
            return boxes.boxes["a"].run(*moment) != ""
        return False

    wait_until(has_come, "something is changed")
    up.send_signal(blow)
    assert up.wait(30) == status
    if blow == signal.SIGINT:
        assert {name: state_of(box) for name, box in boxes.boxes.items()} == before
    # The agents end after their last order.
    wait_until(lambda: main(["boxes", "down", str(boxes.inventory)]) == 0, "nobody is at work on the boxes")
    assert {name: state_of(box) for name, box in boxes.boxes.items()} == before


def test_a_connection_that_is_lost_in_up_is_told_and_down_puts_that_box_back_later(
    boxes: Rig, capfd: pytest.CaptureFixture[str]
) -> None:
    before = {name: state_of(box) for name, box in boxes.boxes.items()}
    lost = boxes.boxes["host-b"]

    def lose() -> None:
        wait_until(lambda: lost.run("find", "/var/lib/kuijia", "-name", "*.jsonl") != "", "it is changed")
        lost.lose_connections()

    thread = threading.Thread(target=lose)
    thread.start()
    assert main(["boxes", "up", str(boxes.inventory), str(boxes.topology_file)]) == 1
    thread.join()
    said = capfd.readouterr().err
    assert "error: host b has closed the connection" in said
    assert "host b is not put back, `kuijia boxes down` does it later" in said
    assert {name: state_of(box) for name, box in boxes.boxes.items() if box != lost} == {
        name: state for name, state in before.items() if name != lost.name
    }
    with lost.out_of_reach():
        assert main(["boxes", "down", str(boxes.inventory)]) == 1
        assert "host b" in capfd.readouterr().err
    wait_until(lambda: main(["boxes", "down", str(boxes.inventory)]) == 0, "nobody is at work on the box")
    assert {name: state_of(box) for name, box in boxes.boxes.items()} == before


def test_what_somebody_has_on_our_interfaces_is_not_touched(boxes: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    a, host = boxes.boxes["a"], boxes.boxes["host-a"]
    a.run("tc", "qdisc", "add", "dev", "to-b", "ingress")
    a.run("ip", "link", "add", "link", "to-host", "name", "vlan7", "type", "macvlan")
    host.run("ip", "netns", "add", "kuijia-1")
    before = {name: state_of(box) for name, box in boxes.boxes.items()}
    assert main(["boxes", "up", str(boxes.inventory), str(boxes.topology_file)]) == 1
    said = capsys.readouterr().err
    assert "switch a: to-host is in use: vlan7 is built on it" in said
    assert "switch a: to-b already has queues (ingress)" in said
    assert "host a: there is a network namespace kuijia-1 already" in said
    assert {name: state_of(box) for name, box in boxes.boxes.items()} == before
    a.run("tc", "qdisc", "delete", "dev", "to-b", "ingress")
    a.run("ip", "link", "delete", "vlan7")
    host.run("ip", "netns", "delete", "kuijia-1")


def test_names_of_nodes_are_no_commands(boxes: Rig, tmp_path: Path) -> None:
    names = {"a": "$(touch /run/owned)", "b": "'; touch /run/owned; '\"\\ %h ü -x"}
    nodes = {"nodes": list(names.values()), "links": [{"a": names["a"], "b": names["b"], "capacity": 20}]}
    topology_file = tmp_path / "hostile.yaml"
    topology_file.write_text(yaml.safe_dump(nodes))
    data = yaml.safe_load(boxes.inventory.read_text())
    for box in (*data["switches"], *data["hosts"]):
        box["node"] = names[box["node"]]
    for switch in data["switches"]:
        switch["links"] = {names[other]: interface for other, interface in switch["links"].items()}
    inventory = boxes.edit(**data)
    before = {name: state_of(box) for name, box in boxes.boxes.items()}
    assert main(["boxes", "up", str(inventory), str(topology_file)]) == 0
    assert main(["boxes", "down", str(inventory)]) == 0
    assert {name: state_of(box) for name, box in boxes.boxes.items()} == before
    assert all("owned" not in box.run("ls", "/run") for box in boxes.boxes.values())


@pytest.fixture
def cable_up(boxes: Rig) -> Iterator[None]:
    """Bring the cable between the switches up before any change; it is down for the other tests."""
    for box, interface in _ends(boxes):
        box.run("ip", "link", "set", interface, "up")
    _wait_for_carrier(boxes)
    yield
    for box, interface in _ends(boxes):
        box.run("ip", "link", "set", interface, "down")


def _ends(boxes: Rig) -> list[tuple[TestBox, str]]:
    return [(boxes.boxes["a"], "to-b"), (boxes.boxes["b"], "to-a")]


def _wait_for_carrier(boxes: Rig) -> None:
    """Wait for the carrier of the switches' cable, which the kernel reports some time after both ends are up."""
    ends = _ends(boxes)
    wait_until(
        lambda: all("state UP" in box.run("ip", "link", "show", interface) for box, interface in ends),
        "the cable has a carrier",
    )


@pytest.mark.usefixtures("cable_up")
def test_links_that_a_run_has_cut_are_up_again_when_it_is_over(boxes: Rig) -> None:
    before = {name: state_of(box) for name, box in boxes.boxes.items()}
    network = BoxNetwork(_target(boxes.inventory), print)
    network.start()
    network.switch_link("a", "b", up=False)
    network.stop()
    assert boxes.records() == ""
    _wait_for_carrier(boxes)
    assert {name: state_of(box) for name, box in boxes.boxes.items()} == before


@pytest.mark.usefixtures("cable_up")
def test_boxes_that_are_up_are_used_again_and_again_and_left_up(boxes: Rig) -> None:
    before = {name: state_of(box) for name, box in boxes.boxes.items()}
    a, target = boxes.boxes["a"], _target(boxes.inventory)
    with Fleet(target.inventory) as fleet:
        fleet.connect()
        assert fleet.build(target, print)
    up = state_of(a)
    for _ in range(2):
        network = BoxNetwork(target, print)
        network.start()
        assert network.is_up("a", "b")
        network.connect(6653)
        network.switch_link("a", "b", up=False)
        network.stop()
        _wait_for_carrier(boxes)
        assert state_of(a) == up
    assert a.run("ovs-vsctl", "get-controller", "kuijia") == ""
    a.run("ip", "link", "set", "to-b", "down")  # as left by a run killed after the cut
    with Fleet(target.inventory) as fleet:
        fleet.connect()
        found = fleet.examine(target)
        assert (found.built, found.amiss) == (False, ("switch a: to-b is down",))
        assert found.notes[0].startswith("cables, and whether others use")
        assert fleet.build(target, print)
        assert fleet.examine(target).built
        fleet.put_back()
    _wait_for_carrier(boxes)
    assert {name: state_of(box) for name, box in boxes.boxes.items()} == before


def test_two_cannot_change_the_same_boxes(boxes: Rig) -> None:
    target = _target(boxes.inventory)
    with Fleet(target.inventory) as first, Fleet(target.inventory) as second:
        for fleet in (first, second):
            fleet.connect()
        first.put_back()
        with pytest.raises(TestbedError, match="another kuijia is at work on it"):
            second.build(target, print)


def test_the_interface_that_ssh_comes_in_by_is_never_ours(boxes: Rig) -> None:
    hosts = [
        {"node": "a", "address": boxes.boxes["host-a"].address, "management": "to-switch", "interface": "mgmt0"},
    ]
    with Fleet(read_inventory(boxes.edit(hosts=hosts))) as fleet:
        fleet.connect()
        with pytest.raises(TestbedError, match="host a: mgmt0 is cabled in the inventory, but SSH uses it"):
            fleet.build(_target(boxes.edit(hosts=hosts)), print)
    assert "kuijia" not in boxes.boxes["host-a"].run("ip", "netns", "list")


def test_a_host_key_that_is_not_the_known_one_is_refused(boxes: Rig) -> None:
    known = boxes.inventory.with_name("strangers")
    user_key = (boxes.inventory.with_name("user.pub")).read_text().split()
    a, b = boxes.boxes["a"].address, boxes.boxes["b"].address
    known.write_text(f"{a} {user_key[0]} {user_key[1]}\n")
    ssh = {"user": "root", "key": "user", "known_hosts": "strangers"}
    with Fleet(read_inventory(boxes.edit(ssh=ssh))) as fleet:
        fleet.connect()
        assert set(fleet.unreached) == {"switch a", "switch b", "host a", "host b"}
        assert "its host key differs from the known one" in fleet.unreached["switch a"]
        assert fleet.unreached["switch b"].endswith("cannot be reached: Host key verification failed.")
    assert b not in known.read_text()


def test_what_was_started_on_a_box_ends_with_the_connection(boxes: Rig) -> None:
    with Fleet(read_inventory(boxes.inventory)) as fleet:
        fleet.connect()
        connection = fleet.connection(fleet.inventory.hosts["a"])
        assert connection.call("launch", argv=["sleep", "4711"]) == 1
        assert "sleep 4711" in boxes.boxes["host-a"].run("ps", "-A", "-o", "args")
    assert "sleep 4711" not in boxes.boxes["host-a"].run("ps", "-A", "-o", "args")


def test_arguments_reach_programs_as_they_are(boxes: Rig) -> None:
    nasty = "'; touch /run/owned; $(touch /run/owned) \"\n\\"
    with Fleet(read_inventory(boxes.inventory)) as fleet:
        fleet.connect()
        connection = fleet.connection(fleet.inventory.hosts["a"])
        assert connection.call("run", argv=["printf", "%s", nasty]) == nasty
    assert "owned" not in boxes.boxes["host-a"].run("ls", "/run")


def test_a_box_that_dies_is_reported_and_the_others_are_put_back(boxes: Rig) -> None:
    before = {name: state_of(box) for name, box in boxes.boxes.items() if name != "host-b"}
    said: list[str] = []
    network = BoxNetwork(_target(boxes.inventory), said.append)
    network.start()
    host = network.host("b")
    assert isinstance(host, BoxHost)
    boxes.boxes["host-b"].kill()
    with pytest.raises(DeadBoxError, match="host b"):
        host.launch(["true"])
    network.stop()
    assert [line for line in said if "host b is not put back" in line]
    left = {name: state_of(box) for name, box in boxes.boxes.items() if name != "host-b"}
    # The cable of the dead box died with it.
    del left["b"], before["b"]
    assert left == before

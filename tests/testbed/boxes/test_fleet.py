"""Real boxes over real SSH: checked without a change, changed once, put back exactly, and survived when one dies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kuijia_app.cli.main import main
from kuijia_app.wiring import Wiring
from te_solver.topology_file import load_topology
from testbed.boxes.fleet import Fleet
from testbed.boxes.hosts import BoxHost
from testbed.boxes.inventory import read_inventory
from testbed.boxes.network import BoxNetwork
from testbed.boxes.plans import Target
from testbed.boxes.ssh import DeadBoxError
from testbed.commands import find_program
from testbed.errors import TestbedError
from testbed.network import NetworkOptions
from tests.testbed.boxes.rig import Rig, TestBox, rig
from tests.testbed.emulated import topology

pytestmark = [
    pytest.mark.emulation,
    pytest.mark.skipif(find_program("sshd") is None, reason="sshd not found (Debian package openssh-server)"),
]

NETWORK = topology([("a", "b")])
STATE = ("ip netns list", "sysctl net.ipv6.conf", "find /var/lib/kuijia -type f -not -name *.lock")
LINKS = "ip -json -details address show"
LASTING = ("ifname", "mtu", "flags", "address", "gso_max_segs", "promiscuity", "master")
SWITCH_STATE = ("ovs-vsctl --columns=name list Bridge", "ovs-vsctl list QoS", "ovs-vsctl list Interface")


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with rig(tmp_path_factory.mktemp("rig"), NETWORK, ["a", "b"]) as made:
        for box in made.boxes.values():
            box.run("mkdir", "-p", "/var/lib/kuijia")
            box.run("ip", "link", "set", _cabled(box), "up")
        yield made


def _cabled(box: TestBox) -> str:
    return "to-switch" if box.name.startswith("host-") else "to-host"


def _target(inventory: Path) -> Target:
    return Target(read_inventory(inventory), Wiring(NETWORK), NetworkOptions())


def _state(box: TestBox) -> dict[str, object]:
    """Everything a box's owner could notice; what only counts or ages is left out."""
    commands = [*STATE, *(SWITCH_STATE if not box.name.startswith("host-") else ())]
    state: dict[str, object] = {command: box.run(*command.split()) for command in commands}
    links = sorted(json.loads(box.run(*LINKS.split())), key=lambda link: str(link["ifname"]))
    state["links"] = [{key: link.get(key) for key in LASTING} for link in links]
    state["addresses"] = [[each["local"] for each in link["addr_info"] if each["scope"] != "link"] for link in links]
    state["offloads"] = [box.run("ethtool", "-k", link["ifname"]) for link in links]
    # A device that was never up has no queues at all; afterwards it has the kernel's own, of handle 0.
    queues = box.run("tc", "qdisc", "show").splitlines()
    state["queues"] = [line for line in queues if line.split()[2] != "0:"]
    return state


def test_a_check_changes_nothing_and_says_what_it_could_not_look_at(
    boxes: Rig, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = {name: _state(box) for name, box in boxes.boxes.items()}
    assert main(["boxes", "check", str(boxes.inventory), str(_topology_file(tmp_path)), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["notes"] == [
        "switch a: to-b is down, so its cable cannot be followed",
        "switch b: to-a is down, so its cable cannot be followed",
    ]
    assert said["up"] is False
    clock = said["clocks"]["host a"]  # the same as this machine's
    assert abs(clock["offset"]) <= clock["error"]
    assert {name: _state(box) for name, box in boxes.boxes.items()} == before


def test_up_is_idempotent_and_down_puts_everything_back(
    boxes: Rig, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = {name: _state(box) for name, box in boxes.boxes.items()}
    words = [str(boxes.inventory), str(_topology_file(tmp_path))]
    said = []
    for _ in range(2):
        assert main(["boxes", "up", *words, "--json"]) == 0
        said.append(json.loads(capsys.readouterr().out)["changed"])
    assert said == [True, False]
    up = {name: _state(box) for name, box in boxes.boxes.items()}
    assert all(up[name] != before[name] for name in before)
    assert "to-b" in boxes.boxes["a"].run("ovs-vsctl", "list-ports", "kuijia")
    assert main(["boxes", "up", *words, "--capacity", "10", "--json"]) == 0
    assert "10Mbit" in boxes.boxes["a"].run("tc", "class", "show", "dev", "to-b")
    assert main(["boxes", "down", str(boxes.inventory)]) == 0
    assert {name: _state(box) for name, box in boxes.boxes.items()} == before


def test_boxes_that_are_up_are_used_and_left_up(boxes: Rig) -> None:
    target = _target(boxes.inventory)
    with Fleet(target.inventory) as fleet:
        fleet.connect()
        assert fleet.build(target, print)
    up = _state(boxes.boxes["a"])
    network = BoxNetwork(target, print)
    network.start()
    network.connect(6653)
    network.stop()
    assert _state(boxes.boxes["a"]) == up
    assert boxes.boxes["a"].run("ovs-vsctl", "get-controller", "kuijia") == ""
    with Fleet(target.inventory) as fleet:
        fleet.connect()
        fleet.put_back()


def test_two_cannot_change_the_same_boxes(boxes: Rig) -> None:
    target = _target(boxes.inventory)
    with Fleet(target.inventory) as first, Fleet(target.inventory) as second:
        for fleet in (first, second):
            fleet.connect()
        assert first.build(target, print)
        with pytest.raises(TestbedError, match="another kuijia is at work on it"):
            second.build(target, print)
        first.put_back()


def test_the_interface_that_ssh_comes_in_by_is_never_ours(boxes: Rig) -> None:
    hosts = [
        {"node": "a", "address": boxes.boxes["host-a"].address, "management": "to-switch", "interface": "mgmt0"},
    ]
    with Fleet(read_inventory(boxes.edit(hosts=hosts))) as fleet:
        fleet.connect()
        with pytest.raises(TestbedError, match="host a: mgmt0 is cabled in the inventory, and SSH comes in by it"):
            fleet.build(_target(boxes.edit(hosts=hosts)), print)
    assert boxes.boxes["host-a"].run("ip", "netns", "list") == ""


def test_a_host_key_that_is_not_known_is_refused(boxes: Rig) -> None:
    stranger = boxes.inventory.with_name("strangers")
    stranger.write_text("")
    ssh = {"user": "root", "key": "user", "known_hosts": "strangers"}
    with Fleet(read_inventory(boxes.edit(ssh=ssh))) as fleet:
        fleet.connect()
        assert set(fleet.unreached) == {"switch a", "switch b", "host a", "host b"}
        assert "Host key verification failed" in fleet.unreached["switch a"]


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
    before = {name: _state(box) for name, box in boxes.boxes.items() if name != "host-b"}
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
    left = {name: _state(box) for name, box in boxes.boxes.items() if name != "host-b"}
    # The cable of the dead box has died with it.
    del left["b"], before["b"]
    assert left == before


def _topology_file(folder: Path) -> Path:
    path = folder / "pair.yaml"
    path.write_text("nodes: [a, b]\nlinks: [{a: a, b: b, capacity: 20}]\n")
    assert load_topology(path).nodes == NETWORK.nodes
    return path

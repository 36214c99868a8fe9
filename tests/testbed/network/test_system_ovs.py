"""The option to use the machine's own Open vSwitch; daemons in a namespace of the test stand in for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from kuijia_app.tables.wiring import Wiring
from kuijia_base.commands import run_command
from kuijia_base.errors import InputError
from testbed.machine.network_namespace import private_network
from testbed.machine.ovs import Datapath, PrivateOvs
from testbed.machine.run_directory import RunDirectory, labs
from testbed.network.bridges import NetworkOptions
from testbed.network.leftovers import interfaces, remove_leftovers
from testbed.network.network import EmulatedNetwork
from tests.testbed.emulated import program_path, topology

pytestmark = pytest.mark.emulation

OPTIONS = NetworkOptions(system_ovs=True, datapath=Datapath.USERSPACE)
TOPOLOGY = topology([("a", "b")])


@pytest.fixture
def machine_ovs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateOvs]:
    """Run a machine's Open vSwitch with a bridge of the administrator's, with a port."""
    ovs = PrivateOvs(tmp_path / "openvswitch", Datapath.USERSPACE)
    for module in ("network", "leftovers"):
        monkeypatch.setattr(f"testbed.network.{module}.SYSTEM_DIRECTORY", ovs.directory)
    with private_network():
        ovs.start()
        run_command(["ip", "link", "add", "name", "uplink", "type", "veth", "peer", "name", "cable"])
        ovs.vsctl("add-br", "office", "--", "set", "Bridge", "office", "datapath_type=netdev")
        ovs.vsctl("add-port", "office", "uplink")
        yield ovs
        ovs.stop()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDirectory]:
    with RunDirectory.create(tmp_path / "run") as run:
        yield run


def test_the_lab_comes_and_goes_beside_what_was_there(machine_ovs: PrivateOvs, run: RunDirectory) -> None:
    before = interfaces()
    with EmulatedNetwork(TOPOLOGY, Wiring(TOPOLOGY), run, OPTIONS) as network:
        network.start()
        program_path(network, ["a", "b"], label=16)
        program_path(network, ["b", "a"], label=17)
        ping = ["ping", "-c", "1", "-W", "5", str(network.host("b").address)]
        assert network.host("a").run(ping).returncode == 0
        assert machine_ovs.vsctl("list-br").split() == ["office", "s1", "s2"]
    assert machine_ovs.vsctl("list-br").split() == ["office"]
    assert machine_ovs.vsctl("list-ports", "office").split() == ["uplink"]
    assert interfaces() == before


def test_a_bridge_of_the_same_name_is_left_to_its_owner(machine_ovs: PrivateOvs, run: RunDirectory) -> None:
    machine_ovs.vsctl("add-br", "s2", "--", "set", "Bridge", "s2", "datapath_type=netdev")
    before = interfaces()
    with pytest.raises(InputError, match=r"^testbed:s2: this name is taken"):
        EmulatedNetwork(TOPOLOGY, Wiring(TOPOLOGY), run, OPTIONS).start()
    assert machine_ovs.vsctl("list-br").split() == ["office", "s2"]
    assert interfaces() == before
    assert run.noted() == []


def test_what_a_killed_lab_left_on_the_machine_is_removed(
    machine_ovs: PrivateOvs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = interfaces()
    with patch.dict(os.environ):
        run = RunDirectory.create(tmp_path / "run")
        EmulatedNetwork(TOPOLOGY, Wiring(TOPOLOGY), run, OPTIONS).start()
    monkeypatch.setattr("testbed.machine.processes.ProcessIdentity.is_alive", lambda _: False)

    said: list[str] = []
    remove_leftovers(said.append, tmp_path / "run")

    assert machine_ovs.vsctl("list-br").split() == ["office"]
    assert interfaces() == before
    assert labs(tmp_path / "run") == []
    (report,) = said
    assert "bridge s1, bridge s2, interface s1-eth1" in report

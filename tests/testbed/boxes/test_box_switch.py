"""Objects in an Open vSwitch are removed by its running daemon, and a survey reports whether it runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kuijia_app.tables.wiring import Wiring
from kuijia_base.commands import run_command
from kuijia_base.errors import TestbedError
from testbed.boxes.box_switch import remove_bridge, remove_cables
from testbed.boxes.survey import survey
from testbed.crosscheck.dummy_switches import DummyNetwork
from testbed.machine.ovs import Ovs
from testbed.machine.processes import send_signal, wait_for_end
from tests.testbed.emulated import topology

pytestmark = pytest.mark.ovs

MARK = "kuijia-lab=boxes-61"


@pytest.fixture
def ovs(tmp_path: Path) -> Iterator[Ovs]:
    """Run an Open vSwitch with our bridge s1 and another's, s2, each with queues."""
    with DummyNetwork(Wiring(topology([("a", "b")])), tmp_path) as network:
        for bridge, mark in (("s1", MARK), ("s2", "theirs=1")):
            queues = ["--id=@q", "create", "QoS", "type=linux-noop", f"external_ids:{mark}"]
            port = ["set", "Port", f"{bridge}-eth1", "qos=@q"]
            network.ovs.vsctl("set", "Bridge", bridge, f"external_ids:{mark}", "--", *queues, "--", *port)
        yield network.ovs


def test_a_bridge_is_taken_away_by_its_mark(ovs: Ovs) -> None:
    assert "s1-eth1" in ovs.appctl("dpif/show")
    for _ in range(2):
        remove_cables(str(ovs.directory), "s1")
        remove_bridge(str(ovs.directory), "s1", MARK)
        remove_bridge(str(ovs.directory), "s2", MARK)
        assert _left(ovs) == (["s2"], ['{theirs="1"}'])
    assert "s1-eth1" not in ovs.appctl("dpif/show")  # done already, not only asked for


def test_a_bridge_stays_to_be_taken_away_when_its_daemon_is_dead(ovs: Ovs) -> None:
    assert "fault" not in survey([], [], str(ovs.directory))["switch"]
    _kill(ovs.switch_pid())
    assert "ovs-vswitchd has to be started first: " in survey([], [], str(ovs.directory))["switch"]["fault"]
    remove_cables(str(ovs.directory), "s1")  # there are none
    with pytest.raises(TestbedError, match="ovs-vswitchd has to be started first: "):
        remove_bridge(str(ovs.directory), "s1", MARK)
    assert _left(ovs)[0] == ["s1", "s2"]
    vsctl = ["ovs-vsctl", f"--db={ovs.database}", "--no-wait"]
    queues = run_command([*vsctl, "--bare", "--columns=_uuid", "find", "QoS", f"external_ids:{MARK}"]).strip()
    run_command([*vsctl, "del-br", "s1"])
    run_command([*vsctl, "destroy", "QoS", queues])
    remove_bridge(str(ovs.directory), "s1", MARK)


def _left(ovs: Ovs) -> tuple[list[str], list[str]]:
    """Return the bridges, and the marks of all queue settings."""
    vsctl = ["ovs-vsctl", f"--db={ovs.database}"]
    marks = run_command([*vsctl, "--format=list", "--no-headings", "--columns=external_ids", "list", "QoS"])
    return run_command([*vsctl, "list-br"]).split(), [line.rpartition(": ")[2] for line in marks.split("\n") if line]


def _kill(pid: int) -> None:
    handle = os.pidfd_open(pid)
    send_signal(handle, signal.SIGKILL)
    wait_for_end(handle, None)
    os.close(handle)

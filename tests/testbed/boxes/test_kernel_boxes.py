"""Boxes with a kernel datapath, in user-mode Linux if this machine has none: set up, measured and restored."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_app.tables.wiring import Wiring
from testbed.boxes.inventory import read_inventory
from testbed.boxes.network import BoxNetwork
from testbed.boxes.plans import Target
from testbed.machine.ovs import Datapath
from testbed.network.bridges import NetworkOptions
from tests.testbed.boxes.box_state import state_of
from tests.testbed.boxes.rig import needs_sshd, rig
from tests.testbed.emulated import topology

pytestmark = [pytest.mark.kernel, needs_sshd]

CAPACITY = 5.0


def test_boxes_that_forward_in_the_kernel_carry_what_they_should_and_are_put_back(tmp_path: Path) -> None:
    network = topology([("a", "b")]).with_capacity(CAPACITY)
    with rig(tmp_path, network, ["a"], datapath=Datapath.KERNEL) as boxes:
        before = {name: state_of(box) for name, box in boxes.boxes.items()}
        in_use = BoxNetwork(Target(read_inventory(boxes.inventory), Wiring(network), NetworkOptions()), print)
        in_use.start()
        try:
            assert "to-b" in boxes.boxes["a"].run("ovs-dpctl", "show")
            assert {(link.source, link.target) for link in in_use.calibrate(print)} == {("a", "b"), ("b", "a")}
        finally:
            in_use.stop()
        assert {name: state_of(box) for name, box in boxes.boxes.items()} == before

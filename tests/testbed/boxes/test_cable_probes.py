"""Frames that follow cables are received on interfaces that filter as network cards do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from kuijia_base.commands import run_command
from kuijia_base.errors import TestbedError
from testbed.boxes.box_actions import probe_cables
from testbed.machine.network_namespace import private_network

LIMIT = 10.0


def add_macvlan(name: str, cable: str) -> None:
    """Add a device on one end of a cable that, unlike veth, drops frames to groups that nobody has joined."""
    run_command(["ip", "link", "set", cable, "up"])
    try:
        run_command(["ip", "link", "add", "link", cable, "name", name, "type", "macvlan", "mode", "private"])
    except TestbedError as error:
        pytest.skip(f"the kernel has no macvlan: {error}")
    run_command(["ip", "link", "set", name, "up"])


@pytest.mark.emulation
@pytest.mark.beside
def test_frames_are_heard_where_groups_have_to_be_joined() -> None:
    with private_network():
        run_command(["ip", "link", "add", "name", "cable0", "type", "veth", "peer", "name", "cable1"])
        add_macvlan("near", "cable0")
        add_macvlan("far", "cable1")
        with ThreadPoolExecutor() as pool:  # threads of this namespace
            near = pool.submit(probe_cables, "box a", "token", ["near"], LIMIT)
            far = pool.submit(probe_cables, "box b", "token", ["far"], LIMIT)
            assert near.result() == {"near": [("box b", "far")]}
            assert far.result() == {"far": [("box a", "near")]}

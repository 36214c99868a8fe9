"""A survey describes any state of a box, and a check judges it in words."""

from __future__ import annotations

import pytest

from kuijia_base.commands import run_command
from testbed.boxes.check import box_faults
from testbed.boxes.inventory import HostBox, Login
from testbed.boxes.survey import survey
from testbed.machine.network_namespace import private_network


@pytest.mark.emulation
@pytest.mark.beside
def test_an_interface_without_an_ethernet_address_is_refused() -> None:
    box = HostBox("a", Login("192.0.2.11"), "eth0", "tun7")
    with private_network():
        run_command(["ip", "tuntap", "add", "dev", "tun7", "mode", "tun"])
        assert "tun7 has no Ethernet address" in box_faults(box, survey(["tun7"], ["tun7"], None), changed=None)

"""The machine of emulated switches, as sessions between switches use it."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.machine.commands import run_batch
from testbed.machine.ovs import Ovs
from testbed.network.machine_objects import interfaces


class ThisMachine:
    """The machine of all emulated switches (`testbed.network.bfd.SwitchMachine`)."""

    def __init__(self, ovs: Ovs) -> None:
        self.vsctl = ovs.vsctl
        self.appctl = ovs.appctl

    def make_links(self, commands: Sequence[list[str]]) -> None:
        run_batch("ip", commands)

    def delete_links(self, names: Sequence[str]) -> None:
        present = interfaces()
        run_batch("ip", [["link", "delete", name] for name in names if name in present])

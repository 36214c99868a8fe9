"""The Open vSwitch of a box and the devices beside it, used over SSH."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.boxes.inventory import SwitchBox
from testbed.boxes.ssh import SshConnection


class BoxSwitchMachine:
    """A switch's box, used by sessions as a `testbed.network.bfd.SwitchMachine`; everything raises BoxError."""

    def __init__(self, box: SwitchBox, connection: SshConnection) -> None:
        self.box = box
        self.connection = connection

    @property
    def management(self) -> str:
        """OpenFlow socket of the bridge."""
        return f"unix:{self.box.ovs_directory / f'{self.box.bridge}.mgmt'}"

    def vsctl(self, *arguments: str) -> str:
        return self._run("ovs-vsctl", f"--db=unix:{self.box.ovs_directory / 'db.sock'}", "--timeout=20", *arguments)

    def appctl(self, *arguments: str) -> str:
        return self._run("env", f"OVS_RUNDIR={self.box.ovs_directory}", "ovs-appctl", "--timeout=20", *arguments)

    def ofctl(self, command: str, *arguments: str, stdin: str | None = None) -> str:
        tool = ("ovs-ofctl", "-O", "OpenFlow13", "--timeout=20")
        return self._run(*tool, command, self.management, *arguments, stdin=stdin)

    def make_links(self, commands: Sequence[list[str]]) -> None:
        self.connection.call("batch", namespace=None, program="ip", commands=commands)

    def delete_links(self, names: Sequence[str]) -> None:
        self.connection.call("delete_links", names=names)

    def empty(self) -> None:
        """Remove the controller, BFD sessions, entries and groups."""
        self.vsctl("del-controller", self.box.bridge)
        self.connection.call("remove_cables", directory=str(self.box.ovs_directory), bridge=self.box.bridge)
        for command in ("del-flows", "del-groups"):
            self.ofctl(command)

    def _run(self, *argv: str, stdin: str | None = None) -> str:
        return str(self.connection.call("run", argv=argv, stdin=stdin))

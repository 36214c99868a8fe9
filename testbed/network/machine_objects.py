"""Bridges and interfaces of a lab in the machine's own namespace, if it uses the machine's Open vSwitch."""

from __future__ import annotations

import socket
from collections.abc import Container, Iterable, Sequence

from kuijia_base.commands import run_command
from kuijia_base.errors import InputError, TestbedError
from testbed.machine.ovs import SYSTEM_DIRECTORY, Datapath, Ovs
from testbed.machine.run_directory import MachineObject, RunDirectory, lock_labs
from testbed.network.bridges import LAB_KEY


def interfaces() -> set[str]:
    """Return the names of the network devices in the calling thread's namespace."""
    return {name for _, name in socket.if_nameindex()}


def require_free_names(objects: Iterable[MachineObject], taken: Container[str]) -> None:
    """Raise InputError if one of these names is taken."""
    for item in objects:
        if item.name in taken:
            raise InputError("testbed", item.name, "this name is taken in the network namespace", "a free one")


def claim_machine_objects(run: RunDirectory, ovs: Ovs, objects: Sequence[MachineObject]) -> None:
    """Note the objects in the run directory before their creation; raises InputError if a name is taken."""
    with lock_labs(run.path.parent):
        require_free_names(objects, interfaces() | set(ovs.vsctl("list-br").split()))
        run.note(objects)


def remove_machine_objects(
    objects: Iterable[MachineObject], lab_id: str, ovs: Ovs | None = None
) -> list[MachineObject]:
    """Remove the noted objects that exist; bridges only if they are marked with the lab's id.

    Returns:
        The removed objects.
    """
    noted = list(objects)
    if not noted:
        return []
    ovs = ovs or Ovs(SYSTEM_DIRECTORY, Datapath.USERSPACE)
    ours = set(ovs.vsctl("--bare", "--columns=name", "find", "Bridge", f"external_ids:{LAB_KEY}={lab_id}").split())
    removed = []
    for item in sorted(noted, key=lambda item: item.kind):  # bridges before the interfaces they hold
        if item.kind == "bridge" and item.name in ours:
            ovs.vsctl("del-br", item.name)
            removed.append(item)
        elif item.kind == "interface" and item.name in interfaces():
            _delete_interface(item.name)
            removed.append(item)
    return removed


def _delete_interface(name: str) -> None:
    try:
        run_command(["ip", "link", "delete", name])
    except TestbedError:
        if name in interfaces():  # else its other end has vanished meanwhile with a host's namespace
            raise

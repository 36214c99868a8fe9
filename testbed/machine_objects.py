"""Bridges and interfaces a lab has in the machine's own namespace, when it uses the machine's Open vSwitch."""

from __future__ import annotations

import socket
from collections.abc import Container, Iterable, Sequence

from te_solver.errors import InputError
from testbed.bridges import LAB_KEY
from testbed.commands import run_command
from testbed.errors import TestbedError
from testbed.ovs import SYSTEM_DIRECTORY, Datapath, Ovs
from testbed.run_directory import MachineObject, RunDirectory, lock_labs


def interfaces() -> set[str]:
    """Names of the network devices in the calling thread's namespace."""
    return {name for _, name in socket.if_nameindex()}


def require_free_names(objects: Iterable[MachineObject], taken: Container[str]) -> None:
    """Raise InputError when something of one of these names is there already."""
    for item in objects:
        if item.name in taken:
            raise InputError("testbed", item.name, "this name is taken in the network namespace", "a free one")


def claim_machine_objects(run: RunDirectory, ovs: Ovs, objects: Sequence[MachineObject]) -> None:
    """Note in the run directory what is about to be made; raises InputError when a name is taken."""
    with lock_labs(run.path.parent):
        require_free_names(objects, interfaces() | set(ovs.vsctl("list-br").split()))
        run.note(objects)


def remove_machine_objects(
    objects: Iterable[MachineObject], lab_id: str, ovs: Ovs | None = None
) -> list[MachineObject]:
    """Remove those of the noted objects that exist, bridges only if they are marked with the lab's id.

    Returns:
        What was removed.
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
        if name in interfaces():  # else its other end has gone in between, with the namespace of a host
            raise

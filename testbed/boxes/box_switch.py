"""Runs on a box: removes our objects from its Open vSwitch and the box; has no effect where there are none."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from kuijia_base.commands import run_batch, run_command
from kuijia_base.errors import TestbedError


def require_forwarder(directory: str) -> None:
    """Raise TestbedError if no `ovs-vswitchd` answers: changes to the database alone would have no effect."""
    try:
        run_command(["env", f"OVS_RUNDIR={directory}", "ovs-appctl", "--timeout=5", "version"])
    except TestbedError as error:
        raise TestbedError(f"ovs-vswitchd has to be started first: {error}") from error


def remove_bridge(directory: str, name: str, mark: str) -> None:
    """Remove the bridge and the queue settings with our mark from the Open vSwitch with its sockets in `directory`.

    Raises:
        TestbedError: no `ovs-vswitchd` answers. Removing a bridge from the database alone would leave its devices
            forever.
    """
    vsctl = _vsctl(directory)
    bridges = run_command([*vsctl, "--bare", "--columns=name", "find", "Bridge", f"external_ids:{mark}"]).split()
    queues = {
        table: run_command([*vsctl, "--bare", "--columns=_uuid", "find", table, f"external_ids:{mark}"]).split()
        for table in ("QoS", "Queue")  # a QoS refers to its queues
    }
    if name in bridges or any(queues.values()):
        require_forwarder(directory)
    if name in bridges:
        run_command([*vsctl, "del-br", name])
    # Nothing refers to them only after that.
    for table, rows in queues.items():
        if rows:
            run_command([*vsctl, "destroy", table, *rows])


def remove_cables(directory: str, bridge: str) -> None:
    """Remove the ports and the cables of BFD sessions (`testbed.network.bfd`); raises as `remove_bridge`."""
    vsctl = _vsctl(directory)
    ours = re.compile(re.escape(bridge) + r"-[bi]\d+")
    if bridge in run_command([*vsctl, "list-br"]).split():
        ports = [port for port in run_command([*vsctl, "list-ports", bridge]).split() if ours.fullmatch(port)]
        if ports:
            require_forwarder(directory)
        for port in ports:
            run_command([*vsctl, "del-port", bridge, port])
    delete_links([name for name in _virtual_cables() if ours.fullmatch(name)])


def delete_links(names: Sequence[str]) -> None:
    """Delete those of these virtual cables that exist; deleting one end deletes the other."""
    for name in names:
        if name in _virtual_cables():
            run_batch("ip", [["link", "delete", "dev", name]])


def _virtual_cables() -> list[str]:
    found = json.loads(run_command(["ip", "-json", "link", "show", "type", "veth"]))
    return [link["ifname"] for link in found if link]  # those of other types may be listed as empty


def _vsctl(directory: str) -> list[str]:
    return ["ovs-vsctl", f"--db=unix:{directory}/db.sock", "--timeout=20"]

"""Runs on a box: takes away what was made in its Open vSwitch and for it; without effect where there is nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from testbed.commands import run_batch, run_command
from testbed.errors import TestbedError


def require_forwarder(directory: str) -> None:
    """Raises TestbedError when no `ovs-vswitchd` answers, without which ovsdb is written to and nothing happens."""
    run_command(["env", f"OVS_RUNDIR={directory}", "ovs-appctl", "--timeout=5", "version"])


def remove_bridge(directory: str, name: str, mark: str) -> None:
    """Remove the bridge and the queue settings with our mark from the Open vSwitch with its sockets in `directory`."""
    vsctl = _vsctl(directory)
    if name in run_command([*vsctl, "--bare", "--columns=name", "find", "Bridge", f"external_ids:{mark}"]).split():
        run_command([*vsctl, "del-br", name])
    # Only then does nothing refer to them any more.
    for queues in run_command([*vsctl, "--bare", "--columns=_uuid", "find", "QoS", f"external_ids:{mark}"]).split():
        run_command([*vsctl, "destroy", "QoS", queues])


def remove_cables(directory: str, bridge: str) -> None:
    """Remove the ports and the cables of BFD sessions (`testbed.bfd`)."""
    vsctl = _vsctl(directory)
    ours = re.compile(re.escape(bridge) + r"-[bi]\d+")
    if bridge in run_command([*vsctl, "list-br"]).split():
        for port in run_command([*vsctl, "list-ports", bridge]).split():
            if ours.fullmatch(port):
                run_command([*vsctl, "del-port", bridge, port])
    delete_links([name for name in _virtual_cables() if ours.fullmatch(name)])


def delete_links(names: Sequence[str]) -> None:
    """Delete those of these virtual cables that there are; with one end of a cable goes the other."""
    for name in names:
        if name in _virtual_cables():
            run_batch("ip", [["link", "delete", "dev", name]])


def _virtual_cables() -> list[str]:
    found = json.loads(run_command(["ip", "-json", "link", "show", "type", "veth"]))
    return [link["ifname"] for link in found if link]  # those of other types may be listed as empty


def _vsctl(directory: str) -> list[str]:
    """Waits until the switch has done what is asked; one that has died does it when it is started again."""
    try:
        require_forwarder(directory)
    except TestbedError:
        waiting = ["--no-wait"]
    else:
        waiting = []
    return ["ovs-vsctl", f"--db=unix:{directory}/db.sock", "--timeout=20", *waiting]

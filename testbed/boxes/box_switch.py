"""Runs on a box: removes our objects and restores interfaces; has no effect where that was done before."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from kuijia_base.commands import run_batch, run_command
from kuijia_base.errors import TestbedError
from testbed.machine.network_namespace import NAMED


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


SETTINGS = Path("/proc/sys/net")
"""Settings of the calling thread's network namespace (proc(5))."""

_KINDS = ("ipv4/conf", "ipv4/neigh", "ipv6/conf", "ipv6/neigh")
_NOT_OURS = frozenset({"mtu", "stable_secret"})
"""The first follows the device's own MTU; the second cannot be set back to unset."""


def own_queues(interface: str) -> list[str]:
    """Return the kinds of queueing disciplines other than the defaults, including those for ingress."""
    found = json.loads(run_command(["tc", "-json", "qdisc", "show", "dev", interface]))
    return [
        each["kind"]
        for each in found
        if (each.get("root") and each["handle"] != "0:") or each["kind"] in ("ingress", "clsact")
    ]


def remove_queues(interface: str) -> None:
    """Restore the kernel's own queues of the interface."""
    if own_queues(interface):
        run_command(["tc", "qdisc", "delete", "dev", interface, "root"])


def settings_of(interface: str, settings: Path = SETTINGS) -> dict[str, str]:
    """Return the settings that the kernel forgets when an interface moves to another namespace; path to text."""
    found = {}
    for kind in _KINDS:
        folder = settings / kind / interface
        for file in sorted(folder.iterdir()) if folder.is_dir() else ():
            if file.stat().st_mode & 0o200 and file.name not in _NOT_OURS:
                found[f"{kind}/{interface}/{file.name}"] = file.read_text().strip()
    return found


def restore_settings(wanted: str, settings: Path = SETTINGS) -> None:
    """Restore settings, given as JSON; raises TestbedError naming those that cannot be set."""
    refused = []
    for name, text in json.loads(wanted).items():
        try:
            if (settings / name).read_text().strip() != text:
                (settings / name).write_text(text)
        except OSError as error:
            refused.append(f"{name} ({error.strerror})")
    if refused:
        raise TestbedError(f"settings are not as they were: {', '.join(refused)}")


def leave_namespace(namespace: str, interface: str) -> None:
    """Move an interface from a named network namespace to ours, and bring it up."""
    if interface in _links_in(namespace):
        run_command(["ip", "-n", namespace, "link", "set", "dev", interface, "netns", str(os.getpid())])
    run_command(["ip", "link", "set", "dev", interface, "up"])


def remove_namespace(namespace: str, interface: str) -> None:
    """Delete a named network namespace; raises TestbedError if the interface is still inside."""
    if interface in _links_in(namespace):
        raise TestbedError(f"network namespace {namespace} still has {interface}")
    if (NAMED / namespace).exists():
        run_command(["ip", "netns", "delete", namespace])


def _links_in(namespace: str) -> list[str]:
    if not os.path.ismount(NAMED / namespace):  # none exists, or `ip netns add` was killed midway
        return []
    return [link["ifname"] for link in json.loads(run_command(["ip", "-n", namespace, "-json", "link", "show"]))]

"""Runs on a box: collects the facts that a check or a plan of changes needs, without changing anything there."""

from __future__ import annotations

import json
import os
import platform
import re
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kuijia_base.commands import find_program, run_command
from kuijia_base.errors import TestbedError
from testbed.boxes.box_switch import own_queues, require_forwarder, settings_of
from testbed.machine.network_namespace import NAMED, private_network
from testbed.machine.processes import ancestors, boot_id

CONGESTION_CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
PROGRAMS = {
    "ip": "-V",
    "tc": "-V",
    "ethtool": "--version",
    "sysctl": "--version",
    "iperf3": "--version",
    "ovs-vsctl": "--version",
}
"""Program to the option that prints its version."""

OFFLOADS = {"gro": "generic-receive-offload", "lro": "large-receive-offload", "tso": "tcp-segmentation-offload"} | {
    "gso": "generic-segmentation-offload",
    "rx": "rx-checksumming",
    "tx": "tx-checksumming",
}
"""Names of features in `ethtool -K` to those in `ethtool -k`."""

_TLS_FILES = 3
"""Private key, certificate and CA certificates (ovs-vsctl(8), get-ssl)."""

_VERSION = re.compile(r"\d+(?:\.\d+)+")
_QUEUES = {
    "htb": "qdisc replace dev probe0 root handle 1: htb",
    "u32": "filter add dev probe0 protocol mpls_uc prio 1 u32 match u32 0x200 0xe00 at 0 flowid 1:1",
    "pfifo_head_drop": "qdisc replace dev probe0 root handle 2: pfifo_head_drop limit 10",
}
"""Components of a port's queues, and the command that tries each."""


def survey(interfaces: Sequence[str], moved: Sequence[str], ovs_directory: str | None) -> dict[str, Any]:
    """Return facts of the box, as JSON data.

    Args:
        interfaces: interfaces to examine; without `ip` and `tc`, none is.
        moved: those that lose their settings, as they will move to another network namespace.
        ovs_directory: directory of the Open vSwitch to query for its bridges, None for none.
    """
    facts: dict[str, Any] = {
        "time": time.time(),
        "name": platform.node(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "boot_id": boot_id(),
        "is_root": os.geteuid() == 0,
        "programs": {name: _version(name, option) for name, option in PROGRAMS.items()},
        "congestion_controls": CONGESTION_CONTROLS.read_text().split(),
        "reached_by": None,
        "queues": {},
        "interfaces": {},
        "devices": [],
        "namespaces": sorted(path.name for path in NAMED.iterdir()) if NAMED.is_dir() else [],
    }
    if facts["programs"]["ip"] and facts["programs"]["tc"]:
        links = json.loads(run_command(["ip", "-json", "-details", "address", "show"]))
        facts["reached_by"] = _interface_reached_by(links)
        facts["queues"] = _try_queues() if facts["is_root"] else {}
        facts["devices"] = [link["ifname"] for link in links]
        named = {link["ifname"]: link for link in links}
        facts["interfaces"] = {name: _interface(named[name], links) for name in interfaces if name in named}
        for name in set(moved) & set(named):
            facts["interfaces"][name]["settings"] = settings_of(name)
    if ovs_directory is not None and facts["programs"]["ovs-vsctl"]:
        facts["switch"] = _switch(Path(ovs_directory))
    return facts


def clock() -> float:
    return time.time()


def _interface(link: dict[str, Any], links: Sequence[dict[str, Any]]) -> dict[str, Any]:
    name = link["ifname"]
    ipv6 = Path("/proc/sys/net/ipv6/conf") / name / "disable_ipv6"
    return {
        "up": "UP" in link["flags"],
        "carrier": "LOWER_UP" in link["flags"],
        "promiscuous": "PROMISC" in link["flags"],
        "mtu": link["mtu"],
        "max_mtu": link.get("max_mtu", 0),  # 0: unknown
        "mac": link["address"] if link["link_type"] == "ether" else None,
        "gso_max_segs": link.get("gso_max_segs", 65535),
        "master": link.get("master"),
        # Addresses that the kernel assigns itself do not show that the interface is in use.
        "addresses": [each["local"] for each in link["addr_info"] if each["scope"] != "link"],
        # The other end of a virtual cable is reported in the same field as the device below a device.
        "carries": [
            each["ifname"]
            for each in links
            if each.get("link") == name and each.get("linkinfo", {}).get("info_kind") != "veth"
        ],
        "own_queues": own_queues(name),
        "ipv6": ipv6.exists() and ipv6.read_text().strip() == "0",
        "offloads": _offloads(name),
    }


def _offloads(name: str) -> list[str]:
    """Return the features that are on and can be switched off."""
    try:
        shown = run_command(["ethtool", "-k", name])
    except TestbedError:  # a device without any, or no ethtool
        return []
    states = dict(line.split(": ", 1) for line in shown.splitlines() if ": " in line)
    return [short for short, long in OFFLOADS.items() if states.get(long, "").strip() == "on"]


def _switch(directory: Path) -> dict[str, Any]:
    """Return an Open vSwitch's version, bridges with ports, and whether TLS is set up; else why it does not answer."""
    vsctl = ["ovs-vsctl", f"--db=unix:{directory / 'db.sock'}", "--timeout=5"]
    try:
        # Only Debian's start scripts set it; the tool belongs to the same package.
        told = _VERSION.search(run_command([*vsctl, "get", "Open_vSwitch", ".", "ovs_version"]))
        types = run_command([*vsctl, "get", "Open_vSwitch", ".", "datapath_types"])
        ports = {
            name: run_command([*vsctl, "list-ports", name]).split() for name in run_command([*vsctl, "list-br"]).split()
        }
        tls_files = re.findall(r": (/.*)$", run_command([*vsctl, "get-ssl"]), re.MULTILINE)
        require_forwarder(str(directory))  # all of the above comes from the database alone
    except TestbedError as error:
        return {"fault": str(error)}
    version = told[0] if told else _version("ovs-vsctl", "--version")
    return {
        "version": version,
        "datapaths": re.findall(r"\w+", types),
        "bridges": ports,
        "tls": len(tls_files) == _TLS_FILES and all(Path(file).is_file() for file in tls_files),
    }


def _version(name: str, option: str) -> str | None:
    if find_program(name) is None:
        return None
    try:
        found = _VERSION.search(run_command([name, option]))
    except TestbedError:  # installed, but it prints no version
        found = None
    return found[0] if found else "present"


def _interface_reached_by(links: Sequence[dict[str, Any]]) -> str | None:
    """Return the interface with the address of this SSH session, None if it is not in this namespace."""
    reached = _address_reached()
    for link in links:
        if any(each["local"] == reached for each in link["addr_info"]):
            return str(link["ifname"])
    return None


def _address_reached() -> str | None:
    """Return the third word of SSH_CONNECTION (ssh(1)), which `sudo` removes for us but not for our ancestors."""
    for pid in (os.getpid(), *ancestors(os.getpid())):
        try:
            entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except PermissionError:  # of another user, or a container
            continue
        for entry in entries:
            name, _, value = entry.partition(b"=")
            if name == b"SSH_CONNECTION":
                return value.split()[2].decode()
    return None


def _try_queues() -> dict[str, bool]:
    """Return which kinds work; trying one makes the kernel load its module if necessary."""
    result = {}
    with private_network():
        run_command(["ip", "link", "add", "name", "probe0", "type", "veth", "peer", "name", "probe1"])
        for kind, command in _QUEUES.items():
            try:
                run_command(["tc", *command.split()])
            except TestbedError:
                result[kind] = False
            else:
                result[kind] = True
    return result


def call_controller(host: str, port: int, word: str, seconds: float) -> str | None:
    """Return why a switch at the caller's place would not reach the listener with this word, see `stand_in`."""
    try:
        with socket.create_connection((host, port), timeout=seconds) as connection, connection.makefile("rb") as said:
            heard = said.read(len(word))
    except TimeoutError:
        return f"no answer within {seconds:g} s"
    except OSError as error:
        return error.strerror or str(error)
    if not heard:
        return "the connection is closed without an answer"
    return None if heard == word.encode() else "another program answers there"

"""The state of a box as its owner sees it, for comparison with a later state."""

from __future__ import annotations

import json

from tests.testbed.boxes.rig import TestBox

_STATE = (
    "ip netns list",
    "find /var/lib/kuijia -type f -not -name '*.lock'",
    "sysctl --ignore net.ipv4.conf net.ipv4.neigh net.ipv6.conf net.ipv6.neigh | sort",
    # A device that was never up has no queues; afterwards it has the kernel's own, of handle 0.
    "tc qdisc show | grep -v '^qdisc [^ ]* 0:'",
)
_SWITCH_STATE = (
    "ovs-vsctl --columns=name list Bridge",
    "ovs-vsctl list QoS",
    "ovs-vsctl --columns=name,ofport,mtu,mtu_request,external_ids list Interface",
)
_LINKS = "ip -json -details address show"
_LASTING = ("ifname", "link", "mtu", "flags", "address", "gso_max_segs", "promiscuity", "master")


def state_of(box: TestBox) -> dict[str, object]:
    """Return everything a box's owner could notice, except counters and ages."""
    links = sorted(json.loads(box.run(*_LINKS.split())), key=lambda link: str(link["ifname"]))
    offloads = [f"ethtool -k {link['ifname']}" for link in links]
    shown = [*_STATE, *(_SWITCH_STATE if box.is_switch else ()), *offloads]
    return {
        "links": [{key: link.get(key) for key in _LASTING} for link in links],
        "addresses": [[each["local"] for each in link["addr_info"] if each["scope"] != "link"] for link in links],
        "others": box.run("sh", "-c", "; ".join(shown)).splitlines(),
    }

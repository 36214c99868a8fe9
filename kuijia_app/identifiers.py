"""All numbers that switches are given, named in one place so that no two meanings can share one."""

from __future__ import annotations

from te_solver.plan import MAX_TUNNELS_PER_PAIR

COOKIE = 0x4B55494A49410000
"""Marks every flow entry of ours."""

DATA_PRIORITY = 100
CONTROL_PRIORITY = 200
TUNNEL_PRIORITY = 300

FIRST_BFD_PORT = 1000
LAST_PORT = 0xFEFF
"""Ports of links and hosts count from 1; Open vSwitch gives none beyond the last."""

_BFD_LABEL_BIT = 1 << 19

_SPLIT_BASE = 0x1000_0000
_CONTROL_BASE = 0x2000_0000
_LIVENESS_BASE = 0x3000_0000
_FAILOVER_BASE = 0x4000_0000


def split_group(egress_datapath_id: int) -> int:
    """The SELECT group of an ingress for the traffic to one egress."""
    return _SPLIT_BASE + egress_datapath_id


def control_group(egress_datapath_id: int) -> int:
    """The fast-failover group of an ingress for control traffic to one egress."""
    return _CONTROL_BASE + egress_datapath_id


def liveness_group(label: int) -> int:
    """The group of an ingress that is alive while the tunnel with this label is."""
    return _LIVENESS_BASE + label


def liveness_label(group_id: int) -> int | None:
    """The label of the tunnel whose liveness group this is, None for any other group."""
    return group_id - _LIVENESS_BASE if _LIVENESS_BASE <= group_id < _FAILOVER_BASE else None


def failover_group(primary_label: int, backup_position: int) -> int:
    """The fast-failover group of an ingress for one (primary, backup): `backup_position` within the pair's tunnels."""
    return _FAILOVER_BASE + primary_label * MAX_TUNNELS_PER_PAIR + backup_position


def bfd_label(path_id: int) -> int:
    """The MPLS label of the packets of a tunnel's BFD session: the upper half of the labels is theirs."""
    return _BFD_LABEL_BIT | path_id

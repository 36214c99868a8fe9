"""All numbers given to switches, defined in one place so that no two meanings can share one."""

from __future__ import annotations

from kuijia_app.tables.families import Family
from te_solver.model.plan import MAX_TUNNELS_PER_PAIR

COOKIE = 0x4B55_494A_4941_0000
"""Cookie of all flow entries of tables."""

COMMON_COOKIE, COMMON_COOKIE_MASK = 0x4B55_494A_0000_0000, 0xFFFF_FFFF_0000_0000
"""Bits that all our cookies share, whatever their entries are for."""

DROP_PRIORITY = 10
OTHER_PRIORITY = 50
DATA_PRIORITY = 100
CLASS_PRIORITY = 150
CONTROL_PRIORITY = 200
TUNNEL_PRIORITY = 300
BFD_PRIORITY = 400
MISS_PRIORITY = 0

NO_PRIORITY = 0xFFFF
"""Priority that no entry has."""

HOST_TABLE = 3
"""Table of an egress that finds the host of a packet which has left its tunnel."""

NEIGHBOUR_COOKIE = 0x4B55_494A_4E44_0000
"""Cookie of entries for hosts that the controller learns; they belong to no plan."""

UNKNOWN_PRIORITY = 20
"""Of packets of a host to nowhere: above `DROP_PRIORITY`, below all that leads somewhere."""

UNRESOLVED_PRIORITY = 25
HOST_PRIORITY = 30
TURNED_PRIORITY = 31
"""Of packets for a host which a port leaves again by which they came."""

LOCAL_PRIORITY = 35
MEASURED_PRIORITY, NEAR_PRIORITY = 230, 240
"""Of packets of a host that are measured or too long: above all that leads over links; and of those to sites nearby."""

GATEWAY_PRIORITY = 250

QUEUE_TABLE = 1
"""Table of the decomposed pipeline that selects the queue."""

DELIVERY_TABLE = 2
"""The same at the end of a tunnel, where the queue also decides the delivered header."""

CLASSIFIER_TABLE = 4
"""Table of an ingress that finds the class of a packet, if the layout has classifiers."""

_FIRST_CLASS_TABLE = 5

FIRST_CLASSIFIER_PRIORITY = 1000
"""Of the first classifier; each further one has the next lower priority."""

MAX_CLASSES = 8
"""Most classes of traffic; group ids have three bits for them."""

FIRST_BFD_PORT = 1000
LAST_PORT = 0xFEFF
"""Last port; those of links and hosts count from 1, and Open vSwitch assigns none beyond it."""

LAST_BFD_TUNNEL = 0xFFFF
"""Last path id of tunnels watched by BFD: group ids have 16 bits for it."""

LINK_PROBE_LABEL = 8
"""Label of frames that probe a link: of those that no plan uses and no standard has assigned (IANA, 0 to 15)."""

LINK_PROBE_COOKIE = 0x4B55_494A_4C50_0000
"""Cookie of entries that send probes to the controller; they belong to no plan."""

LINK_PROBE_PRIORITY = 0xF000

DROP_GROUP = 0x7000_0000
"""Group without buckets, which drops its packets."""

_BFD_LABEL_BIT = 1 << 19
_DEFAULT_LABEL_BASE = 0xE << 16
_OTHER_LABEL_BASE = 0xD << 16

_SPLIT_BASE = 0x1000_0000
_SPLIT_IPV6_BASE = 0x1100_0000
_CONTROL_BASE = 0x2000_0000
_LIVENESS_BASE = 0x3000_0000
_FAILOVER_BASE = 0x4000_0000
_CHAIN_BASE = 0x5000_0000
_CONTROL_CHAIN_BASE = 0x6000_0000
_LAST_RESORT_BASE = 0x7800_0000
_OWN_GROUPS = range(_SPLIT_BASE, 0x8000_0000)
_EGRESSES = 1 << 16
_CHAINED = 2 * MAX_TUNNELS_PER_PAIR


def class_table(class_index: int) -> int:
    """Return the table of an ingress for packets of one class, if the layout has classifiers."""
    return _FIRST_CLASS_TABLE + class_index


def is_of_classification(table_id: int) -> bool:
    """Return True for the table of classifiers and those of classes."""
    return CLASSIFIER_TABLE <= table_id < _FIRST_CLASS_TABLE + MAX_CLASSES


def is_own_group(group_id: int) -> bool:
    """Return True for an id in the range of our groups; groups with other ids are those of others."""
    return group_id in _OWN_GROUPS


def split_group(egress_number: int, class_index: int, family: Family = Family.IPV4) -> int:
    """Return the SELECT group of an ingress for the traffic of one class to one egress."""
    base = _SPLIT_BASE if family is Family.IPV4 else _SPLIT_IPV6_BASE
    return base + class_index * _EGRESSES + egress_number


def control_group(egress_number: int) -> int:
    """Return the fast-failover group of an ingress for control traffic to one egress."""
    return _CONTROL_BASE + egress_number


def liveness_group(path_id: int) -> int:
    """Return the group of an ingress that is alive while the tunnel with this path id is."""
    return _LIVENESS_BASE + path_id


def path_id_of_liveness_group(group_id: int) -> int | None:
    """Return the path id of the tunnel whose liveness group this is, None for any other group."""
    return group_id - _LIVENESS_BASE if _LIVENESS_BASE <= group_id < _FAILOVER_BASE else None


def failover_group(primary_path_id: int, backup_position: int, class_index: int) -> int:
    """Return the fast-failover group of an ingress for a class and (primary, position of the backup in the pair)."""
    return _FAILOVER_BASE + _slot_owner(primary_path_id, backup_position, class_index)


def chain_group(primary_path_id: int, backup_position: int, class_index: int, step: int) -> int:
    """Return the fast-failover group after `failover_group` at this step, where two must agree on a tunnel's liveness.

    Steps count from 1; path ids end at `LAST_BFD_TUNNEL`.
    """
    return _CHAIN_BASE + _slot_owner(primary_path_id, backup_position, class_index) * _CHAINED + step


def control_chain_group(egress_number: int, step: int) -> int:
    """Return the group after `control_group` at this step, likewise."""
    return _CONTROL_CHAIN_BASE + egress_number * _CHAINED + step


def last_resort_group(egress_number: int, class_index: int) -> int:
    """Return the fast-failover group of an ingress for a class's traffic to an egress while no tunnel is alive."""
    return _LAST_RESORT_BASE + class_index * _EGRESSES + egress_number


def control_last_resort_group(egress_number: int) -> int:
    """Return the same for control traffic."""
    return last_resort_group(egress_number, MAX_CLASSES)


def egress_of_last_resort(group_id: int) -> int | None:
    """Return the number of the egress of such a group, None for any other group."""
    is_one = _LAST_RESORT_BASE <= group_id < _LAST_RESORT_BASE + (MAX_CLASSES + 1) * _EGRESSES
    return group_id % _EGRESSES if is_one else None


def last_resort_groups(egress_number: int) -> tuple[int, ...]:
    """Return the ids that such groups may have at an ingress for one egress, those of control traffic last."""
    return tuple(last_resort_group(egress_number, index) for index in range(MAX_CLASSES + 1))


def bfd_label(path_id: int) -> int:
    """Return the MPLS label for packets of a tunnel's BFD session, in the upper half of the labels."""
    return _BFD_LABEL_BIT | path_id


def default_path_id(egress_number: int) -> int:
    """Return the path id, and MPLS label, of the default paths of all switches to an egress.

    These are 0xE0001 to 0xEFFFF, above the labels of BFD sessions and of all tunnels that a plan of any size counts to.
    """
    return _DEFAULT_LABEL_BASE | egress_number


def other_path_id(egress_number: int) -> int:
    """Return the path id, and MPLS label, of the paths to an egress that traffic without a planned pair takes."""
    return _OTHER_LABEL_BASE | egress_number


def _slot_owner(primary_path_id: int, backup_position: int, class_index: int) -> int:
    return (primary_path_id * MAX_TUNNELS_PER_PAIR + backup_position) * MAX_CLASSES + class_index

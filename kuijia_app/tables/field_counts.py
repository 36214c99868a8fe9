"""Memory of flow entries, counted as in the paper: 32 bits for each match field and each action."""

from __future__ import annotations

from collections.abc import Iterable

from kuijia_app.tables.rules import ANY_VLAN, FlowEntry, Match

BITS_PER_FIELD = 32

MATCH_FIELDS = (
    *("in_port", "ipv4_dst", "ip_dscp", "ip_ecn", "mpls_label", "mpls_tc", "vlan_vid", "vlan_pcp"),
    *("ipv6_dst", "mpls_bos", "ipv4_src", "ip_proto", "tcp_src", "tcp_dst", "udp_src", "udp_dst", "ipv6_src"),
)
"""Fields that count: the paper omits the EtherType, which OpenFlow requires with the others (1.3.5, 7.2.3.8)."""


def match_fields(match: Match) -> frozenset[str]:
    """Return the names of the fields of a match, without those that others only require."""
    names = (name for name in MATCH_FIELDS if getattr(match, name) is not None)
    return frozenset(names) - ({"vlan_vid"} if match.vlan_vid == ANY_VLAN else set())


def count_fields(entries: Iterable[FlowEntry], *, goto_counts: bool = True) -> int:
    """Return the match fields and actions of all entries, `BITS_PER_FIELD` bits each.

    A jump to a table is one more action if `goto_counts`: by this count the paper's figure 6(a) (Zhang et al., Kuijia,
    section 4.3) has 30, 6(b) 24 and 6(c) 14; without it 30, 22 and 12. Pushing a label with its traffic class is one
    action.
    """
    return sum(
        len(match_fields(entry.match))
        + len(entry.actions)
        + len(entry.written)
        + (goto_counts and entry.goto_table is not None)
        for entry in entries
    )

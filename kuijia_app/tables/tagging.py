"""Tags that carry a packet's tunnel and queue from switch to switch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from kuijia_app.tables.bfd import BfdSession
from kuijia_app.tables.families import Family
from kuijia_app.tables.identifiers import LAST_BFD_TUNNEL, default_path_id
from kuijia_app.tables.options import Liveness, PipelineOptions, Tagging
from kuijia_app.tables.queues import DSCP_NETWORK_CONTROL, Queue, QueueLayout
from kuijia_app.tables.rules import (
    ETH_TYPE_MPLS,
    ETH_TYPE_OF,
    IPV6_EXPLICIT_NULL,
    Action,
    Match,
    PopLabel,
    PopVlan,
    PushLabel,
    PushVlan,
    SetDscp,
    SetEcn,
)
from kuijia_app.tables.vlan_tags import VlanTags
from kuijia_app.tables.wiring import Entrance
from kuijia_base.errors import UnsoundError, quoted
from te_solver.model.plan import FIRST_PATH_ID, LAST_PATH_ID, Plan
from te_solver.model.topology import Topology

_FIRST_DSCP_TAG, LAST_DSCP_TAG = 1, 63
"""Six-bit code points of tunnels; 0 is left to packets of no tunnel."""


class Tags(Protocol):
    """Tags for tunnels, named by their labels (path ids, and those of BFD sessions), and for queues."""

    queue_field: str
    """Match field that contains the queue."""

    arriving: int | None
    """VLAN id that a match for packets of hosts needs, so that it takes none of ours; None if it needs none."""

    def name(self, family: Family) -> tuple[Action, ...]:
        """Return the actions of an ingress before `mark`, by which the egress knows the family of a packet.

        They come after the switch has hashed the packet's addresses and ports.
        """

    def mark(self, label: int, queue: Queue) -> tuple[Action, ...]:
        """Return the actions of an ingress before it sends a packet into a tunnel."""

    def told_apart(self, families: tuple[Family, ...], *, is_end: bool) -> tuple[Family | None, ...]:
        """Return the families, of those in use, that need entries of their own; (None,): one entry has them all."""

    def match(self, in_port: int, label: int, queue: Queue, family: Family | None = None) -> Match:
        """Return the match for packets of a tunnel and a queue at a switch after the ingress."""

    def unmark(self, queue: Queue, family: Family | None = None) -> tuple[Action, ...]:
        """Return the actions of an egress before it delivers such a packet."""

    def has(self, label: int) -> bool:
        """Return True if there is a tag for this label."""


class MplsTags:
    """An MPLS label with a traffic class (RFC 3032, RFC 5462); the packet under it stays as it is.

    No header says what is under a label, and a switch cannot look. Packets of IPv6 have a second label below that of
    their tunnel, IPv6 Explicit NULL. So the bottom-of-stack bit tells an egress which EtherType to write, and switches
    on the way, and groups, are the same for both.
    """

    queue_field = "mpls_tc"
    arriving: int | None = None

    def mark(self, label: int, queue: Queue) -> tuple[Action, ...]:
        return (PushLabel(label, queue.traffic_class),)

    def name(self, family: Family) -> tuple[Action, ...]:
        return (PushLabel(IPV6_EXPLICIT_NULL, 0),) if family is Family.IPV6 else ()

    def told_apart(self, families: tuple[Family, ...], *, is_end: bool) -> tuple[Family | None, ...]:
        return families if is_end and Family.IPV6 in families else (None,)

    def match(self, in_port: int, label: int, queue: Queue, family: Family | None = None) -> Match:
        bottom = None if family is None else int(family is Family.IPV4)
        traffic_class = queue.traffic_class
        return Match(in_port, ETH_TYPE_MPLS, mpls_label=label, mpls_tc=traffic_class, mpls_bos=bottom)

    def unmark(
        self,
        queue: Queue,  # noqa: ARG002  # the label is removed, whatever its class
        family: Family | None = None,
    ) -> tuple[Action, ...]:
        if family is Family.IPV6:
            return (PopLabel(ETH_TYPE_MPLS), PopLabel(ETH_TYPE_OF[family]))
        return (PopLabel(),)

    def has(self, label: int) -> bool:  # noqa: ARG002  # every label is its own tag
        return True


class DscpEcnTags:
    """The tunnel as code point and the queue as ECN bits of the IP header, as the paper did on Emulab (section 5.1).

    Hosts' values are lost: a delivered packet has the first code point of its queue's class, or 0. Path ids use code
    points from 1 up, BFD sessions from 63 down, so that each keeps its own while others come and go. Default paths use
    what these leave: from 63 down, or with sessions from 32 to both sides. An egress whose code point is taken gets
    none.
    """

    queue_field = "ip_ecn"
    arriving: int | None = None

    def __init__(
        self,
        layout: QueueLayout,
        path_ids: Iterable[int],
        sessions: Iterable[BfdSession],
        egresses: Iterable[int] = (),
    ) -> None:
        """Assign the tags; raises UnsoundError if there are too few code points or a queue has no ECN bits."""
        self._code_points = _delivered_code_points(layout)
        for queue in layout.queues:
            if queue.ecn is None:
                problem = f"queue layout {quoted(layout.name)} has no ECN bits for its queue {quoted(queue.name)}"
                raise UnsoundError((), problem, f"some for every queue with tagging {Tagging.DSCP_ECN.value}")
        self._tag_of = {session.label: LAST_DSCP_TAG - _place(session.path_id) for session in sessions}
        # Every path id and session has a fixed code point, as successive plans share the switches.
        has_sessions = bool(self._tag_of)
        last = FIRST_PATH_ID + (LAST_DSCP_TAG // 2 if has_sessions else LAST_DSCP_TAG) - 1
        for path_id in path_ids:
            if path_id > last:
                beside = " and BFD" if has_sessions else ""
                expected = f"{FIRST_PATH_ID} to {last} with tagging {Tagging.DSCP_ECN.value}{beside}"
                raise UnsoundError((), f"path id {path_id}", f"{expected}: a code point has 6 bits")
            self._tag_of[path_id] = _FIRST_DSCP_TAG + _place(path_id)
        taken = set(self._tag_of.values())
        for number in egresses:
            tag = _default_code_point(number, has_sessions=has_sessions)
            if tag not in taken and 1 <= tag <= LAST_DSCP_TAG:
                self._tag_of[default_path_id(number)] = tag

    def mark(self, label: int, queue: Queue) -> tuple[Action, ...]:
        return (SetDscp(self._tag_of[label]), SetEcn(_ecn(queue)))

    def name(self, family: Family) -> tuple[Action, ...]:  # noqa: ARG002  # the EtherType stays
        return ()

    def told_apart(
        self,
        families: tuple[Family, ...],
        *,
        is_end: bool,  # noqa: ARG002  # the same all along
    ) -> tuple[Family | None, ...]:
        return families

    def match(self, in_port: int, label: int, queue: Queue, family: Family | None = None) -> Match:
        eth_type = ETH_TYPE_OF[family or Family.IPV4]
        return Match(in_port=in_port, eth_type=eth_type, ip_dscp=self._tag_of[label], ip_ecn=_ecn(queue))

    def unmark(
        self,
        queue: Queue,
        family: Family | None = None,  # noqa: ARG002  # both have the same bits
    ) -> tuple[Action, ...]:
        return (SetDscp(self._code_points[queue]), SetEcn(0))

    def has(self, label: int) -> bool:
        return label in self._tag_of


def tags_of(
    options: PipelineOptions,
    topology: Topology,
    paths: Mapping[int, tuple[str, ...]],
    sessions: Iterable[BfdSession] = (),
    egresses: Iterable[int] = (),
) -> Tags:
    """Return the tags of tunnels, BFD sessions, and default paths to egresses by number, as far as tags suffice.

    Args:
        options: tagging and layout decide.
        topology: the network.
        paths: the switches of each tunnel, by path id.
        sessions: BFD sessions.
        egresses: numbers of the egresses.

    Raises:
        UnsoundError: there are too few tags for tunnels and sessions.
    """
    match options.tagging:
        case Tagging.MPLS:
            return MplsTags()
        case Tagging.DSCP_ECN:
            return DscpEcnTags(options.layout, paths, sessions, egresses)
        case Tagging.VLAN:
            return VlanTags(paths, sessions, egresses, len(topology.nodes))


def arriving_at(entrance: Entrance, tags: Tags) -> tuple[int | None, tuple[Action, ...]]:
    """Return the VLAN id that a match for packets of a site's hosts needs, and the actions that remove its tag.

    A site behind a trunk is one VLAN of its ports; its packets cross the network without that tag, but with one of
    their hosts'.
    """
    vlan = entrance.vlan
    if vlan is None and not entrance.is_tagged:
        vlan = tags.arriving
    return vlan, ((PopVlan(),) if vlan else ())


def paths_of(plans: Iterable[Plan]) -> dict[int, tuple[str, ...]]:
    """Return the switches of each tunnel of some plans, by path id."""
    return {tunnel.path_id: tunnel.nodes for plan in plans for tunnel in plan.tunnels}


def tunnel_of(mark: Iterable[Action]) -> int | None:
    """Return the path id of the tunnel that the first actions of a bucket mark packets for, None if they mark none.

    Path ids alone decide the tags of tunnels, so this needs no plan; but tunnels that share VLAN ids remain unknown.
    """
    for action in mark:
        if isinstance(action, PushVlan):
            return action.vid
        if isinstance(action, PushLabel):
            return action.label
        if isinstance(action, SetDscp):
            return FIRST_PATH_ID + action.dscp - _FIRST_DSCP_TAG
    return None


def last_path_id(liveness: Liveness) -> int:
    """Return the greatest path id that leaves the labels of BFD sessions free and fits into group ids."""
    return LAST_PATH_ID if liveness is Liveness.CONTROLLER else LAST_BFD_TUNNEL


def _place(path_id: int) -> int:
    return path_id - FIRST_PATH_ID


def _default_code_point(egress_number: int, *, has_sessions: bool) -> int:
    """Return the code point of default paths to an egress, whatever the plan."""
    if not has_sessions:
        return LAST_DSCP_TAG + 1 - egress_number
    middle, step = (LAST_DSCP_TAG + 1) // 2, egress_number // 2
    return middle + step if egress_number % 2 else middle - step


def _ecn(queue: Queue) -> int:
    assert queue.ecn is not None, "layouts without ECN bits are refused"
    return queue.ecn


def _delivered_code_points(layout: QueueLayout) -> dict[Queue, int]:
    """Return the delivered code point of every queue, including those that serve no class."""
    found = {**dict.fromkeys(layout.queues, 0), layout.control: DSCP_NETWORK_CONTROL}
    for each in reversed(layout.classes):
        code_point = each.code_points[0] if each.code_points else 0
        found[each.normal] = found[each.victim] = code_point
    return found

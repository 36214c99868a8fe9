"""VLAN tags for tunnels and queues (IEEE 802.1Q), for switches without MPLS, and the ids that tunnels share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import pairwise

from kuijia_app.tables.bfd import BfdSession
from kuijia_app.tables.families import Family
from kuijia_app.tables.identifiers import LINK_PROBE_LABEL, default_path_id, other_path_id
from kuijia_app.tables.queues import Queue
from kuijia_app.tables.rules import LAST_VLAN_ID, NO_VLAN, Action, Match, PopVlan, PushVlan
from kuijia_base.errors import UnsoundError
from te_solver.model.plan import FIRST_PATH_ID

LINK_PROBE_VLAN_ID = LINK_PROBE_LABEL
"""VLAN id of frames that probe a link: below those of tunnels."""

MOST_DESTINATIONS = 512
"""Most switches that have ids for default paths to them, and for traffic of no pair."""


class VlanTags:
    """The tunnel as VLAN id and the queue as priority code point; the packet under the tag stays as it is.

    The EtherType after the tag says which family of IP follows, so entries for both are the same.

    A tunnel's id is its path id while these suffice. Default paths have the last ids, then traffic of no pair, both by
    the number of their egress; BFD sessions count down from there. Tunnels and sessions without an id of their own, as
    there are more of them, get the first id that nothing on their links has, nor any tunnel with an end in common, as
    an ingress tells its tunnels apart by the id alone.
    """

    queue_field = "vlan_pcp"
    arriving: int | None = NO_VLAN

    def __init__(
        self, paths: Mapping[int, tuple[str, ...]], sessions: Iterable[BfdSession], egresses: Iterable[int], nodes: int
    ) -> None:
        """Assign the ids.

        Args:
            paths: the switches of each tunnel, by path id.
            sessions: BFD sessions.
            egresses: numbers of the switches that default paths lead to.
            nodes: number of switches.

        Raises:
            UnsoundError: there are too few ids for tunnels and sessions that meet.
        """
        destinations = min(nodes, MOST_DESTINATIONS)
        others_above = LAST_VLAN_ID - destinations
        self._last = others_above - destinations
        self._id_of: dict[int, int] = {}
        for number in range(1, destinations + 1):
            self._id_of[other_path_id(number)] = others_above + 1 - number
        for number in egresses:
            if number <= destinations:
                self._id_of[default_path_id(number)] = LAST_VLAN_ID + 1 - number
        watched = {session.label: session for session in sessions}
        # A session mirrors the id of its tunnel: the one in the middle would have the id of its own session.
        last_own = (FIRST_PATH_ID + self._last - 1) // 2 if watched else self._last
        own = {path_id: path_id for path_id in paths if path_id <= last_own}
        own |= {
            label: self._last + FIRST_PATH_ID - session.path_id
            for label, session in watched.items()
            if session.path_id <= last_own
        }
        self._id_of |= own
        ways = {**paths, **{label: session.nodes for label, session in watched.items()}}
        if len(own) < len(ways):
            self._share(ways, own)

    def _share(self, ways: Mapping[int, tuple[str, ...]], own: Mapping[int, int]) -> None:
        """Give an id to each label that has none of its own, the lowest label first."""
        taken: defaultdict[Hashable, int] = defaultdict(int)  # by place a bit for each id
        for label, vlan_id in own.items():
            for each in _places(ways[label]):
                taken[each] |= 1 << vlan_id
        for label in sorted(ways.keys() - own.keys()):
            places = list(_places(ways[label]))
            met = (1 << FIRST_PATH_ID) - 1
            for each in places:
                met |= taken[each]
            vlan_id = (~met & (met + 1)).bit_length() - 1
            if vlan_id > self._last:
                raise UnsoundError(
                    (),
                    f"no VLAN id is left for path {'-'.join(ways[label])}",
                    f"at most {self._last + 1 - FIRST_PATH_ID} tunnels and BFD sessions in all that share a link or an "
                    "end, or tagging mpls",
                )
            self._id_of[label] = vlan_id
            for each in places:
                taken[each] |= 1 << vlan_id

    def mark(self, label: int, queue: Queue) -> tuple[Action, ...]:
        return (PushVlan(self._id_of[label], queue.traffic_class),)

    def name(self, family: Family) -> tuple[Action, ...]:  # noqa: ARG002  # the EtherType stays
        return ()

    def told_apart(
        self,
        families: tuple[Family, ...],  # noqa: ARG002  # one entry has them all
        *,
        is_end: bool,  # noqa: ARG002  # the same all along
    ) -> tuple[Family | None, ...]:
        return (None,)

    def match(
        self,
        in_port: int,
        label: int,
        queue: Queue,
        family: Family | None = None,  # noqa: ARG002  # the tag is the same for both
    ) -> Match:
        return Match(in_port=in_port, vlan_vid=self._id_of[label], vlan_pcp=queue.traffic_class)

    def unmark(
        self,
        queue: Queue,  # noqa: ARG002  # the tag is removed, whatever its priority
        family: Family | None = None,  # noqa: ARG002  # and whatever is under it
    ) -> tuple[Action, ...]:
        return (PopVlan(),)

    def has(self, label: int) -> bool:
        return label in self._id_of


def _places(nodes: tuple[str, ...]) -> Iterator[Hashable]:
    """Yield where a tunnel, used both ways, must not meet another one with its id: at its links and its ends."""
    yield from map(frozenset, pairwise(nodes))
    yield nodes[0]
    yield nodes[-1]

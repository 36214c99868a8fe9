"""Fast-failover groups at an ingress: tunnels in order of preference; the first alive one is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from kuijia_app.tables import identifiers
from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.queues import Queue
from kuijia_app.tables.routes import Direction, Route
from kuijia_app.tables.rules import Action, Bucket, Group, GroupType, Output, SetQueue, ToGroup
from kuijia_app.tables.tagging import Tags
from kuijia_app.tables.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Choice:
    """A tunnel, and the queue to send through."""

    route: Route
    queue: Queue


class GroupIds(Protocol):
    """Ids of a chain of groups: its head's for step 0, then one more for each step."""

    def __call__(self, step: int) -> int: ...


class Failover(Protocol):
    """Method by which groups detect that a tunnel is alive."""

    def groups(self, choices: tuple[Choice, ...], group_id: GroupIds) -> Iterator[Group]:
        """Yield the group `group_id(0)`, which uses the first alive choice, after the groups it needs.

        Groups of earlier calls are reused where they fit.
        """


def liveness_group(path_id: int, first_port: int, *, alive: bool) -> Group:
    """Return the group watched by a tunnel's buckets: alive while the tunnel's first port is, dead when emptied."""
    if not alive:
        return emptied_liveness_group(path_id)
    buckets = (Bucket(actions=(), watch_port=first_port),)
    return Group(identifiers.liveness_group(path_id), GroupType.FAST_FAILOVER, buckets)


def emptied_liveness_group(path_id: int) -> Group:
    """Return the group watched by the buckets of a tunnel that is dead by something beyond its first link."""
    return Group(identifiers.liveness_group(path_id), GroupType.FAST_FAILOVER, ())


@dataclass
class _Sender:
    """Actions of one ingress that send over a tunnel."""

    ingress: str
    wiring: Wiring
    tags: Tags

    def first_port(self, route: Route) -> int:
        return self.wiring.port(self.ingress, route.next_hop)

    def send(self, choice: Choice) -> tuple[Action, ...]:
        mark = self.tags.mark(choice.route.path_id, choice.queue)
        return (*mark, SetQueue(choice.queue.queue_id), Output(self.first_port(choice.route)))


@dataclass
class WatchedGroups(_Sender):
    """Buckets that watch a liveness group per tunnel, which the controller empties."""

    _watched: set[int] = field(default_factory=set)

    def groups(self, choices: tuple[Choice, ...], group_id: GroupIds) -> Iterator[Group]:
        for route in (choice.route for choice in choices):
            if route.path_id not in self._watched:
                self._watched.add(route.path_id)
                yield liveness_group(route.path_id, self.first_port(route), alive=True)
        buckets = (
            Bucket(self.send(choice), watch_group=identifiers.liveness_group(choice.route.path_id))
            for choice in choices
        )
        yield Group(group_id(0), GroupType.FAST_FAILOVER, tuple(buckets))


@dataclass
class ChainedGroups(_Sender):
    """Two groups per choice: one watches the tunnel's first port, the other the port of its BFD session.

    A bucket that watches a port and a group is alive if either is. To require both takes two groups in a row: each
    falls through to the next choice when its port is dead.
    """

    sessions: BfdSessions
    _known: dict[tuple[Choice, ...], int] = field(default_factory=dict)

    def groups(self, choices: tuple[Choice, ...], group_id: GroupIds) -> Iterator[Group]:
        steps = range(len(choices))
        new = next((step for step in steps[1:] if choices[step:] in self._known), len(choices))
        for step in reversed(range(new)):
            choice, rest = choices[step], choices[step + 1 :]
            # Open vSwitch refuses a fast-failover bucket that watches nothing.
            otherwise = (Bucket((ToGroup(self._known[rest]),), watch_group=self._known[rest]),) if rest else ()
            session_port = self.sessions.over(choice.route.nodes).watched_port
            by_session = group_id(2 * step + 1)
            yield Group(
                by_session,
                GroupType.FAST_FAILOVER,
                (Bucket(self.send(choice), watch_port=session_port), *otherwise),
            )
            by_port = group_id(2 * step)
            yield Group(
                by_port,
                GroupType.FAST_FAILOVER,
                (Bucket((ToGroup(by_session),), watch_port=self.first_port(choice.route)), *otherwise),
            )
            self._known[choices[step:]] = by_port


def failover_at(direction: Direction, wiring: Wiring, tags: Tags, sessions: BfdSessions | None) -> Failover:
    """Return an ingress's kind of groups: chained with BFD sessions, else with one liveness group per tunnel."""
    if sessions is None:
        return WatchedGroups(direction.ingress, wiring, tags)
    return ChainedGroups(direction.ingress, wiring, tags, sessions)

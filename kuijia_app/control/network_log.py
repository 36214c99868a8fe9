"""Turns what happens to links, host ports, switches and tunnels into few lines for operators; pure.

A cut reaches the controller as two reports, perhaps milliseconds apart, and breaks many tunnels: its line waits until
the reports of both ends are in, and what changes together is said together. What changes again and again is said ever
more rarely, but what was said last holds once it has calmed down.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Generic, TypeVar

from kuijia_app.control.liveness import Edge, Port, Tunnel
from kuijia_app.gate.limits import Allowance
from kuijia_app.tables.stated_wiring import datapath_text
from kuijia_app.tables.wiring import Wiring

SETTLING = 0.2
"""Seconds for which a change is watched before it is said."""

PAUSE = 1.0
"""Seconds between two times when lines are said."""

ABSENT_AFTER = 10.0
"""Seconds after the start; then a planned switch that has not connected is named."""

MOST_NAMED = 4
"""Things of one kind that are named when more change at once; all others are counted."""

_BURST, _RATE = 8, 1 / 30
"""Changes of one thing that are said at once, and then a second."""

Key = TypeVar("Key", bound=Hashable)

Line = tuple[int, str]
"""Level of `logging`, and message."""

Named = tuple[str, str]
"""Name of something, and what follows if it has a line of its own."""

_INFO, _WARNING = logging.INFO, logging.WARNING

_BLINK = 2
"""Changes of something that has failed and come back."""


@dataclass
class _Change:
    """Changes of one thing that have not been said: when they began, and their number."""

    since: float
    count: int = 1


@dataclass(frozen=True)
class DueLine(Generic[Key]):
    """What is to be said now, with the number of changes of each.

    Attributes:
        failed: what has failed.
        back: what has come back.
        blinked: what has failed and come back, or the other way round, since something was said.
    """

    failed: Mapping[Key, int]
    back: Mapping[Key, int]
    blinked: Mapping[Key, int]


class Steady(Generic[Key]):
    """Things that fail and come back, and which of that is to be said."""

    def __init__(self, failed: Iterable[Key] = ()) -> None:
        """Begin with some that have failed, which is not said."""
        self._failed = set(failed)
        self._changes: dict[Key, _Change] = {}
        self._allowances: dict[Key, Allowance] = {}

    @property
    def failed(self) -> AbstractSet[Key]:
        """What has failed, said or not."""
        return self._failed

    def put(self, key: Key, now: float, *, failed: bool) -> None:
        """Take in the present state of one of them."""
        if failed == (key in self._failed):
            return
        (self._failed.add if failed else self._failed.discard)(key)
        change = self._changes.get(key)
        if change is None:
            self._changes[key] = _Change(now)
        else:
            change.count += 1

    def put_all(self, failed: AbstractSet[Key], now: float) -> None:
        """Take in the present states of all of them."""
        for key in self._failed ^ failed:
            self.put(key, now, failed=key in failed)

    def due(self, now: float) -> DueLine[Key]:
        """Return what is to be said now; it counts as said."""
        said = {
            key: change.count
            for key, change in self._changes.items()
            if now - change.since >= SETTLING and self._may_say(key, now)
        }
        for key in said:
            del self._changes[key]
        changed = {key: count for key, count in said.items() if count % 2}
        return DueLine(
            failed={key: count for key, count in changed.items() if key in self._failed},
            back={key: count for key, count in changed.items() if key not in self._failed},
            blinked={key: count for key, count in said.items() if not count % 2},
        )

    def _may_say(self, key: Key, now: float) -> bool:
        if key not in self._allowances:
            self._allowances[key] = Allowance(_RATE, _BURST, now)
        return self._allowances[key].take(now)


@dataclass(frozen=True)
class TunnelStates:
    """The tunnels that are dead now.

    Attributes:
        dead: these tunnels.
        failed_edges: links that count as down.
        route: returns the switches of a tunnel, none if it is not planned any more.
    """

    dead: frozenset[Tunnel] = frozenset()
    failed_edges: AbstractSet[Edge] = frozenset()
    route: Callable[[Tunnel], Sequence[str]] = lambda _: ()


class NetworkLog:
    """Lines about a network, by its wiring."""

    def __init__(self, wiring: Wiring, now: float) -> None:
        self._wiring = wiring
        self._hosts = {(site.switch, site.port): site.name for site in wiring.sites}
        self._down: set[Port] = set()
        self._links: Steady[Edge] = Steady()
        self._host_ports: Steady[Port] = Steady()
        self._switches: Steady[str] = Steady(wiring.topology.nodes)
        self._tunnels: Steady[Tunnel] = Steady()
        self._addresses: dict[str, str] = {}
        self._programmed: set[str] = set()
        self._newly_programmed: list[str] = []
        self._names_absent_at = now + ABSENT_AFTER
        self._has_named_absent = False
        self._next = now

    def port(self, switch: str, port: int, now: float, *, live: bool) -> None:
        """Take in the state of a port, as the switch reports it."""
        (self._down.discard if live else self._down.add)((switch, port))
        other = self._wiring.neighbour_at(switch, port)
        if other is not None:
            failed = not live or (other, self._wiring.port(other, switch)) in self._down
            self._links.put(frozenset((switch, other)), now, failed=failed)
        elif (switch, port) in self._hosts:
            self._host_ports.put((switch, port), now, failed=not live)

    def ports(self, switch: str, live: Mapping[int, bool], now: float) -> None:
        """Take in the states of all ports of a switch; those that it lacks are down."""
        for port in self._wiring.ports(switch):
            self.port(switch, port, now, live=live.get(port, False))

    def connected(self, switch: str, address: str, now: float) -> None:
        """Take in that a switch has connected from an address."""
        self._switches.put(switch, now, failed=False)
        self._addresses[switch] = address
        self._programmed.discard(switch)

    def disconnected(self, switch: str, now: float) -> None:
        """Take in that the connection of a switch has ended."""
        self._switches.put(switch, now, failed=True)

    def programmed(self, switch: str) -> None:
        """Take in that a switch has its tables; said once for each of its connections."""
        if switch not in self._programmed:
            self._programmed.add(switch)
            self._newly_programmed.append(switch)

    def lines(self, now: float, tunnels: Callable[[], TunnelStates] = TunnelStates) -> list[Line]:
        """Return the lines that are due; call this often, with a function that finds the dead tunnels."""
        if now < self._next:
            return []
        states = tunnels()
        self._tunnels.put_all(states.dead, now)
        found = [
            *self._of_switches(now),
            *self._of_links(now),
            *self._of_host_ports(now),
            *self._of_tunnels(now, states),
        ]
        self._next = now + (PAUSE if found else SETTLING / 2)
        return found

    def _of_switches(self, now: float) -> Iterator[Line]:
        due = self._switches.due(now)
        yield from _said(_WARNING, "switch {} has disconnected", "{} switches have disconnected", self._ids(due.failed))
        yield from _said(_WARNING, "switch {} has reconnected", "{} switches have reconnected", self._ids(due.blinked))
        yield from _said(_INFO, "switch {} has connected", "{} switches have connected", self._ids(due.back))
        if not self._has_named_absent and now >= self._names_absent_at:
            self._has_named_absent = True
            absent = [each for each in self._wiring.topology.nodes if each not in self._addresses]
            one = f"switch {{}} is planned, but has not connected {ABSENT_AFTER:g} s after the start"
            many = f"{{}} planned switches have not connected {ABSENT_AFTER:g} s after the start"
            yield from _said(_WARNING, one, many, self._ids(dict.fromkeys(absent, 1)))
        new, self._newly_programmed = self._newly_programmed, []
        yield from _said(_INFO, "switch {} is programmed", "{} switches are programmed", [(each, "") for each in new])

    def _ids(self, switches: Mapping[str, int]) -> list[Named]:
        """Return switches with their datapath ids and the addresses they have connected from."""
        named: list[Named] = []
        for switch, changes in switches.items():
            address = self._addresses.get(switch)
            place = "" if address is None else f" at {address}"
            named.append((f"{switch} ({datapath_text(self._wiring.datapath_id(switch))}{place})", _times(changes)))
        return named

    def _of_links(self, now: float) -> Iterator[Line]:
        due = self._links.due(now)
        down = [(link_name(edge), f"{self._ends(edge)}{_times(changes)}") for edge, changes in _by_name(due.failed)]
        blinked = [(link_name(edge), f"{self._ends(edge)}{_times(changes)}") for edge, changes in _by_name(due.blinked)]
        up = [(link_name(edge), _times(changes)) for edge, changes in _by_name(due.back)]
        yield from _said(_WARNING, "link {} is down", "{} links are down", down)
        yield from _said(_WARNING, "link {} went down and up", "{} links went down and up", blinked)
        yield from _said(_INFO, "link {} is up again", "{} links are up again", up)

    def _ends(self, edge: Edge) -> str:
        """Return the ports of a link, and which of them is up if one alone is down."""
        ends = [(a, self._wiring.port(a, b)) for a, b in permutations(sorted(edge))]
        is_down_at_one = len(self._down.intersection(ends)) == 1
        told = [
            f"port {port} of {switch}"
            + (", which is up" if is_down_at_one and (switch, port) not in self._down else "")
            for switch, port in ends
        ]
        return f" ({', '.join(told)})"

    def _of_host_ports(self, now: float) -> Iterator[Line]:
        due = self._host_ports.due(now)
        yield from _said(_WARNING, "host port {} is down", "{} host ports are down", self._of_hosts(due.failed))
        yield from _said(
            _WARNING, "host port {} went down and up", "{} host ports went down and up", self._of_hosts(due.blinked)
        )
        yield from _said(_INFO, "host port {} is up again", "{} host ports are up again", self._of_hosts(due.back))

    def _of_hosts(self, ports: Mapping[Port, int]) -> list[Named]:
        named: list[Named] = []
        for (switch, port), changes in sorted(ports.items()):
            host = self._hosts[switch, port]
            named.append((f"{port} of {switch}" + ("" if host == switch else f" ({host})"), _times(changes)))
        return named

    def _of_tunnels(self, now: float, states: TunnelStates) -> Iterator[Line]:
        due = self._tunnels.due(now)
        dead = [(name, self._cause(route, states)) for name, route in _both_ways(due.failed, states)]
        alive = [(name, "") for name, _ in _both_ways(due.back, states)]
        yield from _said(_WARNING, "tunnel {} is dead", "{} tunnels are dead", dead)
        yield from _said(_INFO, "tunnel {} is alive again", "{} tunnels are alive again", alive)

    def _cause(self, route: Sequence[str], states: TunnelStates) -> str:
        """Return the first link of a route that has failed, in words."""
        failed = [edge for edge in map(frozenset, pairwise(route)) if edge in states.failed_edges]
        if not failed:
            return ""
        return f": link {link_name(failed[0])} {'is' if failed[0] in self._links.failed else 'counts as'} down"


def _said(level: int, one: str, many: str, named: Sequence[Named]) -> Iterator[Line]:
    """Yield a line for each of a few, one line for many."""
    if len(named) <= MOST_NAMED:
        for name, detail in named:
            yield level, one.format(name) + detail
        return
    yield level, f"{many.format(len(named))}: {listed([name for name, _ in named])}"


def listed(names: Sequence[str]) -> str:
    """Return names in a row, the first of them if they are many."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def link_name(edge: Edge) -> str:
    """Return the name of the link between two switches."""
    return "-".join(sorted(edge))


def _times(changes: int) -> str:
    """Return the end of a line about something that has changed more often than the line says."""
    return f", after {changes} changes" if changes > _BLINK else ""


def _by_name(edges: Mapping[Edge, int]) -> list[tuple[Edge, int]]:
    return sorted(edges.items(), key=lambda each: link_name(each[0]))


def _both_ways(tunnels: Iterable[Tunnel], states: TunnelStates) -> list[tuple[str, Sequence[str]]]:
    """Return the names and routes of tunnels; the two directions over one path have one name."""
    found: dict[tuple[int, tuple[str, ...]], tuple[str, Sequence[str]]] = {}
    for ingress, path_id in sorted(tunnels):
        route = tuple(states.route((ingress, path_id))) or (ingress, "?")
        if (path_id, route[::-1]) in found:
            found[path_id, route[::-1]] = (f"{path_id} {'-'.join(route[::-1])} (both ways)", route[::-1])
        else:
            found[path_id, route] = (f"{path_id} {'-'.join(route)}", route)
    return list(found.values())

"""Cuts and heals links and whole switches of a lab, and waits until the controller has informed the ingresses."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from kuijia_app.control.liveness import LivenessChange, LivenessTracker
from kuijia_app.framework import event_log
from kuijia_base.errors import InputError, TestbedError
from te_solver.model.plan import Plan
from testbed.controllers.application_process import Event
from testbed.lab.state import LabParts
from testbed.network.lab_network import LabNetwork


@dataclass(frozen=True)
class LinkEvent:
    """A link that was taken down or brought up.

    Attributes:
        a, b: the switches at its ends.
        up: True if it was brought up.
        requested_at: Unix time in seconds, just before the first device was switched.
        delay: switch to the seconds from then until its port-status message arrived.
    """

    a: str
    b: str
    up: bool
    requested_at: float
    delay: dict[str, float]


@dataclass(frozen=True)
class NoticedLinkEvent(LinkEvent):
    """A link that was taken down or brought up, and the controller's reaction.

    Attributes:
        tunnels_told: number of tunnels whose ingress the controller had to inform, at either or both of their ends.
        reaction_seconds: time from the request until the last ingress acknowledged; None without a controller or if
            there was nothing to send.
    """

    tunnels_told: int
    reaction_seconds: float | None


@dataclass(frozen=True)
class NodeEvent:
    """A switch that was taken down or brought up: its links, one after the other, and the controller's reaction.

    Attributes:
        up: True if it was brought up.
        links: the links that were switched, each from the switch to a neighbour.
        requested_at: Unix time in seconds, just before the first link was switched.
        seconds: time from then until the last switch had reported the last port.
        tunnels_told, reaction_seconds: as in `NoticedLinkEvent`, for all links together.
    """

    node: str
    up: bool
    links: tuple[tuple[str, str], ...]
    requested_at: float
    seconds: float
    tunnels_told: int
    reaction_seconds: float | None


@dataclass(frozen=True)
class PlanUpdate:
    """Changes made by a new plan.

    Attributes:
        kept, added, removed: paths, as nodes; `kept` ones keep their path ids.
        reweighted: number of kept paths with a new weight.
        seconds: time from the request until the old plan was gone from every switch.
    """

    kept: tuple[tuple[str, ...], ...]
    added: tuple[tuple[str, ...], ...]
    removed: tuple[tuple[str, ...], ...]
    reweighted: int
    seconds: float

    @classmethod
    def between(cls, before: Plan, after: Plan, seconds: float) -> PlanUpdate:
        """Return the changes from one plan to another, which took so many seconds."""
        old = {tunnel.nodes: tunnel.weight for tunnel in before.tunnels}
        now = {tunnel.nodes: tunnel.weight for tunnel in after.tunnels}
        return cls(
            kept=tuple(path for path in now if path in old),
            added=tuple(path for path in now if path not in old),
            removed=tuple(path for path in old if path not in now),
            reweighted=sum(now[path] != old[path] for path in now if path in old),
            seconds=seconds,
        )


def fail_link(network: LabNetwork, a: str, b: str) -> LinkEvent:
    """Take both ends of the link down; return when both switches have reported their port down.

    Raises:
        InputError: there is no such link, or it is down already.
        TestbedError: an interface has vanished, or a switch does not report.
    """
    return _switch_link(network, a, b, up=False)


def heal_link(network: LabNetwork, a: str, b: str) -> LinkEvent:
    """Bring both ends of the link up; return when both switches have reported their port up.

    Raises:
        InputError: there is no such link, or it is up already.
        TestbedError: an interface or its queues have vanished, or a switch does not report.
    """
    event = _switch_link(network, a, b, up=True)
    for switch, other in ((a, b), (b, a)):
        network.queue_counters(switch, network.wiring.port(switch, other))
    return event


def _switch_link(network: LabNetwork, a: str, b: str, *, up: bool) -> LinkEvent:
    _require_link(network, a, b)
    if network.is_up(a, b) == up:
        state, other_state = ("up", "down") if up else ("down", "up")
        raise InputError("testbed", f"link {a}-{b}", f"the link is {state} already", f"one that is {other_state}")
    return LinkEvent(a, b, up, *network.switch_link(a, b, up=up))


def _require_link(network: LabNetwork, a: str, b: str) -> None:
    for node in (a, b):
        if node not in network.topology.nodes:
            raise InputError("testbed", node, "there is no such node", f"one of {', '.join(network.topology.nodes)}")
    if b not in network.topology.neighbours[a]:
        others = ", ".join(network.topology.neighbours[a])
        raise InputError("testbed", f"link {a}-{b}", "there is no such link", f"one from {a} to {others}")


REACTION_TIMEOUT = 15.0
"""Seconds the controller may take to inform the ingresses of a failure; it takes milliseconds unless it hangs."""

Link = tuple[str, str]


class Cuts:
    """The links and switches of a running lab that were cut; one thread at a time may cut and heal.

    `switched` grows by one when a link begins to be switched, and when it has been.
    """

    def __init__(self, lab: LabParts) -> None:
        self._lab = lab
        self._tracker = LivenessTracker(lab.plan, lab.wiring)
        self._cut_by_node: dict[str, list[Link]] = {}
        self.switched = 0

    @property
    def nodes_down(self) -> tuple[str, ...]:
        return tuple(self._cut_by_node)

    def follow(self, plan: Plan) -> None:
        """Expect messages about the tunnels of this plan from now on."""
        self._tracker.follow([plan])

    def switch_link(self, a: str, b: str, *, up: bool) -> NoticedLinkEvent:
        """Cut or heal one link; raises as `Lab.fail` and `Lab.heal`."""
        for node in (a, b):
            if up and node in self._cut_by_node:
                raise InputError("testbed", f"link {a}-{b}", f"node {node} is down", f"to heal {node} first")
        known = self._known_events()
        event = self._switch(a, b, up=up)
        told, reaction = self._wait_for_reaction([(a, b)], known, event.requested_at, up=up)
        return NoticedLinkEvent(**vars(event), tunnels_told=told, reaction_seconds=reaction)

    def fail_node(self, node: str) -> NodeEvent:
        self._require_node(node)
        if node in self._cut_by_node:
            raise InputError("testbed", f"node {node}", "the node is down already", "one that is up")
        neighbours = self._lab.plan.topology.neighbours[node]
        links = [(node, other) for other in neighbours if self._lab.network.is_up(node, other)]
        self._cut_by_node[node] = links
        return self._switch_node(node, links, up=False)

    def heal_node(self, node: str) -> NodeEvent:
        self._require_node(node)
        if node not in self._cut_by_node:
            raise InputError("testbed", f"node {node}", "the node is up", "one that was failed")
        cut = self._cut_by_node.pop(node)
        for link in cut:
            if link[1] in self._cut_by_node:
                self._cut_by_node[link[1]].append(link[::-1])
        return self._switch_node(node, [link for link in cut if link[1] not in self._cut_by_node], up=True)

    def _require_node(self, node: str) -> None:
        nodes = self._lab.plan.topology.nodes
        if node not in nodes:
            raise InputError("testbed", node, "there is no such node", f"one of {', '.join(nodes)}")

    def _switch_node(self, node: str, links: Sequence[Link], *, up: bool) -> NodeEvent:
        known = self._known_events()
        requested_at, started = time.time(), time.monotonic()
        for link in links:
            if self._lab.network.is_up(*link) != up:
                self._switch(*link, up=up)
        seconds = time.monotonic() - started
        told, reaction = self._wait_for_reaction(links, known, requested_at, up=up)
        return NodeEvent(node, up, tuple(links), requested_at, seconds, told, reaction)

    def _switch(self, a: str, b: str, *, up: bool) -> LinkEvent:
        self.switched += 1
        try:
            return (heal_link if up else fail_link)(self._lab.network, a, b)
        finally:
            self.switched += 1

    def _known_events(self) -> int:
        return len(self._lab.controller.events())

    def _wait_for_reaction(
        self, links: Sequence[Link], known: int, requested_at: float, *, up: bool
    ) -> tuple[int, float | None]:
        """Wait until the ingresses know; return the number of tunnels that the controller reported, and the seconds."""
        if self._lab.options.liveness == "bfd":
            for link in links:
                self._wait_for_sessions(*link, up=up)
            return 0, None
        port = self._lab.wiring.port
        changes = [
            change
            for a, b in links
            for switch, other in ((a, b), (b, a))
            for change in self._tracker.port_changed(switch, port(switch, other), live=up)
        ]
        controller = self._lab.controller
        if not changes or not controller.is_alive:
            return 0, None
        acknowledged: dict[LivenessChange, float] = {}

        def all_told(events: list[Event]) -> bool:
            acknowledged.update(_acknowledgements(events[known:]))
            return acknowledged.keys() >= set(changes)

        if not controller.wait_for(all_told, REACTION_TIMEOUT):
            named = ", ".join(f"{a}-{b}" for a, b in links)
            raise TestbedError(f"the controller did not inform every ingress of link {named} in {REACTION_TIMEOUT:g} s")
        last = max(acknowledged[change] for change in changes)
        return len({change.path_id for change in changes}), last - requested_at

    def _wait_for_sessions(self, a: str, b: str, *, up: bool) -> None:
        """Wait until the BFD sessions over a link are down, or up unless another of their links is down."""
        over = [session for session in self._lab.sessions if (a, b) in session.hops or (b, a) in session.hops]
        if up:
            over = [session for session in over if all(self._lab.network.is_up(*hop) for hop in session.hops)]
        self._lab.network.bfd.wait_until(over, up=up)


def _acknowledgements(events: list[Event]) -> list[tuple[LivenessChange, float]]:
    return [
        (LivenessChange(event["ingress"], event["path_id"], alive=event["alive"]), event["time"])
        for event in events
        if event["event"] == event_log.TUNNEL_LIVENESS
    ]

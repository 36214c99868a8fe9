"""Lines for operators: one for each thing that fails, with names, and few when much fails at once or often."""

from __future__ import annotations

import logging
from itertools import permutations

import pytest

from kuijia_app.control.liveness import Edge, LivenessTracker
from kuijia_app.control.network_log import NetworkLog, TunnelStates
from kuijia_app.tables.wiring import Wiring
from te_solver.model.topology import Link, Topology
from tests.kuijia_app.plans import motivation_plan

ABSENT_AFTER, MOST_NAMED, PAUSE, SETTLING = 10.0, 4, 1.0, 0.2

PLAN = motivation_plan()
WIRING = Wiring(PLAN.topology)
SWITCHES = PLAN.topology.nodes
S1, S2 = SWITCHES[0], PLAN.topology.neighbours[SWITCHES[0]][0]
LINK: Edge = frozenset((S1, S2))
NAME = "-".join(sorted(LINK))
OUT, BACK = WIRING.port(S1, S2), WIRING.port(S2, S1)


class Operator:
    """Reads what is logged while time passes, in steps of the controller's ticks."""

    def __init__(self, log: NetworkLog) -> None:
        self.log = log
        self.now = 0.0
        self.states = TunnelStates()

    def hears(self, seconds: float) -> list[tuple[int, str]]:
        end, found = self.now + seconds, []
        while self.now < end:
            self.now += 0.05
            found += self.log.lines(self.now, lambda: self.states)
        return found

    def port(self, switch: str, port: int, *, live: bool) -> None:
        self.log.port(switch, port, self.now, live=live)


@pytest.fixture
def operator() -> Operator:
    made = Operator(NetworkLog(WIRING, 0.0))
    for switch in SWITCHES:
        made.log.connected(switch, "10.0.0.7", 0.0)
    made.hears(1.0)
    return made


def test_a_cut_is_one_line_with_both_ports_though_two_switches_report_it(operator: Operator) -> None:
    operator.port(S1, OUT, live=False)
    assert operator.hears(SETTLING / 2) == []
    operator.port(S2, BACK, live=False)
    ends = sorted([(S1, OUT), (S2, BACK)])
    expected = ", ".join(f"port {port} of {switch}" for switch, port in ends)
    assert operator.hears(5.0) == [(logging.WARNING, f"link {NAME} is down ({expected})")]


def test_a_link_that_only_one_end_sees_down_says_which_end_is_up(operator: Operator) -> None:
    operator.port(S1, OUT, live=False)
    ((_, line),) = operator.hears(5.0)
    assert f"port {BACK} of {S2}, which is up" in line
    assert f"port {OUT} of {S1}, which is up" not in line


def test_a_link_is_up_again_when_both_ends_are(operator: Operator) -> None:
    for switch, port in ((S1, OUT), (S2, BACK)):
        operator.port(switch, port, live=False)
    operator.hears(5.0)
    operator.port(S1, OUT, live=True)
    assert operator.hears(5.0) == []
    operator.port(S2, BACK, live=True)
    assert operator.hears(5.0) == [(logging.INFO, f"link {NAME} is up again")]


def test_a_link_that_is_down_for_a_moment_is_said_too(operator: Operator) -> None:
    operator.port(S1, OUT, live=False)
    operator.port(S1, OUT, live=True)
    ((level, line),) = operator.hears(5.0)
    assert level == logging.WARNING
    assert line.startswith(f"link {NAME} went down and up (")


def test_a_port_that_flaps_for_an_hour_fills_no_log_and_its_last_state_is_said(operator: Operator) -> None:
    lines: list[tuple[int, str]] = []
    for number in range(3600):
        operator.port(S1, OUT, live=bool(number % 2))
        lines += operator.hears(1.0)
    assert 8 <= len(lines) < 150
    operator.port(S1, OUT, live=False)
    operator.hears(60.0)
    operator.port(S1, OUT, live=True)
    (*_, (_, last)) = operator.hears(60.0)
    assert last.startswith(f"link {NAME} is up again")


def test_a_host_port_is_named_with_its_host() -> None:
    operator = Operator(NetworkLog(WIRING, 0.0))
    operator.port(S1, WIRING.host_port(S1), live=False)
    assert operator.hears(2.0) == [(logging.WARNING, f"host port {WIRING.host_port(S1)} of {S1} is down")]


def test_many_links_that_fail_at_once_are_one_line() -> None:
    nodes = tuple(f"n{number}" for number in range(12))
    links = [
        Link(a, b, 10.0)
        for one, other in zip(nodes, (*nodes[1:], nodes[0]), strict=True)
        for a, b in permutations((one, other))
    ]
    ring = Topology("ring", nodes, tuple(links))
    operator = Operator(NetworkLog(Wiring(ring), 0.0))
    operator.hears(1.0)
    for switch in nodes:
        operator.log.ports(switch, {}, operator.now)
    lines = [line for _, line in operator.hears(5.0)]
    assert [line for line in lines if "link" in line] == [
        f"12 links are down: {', '.join(sorted('-'.join(sorted(e)) for e in ring.edges)[:MOST_NAMED])} and 8 more"
    ]
    assert len(lines) == 2  # and one for all host ports
    assert operator.now - 6.0 < PAUSE


def test_a_dead_tunnel_is_named_with_its_switches_and_the_link_that_broke_it(operator: Operator) -> None:
    tracker = LivenessTracker(PLAN, WIRING)
    tunnel = PLAN.pairs[0].tunnels[0]
    a, b = tunnel.nodes[-2:]
    port, back = WIRING.port(a, b), WIRING.port(b, a)
    for switch, number in ((a, port), (b, back)):
        operator.port(switch, number, live=False)
        tracker.port_changed(switch, number, live=False)
    operator.states = TunnelStates(tracker.broken, tracker.failed_edges, tracker.route)
    lines = [line for _, line in operator.hears(5.0)]
    route = "-".join(tunnel.nodes)
    link = "-".join(sorted((a, b)))
    assert f"tunnel {tunnel.path_id} {route} (both ways) is dead: link {link} is down" in lines
    operator.states = TunnelStates(route=tracker.route)
    assert (logging.INFO, f"tunnel {tunnel.path_id} {route} (both ways) is alive again") in operator.hears(5.0)


def test_many_dead_tunnels_are_one_line(operator: Operator) -> None:
    dead = frozenset((S1, path_id) for path_id in range(16, 116))
    operator.states = TunnelStates(dead, route=lambda _: (S1, S2))
    ((_, line),) = operator.hears(5.0)
    assert line == f"100 tunnels are dead: {', '.join(f'{n} {S1}-{S2}' for n in range(16, 20))} and 96 more"


def test_a_planned_switch_that_does_not_connect_is_named_once_and_when_it_comes() -> None:
    operator = Operator(NetworkLog(WIRING, 0.0))
    for switch in SWITCHES[1:]:
        operator.log.connected(switch, "10.0.0.7", 0.0)
    assert all(S1 not in line for _, line in operator.hears(ABSENT_AFTER - 1))
    expected = f"switch {S1} (0000000000000001) is planned, but has not connected {ABSENT_AFTER:g} s after the start"
    assert operator.hears(600.0) == [(logging.WARNING, expected)]
    operator.log.connected(S1, "10.0.0.8", operator.now)
    assert operator.hears(60.0) == [(logging.INFO, f"switch {S1} (0000000000000001 at 10.0.0.8) has connected")]


def test_a_switch_that_goes_is_not_taken_for_one_that_never_came(operator: Operator) -> None:
    operator.log.disconnected(S1, operator.now)
    gone = f"switch {S1} (0000000000000001 at 10.0.0.7) has disconnected"
    assert operator.hears(600.0) == [(logging.WARNING, gone)]


def test_a_switch_is_said_to_be_programmed_once_for_each_connection(operator: Operator) -> None:
    for _ in range(5):
        operator.log.programmed(S1)
    operator.log.programmed(S2)
    expected = [(logging.INFO, f"switch {switch} is programmed") for switch in (S1, S2)]
    assert operator.hears(2.0) == expected
    operator.log.programmed(S1)
    assert operator.hears(2.0) == []
    operator.log.connected(S1, "10.0.0.7", operator.now)
    operator.log.programmed(S1)
    assert operator.hears(2.0) == expected[:1]


def test_eight_changes_of_one_thing_are_said_and_then_one_in_half_a_minute(operator: Operator) -> None:
    said = 0
    for number in range(200):  # each change lasts, so that it could be said
        operator.port(S1, OUT, live=bool(number % 2))
        said += len(operator.hears(3.0))
        if number == 7:
            assert said == 8
    assert said == 8 + 20  # 600 s


@pytest.mark.parametrize(("changes", "words"), [(2, ""), (4, ", after 4 changes")])
def test_how_often_a_link_changed_is_said_if_it_was_more_than_down_and_up(
    operator: Operator, changes: int, words: str
) -> None:
    for number in range(changes):
        operator.port(S1, OUT, live=bool(number % 2))
    ((_, line),) = operator.hears(5.0)
    assert line.startswith(f"link {NAME} went down and up (")
    assert line.endswith(f"){words}")

"""Probes tell links that carry full frames from those that do not, and blame no link for what a switch has not done."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kuijia_app.control.findings import FindingKind
from kuijia_app.control.link_probes import LinkProbes, LinkVerdict, ProbedLink, Token

CALM, FIRST_HOLD, INTERVAL, LARGE_LOST_AT_FIRST, LOST_IN_ROW, PATIENCE = 120.0, 1.0, 1.5, 2, 4, 0.4
SMALLEST = 96

THERE = ProbedLink(("paris", 3), ("london", 11), 1504)
BACK = ProbedLink(("london", 11), ("paris", 3), 1504)
TICK = 0.05
Fate = Callable[[ProbedLink, int], tuple[str, int] | None]
"""Where a probe of a size arrives, None for nowhere."""


def arrives(link: ProbedLink, _size: int) -> tuple[str, int] | None:
    return link.target


def is_lost(_link: ProbedLink, _size: int) -> tuple[str, int] | None:
    return None


def lost_if_large(link: ProbedLink, size: int) -> tuple[str, int] | None:
    return link.target if size == SMALLEST else None


class Network:
    """Two switches that answer at once, and links that do with a probe what `fate` says."""

    def __init__(self) -> None:
        self.now = 0.0
        self.probes = LinkProbes([THERE, BACK], self.now)
        self.fate: Fate = arrives
        self.silent: set[str] = set()
        self.down: set[ProbedLink] = set()
        self.sizes: list[int] = []
        self.caught: list[str] = []
        for switch in ("paris", "london"):
            self.probes.connected(switch)

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end - TICK / 2:
            self.now += TICK
            self._tick()

    def _tick(self) -> None:
        step = self.probes.step(self.now, lambda link: link not in self.down)
        for switch in step.catch:
            self.caught.append(switch)
            self.probes.catches(switch)
        for switch, sendings in step.send.items():
            if switch in self.silent:
                continue
            link = THERE if switch == "paris" else BACK
            for each in sendings:
                self.sizes.append(each.size)
                at = self.fate(link, each.size)
                if at is not None and at[0] not in self.silent:
                    self.probes.arrived(link.source, at, each.number, each.size, self.now)
            self.probes.sent(step.sent[switch], self.now)
        for switch, tokens in step.ask.items():
            if switch not in self.silent:
                self.probes.answered(tokens, self.now)

    def kinds(self) -> set[tuple[str, FindingKind]]:
        return {(switch, each.key.kind) for switch in ("paris", "london") for each in self.probes.findings(switch)}


@pytest.fixture
def network() -> Network:
    return Network()


def test_a_link_that_carries_full_frames_is_good_and_probed_with_few_of_them(network: Network) -> None:
    network.run(0.1)
    assert {network.probes.verdict(link) for link in (THERE, BACK)} == {LinkVerdict.GOOD}
    network.sizes.clear()
    network.run(10 * INTERVAL)
    assert set(network.sizes) == {1504}
    assert 18 <= len(network.sizes) <= 22
    assert sorted(network.caught) == ["london", "paris"]
    assert network.kinds() == set()


def test_a_link_that_loses_everything_is_lost_within_5_seconds_and_one_way_is_enough(network: Network) -> None:
    network.run(7.0)
    network.fate = lambda link, size: None if link is THERE else arrives(link, size)
    network.run(4.6)
    assert network.kinds() == {("paris", FindingKind.LINK_LOST)}
    assert network.probes.lossy == {frozenset({"paris", "london"})}
    assert network.probes.verdict(BACK) is LinkVerdict.GOOD


def test_too_small_an_mtu_is_told_from_a_lost_link_within_2_seconds_of_connection(network: Network) -> None:
    network.fate = lost_if_large
    network.run(1.5)
    assert network.kinds() == {(switch, FindingKind.FRAMES_TOO_LARGE) for switch in ("paris", "london")}
    assert all(each.is_lack for each in network.probes.findings("paris"))
    network.fate = arrives
    network.run(1.0)
    assert network.kinds() == set()


def test_an_mtu_that_falls_while_a_link_is_used_is_found_within_5_seconds(network: Network) -> None:
    network.run(7.0)
    network.fate = lost_if_large
    network.run(4.6)
    assert network.kinds() == {(switch, FindingKind.FRAMES_TOO_LARGE) for switch in ("paris", "london")}


def test_a_probe_that_arrives_elsewhere_shows_at_once_where_the_cable_leads(network: Network) -> None:
    network.run(1.0)
    network.fate = lambda _link, _size: ("rome", 5)
    network.run(INTERVAL + 0.1)
    (finding,) = network.probes.findings("paris")
    assert finding.key.kind is FindingKind.LINK_MISWIRED
    assert "arrives at port 5 of rome, not at port 11 of london" in finding.text
    network.run(10.0)
    assert [each.key.kind for each in network.probes.findings("paris")] == [FindingKind.LINK_MISWIRED]
    network.fate = arrives
    network.run(3.0)
    assert network.kinds() == set()


@pytest.mark.parametrize("silent", [{"paris"}, {"london"}, {"paris", "london"}])
def test_a_switch_that_answers_nothing_is_no_lost_link(network: Network, silent: set[str]) -> None:
    network.run(3.0)
    network.silent = silent
    network.run(60.0)
    assert network.kinds() == set()


@pytest.mark.parametrize("size", [1504, SMALLEST])
def test_a_few_losses_in_a_row_are_no_alarm(network: Network, size: int) -> None:
    network.run(3.0)
    for _ in range(20):
        left = [2]

        def loses(link: ProbedLink, sent: int, left: list[int] = left) -> tuple[str, int] | None:
            left[0] -= sent >= size
            return None if left[0] > 0 else link.target

        network.fate = loses
        network.run(3.0)
    assert network.kinds() == set()


def test_a_link_that_is_lost_again_and_again_is_held_longer_each_time_and_forgiven_when_calm(network: Network) -> None:
    network.run(3.0)
    held = []
    for _ in range(4):
        network.fate = is_lost
        network.run(INTERVAL + (LOST_IN_ROW + 2) * (PATIENCE + 3 * TICK))
        assert network.probes.lossy
        network.fate, start = arrives, network.now
        while network.probes.lossy:
            network.run(TICK)
        held.append(network.now - start)
    assert held == pytest.approx([FIRST_HOLD * 2.0**number for number in range(4)], abs=2 * PATIENCE)
    network.run(CALM + 5.0)
    network.fate = is_lost
    network.run(5.0)
    network.fate, start = arrives, network.now
    network.run(FIRST_HOLD + 2 * PATIENCE)
    assert not network.probes.lossy


def test_a_link_whose_port_is_down_is_not_probed_and_has_no_finding(network: Network) -> None:
    network.fate = is_lost
    network.run(5.0)
    assert network.kinds() != set()
    network.down = {THERE, BACK}
    network.run(TICK)
    assert network.kinds() == set()
    network.sizes.clear()
    network.run(5.0)
    assert network.sizes == []


def test_the_entries_for_probes_are_put_again_when_one_is_missed(network: Network) -> None:
    network.run(3.0)
    network.caught.clear()
    network.fate = lambda link, size: None if link is THERE and not network.caught else arrives(link, size)
    network.run(5.0)
    assert network.caught[0] == "london"
    assert network.kinds() == set()


def test_what_an_earlier_process_or_nobody_has_sent_counts_for_nothing(network: Network) -> None:
    network.fate = is_lost
    network.run(1.0)
    network.probes.arrived(("rome", 1), THERE.target, 1, 1504, network.now)
    for number in (0, -5, 10_000):
        network.probes.arrived(THERE.source, THERE.target, number, 1504, network.now)
    network.run(4.0)
    assert ("paris", FindingKind.LINK_LOST) in network.kinds()


def test_a_switch_that_connects_again_is_probed_anew(network: Network) -> None:
    network.silent = {"paris"}
    network.run(1.0)
    network.silent = set()
    network.probes.left("paris")
    network.run(3.0)
    assert network.probes.verdict(THERE) is LinkVerdict.UNKNOWN
    network.probes.connected("paris")
    network.run(0.2)
    assert network.probes.verdict(THERE) is LinkVerdict.GOOD


@pytest.mark.parametrize(("left", "verdict"), [("", "LOST"), ("paris", "UNKNOWN"), ("london", "UNKNOWN")])
def test_an_answer_after_either_end_has_left_shows_no_loss(network: Network, left: str, verdict: str) -> None:
    probes, now = network.probes, 0.0
    for number in range(LOST_IN_ROW):
        tokens = list[Token]()
        while not tokens:
            now += TICK
            step = probes.step(now, lambda link: link is THERE)
            for switch in step.catch:
                probes.catches(switch)
            for sent in step.sent.values():
                probes.sent(sent, now)
            tokens = step.ask["london"]
        if number == LOST_IN_ROW - 1:
            probes.left(left)
        probes.answered(tokens, now)
    assert probes.verdict(THERE) is LinkVerdict[verdict]


def test_a_switch_that_delivers_no_probe_at_all_has_its_links_named_but_used(network: Network) -> None:
    network.fate = lambda link, size: None if link is THERE else arrives(link, size)
    network.run(5.0)
    assert network.kinds() == {("paris", FindingKind.LINK_LOST)}
    assert network.probes.lossy == frozenset()
    network.fate = arrives
    network.run(3.0)
    network.fate = is_lost
    network.run(5.0)
    assert network.probes.lossy == {frozenset({"paris", "london"})}


def test_rounds_at_first_are_as_many_as_stated(network: Network) -> None:
    network.fate = lost_if_large
    network.run(LARGE_LOST_AT_FIRST * PATIENCE)
    assert network.kinds() == set()


def test_probes_of_rounds_long_ago_or_to_come_show_nothing(network: Network) -> None:
    network.fate = is_lost
    network.run(40.0)
    for number in (1, 1000):
        network.probes.arrived(THERE.source, THERE.target, number, THERE.size, network.now)
        assert network.probes.verdict(THERE) is LinkVerdict.LOST


def test_a_small_probe_of_an_earlier_round_does_not_show_that_large_ones_are_lost(network: Network) -> None:
    small = []

    def late(link: ProbedLink, size: int) -> None:
        if link is THERE and size == SMALLEST:
            small.append(network.probes._states[THERE].number)

    network.fate = late
    for _ in range(200):
        network.run(TICK)
        if len(small) > 1:
            network.probes.arrived(THERE.source, THERE.target, small[-2], SMALLEST, network.now)
    assert network.kinds() == {("paris", FindingKind.LINK_LOST), ("london", FindingKind.LINK_LOST)}

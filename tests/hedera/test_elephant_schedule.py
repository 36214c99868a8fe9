from __future__ import annotations

from collections import Counter
from ipaddress import IPv4Address
from itertools import pairwise

import pytest

from hedera.network.data_centre import DataCentre
from hedera.network.fat_tree import FatTree
from hedera.placement.registry import make_placement
from hedera.scheduling.elephant_schedule import ElephantSchedule, Round
from hedera.scheduling.polling import FiveTuple, ScheduledEntry
from hedera.scheduling.tables import Cable, Routing

TCP = 6

CENTRE = DataCentre(FatTree(4, 10.0))
NOBODY = IPv4Address("10.99.0.2")

placements = pytest.mark.parametrize("placement", ["global-first-fit", "simulated-annealing"])


def flow(source: int, target: int, port: int = 20000) -> FiveTuple:
    sites = CENTRE.wiring.sites
    return FiveTuple(sites[source].address, sites[target].address, TCP, port, 5001)


STRIDE8 = {flow(host, (host + 8) % 16): 4.0 for host in range(16)}


def schedule(placement: str = "global-first-fit") -> ElephantSchedule:
    return ElephantSchedule(CENTRE, make_placement(placement))


def path_of(key: FiveTuple, entries: tuple[ScheduledEntry, ...]) -> list[str]:
    """Return the switches on a flow's path as far as the entries lead it."""
    switch = CENTRE.wiring.sites[CENTRE.host_at(key.source) or 0].switch
    edge = CENTRE.wiring.sites[CENTRE.host_at(key.target) or 0].switch
    groups = {entry.switch: entry.group_id for entry in entries if entry.flow == key}
    path = [switch]
    while path[-1] != edge:
        hops = Routing(CENTRE).next_hops(path[-1], edge)
        assert hops is not None
        chosen = [port for port in hops.ports if groups.get(path[-1]) == hops.failover_id(port)] or list(hops.ports)
        assert len(chosen) == 1
        following = CENTRE.wiring.neighbour_at(path[-1], chosen[0])
        assert following is not None
        path.append(following)
    return path


def worst_link(keys: list[FiveTuple], found: Round) -> int:
    used = Counter(hop for key in keys for hop in pairwise(path_of(key, found.put)))
    return max(used.values())


def test_annealing_gives_each_elephant_of_a_stride_a_way_of_its_own() -> None:
    scheduler = schedule("simulated-annealing")
    found = scheduler.run(STRIDE8)
    assert set(found.elephants) == set(STRIDE8)
    assert Counter(entry.switch[2] for entry in found.put) == {"e": 16, "a": 16}
    assert worst_link(list(STRIDE8), found) == 1


@placements
def test_a_round_without_news_changes_nothing(placement: str) -> None:
    scheduler = schedule(placement)
    first = scheduler.run(STRIDE8)
    again = scheduler.run(STRIDE8)
    assert first.put
    assert (again.put, again.deleted, again.moved) == ((), (), 0)


def test_ecmp_leaves_elephants_to_the_hash() -> None:
    found = schedule("ecmp").run(STRIDE8)
    assert len(found.elephants) == 16
    assert found.put == ()


def test_flows_of_a_tenth_of_an_interface_or_less_are_no_elephants_but_stay_ones_until_half_of_it() -> None:
    scheduler = schedule()
    mouse = flow(0, 8)
    assert scheduler.run({mouse: 1.0}).elephants == ()
    assert scheduler.run({mouse: 1.01}).elephants == (mouse,)
    assert scheduler.run({mouse: 0.6}).elephants == (mouse,)
    assert scheduler.run({mouse: 0.5}).elephants == ()
    assert scheduler.run({mouse: 0.6}).elephants == ()


def test_flows_of_unknown_hosts_and_to_oneself_are_left_alone() -> None:
    address = CENTRE.wiring.sites[0].address
    strangers = {FiveTuple(NOBODY, address, TCP, 1, 2): 5.0, FiveTuple(address, NOBODY, TCP, 1, 2): 5.0}
    found = schedule().run({**strangers, FiveTuple(address, address, TCP, 1, 2): 5.0})
    assert (found.elephants, found.put, found.strangers) == ((), (), 2)


@placements
def test_entries_of_flows_that_end_are_left_to_time_out(placement: str) -> None:
    scheduler = schedule(placement)
    scheduler.run(STRIDE8)
    found = scheduler.run({})
    assert (found.elephants, found.put, found.deleted) == ((), (), ())


def test_a_flow_that_had_ended_when_it_was_placed_takes_no_room_from_the_next_round_on() -> None:
    scheduler = schedule("global-first-fit")
    ended, next_one, beside = flow(0, 8), flow(1, 9), flow(1, 10)
    first = scheduler.run({ended: 9.0})
    found = scheduler.run({next_one: 9.0})
    assert path_of(next_one, found.put)[1:-1] == path_of(ended, first.put)[1:-1]
    assert (found.deleted, found.moved) == ((), 0)
    assert not {entry.flow for entry in scheduler.run({beside: 9.0}).put} & {ended, next_one}


@placements
def test_after_a_failure_no_flow_is_led_over_what_failed_and_all_entries_are_put_anew(placement: str) -> None:
    scheduler = schedule(placement)
    before = scheduler.run(STRIDE8)
    failed: set[Cable] = {frozenset({"p0a0", "c0"}), frozenset({"p2e0", "p2a1"})}
    routing = Routing(CENTRE, failed)
    scheduler.follow(routing, failed)
    found = scheduler.run(STRIDE8)
    assert found.put
    assert len(found.put) < len(before.put)  # a switch with one path left needs no entry
    for entry in found.put:
        edge = CENTRE.wiring.sites[CENTRE.host_at(entry.flow.target) or 0].switch
        hops = routing.next_hops(entry.switch, edge)
        assert hops is not None
        assert entry.group_id in {hops.failover_id(port) for port in hops.ports}


def test_a_switch_that_lost_its_entries_gets_them_again_and_no_other_does() -> None:
    scheduler = schedule()
    first = scheduler.run(STRIDE8)
    scheduler.forget("p0e0")
    again = scheduler.run(STRIDE8)
    assert {entry.switch for entry in again.put} == {"p0e0"}
    assert set(again.put) == {entry for entry in first.put if entry.switch == "p0e0"}


def test_an_elephant_whose_way_dies_without_another_one_loses_its_entries() -> None:
    scheduler = schedule()
    scheduler.run(STRIDE8)
    failed = {frozenset({"p0e0", "p0a0"}), frozenset({"p0e0", "p0a1"})}
    scheduler.follow(Routing(CENTRE, failed), failed)
    found = scheduler.run(STRIDE8)
    led = {entry.flow for entry in found.put}
    assert not {key for key in led if CENTRE.host_at(key.source) in (0, 1) or CENTRE.host_at(key.target) in (0, 1)}


def test_flows_find_no_capacity_on_cables_that_are_dead_and_all_of_it_once_they_heal() -> None:
    scheduler, links = schedule(), CENTRE.topology.links
    failed = {frozenset(links[0].ends)}
    scheduler.follow(Routing(CENTRE, failed), failed)
    dead = [frozenset(link.ends) in failed for link in links]
    assert sum(dead) == 2
    assert (scheduler._capacity == 0).tolist() == dead
    scheduler.follow(Routing(CENTRE), [])
    assert scheduler._capacity.tolist() == CENTRE.fabric.capacity.tolist()

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedera.network.data_centre import DataCentre
from hedera.network.fat_tree import FatTree
from hedera.network.multi_rooted import MultiRooted
from hedera.scheduling.tables import _NUMBERS, Cable, NextHops, Routing, _Numbers, _slots
from kuijia_app.tables.rules import Bucket, GroupType, Output, SwitchTables, ToGroup

CENTRE = DataCentre(FatTree(4))
CABLES = [frozenset(ends) for ends in CENTRE.wiring.topology.edges]


def ways(centre: DataCentre, tables: dict[str, SwitchTables], source: int, target: int) -> Counter[tuple[str, ...]]:
    """Return each path of a packet with the number of its slots; it ends with `dropped`, `loop` or a host's name."""
    wiring = centre.wiring
    slots = max((len(group.buckets) for each in tables.values() for group in each.groups), default=1)
    found: Counter[tuple[str, ...]] = Counter()
    for slot in range(slots):
        switch, crossed = wiring.sites[source].switch, []
        while switch not in crossed:
            crossed.append(switch)
            port = out_port(tables[switch], centre, target, slot)
            neighbour = None if port is None else wiring.neighbour_at(switch, port)
            if port is None:
                crossed.append("dropped")
                break
            if neighbour is None:
                crossed += [site.name for site in wiring.sites if (site.switch, site.port) == (switch, port)]
                break
            switch = neighbour
        else:
            crossed.append("loop")
        found[tuple(crossed)] += 1
    return found


def out_port(tables: SwitchTables, centre: DataCentre, target: int, slot: int) -> int | None:
    address = centre.wiring.sites[target].address
    matching = [entry for entry in tables.flows if entry.match.ipv4_dst is not None and address in entry.match.ipv4_dst]
    if not matching:
        return None
    (action,) = max(matching, key=lambda entry: entry.priority).actions
    if isinstance(action, ToGroup):
        (group,) = (group for group in tables.groups if group.group_id == action.group_id)
        assert group.group_type is GroupType.SELECT
        (action,) = group.buckets[slot % len(group.buckets)].actions
    assert isinstance(action, Output)
    return action.port


def test_slots_are_spread_evenly_over_all_equal_cost_paths() -> None:
    for k, paths in ((4, 4), (8, 16)):
        centre = DataCentre(FatTree(k))
        spread = ways(centre, Routing(centre).tables(), 0, centre.fabric.hosts - 1)
        assert len(spread) == paths
        assert len(set(spread.values())) == 1


def test_hosts_of_one_switch_and_of_one_pod_are_reached_by_the_shortest_ways() -> None:
    tables = Routing(CENTRE).tables()
    assert ways(CENTRE, tables, 0, 1).keys() == {("p0e0", "h1")}
    assert ways(CENTRE, tables, 0, 2).keys() == {("p0e0", "p0a0", "p0e1", "h2"), ("p0e0", "p0a1", "p0e1", "h2")}


def test_a_host_that_is_not_there_is_dropped_at_its_switch() -> None:
    tables = Routing(CENTRE).tables()["p0e0"]
    prefixes = [entry.match.ipv4_dst for entry in tables.flows if entry.priority == 10]
    assert len(prefixes) == 7
    assert not [prefix for prefix in prefixes if prefix is not None and CENTRE.wiring.sites[0].address in prefix]


@given(st.sets(st.sampled_from(CABLES), max_size=8), st.integers(0, 15), st.integers(0, 15))
def test_whatever_fails_packets_arrive_where_there_is_a_way_and_never_loop(
    failed: set[Cable], source: int, target: int
) -> None:
    routing = Routing(CENTRE, failed)
    ends = CENTRE.wiring.sites[source].switch, CENTRE.wiring.sites[target].switch
    is_reachable = ends[0] == ends[1] or routing.next_hops(*ends) is not None
    arrived = {way[-1] for way in ways(CENTRE, routing.tables(), source, target)}
    assert arrived == ({f"h{target}"} if is_reachable else {"dropped"})
    for way in ways(CENTRE, routing.tables(), source, target):
        assert not {frozenset(hop) for hop in pairwise(way)} & failed


@given(st.sets(st.sampled_from(CABLES), max_size=8), st.sets(st.sampled_from(CABLES), max_size=8))
def test_routes_found_from_others_are_those_found_anew(failed: set[Cable], next_failed: set[Cable]) -> None:
    before = Routing(CENTRE, failed)
    tables_before = before.tables()
    tables = Routing(CENTRE, next_failed, before).tables()
    assert tables == Routing(CENTRE, next_failed).tables()
    for switch, known in tables_before.items():
        assert (tables[switch] is known) == (tables[switch] == known)
    assert before.tables() == tables_before


def test_the_search_for_routes_says_how_far_it_is() -> None:
    said: list[tuple[int, int]] = []
    Routing(CENTRE, progress=lambda done, total: said.append((done, total)))
    assert said == [(number, 8) for number in range(1, 9)]


def test_groups_keep_their_numbers_and_come_after_those_that_they_use() -> None:
    before, after = Routing(CENTRE).tables(), Routing(CENTRE, {frozenset({"p0e0", "p0a0"})}).tables()
    for switch in ("p1e0", "p1a0", "p0a1"):
        assert set(before[switch].groups) <= set(after[switch].groups)
    for tables in before.values():
        known: set[int] = set()
        for group in tables.groups:
            used = {
                action.group_id for bucket in group.buckets for action in bucket.actions if isinstance(action, ToGroup)
            }
            assert used <= known
            known.add(group.group_id)


def test_the_group_of_a_scheduled_flow_prefers_its_port_and_falls_back_to_ecmp() -> None:
    hops = Routing(CENTRE).next_hops("p0e0", "p3e1")
    assert hops is not None
    port = hops.ports[1]
    groups = {group.group_id: group for group in Routing(CENTRE).tables()["p0e0"].groups}
    fallback = Bucket((ToGroup(hops.group_id),), watch_group=hops.group_id)
    assert groups[hops.failover_id(port)].buckets == (Bucket((Output(port),), port), fallback)


@pytest.mark.parametrize("k", [2, 4, 6, 10])
def test_no_two_groups_of_a_switch_have_one_number(k: int) -> None:
    centre = DataCentre(FatTree(k))
    for tables in Routing(centre).tables().values():
        numbers = [group.group_id for group in tables.groups]
        assert len(set(numbers)) == len(numbers)
        assert all(
            len({action for bucket in group.buckets for action in bucket.actions}) > 1 for group in tables.groups
        )


def test_a_graph_from_a_file_is_wired_like_the_same_fat_tree() -> None:
    graph = DataCentre(MultiRooted(CENTRE.topology))
    assert [site.name for site in graph.wiring.sites] == [site.name for site in CENTRE.wiring.sites]
    spread = ways(graph, Routing(graph).tables(), 0, 15)
    assert spread == ways(CENTRE, Routing(CENTRE).tables(), 0, 15)


def test_equal_choices_have_equal_numbers_whatever_else_has_failed() -> None:
    one, other = CABLES[0], CABLES[-1]
    both = Routing(CENTRE, {one, other})
    for failed in ({one}, {other}):
        alone = Routing(CENTRE, failed)
        for switch in CENTRE.wiring.topology.nodes:
            for edge, _ in CENTRE.edges:
                hops, again = alone.next_hops(switch, edge), both.next_hops(switch, edge)
                if hops is not None and again is not None and hops.ports == again.ports:
                    assert (hops.number == again.number) == ((hops.distance - again.distance) % 2 == 0)


def test_choices_whose_hashes_collide_have_different_numbers_and_keep_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, the hash was the number: two groups of one switch shared one in a fat-tree of 32 ports."""
    monkeypatch.setattr(_Numbers, "_suggested", staticmethod(lambda _ports, _parity: _NUMBERS - 3))
    routing, failed = Routing(CENTRE), frozenset[Cable]()
    numbered: dict[tuple[tuple[int, ...], int], int] = {}
    for cable in (None, *CABLES[:6]):
        if cable is not None:
            failed |= {cable}
            routing = Routing(CENTRE, failed, routing)
        for switch, tables in routing.tables().items():
            groups = {group.group_id: group for group in tables.groups}
            assert len(groups) == len(tables.groups)
            for edge, _ in CENTRE.edges:
                hops = routing.next_hops(switch, edge)
                if hops is None:
                    continue
                assert numbered.setdefault((hops.ports, hops.distance % 2), hops.number) == hops.number
                for port in hops.ports if len(hops.ports) > 1 else ():
                    assert groups[hops.failover_id(port)].buckets[0] == Bucket((Output(port),), port)
                    assert groups[hops.failover_id(port)].buckets[1].actions == (ToGroup(hops.group_id),)
    taken = [first + place for (ports, _), first in numbered.items() for place in range(len(ports))]
    assert len(set(taken)) == len(taken)
    assert max(taken) < _NUMBERS


def test_in_a_fat_tree_of_32_ports_the_two_choices_that_once_shared_a_number_have_their_own() -> None:
    """CRC-32 gave the groups of one switch that prefer a port of these two choices the same 24 bits."""
    numbers = _Numbers()
    some, others = tuple(sorted({*range(1, 17)} - {3, 10})), tuple(sorted({*range(1, 17)} - {3, 6, 7}))
    one, other = (NextHops(ports, 4, numbers.first(ports, 4)) for ports in (some, others))
    ids = [hops.group_id for hops in (one, other)]
    ids += [hops.failover_id(port) for hops in (one, other) for port in hops.ports]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("choices", "distance", "count", "first"),
    [
        (2, 1, 64, [1, 1, 2, 2, 1, 1]),
        (2, 2, 64, [1, 2, 1, 2, 1, 2]),
        (2, 3, 64, [1, 1, 2, 2, 1, 1]),
        (3, 1, 64, [1, 1, 1, 2, 2, 2]),
        (8, 2, 64, [1, 2, 1, 2, 1, 2]),
        (9, 2, 128, [1, 2, 1, 2, 1, 2]),
        (20, 1, 256, [1] * 20 + [2] * 20),
    ],
)
def test_odd_distances_use_the_second_digit_of_a_slot_and_even_ones_the_first(
    choices: int, distance: int, count: int, first: list[int]
) -> None:
    buckets = _slots(NextHops((1, 2), distance, 0), choices)
    assert len(buckets) == count
    assert buckets[: len(first)] == tuple(Bucket((Output(port),), port) for port in first)


def test_distances_that_differ_by_an_even_number_have_one_number() -> None:
    numbers = _Numbers()
    assert numbers.first((1, 2), 1) == numbers.first((1, 2), 3) != numbers.first((1, 2), 2)

"""Known hosts of a site: they are found, counted by their cards, and quiet in time, in little memory."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from ipaddress import IPv4Address, IPv6Address

import pytest

from kuijia_app.control.known_hosts import KnownHost, KnownHosts

A, B = bytes((2, 0, 0, 0, 0, 1)), bytes((2, 0, 0, 0, 0, 2))


def host(number: int, mac: bytes = A, port: int = 1, put_at: float = 0.0) -> KnownHost:
    return KnownHost(IPv4Address((10 << 24) + number).packed, mac, port, put_at)


def test_an_address_of_ipv6_that_begins_with_one_of_ipv4_is_another_host() -> None:
    hosts = KnownHosts()
    short, long = host(1), KnownHost(IPv6Address("a00:1::").packed, B, 2, 3.0)
    hosts.put(long, 1.0)
    assert hosts.get(short.packed) is None
    hosts.put(short, 1.0)
    assert (hosts.get(short.packed), hosts.get(long.packed), len(hosts)) == (short, long, 2)


def test_they_are_as_in_a_dictionary_whatever_is_put_and_removed() -> None:
    chance, hosts, expected = random.Random(52), KnownHosts(), dict[bytes, KnownHost]()
    for step in range(3000):
        each = host(chance.randrange(60), chance.choice((A, B)), chance.randrange(1 << 32), float(step))
        if chance.random() < 0.6:
            hosts.put(each, float(step))
            expected[each.packed] = each
        else:
            hosts.remove(each.packed)
            expected.pop(each.packed, None)
        known = expected.get(each.packed)
        if known is not None and chance.random() < 0.3:
            hosts.note_put(known, step + 0.5)
            expected[each.packed] = known._replace(put_at=step + 0.5)
        assert hosts.get(each.packed) == expected.get(each.packed)
    assert sorted(hosts) == sorted(expected.values())
    assert {mac: hosts.of_card(mac) for mac in (A, B)} == Counter(each.mac for each in expected.values())


def test_a_host_is_quiet_once_and_not_before_its_time() -> None:
    hosts = KnownHosts()
    for number in range(3):
        hosts.put(host(number), 10.0 + number)
    assert hosts.take_quiet(9.9, 300.0) == []
    assert hosts.take_quiet(10.0, 310.0) == [host(0)]
    hosts.put(host(1), 400.0)  # heard of
    assert hosts.take_quiet(12.0, 312.0) == [host(2)]
    assert hosts.take_quiet(309.0, 600.0) == []
    assert hosts.take_quiet(312.0, 600.0) == [host(0), host(2)]
    hosts.clear()
    assert (hosts.take_quiet(1e9, 2e9), list(hosts), hosts.of_card(A)) == ([], [], 0)


def test_hosts_may_go_while_all_are_looked_at() -> None:
    hosts = KnownHosts()
    for number in range(3):
        hosts.put(host(number), 1.0)
    found = []
    for each in hosts:
        found.append(each)
        hosts.remove(host(1).packed)
    assert found == [host(0), host(2)]


@pytest.mark.parametrize(("length", "most"), [(4, 90), (16, 100)])
def test_a_host_takes_little_memory(length: int, most: int) -> None:
    count = 2000
    tracemalloc.start()
    try:
        hosts = KnownHosts()
        for number in range(count):
            mac = b"\2" + number.to_bytes(5, "big")
            hosts.put(KnownHost(number.to_bytes(length, "big"), mac, 1, float(number)), number + 300.0)
        each = tracemalloc.get_traced_memory()[0] / count
    finally:
        tracemalloc.stop()
    assert each < most

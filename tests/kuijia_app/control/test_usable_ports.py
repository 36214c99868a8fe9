"""Ports of a switch that lacks its tables, or that came up while it was away, are used once it has its tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.control.usable_ports import UsablePorts

PORTS = st.dictionaries(st.sampled_from((1, 2, 3)), st.booleans(), min_size=3, max_size=3)


@pytest.fixture
def usable() -> UsablePorts:
    """Return the ports of a switch that has been read with port 2 down, and has its tables."""
    usable = UsablePorts()
    assert usable.read("s1", {1: True, 2: False}, lacks_tables=False) == {1: True, 2: False}
    assert usable.released("s1") is None
    return usable


def test_a_port_counts_as_the_switch_says_while_it_has_its_tables(usable: UsablePorts) -> None:
    assert usable.changed({("s1", 2): True}) == {("s1", 2): True}
    assert usable.doubted == frozenset()


def test_a_port_that_came_up_while_the_switch_was_away_waits_for_its_tables(usable: UsablePorts) -> None:
    assert usable.read("s1", {1: True, 2: True}, lacks_tables=False) == {1: True, 2: False}
    assert usable.doubted == {("s1", 2)}
    assert usable.released("s1") == {1: True, 2: True}
    assert usable.doubted == frozenset()


def test_so_does_one_that_comes_up_after_the_switch_was_read(usable: UsablePorts) -> None:
    usable.read("s1", {1: True, 2: False}, lacks_tables=False)
    assert usable.changed({("s1", 2): True}) == {("s1", 2): False}
    assert usable.changed({("s1", 2): False}) == {("s1", 2): False}
    assert usable.doubted == frozenset()
    usable.changed({("s1", 2): True})
    assert usable.released("s1") == {1: True, 2: True}


def test_so_does_one_that_comes_up_while_the_switch_is_read(usable: UsablePorts) -> None:
    usable.began("s1")
    assert usable.changed({("s1", 2): True}) == {("s1", 2): False}
    assert usable.read("s1", {1: True, 2: True}, lacks_tables=False) == {1: True, 2: False}


def test_a_port_of_which_the_switch_says_again_that_it_is_up_goes_on(usable: UsablePorts) -> None:
    usable.read("s1", {1: True, 2: False}, lacks_tables=False)
    assert usable.changed({("s1", 1): True}) == {("s1", 1): True}


def test_it_still_waits_after_the_switch_has_gone_again(usable: UsablePorts) -> None:
    for _ in range(2):
        assert usable.read("s1", {1: True, 2: True}, lacks_tables=False) == {1: True, 2: False}


def test_no_port_of_a_switch_without_tables_is_described(usable: UsablePorts) -> None:
    assert usable.read("s1", {1: True, 2: False}, lacks_tables=True) == {}
    assert usable.changed({("s1", 1): True}) == {}
    assert usable.doubted == {("s1", 1)}
    assert usable.released("s1") == {1: True, 2: False}


def test_what_another_controller_programs_counts_as_it_says(usable: UsablePorts) -> None:
    usable.read("s1", {1: True, 2: True}, lacks_tables=True)
    assert usable.told("s1", {1: True, 2: True}) == {1: True, 2: True}
    assert usable.doubted == frozenset()


@given(st.lists(st.tuples(st.sampled_from(("begin", "read", "change", "release")), PORTS, st.booleans())))
def test_only_ports_that_are_up_are_doubted_and_none_once_all_are_released(
    steps: list[tuple[str, dict[int, bool], bool]],
) -> None:
    usable, live = UsablePorts(), dict.fromkeys((1, 2, 3), False)
    for kind, ports, lacks_tables in steps:
        if kind == "release":
            usable.released("s1")
            continue
        if kind == "begin":
            usable.began("s1")
            continue
        live = ports
        if kind == "read":
            usable.read("s1", ports, lacks_tables=lacks_tables)
        else:
            usable.changed({("s1", port): each for port, each in ports.items()})
        assert all(live[port] for _, port in usable.doubted)
    usable.released("s1")
    assert usable.doubted == frozenset()
    assert usable.read("s1", live, lacks_tables=False) == live

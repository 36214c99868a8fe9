"""What piles up or stays behind is named; ordinary coming and going is not."""

from __future__ import annotations

from pathlib import Path

from testbed.chaos.leaks import Inventory, ProcessSize, growth, growth_of_all, left_behind, size_of, take_inventory

SMALL, LARGE = ProcessSize(4, 20, 50_000), ProcessSize(40, 20, 500_000)


def test_growth_of_a_process_is_named_with_both_sizes() -> None:
    assert growth("x", SMALL, LARGE) == (
        "x has 40 threads, 4 at the start",
        "x has 500,000 kB of memory, 50,000 at the start",
    )
    assert growth("x", SMALL, ProcessSize(5, 24, 60_000)) == ()


def test_a_process_that_was_started_anew_is_not_compared() -> None:
    assert growth_of_all({"x": (1, SMALL)}, {"x": (2, LARGE)}) == ()
    assert len(growth_of_all({"x": (1, SMALL)}, {"x": (1, LARGE)})) == 2


def test_what_a_lab_leaves_is_found_by_its_name() -> None:
    before = Inventory(frozenset(), frozenset({"lo"}), SMALL)
    after = Inventory(frozenset({"9-abc"}), frozenset({"lo", "s1-eth1"}), SMALL)
    held = str(Path("/proc/self/ns/net").readlink())
    found = left_behind(before, after, "9-abc", {held})
    assert "the run directory /run/kuijia/9-abc is still there" in found
    assert "interfaces s1-eth1 are still there" in found
    assert any(line.endswith(f"holds {held} of the lab") for line in found)


def test_a_machine_without_a_lab_has_nothing_left_behind() -> None:
    before = take_inventory()
    assert left_behind(before, take_inventory(), "no-such-lab", ()) == ()
    assert size_of(2**31) is None

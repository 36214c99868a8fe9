"""The hash range is cut exactly, and every tunnel's part is promised in proportion."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.tables.identifiers import failover_group
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.pipeline import ingresses_of
from kuijia_app.tables.rules import ToGroup
from kuijia_app.tables.slots import SLOT_COUNTS, Slot, cut_slots
from tests.kuijia_app.plans import motivation_plan

weight_lists = (
    st.lists(st.integers(0, 1000), min_size=1, max_size=6)
    .filter(any)
    .map(lambda shares: [share / sum(shares) for share in shares])
)


def test_the_papers_example_splits_the_failed_half_in_the_ratio_three_to_two() -> None:
    table = cut_slots([0.5, 0.3, 0.2], 256)
    owned = Counter(slot.primary for slot in table.slots)
    promised = Counter(slot.backup for slot in table.slots if slot.primary == 0)
    assert [owned[tunnel] for tunnel in range(3)] == [128, 77, 51]
    assert promised == {1: 77, 2: 51}


def test_equal_weights_share_sixty_four_slots_as_evenly_as_they_divide() -> None:
    table = cut_slots([1 / 3, 1 / 3, 1 / 3])
    assert Counter(table.slots) == {
        Slot(0, 1): 11,
        Slot(0, 2): 11,
        Slot(1, 0): 11,
        Slot(1, 2): 10,
        Slot(2, 0): 11,
        Slot(2, 1): 10,
    }


def test_a_single_tunnel_owns_everything_and_has_no_backup() -> None:
    assert set(cut_slots([1.0]).slots) == {Slot(0, None)}


def test_backups_without_weight_share_equally() -> None:
    promised = Counter(slot.backup for slot in cut_slots([1.0, 0.0, 0.0]).slots)
    assert promised == {1: 32, 2: 32}


@given(weights=weight_lists, slot_count=st.sampled_from(SLOT_COUNTS))
def test_every_share_is_exact_to_one_slot_at_both_levels(weights: list[float], slot_count: int) -> None:
    table = cut_slots(weights, slot_count)
    assert len(table.slots) == slot_count
    assert table.rounding_error < 1 / slot_count + 1e-9
    owned = Counter(slot.primary for slot in table.slots)
    for primary, count in owned.items():
        others = sum(weights) - weights[primary]
        for backup, weight in enumerate(weights):
            if backup == primary or others <= 0:
                continue
            promised = sum(slot == Slot(primary, backup) for slot in table.slots)
            assert abs(promised - count * weight / others) < 1 + 1e-9


@given(weights=weight_lists)
def test_a_tunnels_slots_lie_together_so_that_ranges_stay_ranges(weights: list[float]) -> None:
    primaries = [slot.primary for slot in cut_slots(weights).slots]
    assert primaries == sorted(primaries)


@pytest.mark.parametrize(
    ("weights", "slot_count", "message"),
    [
        ([], 64, r"tunnel weights \[\], expected"),
        ([0.5, 0.4], 64, "expected non-negative numbers that sum to one"),
        ([1.5, -0.5], 64, "expected non-negative numbers that sum to one"),
        ([1.0], 60, "60 hash slots, expected one of 16, 32, 64, 128, 256"),
    ],
)
def test_unusable_weights_and_counts_are_refused(weights: list[float], slot_count: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cut_slots(weights, slot_count)


def test_slots_of_a_dead_tunnel_are_shared_by_the_live_ones_in_proportion() -> None:
    plan = motivation_plan((0.5, 0.3, 0.2))
    ingress = ingresses_of(plan, PipelineOptions())["s1", "s4"]

    def heads(*dead: int) -> Counter[int]:
        (group,) = ingress.splits(dead)
        return Counter(
            action.group_id for bucket in group.buckets for action in bucket.actions if isinstance(action, ToGroup)
        )

    of = {path_id: {failover_group(path_id, backup, 0) for backup in range(8)} for path_id in (16, 17, 18)}

    def slots(found: Counter[int]) -> list[int]:
        return [sum(found[group] for group in of[path_id]) for path_id in (16, 17, 18)]

    assert slots(heads()) == [32, 19, 13]
    assert slots(heads(16)) == [0, 38, 26]
    assert slots(heads(16, 18)) == [0, 64, 0]
    assert slots(heads(16, 17, 18)) == [32, 19, 13]

"""Cuts an ingress's hash range into slots, each owned by a tunnel and promised to a backup tunnel."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

DEFAULT_SLOT_COUNT = 64
SLOT_COUNTS = (16, 32, 64, 128, 256)
"""Open vSwitch's dp_hash spreads equal buckets over a table of 2^n entries, 16 to 256: other counts are uneven."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One part of the hash range: tunnel `primary` owns it, `backup` takes it over (None: there is no other)."""

    primary: int
    backup: int | None


@dataclass(frozen=True)
class SlotTable:
    """The slots of one pair in hash order; tunnels are named by their position in the pair's weights."""

    weights: tuple[float, ...]
    slots: tuple[Slot, ...]

    @property
    def rounding_error(self) -> float:
        """Largest difference between a tunnel's weight and its share of the slots; below 1 / len(slots)."""
        owned = [0] * len(self.weights)
        for slot in self.slots:
            owned[slot.primary] += 1
        return max(abs(count / len(self.slots) - weight) for count, weight in zip(owned, self.weights, strict=True))


def cut_slots(weights: Sequence[float], slot_count: int = DEFAULT_SLOT_COUNT) -> SlotTable:
    """Return `slot_count` slots: tunnel i owns a share w_i, itself divided in proportion to the others' w_j.

    A failed tunnel's range is split over the alive ones in proportion to their original weights (Zhang et al., Kuijia,
    section 4.2, figure 3(b)); the range is cut in advance, so that the switch can do this alone. Rounding is by largest
    remainder at both levels, so that every tunnel's share is exact to one slot. Backups share equally if all their
    weights are zero.

    Raises:
        ValueError: no weights, a negative weight, weights that do not sum to one, or a slot count not in SLOT_COUNTS.
    """
    if slot_count not in SLOT_COUNTS:
        raise ValueError(f"{slot_count} hash slots, expected one of {', '.join(map(str, SLOT_COUNTS))}")
    if not weights or min(weights) < 0 or abs(sum(weights) - 1) > 1e-6:
        raise ValueError(f"tunnel weights {list(weights)}, expected non-negative numbers that sum to one")
    slots: list[Slot] = []
    for primary, owned in enumerate(_apportion(weights, slot_count)):
        backups = [tunnel for tunnel in range(len(weights)) if tunnel != primary]
        if not backups:
            slots.extend([Slot(primary, None)] * owned)
            continue
        promised = _apportion([weights[tunnel] for tunnel in backups], owned)
        for backup, count in zip(backups, promised, strict=True):
            slots.extend([Slot(primary, backup)] * count)
    return SlotTable(tuple(weights), tuple(slots))


def grown_slots(weights: Sequence[float], dead: Collection[int], slot_count: int) -> tuple[int, ...]:
    """Return the tunnel of each slot after the ranges of alive tunnels have grown over all slots (Kuijia, section 4.1).

    Empty if they do not grow: no tunnel is in `dead`, or the others have no weight.
    """
    alive = [0.0 if tunnel in dead else weight for tunnel, weight in enumerate(weights)]
    total = sum(alive)
    if not dead or total == 0:
        return ()
    return tuple(slot.primary for slot in cut_slots([weight / total for weight in alive], slot_count).slots)


def _apportion(weights: Sequence[float], seats: int) -> list[int]:
    """Divide `seats` in proportion to `weights` by largest remainder; ties go to the earlier one."""
    exact = [Fraction(weight) for weight in weights]
    total = sum(exact)
    if total == 0:
        exact, total = [Fraction(1)] * len(exact), Fraction(len(exact))
    quotas = [weight * seats / total for weight in exact]
    counts = [int(quota) for quota in quotas]
    by_remainder = sorted(range(len(quotas)), key=lambda position: (counts[position] - quotas[position], position))
    for position in by_remainder[: seats - sum(counts)]:
        counts[position] += 1
    return counts

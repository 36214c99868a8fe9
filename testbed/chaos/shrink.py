"""Looks for a short sequence of faults that still shows a fault of ours, by leaving parts of it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shortest_failing(items: Sequence[T], fails: Callable[[tuple[T, ...]], bool], runs: int) -> tuple[T, ...]:
    """Return a part of `items`, in order, that fails and that nothing can be left out of, as far as `runs` trials tell.

    Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input (IEEE TSE 28(2), 2002), algorithm ddmin.

    Args:
        items: a sequence that fails.
        fails: tries a part of it.
        runs: most trials.
    """
    kept, parts = tuple(items), 2
    while len(kept) > 1:
        size = -(-len(kept) // parts)
        starts = range(0, len(kept), size)
        tried = [kept[at : at + size] for at in starts] if parts > 1 else []
        tried += [kept[:at] + kept[at + size :] for at in starts]
        for number, part in enumerate(tried):
            if not part or len(part) == len(kept):
                continue
            if runs == 0:
                return kept
            runs -= 1
            if fails(part):
                kept, parts = part, 2 if number < len(starts) else max(parts - 1, 2)
                break
        else:
            if size == 1:
                return kept
            parts = min(2 * parts, len(kept))
    return kept

"""A failing sequence shrinks to a part that fails and that nothing can be left out of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from testbed.chaos.shrink import shortest_failing


@given(st.integers(1, 24), st.data())
def test_what_must_come_together_is_found(length: int, data: st.DataObject) -> None:
    needed = data.draw(st.sets(st.integers(0, length - 1), min_size=1, max_size=4))
    found = shortest_failing(range(length), lambda part: needed <= set(part), runs=10_000)
    assert found == tuple(sorted(needed))


@given(st.integers(0, 12))
def test_no_more_runs_are_made_than_allowed(runs: int) -> None:
    made: list[tuple[int, ...]] = []

    def fails(part: tuple[int, ...]) -> bool:
        made.append(part)
        return {3, 17} <= set(part)

    kept = shortest_failing(range(24), fails, runs)
    assert len(made) <= runs
    assert {3, 17} <= set(kept)

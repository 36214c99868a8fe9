from __future__ import annotations

from pathlib import Path

import pytest

from te_solver.demands import Demand
from te_solver.effort import PAIRS_OF_ONE_PROGRAM, Effort, free_memory, parts_for


def demands(number: int, priority: int = 0) -> list[Demand]:
    return [Demand("a", f"b{each}", 1.0, priority) for each in range(number)]


def test_parts_begin_above_a_size_of_one_class() -> None:
    assert parts_for([]) is None
    assert parts_for(demands(PAIRS_OF_ONE_PROGRAM)) is None
    assert parts_for(demands(PAIRS_OF_ONE_PROGRAM + 1)) == 5
    assert parts_for(demands(38_612)) == 8
    assert parts_for([*demands(15_000), *demands(15_000, 1)]) is None


@pytest.mark.parametrize(("hops", "measured"), [(44_786, 160e6), (134_035, 226e6), (269_037, 324e6), (541_158, 513e6)])
def test_memory_of_a_program_is_near_the_measured_one(hops: int, measured: float) -> None:
    assert Effort(1, 3, hops).memory == pytest.approx(measured, rel=0.1)


def test_parts_take_less_memory_than_one_program() -> None:
    effort = Effort(38_612, 115_836, 1_600_000)
    assert effort.memory_in_parts(8, 2) < effort.memory
    assert effort.memory_in_parts(16, 2) < effort.memory_in_parts(8, 2)


def test_free_memory_is_that_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 100 kB\nMemAvailable:   64 kB\n")
    assert free_memory(tmp_path / "meminfo") == 65_536
    assert free_memory(tmp_path / "none") is None

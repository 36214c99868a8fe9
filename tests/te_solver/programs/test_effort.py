from __future__ import annotations

from pathlib import Path

import pytest

from te_solver.model.demands import Demand
from te_solver.programs.effort import Effort, free_memory, parts_for

PAIRS_OF_ONE_PROGRAM = 20_000


def demands(number: int, priority: int = 0) -> list[Demand]:
    return [Demand("a", f"b{each}", 1.0, priority) for each in range(number)]


def test_parts_begin_above_a_size_of_one_class() -> None:
    assert parts_for([]) is None
    assert parts_for(demands(PAIRS_OF_ONE_PROGRAM)) is None
    assert parts_for(demands(PAIRS_OF_ONE_PROGRAM + 1)) == 5
    assert parts_for(demands(38_612)) == 8
    assert parts_for(demands(39_800), 2_500) == 16
    assert parts_for([*demands(15_000), *demands(15_000, 1)]) is None


@pytest.mark.parametrize(
    ("tunnels", "hops", "megabytes", "seconds"),
    [
        (17_983, 269_037, 324, None),
        (35_941, 541_158, 513, 8.1),
        (60_806, 914_716, 801, 20.1),
        (67_018, 1_363_960, 1022, 21.5),
        (115_792, 2_827_464, 1745, 72.2),
    ],
)
def test_memory_and_time_of_a_program_are_near_the_measured_ones(
    tunnels: int, hops: int, megabytes: float, seconds: float | None
) -> None:
    effort = Effort(tunnels // 3, tunnels, hops)
    assert effort.memory == pytest.approx(megabytes * 1e6, rel=0.1)
    assert seconds is None or effort.seconds == pytest.approx(seconds, rel=0.2)


@pytest.mark.parametrize(
    ("tunnels", "hops", "parts", "megabytes"),
    [(159_128, 800_000, 9, 860), (638_210, 5_100_000, 35, 1212), (2_270_606, 22_000_000, 126, 3030)],
)
def test_memory_of_parts_is_near_the_measured_one(tunnels: int, hops: int, parts: int, megabytes: float) -> None:
    assert Effort(tunnels // 4, tunnels, hops).memory_in_parts(parts, 2) == pytest.approx(megabytes * 1e6, rel=0.12)


def test_parts_take_less_memory_than_one_program() -> None:
    effort = Effort(38_612, 115_836, 1_600_000)
    assert effort.memory_in_parts(8, 2) < effort.memory
    assert effort.memory_in_parts(16, 2) < effort.memory_in_parts(8, 2)


def test_free_memory_is_that_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 100 kB\nMemAvailable:   64 kB\n")
    assert free_memory(tmp_path / "meminfo") == 65_536
    assert free_memory(tmp_path / "none") is None

"""The load between two looks at /proc is given in shares, and an overload in words."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.measuring.load import REST_LOOKS, LoadWatch, MachineLoad, load_at_rest, overload
from testbed.links.load_counters import LoadCounters, count_load
from tests.experiments.gscale.results import committed_texts

SWITCH = 77
QUIET = MachineLoad(idle=0.5, steal=0.0, softirq=0.05, switch=0.97, switch_waiting=0.02, unread=0.1)
QUIET_KERNEL = replace(QUIET, switch=None, switch_waiting=None, unread=None)


def look(proc: Path, *, user: int, idle: int, steal: int, switch_ticks: int, waited_ns: int) -> None:
    (proc / str(SWITCH)).mkdir(exist_ok=True)
    (proc / "stat").write_text(f"cpu  {user} 0 0 {idle} 0 0 0 {steal} 0 0\ncpu0 1 2 3\n")
    fields = ["S", *["0"] * 10, str(switch_ticks), "0", *["0"] * 30]
    (proc / str(SWITCH) / "stat").write_text(f"{SWITCH} (ovs (vswitchd) x) {' '.join(fields)}\n")
    (proc / str(SWITCH) / "schedstat").write_text(f"123456 {waited_ns} 99\n")


def looking(
    proc: Path, clock: Callable[[], float] = time.monotonic, count_unread: Callable[[int], int] = lambda _: 0
) -> Callable[[int | None], LoadCounters]:
    return lambda pid: count_load(pid, proc, clock, count_unread)


def clock() -> Iterator[float]:
    yield from (100.0, 110.0)


def counter(*counts: int) -> Callable[[int], int]:
    """Return the losses of a switch at each look."""
    numbers = iter(counts)
    return lambda _: next(numbers)


def test_shares_are_of_the_time_between_the_looks(tmp_path: Path) -> None:
    ticks_per_second = os.sysconf("SC_CLK_TCK")
    look(tmp_path, user=1000, idle=5000, steal=0, switch_ticks=200, waited_ns=1_000_000_000)
    watch = LoadWatch(SWITCH, look=looking(tmp_path, clock().__next__, counter(10, 45)))
    switch_ticks = 200 + 4 * ticks_per_second
    look(tmp_path, user=1600, idle=5300, steal=100, switch_ticks=switch_ticks, waited_ns=3_500_000_000)
    load = watch.load()
    assert load.idle == pytest.approx(0.3)
    assert load.steal == pytest.approx(0.1)
    assert load.switch == pytest.approx(0.4)
    assert load.switch_waiting == pytest.approx(0.25)
    assert load.unread == pytest.approx(3.5)


def test_a_kernel_that_forwards_has_no_switch_process(tmp_path: Path) -> None:
    look(tmp_path, user=0, idle=0, steal=0, switch_ticks=0, waited_ns=0)
    load = LoadWatch(None, look=looking(tmp_path, clock().__next__)).load()
    assert (load.switch, load.switch_waiting, load.unread) == (None, None, None)


def test_a_kernel_without_schedstat_is_looked_at_all_the_same(tmp_path: Path) -> None:
    look(tmp_path, user=0, idle=0, steal=0, switch_ticks=0, waited_ns=0)
    (tmp_path / str(SWITCH) / "schedstat").unlink()
    load = LoadWatch(SWITCH, look=looking(tmp_path, clock().__next__, counter(0, 0))).load()
    assert load.switch == 0
    assert load.switch_waiting is None


def test_a_quiet_machine_is_believed() -> None:
    assert overload(QUIET) == ()
    assert overload(replace(QUIET_KERNEL, idle=0.0)) == ()


def test_a_kernel_that_forwards_may_do_so_for_half_of_the_time() -> None:
    assert overload(replace(QUIET_KERNEL, softirq=0.5)) == ()
    (said,) = overload(replace(QUIET_KERNEL, softirq=0.9))
    assert said == "softirqs took 90% of the processors' time, more than 85%"


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (replace(QUIET, steal=0.2), "the hypervisor took 20% of the processors' time"),
        (replace(QUIET, softirq=0.5), "softirqs took 50% of the processors' time"),
        (replace(QUIET, unread=30.0), "ovs-vswitchd lost 30.0 frames/s unread"),
        (replace(QUIET, switch_waiting=0.8), "ovs-vswitchd waited for a processor 80% of the time"),
    ],
)
def test_an_overloaded_machine_is_not(load: MachineLoad, reason: str) -> None:
    (said,) = overload(load)
    assert said.startswith(reason)


def test_each_box_is_looked_at_by_its_own_clock_and_judged_by_its_name(tmp_path: Path) -> None:
    look(tmp_path, user=0, idle=0, steal=0, switch_ticks=0, waited_ns=0)
    idle, busy = (0,) * 8, (20, 0, 0, 50, 0, 0, 0, 30)
    looks = iter(
        [
            {"switch a": LoadCounters(5.0, idle, 1.0, 2.0, 10), "host a": LoadCounters(7000.0, idle, None, None, None)},
            {"switch a": LoadCounters(9.0, idle, 3.0, 5.0, 30), "host a": LoadCounters(7004.0, busy, None, None, None)},
        ]
    )
    load = LoadWatch(None, lambda: next(looks), looking(tmp_path)).load()
    assert load.boxes["switch a"] == MachineLoad(0.0, 0.0, 0.0, switch=0.5, switch_waiting=0.75, unread=5.0)
    lost, waited, stolen = overload(load)
    assert lost.startswith("switch a: ovs-vswitchd lost 5.0 frames/s unread")
    assert waited.startswith("switch a: ovs-vswitchd waited for a processor 75% of the time")
    assert stolen.startswith("host a: the hypervisor took 30% of the processors' time")


def test_the_committed_runs_are_within_every_bound_of_today() -> None:
    runs = [json.loads(text) for name, text in committed_texts("gscale").items() if "-" in name]
    assert len(runs) == 90
    for run in runs:
        assert overload(MachineLoad(**run["manifest"]["load"])) == ()
        assert run["invalid"] == []


def test_a_run_begins_as_soon_as_the_machine_is_not_disturbed(tmp_path: Path) -> None:
    look(tmp_path, user=0, idle=0, steal=0, switch_ticks=0, waited_ns=0)
    watch = LoadWatch(None, look=looking(tmp_path))
    stolen = iter((20, 40, 40))

    def wait(_: float) -> None:
        look(tmp_path, user=0, idle=100, steal=next(stolen), switch_ticks=0, waited_ns=0)

    assert overload(load_at_rest(watch, wait)) == ()
    assert next(stolen, None) is None


def test_a_machine_that_does_not_come_to_rest_is_told_as_it_is(tmp_path: Path) -> None:
    look(tmp_path, user=0, idle=0, steal=0, switch_ticks=0, waited_ns=0)
    watch = LoadWatch(None, look=looking(tmp_path))
    looks = iter(range(1, REST_LOOKS + 1))

    def wait(_: float) -> None:
        look(tmp_path, user=0, idle=0, steal=10 * next(looks), switch_ticks=0, waited_ns=0)

    assert load_at_rest(watch, wait).steal == 1.0
    assert next(looks, None) is None

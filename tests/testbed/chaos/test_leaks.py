"""What a lab leaves behind or has more of than before is named."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.chaos.leaks import (
    MOST_MORE_DESCRIPTORS,
    SAMPLE_SECONDS,
    SETTLED_AFTER,
    WINDOW,
    LabContents,
    MachineInventory,
    ProcessSize,
    SizeWatch,
    contents_of,
    left_behind,
    piled_up,
    size_of,
    surplus,
    take_inventory,
)
from testbed.machine.run_directory import LAB_VARIABLE

SMALL, LARGE = ProcessSize(4, 20, 50_000), ProcessSize(40, 30, 50_000)
LAB = "9-abc"


@pytest.fixture
def stray() -> Iterator[int]:
    """A process of the lab that nobody ends."""
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(
        command, env=os.environ | {LAB_VARIABLE: LAB}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid


def test_what_a_lab_leaves_is_found_by_its_name() -> None:
    before = MachineInventory(frozenset(), frozenset({"lo"}), SMALL)
    after = MachineInventory(frozenset({LAB}), frozenset({"lo", "s1-eth1", "docker0"}), LARGE)
    held = str(Path("/proc/self/ns/net").readlink())
    found = left_behind(before, after, LAB, {held}, {"lo", "s1-eth1", "s1-eth2"})
    assert "the run directory /run/kuijia/9-abc is still there" in found
    assert "interfaces s1-eth1 are still there" in found
    assert any(line.endswith(f"holds {held} of the lab") for line in found)
    assert "this process has 40 threads, 4 at the start" in found
    assert "this process has 30 descriptors, 20 at the start" in found


def test_a_process_of_the_lab_that_still_runs_is_found(stray: int) -> None:
    now = take_inventory()
    assert left_behind(now, now, LAB, (), ()) == (f"process {stray} of the lab still runs",)


def test_a_file_system_that_is_still_mounted_is_found() -> None:
    now = take_inventory()
    # Every machine has something mounted at /proc.
    assert "a file system of the lab is still mounted" in left_behind(now, now, "/proc", (), ())


def test_a_machine_without_a_lab_has_nothing_left_behind() -> None:
    before = take_inventory()
    assert left_behind(before, take_inventory(), "no-such-lab", (), ()) == ()
    assert size_of(2**31) is None


def test_more_of_anything_in_a_running_lab_is_found() -> None:
    before = LabContents(Counter(python3=2), 0, frozenset({"s1-eth1"}), 20, frozenset({"plan.json"}))
    after = LabContents(
        Counter(python3=3), 1, frozenset({"s1-eth1", "x"}), 21, frozenset({"plan.json", "plan.json.refused", "partial"})
    )
    assert surplus(before, after) == (
        "1 more processes python3 run",
        "1 more children have ended and are not waited for",
        "the lab has new interfaces x",
        "the lab has 21 queueing disciplines and classes, 20 before",
        "the run directory has new files partial",
    )
    assert surplus(after, replace(before, dead=1)) == ()


@pytest.mark.usefixtures("stray")
def test_contents_of_a_lab_are_counted_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / LAB
    folder.mkdir()
    for name in ("plan.json", "ovs-vswitchd.7.ctl"):
        (folder / name).touch()
    before = contents_of(folder)
    assert before.files == {"plan.json"}
    assert sum(before.processes.values()) == 1
    assert "lo" in before.interfaces
    (folder / "plan.json.partial").touch()
    ended = subprocess.Popen([sys.executable, "-c", ""], env=os.environ, stdout=subprocess.PIPE)
    assert ended.stdout is not None
    with ended.stdout:
        ended.stdout.read()
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    found = surplus(before, contents_of(folder))
    ended.wait()
    assert found == (
        "1 more children have ended and are not waited for",
        "the run directory has new files plan.json.partial",
    )


HOUR = round(3600 / SAMPLE_SECONDS)


def life(memory: Callable[[float], float], samples: int = HOUR) -> tuple[str, ...]:
    """Return what is found in a process that has this memory in MB at each share of its life."""
    return piled_up("x", [ProcessSize(5, 20, round(1024 * memory(at / samples))) for at in range(samples)])


def test_memory_that_grows_all_the_time_is_found() -> None:
    assert life(lambda at: 50 + 100 * at)
    assert life(lambda at: 50 + 45 * at)


def test_a_cache_that_fills_up_and_noise_are_not() -> None:
    assert life(lambda at: 50 + 60 * min(at * 4, 1)) == ()
    assert life(lambda at: 50 + 30 * (round(at * HOUR) % 7 == 0)) == ()
    assert life(lambda at: 50 + 20 * at) == ()


def test_a_start_is_no_growth() -> None:
    assert life(lambda at: 5 if at * HOUR < SETTLED_AFTER else 90) == ()


def test_a_short_life_tells_nothing() -> None:
    assert life(lambda at: 50 + 500 * at, SETTLED_AFTER + 3 * WINDOW - 1) == ()
    assert life(lambda at: 50 + 500 * at, SETTLED_AFTER + 3 * WINDOW)


@pytest.mark.parametrize(
    ("size", "words"),
    [(ProcessSize(12, 20, 50_000), "12 threads, 5 before"), (ProcessSize(5, 40, 50_000), "40 descriptors, 20 before")],
)
def test_threads_and_descriptors_that_stay_are_found(size: ProcessSize, words: str) -> None:
    usual = ProcessSize(5, 20, 50_000)
    assert piled_up("x", [usual] * 60 + [size] * WINDOW) == (f"x has {words}",)
    assert piled_up("x", [usual] * 60 + [size] * WINDOW + [usual]) == ()


def test_a_process_that_was_started_anew_is_another_one() -> None:
    watch = SizeWatch()
    now = 1000.0
    own = int(Path("/proc/self").readlink().name)
    for _ in range(3):
        watch.look(lambda: {"x": own, "gone": None}, now)
        watch.look(lambda: {"y": own}, now + SAMPLE_SECONDS / 2)  # too soon
        now += SAMPLE_SECONDS
    assert watch.growth() == ()
    (name,) = watch.largest()
    first, largest = watch.largest()[name]
    assert name == "x"
    assert 0 < first.memory_kb <= largest.memory_kb


def test_what_more_work_takes_is_no_growth() -> None:
    watch = SizeWatch()
    own = int(Path("/proc/self").readlink().name)
    with ExitStack() as held:
        for number in range(4 * WINDOW):
            if number == 2 * WINDOW:
                for _ in range(2 * MOST_MORE_DESCRIPTORS):
                    held.enter_context(Path("/dev/null").open())
            watch.look(lambda: {"x": own}, 1000.0 + number * SAMPLE_SECONDS, work=number // (2 * WINDOW))
    assert watch.growth() == ()

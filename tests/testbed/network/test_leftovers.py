from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from kuijia_base.commands import run_command
from kuijia_base.errors import TestbedError
from testbed.machine.processes import own_identity, processes_with_environment
from testbed.machine.run_directory import LAB_VARIABLE, labs
from testbed.network.leftovers import BOXES_NOTE, remove_leftovers

pytestmark = pytest.mark.emulation

REPOSITORY = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class HeldLab:
    """A lab in its own process."""

    lab_id: str
    holder: subprocess.Popen[str]

    @property
    def processes(self) -> list[int]:
        return processes_with_environment(f"{LAB_VARIABLE}={self.lab_id}")

    def take_down(self) -> int:
        self.holder.communicate("")
        return self.holder.returncode


@contextmanager
def held_lab(root: Path) -> Iterator[HeldLab]:
    holder = subprocess.Popen(
        [sys.executable, "-m", "tests.testbed.lab_holder", str(root)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        lab_id = holder.stdout.readline().strip()
        assert lab_id
        yield HeldLab(lab_id, holder)
    finally:
        holder.kill()
        holder.communicate()


def machine_state() -> tuple[str, str]:
    """Return all network state of the machine's own namespace."""
    return run_command(["ip", "-oneline", "link"]), run_command(["ip", "netns"])


def test_the_machines_own_namespace_is_the_same_before_during_and_after(tmp_path: Path) -> None:
    before = machine_state()
    with held_lab(tmp_path) as lab:
        assert machine_state() == before
        assert lab.take_down() == 0
        assert lab.processes == []
    assert machine_state() == before
    assert labs(tmp_path) == []


def test_what_a_killed_lab_leaves_is_removed_and_a_live_one_untouched(tmp_path: Path) -> None:
    said: list[str] = []
    with held_lab(tmp_path) as killed, held_lab(tmp_path) as live:
        killed.holder.kill()
        killed.holder.wait()
        of_live = live.processes
        assert {"ovs-vswitchd", "ovsdb-server", "sleep"} <= names(killed.processes)

        remove_leftovers(said.append, tmp_path)

        assert killed.processes == []
        assert labs(tmp_path) == [tmp_path / live.lab_id]
        assert live.processes == of_live
        assert len(said) == 1
        assert f"killed lab {killed.lab_id} " in said[0]
        assert live.take_down() == 0
    remove_leftovers(said.append, tmp_path)
    assert len(said) == 1
    assert labs(tmp_path) == []


def names(pids: list[int]) -> set[str]:
    return {Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids}


def test_the_directory_of_a_killed_lab_on_boxes_stays_until_somebody_has_put_them_back(tmp_path: Path) -> None:
    identity = own_identity()
    killed, other = tmp_path / "1-boxes", tmp_path / "2-other"
    for directory in (killed, other):
        directory.mkdir()
        (directory / "owner.json").write_text(json.dumps({**asdict(identity), "start_time": identity.start_time + 1}))
        (directory / "journal").touch()
    (killed / BOXES_NOTE).write_text("/inventory.yaml")
    said: list[str] = []

    def unreachable(directory: Path, _report: object) -> None:
        raise TestbedError(f"{directory.name} is out of reach")

    with pytest.raises(TestbedError, match="1-boxes is out of reach"):
        remove_leftovers(said.append, tmp_path, unreachable)
    assert (labs(tmp_path), len(said)) == ([killed], 1)
    remove_leftovers(said.append, tmp_path)
    assert labs(tmp_path) == [killed]
    remove_leftovers(said.append, tmp_path, lambda directory, report: report(f"{directory.name} is put back"))
    assert labs(tmp_path) == []
    assert said[1] == "1-boxes is put back"

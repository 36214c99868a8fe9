"""Table 2 on the kernel's datapath, shortened and with wider margins than a full run."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.measuring import load
from experiments.results.result import load_result
from kuijia.cli.main import main
from testbed.machine.ovs import Datapath
from tests.experiments.motivation.test_emulated_motivation import ABORIGINALS, VICTIMS, assert_queues, kept

pytestmark = pytest.mark.kernel

CAPACITY = "5"
LENGTHS = ("--warmup-seconds", "3", "--before-seconds", "3", "--settle-seconds", "4", "--after-seconds", "4")


def test_table_2_comes_out_as_on_the_userspace_datapath(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "ATTEMPTS", 2)
    options = ["--quick", "--schemes", "kuijia", "--capacity", CAPACITY, *LENGTHS]
    assert main(["run", "table2", *options, "-o", str(tmp_path)]) in (0, 1)
    result = load_result(tmp_path / "table2-kuijia-1.json")
    assert result.manifest["datapath"] == Datapath.KERNEL.value
    assert all(kept(result, (name,)) > 0.95 for name in ABORIGINALS)
    assert kept(result, VICTIMS) == pytest.approx(0.46, abs=0.15)
    assert_queues(result, dict.fromkeys(VICTIMS, True) | dict.fromkeys(ABORIGINALS, False))

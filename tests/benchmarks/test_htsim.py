"""The packet model and csg-htsim on the same scene, where htsim's source is given."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from benchmarks import packet_vs_htsim
from benchmarks.packet_vs_htsim import HtsimMissingError, program
from benchmarks.registry import BenchmarkSetting
from kuijia_base.progress import Progress


def test_the_benchmark_is_left_out_by_name_without_htsims_source() -> None:
    shown = io.StringIO()
    assert list(packet_vs_htsim.packet_vs_htsim(BenchmarkSetting(None, Progress(shown)))) == []
    assert "left out: csg-htsim's source is not given" in shown.getvalue()


def test_a_folder_without_htsims_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(HtsimMissingError, match=r"config\.cpp is missing"), program(tmp_path):
        pass


def test_what_does_not_compile_is_named(tmp_path: Path) -> None:
    (tmp_path / "sim").mkdir()
    for name in packet_vs_htsim.FILES:
        (tmp_path / "sim" / f"{name}.cpp").write_text("this is not C++")
    with pytest.raises(HtsimMissingError, match="does not compile"), program(tmp_path):
        pass


@pytest.mark.slow
@pytest.mark.skipif("HTSIM" not in os.environ, reason="csg-htsim's source is not given: HTSIM in the environment")
def test_both_deliver_the_same_packets_in_about_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packet_vs_htsim, "_PACKETS", {4: 500})
    monkeypatch.setattr(packet_vs_htsim, "_REPETITIONS", 1)
    setting = BenchmarkSetting(None, Progress(io.StringIO()), Path(os.environ["HTSIM"]))
    (comparison,) = packet_vs_htsim.packet_vs_htsim(setting)
    rows = comparison.detail["ms until all flows have finished"]
    assert isinstance(rows, list)
    (finished,) = rows
    assert finished["ours"] == pytest.approx(finished["htsim"], rel=0.2)

"""Tables 2 and 3 in the packet simulator: within the bars at a small rate, and what it cannot do is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.results.result import load_result
from kuijia.cli.main import main

SHORT = ("--warmup-seconds", "1", "--before-seconds", "2", "--settle-seconds", "3", "--after-seconds", "6")


def run(folder: Path, *arguments: str) -> int:
    at = ("--backend", "packet", "--capacity", "20", "--buffer-packets", "50", *SHORT)
    return main(["run", *arguments, *at, "-o", str(folder)])


@pytest.mark.parametrize(("table", "kept"), [("table2", 0.77), ("table3", 0.49)])
def test_aboriginal_flows_lose_under_rescaling_and_nothing_under_kuijia(
    tmp_path: Path, table: str, kept: float
) -> None:
    assert run(tmp_path, table) == 0
    rescaling, kuijia = (load_result(tmp_path / f"{table}-{scheme}-1.json") for scheme in ("rescaling", "kuijia"))
    for name in ("f3", "f4"):
        assert rescaling.flow(name).ratio == pytest.approx(kept, abs=0.04)
        assert kuijia.flow(name).ratio == pytest.approx(1, abs=0.002)
        assert not kuijia.flow(name).low_after
    for name, backup in (("f1", ("s1", "s4")), ("f2", ("s1", "s3", "s4"))):
        assert kuijia.flow(name).tunnel_before == ("s1", "s2", "s4")
        assert kuijia.flow(name).tunnel_after == backup
        assert kuijia.flow(name).low_after
    assert kuijia.manifest["sending"]["buffer_packets"] == 50


def test_delays_buffers_and_transports_change_the_run(tmp_path: Path) -> None:
    runs: dict[str, tuple[str, ...]] = {"slow": ("--link-delay-seconds", "0.02"), "cubic": ()}
    runs |= {name: ("--congestion-control", name) for name in ("newreno", "dctcp", "bbr")}
    goodput = {}
    for name, options in runs.items():
        run(tmp_path / name, "table2", "--schemes", "rescaling", *options)
        result = load_result(tmp_path / name / "table2-rescaling-1.json")
        goodput[name] = tuple(flow.series.goodput for flow in result.flows)
    assert len(set(goodput.values())) == len(runs)


def test_clocks_that_differ_let_victims_into_a_long_queue_that_others_keep_full(tmp_path: Path) -> None:
    """Spared flows arrive at the rate of the link that they fill: its one free place is always theirs."""
    long = ("--backend", "packet", "--capacity", "1000", "--buffer-packets", "600", "--schemes", "rescaling")
    brief = ("--warmup-seconds", "1", "--before-seconds", "1", "--settle-seconds", "2", "--after-seconds", "2")
    kept = {}
    for name, options in {"exact": (), "real": ("--clock-ppm", "100")}.items():
        main(["run", "table3", *long, *brief, *options, "-o", str(tmp_path / name)])
        result = load_result(tmp_path / name / "table3-rescaling-1.json")
        kept[name] = [result.flow(flow).ratio or 0.0 for flow in ("f1", "f2")]
    assert max(kept["exact"]) < 0.01
    assert min(kept["real"]) > 0.5


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        (["--kill-controller", "--cut", "s1-s4"], "option:--kill-controller: the simulated controller cannot be "),
        (["--congestion-control", "reno"], "option:--congestion-control: reno is not in the simulator, expected "),
        (["--inventory", "boxes.yaml"], "option:--inventory: changes nothing on packet, expected --backend boxes"),
    ],
)
def test_what_the_simulator_has_not_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: list[str], complaint: str
) -> None:
    assert run(tmp_path / "new", "table2", *option) == 2
    assert capsys.readouterr().err.startswith(f"error: {complaint}")

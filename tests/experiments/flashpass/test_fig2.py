"""Figure 2 of the FlashPass paper, on runs small enough for a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.catalog import find_entry
from experiments.flashpass import fig2
from experiments.flashpass.fig2 import (
    AUTHORS_TCP,
    BUFFERS,
    BY_THE_PAPERS,
    FLOWS,
    PUBLISHED,
    TRANSPORTS,
    DumbbellRun,
    measured,
    run_fig2,
)
from experiments.results.exhibit import Line, Point
from simulator.packet.queues import Fifo
from simulator.packet.transports import Congestion, Tcp
from tests.experiments.executions import execution_in


def test_the_network_is_that_of_the_paper() -> None:
    network = DumbbellRun("cubic", 0.2, 1.0, 1).network()
    assert len(network.hosts) == FLOWS + 1
    packets = 133 + 10  # of 1500 bytes in the buffer, and in the device
    limited = [
        link for link in network.links if isinstance(link.queueing, Fifo) and link.queueing.limit == packets * 1538
    ]
    assert [(link.target, link.rate) for link in limited] == [(FLOWS, 10_000.0)]
    assert {link.delay for link in network.links} == {0.01}


def test_every_published_value_has_its_buffer() -> None:
    known = PUBLISHED
    assert tuple(known["buffers_mb"]) == BUFFERS
    for key in ("throughput", "loss"):
        assert {transport.value for transport in TRANSPORTS} == set(known[key])
        assert {len(values) for values in known[key].values()} == {len(BUFFERS)}


def test_a_larger_buffer_gives_reno_more_throughput(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fig2, "RATE", 500.0)
    small, large = (measured(DumbbellRun("newreno", buffer, 1.0, 1)) for buffer in (0.02, 2.0))
    assert 0 < small[0] < large[0] <= 0.5 * 1448 / 1538 + 0.001
    assert 0 < small[1] < 1


def test_checks_hold_deviations_order_and_losses_against_the_paper() -> None:
    def line(label: str, values: tuple[float, float]) -> Line:
        theirs = {"a": (6.0, 9.0), "b": (7.0, 9.0)}[label]
        return Line(label, tuple(Point.of(x, [v], p) for x, v, p in zip((0.2, 1.0), values, theirs, strict=True)))

    good = fig2.throughput_checks([line("a", (6.5, 9.2)), line("b", (6.6, 8.5))])
    assert all(check.passed for check in good)
    assert [check.measured for check in good] == pytest.approx([0.2, -0.5, 0])
    bad = fig2.throughput_checks([line("a", (7.5, 9.7)), line("b", (6.6, 8.5))])
    assert [check.passed for check in bad] == [False, True, False]
    losses = fig2.loss_checks([line("a", (13.0, 4.6))])
    assert [check.passed for check in losses] == [True, False]


@pytest.mark.parametrize(
    ("choices", "remark"),
    [(AUTHORS_TCP, "as the authors changed them"), (BY_THE_PAPERS, "those of their own papers")],
)
def test_the_experiment_writes_tables_and_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choices: Tcp, remark: str
) -> None:
    monkeypatch.setattr(fig2, "RATE", 50.0)
    monkeypatch.setattr(fig2, "QUICK_BUFFERS", (0.2, 2.0))
    monkeypatch.setattr(fig2, "QUICK_SECONDS", 0.3)
    by_the_papers = choices == BY_THE_PAPERS
    outcome = run_fig2(execution_in(tmp_path, "flashpass-fig2", by_the_papers=by_the_papers))
    assert find_entry("flashpass-fig2").load().sweeps
    names = {path.name for path in tmp_path.iterdir()}
    assert {"flashpass-fig2.svg", "flashpass-fig2-throughput.json", "flashpass-fig2-loss.txt"} <= names
    missed = outcome.summary["missed"]
    assert isinstance(missed, list)
    assert len(missed) >= len(TRANSPORTS)  # none reaches gigabits at a two-hundredth of the rate
    assert remark in (tmp_path / "flashpass-fig2-loss.txt").read_text()


def test_by_the_papers_transports_have_their_own_defaults() -> None:
    for congestion in (Congestion.CUBIC, Congestion.VEGAS, Congestion.COPA, Congestion.BBR):
        tcp = DumbbellRun(congestion.value, 1.0, 1.0, 1, BY_THE_PAPERS).tcp()
        usual = Tcp(
            congestion,
            handshake=True,
            payload=tcp.payload,
            header=tcp.header,
            first_timeout=tcp.first_timeout,
            nic_packets=tcp.nic_packets,
            grows_from=tcp.grows_from,
        )
        assert tcp == usual


def test_cubic_falls_by_a_fifth_unless_it_goes_by_its_rfc() -> None:
    assert DumbbellRun(Congestion.CUBIC.value, 1.0, 1.0, 1).tcp().cubic_keeps == pytest.approx(0.8, abs=0.001)
    assert DumbbellRun(Congestion.CUBIC.value, 1.0, 1.0, 1, BY_THE_PAPERS).tcp().cubic_keeps == 0.7

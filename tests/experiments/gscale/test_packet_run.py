"""Cases of Gscale in the packet simulator: the plan's tunnels are seen, and losses are the fluid model's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.experiment import Settings
from experiments.gscale.cases import Case
from experiments.gscale.exhibits import role_loss
from experiments.gscale.models import PacketModel, compute, compute_packets
from experiments.gscale.plans import plan_of
from experiments.measuring.packet_run import PacketConditions
from kuijia.cli.main import main
from tests.experiments.gscale.results import committed_run
from tests.experiments.results.backend_comparison import compare

SETTINGS = Settings("packet", 20.0, "os-ken", 64, 1, quick=True, seed=1)


@pytest.mark.parametrize("scheme", ["rescaling", "kuijia"])
def test_a_run_has_the_tunnels_queues_and_losses_of_the_fluid_model(scheme: str) -> None:
    case = Case("udp", 1.2, ("7", "9"), scheme, 1)
    result = compute_packets(case, plan_of(case, 20.0, 1), PacketModel(SETTINGS, PacketConditions(buffer_packets=50)))
    said = compute(case, SETTINGS)
    assert compare(said, result, 1.0) == []  # roles, tunnels and queues; losses follow
    for role in ("victim", "direct", "indirect", "aboriginal"):
        ours, theirs = (role_loss([flow for flow in run.flows if flow.role == role]) for run in (result, said))
        assert (ours is None) == (theirs is None)
        if ours is not None and theirs is not None:
            assert ours == pytest.approx(theirs, abs=0.05)


def test_tcp_loses_what_it_loses_on_switches() -> None:
    """A whole run: its flows have been sending for eight seconds when the link is cut."""
    case = Case("tcp", 0.8, ("2", "3"), "rescaling", 1)
    model = PacketModel(replace(SETTINGS, quick=False), PacketConditions(buffer_packets=50))
    result, measured = compute_packets(case, plan_of(case, 20.0, 1), model), committed_run("gscale", case.name)
    for role in ("victim", "direct", "indirect"):
        ours, theirs = (role_loss([flow for flow in run.flows if flow.role == role]) for run in (result, measured))
        assert ours == pytest.approx(theirs, abs=0.01)


def test_options_of_the_simulator_change_nothing_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["--buffer-packets", "5"], ["--clock-ppm", "100"], ["--workers", "2"]):
        assert main(["run", "fig11", "--backend", "flow", *option, "-o", str(tmp_path / "new")]) == 2
        assert f"option:{option[0]}" in capsys.readouterr().err

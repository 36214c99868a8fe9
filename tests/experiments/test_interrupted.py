"""Ctrl-C during an experiment in packets ends it: nothing measured until then passes for a result."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia.cli.main import EXIT_INTERRUPTED, main
from simulator.packet.simulation import Simulation


@pytest.mark.parametrize(
    "words",
    [
        "hermes-motivation",
        "hermes-table6",
        "hermes-fig9 --workers 1",
        "cqrd-toy",
        "cqrd-exp1 --workers 1",
        "cqrd-testbed",
        "flashpass-fig2 --workers 1",
        "flashpass-buffers --workers 1",
        "flashpass-fig4",
        "flashpass-fig5 --workers 1",
        "expresspass-convergence",
        "expresspass-parking-lot",
        "expresspass-queues --workers 1",
        "hedera-testbed --backend packet --workers 1",
        "recovery --backend packet",
        "update --backend packet",
        "victim-transports --workers 1",
        "table2 --backend packet",
    ],
)
def test_an_interrupted_experiment_writes_nothing(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object) -> bool:
        return False

    monkeypatch.setattr(Simulation, "run", stopped)
    folder = tmp_path / "results"
    assert main(["run", *words.split(), "--quick", "-o", str(folder)]) == EXIT_INTERRUPTED
    assert "stopped" in capsys.readouterr().err
    assert not folder.exists()

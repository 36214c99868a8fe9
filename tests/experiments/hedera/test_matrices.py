"""The authors' matrices: the goodput model matches theirs without blocking, and figures are judged and written."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from experiments.hedera import matrices
from experiments.hedera.matrices import IN_ROUNDS, MatrixRow, exhibits, published, row_of, summary
from experiments.hedera.schemes import FIRST_FIT
from experiments.hedera.simulation import non_blocking, tcp_goodput, utilisation
from experiments.reporting.report import report_of
from experiments.results.exhibit import exhibit_text
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import authors_matrices
from kuijia.cli.main import main

TREE = FatTree(4)


@pytest.mark.parametrize("name", published()["rows"])
def test_goodput_without_blocking_is_the_authors(name: str) -> None:
    """The constants were fitted to rand0 to rand2, not to the others."""
    matrix = authors_matrices()[name]
    paths = TREE.flow_paths(matrix.source, matrix.target, np.zeros(matrix.source.size, np.int32))
    total = tcp_goodput(non_blocking(TREE), paths).sum()
    assert total == pytest.approx(published()["rows"][name][0], rel=0.03)


def test_more_flows_use_more_of_a_link() -> None:
    used = utilisation(np.arange(1.0, 50.0))
    assert (np.diff(used) > 0).all()
    assert used[0] > 0.75  # a saw-tooth between half and all
    assert used[-1] < 1


def test_annealing_reaches_what_the_network_can_carry() -> None:
    row = row_of(TREE, authors_matrices()["stride8"], range(1, 3))
    assert row.parts["simulated-annealing"] == pytest.approx([1.0, 1.0])
    assert max(row.parts["ecmp"]) < 0.9


def test_the_search_of_single_flows_carries_what_one_label_for_each_host_cannot() -> None:
    row = row_of(TREE, authors_matrices()["rand1"], range(1, 3))
    assert row.parts["simulated-annealing"] == pytest.approx([1.0, 1.0])
    assert max(row.parts["simulated-annealing-per-host"]) < 0.99


def test_first_fit_upon_detection_reserves_what_later_flows_leave_unused() -> None:
    row = row_of(TREE, authors_matrices()["rand0"], range(1, 6))
    assert fmean(row.parts[FIRST_FIT]) < fmean(row.parts[IN_ROUNDS]) - 0.03


def data_with(part: float) -> dict[str, Any]:
    names = (*matrices.PLACEMENTS, IN_ROUNDS)
    rows = [MatrixRow(name, 12529.0, {name: [part] for name in names}) for name in published()["rows"]]
    return summary(rows, published())


def test_figures_that_are_off_are_reported() -> None:
    parts, _ = exhibits(data_with(0.5))
    assert [line.split(": ")[1].split(" in the mean")[0].split(" is ")[0] for line in parts.missed()] == [
        "simulated-annealing-per-host on rand0, its worst matrix",
        *("simulated-annealing", "simulated-annealing-per-host", "ecmp", "global-first-fit"),
    ]
    assert "[published]" in exhibit_text(parts)


def test_the_table_is_written_beside_what_was_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {name: authors_matrices()[name] for name in ("rand0", "randbij3")}
    monkeypatch.setattr(matrices, "authors_matrices", lambda: few)
    main(["run", "hedera-matrices", "--quick", "-o", str(tmp_path)])
    data = json.loads((tmp_path / "hedera-matrices.json").read_text())
    assert data["matrices"]["rand0"]["published"]["non-blocking"] == 9009
    assert "published" not in data["matrices"]["randbij3"]
    assert "rand0" in capsys.readouterr().out
    assert "published" in (tmp_path / "hedera-matrices.svg").read_text()
    (stored, _) = report_of(tmp_path).exhibits
    assert stored.line("ecmp").at("rand0").published == pytest.approx(
        100 * data["matrices"]["rand0"]["published"]["part"]["ecmp"]
    )

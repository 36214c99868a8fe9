"""The picture has a panel per scheme with every flow and the cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.motivation.report import goodput_figure
from experiments.results.published import published_throughput
from tests.experiments.sample_results import TABLE_2_KUIJIA, TABLE_2_RESCALING, result

PNG = b"\x89PNG\r\n\x1a\n"


def test_every_scheme_has_a_panel_with_all_flows_and_the_cut_at_zero() -> None:
    results = [
        replace(result(scheme, goodput), published=published_throughput("table2").for_scheme(scheme))
        for scheme, goodput in (("rescaling", TABLE_2_RESCALING), ("kuijia", TABLE_2_KUIJIA))
    ]
    panels = goodput_figure(results, "Table 2").axes
    assert [panel.get_title() for panel in panels] == ["rescaling", "kuijia"]
    for panel in panels:
        labels = [str(line.get_label()) for line in panel.get_lines()]
        assert [label for label in labels if label.startswith("f")] == [
            "f1 (victim)",
            "f2 (victim)",
            "f3 (direct)",
            "f4 (direct)",
        ]
        assert any(np.array_equal(line.get_xdata(), [0, 0]) for line in panel.get_lines())
        assert "s2-s4 cut" in [text.get_text() for text in panel.texts]


def test_runs_on_a_busy_machine_are_not_drawn(tmp_path: Path) -> None:
    figure = goodput_figure([result("kuijia", TABLE_2_KUIJIA, invalid=("too busy",))], "Table 2")
    assert figure.axes[0].get_lines() == []
    figure.savefig(tmp_path / "empty.png")
    assert (tmp_path / "empty.png").read_bytes().startswith(PNG)

"""The layout that the page on the data plane shows can be used as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

from kuijia_app.tables.options import PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import named_layout
from tests.kuijia_app.plans import motivation_plan

PAGE = Path(__file__).parents[2] / "docs" / "data_plane.md"


def test_the_layout_shown_is_read_and_serves_a_plan_with_either_tagging(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    path = tmp_path / "file.yaml"
    path.write_text(example)
    layout = named_layout(str(path))
    assert layout.name == "mine"
    for tagging in Tagging:
        assert build_tables(motivation_plan(), PipelineOptions(layout=layout, tagging=tagging))

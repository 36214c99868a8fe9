"""The layout that the page on the data plane shows can be used as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

from kuijia_app.tables.options import PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import named_layout
from tests.kuijia_app.plans import motivation_plan

PAGE = Path(__file__).parents[2] / "docs" / "data_plane.md"


def test_the_layouts_shown_are_read_and_serve_a_plan_with_every_tagging(tmp_path: Path) -> None:
    examples = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    path = tmp_path / "file.yaml"
    names = []
    for example in examples:
        path.write_text(example)
        layout = named_layout(str(path))
        names.append(layout.name)
        for tagging in Tagging:
            assert build_tables(motivation_plan(), PipelineOptions(layout=layout, tagging=tagging))
    assert names == ["mine", "file"]

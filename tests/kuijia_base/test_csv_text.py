from __future__ import annotations

import csv
import io

import pytest

from kuijia_base.text import csv_text


@pytest.mark.parametrize("name", ['=HYPERLINK("http://x","y")', "+1", "-1+1", "@SUM(A1)", "\t=1"])
def test_a_name_that_a_spreadsheet_would_compute_becomes_text(name: str) -> None:
    text = csv_text(("failure", "lost"), [(name, -1.5)])
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["failure", "lost"], [f"'{name}", "-1.5"]]


def test_other_cells_stay_as_they_are() -> None:
    rows = [("A-B", "-", "", "a=b", "'x", 0.1, None, -3)]
    assert csv_text(("a", "b"), rows) == "a,b\nA-B,-,,a=b,'x,0.1,,-3\n"

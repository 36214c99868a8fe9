"""`kuijia scheduler` refuses what it cannot serve before it listens."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia.cli.main import main

LONELY = """name: lonely
nodes: [a, b]
links:
  - {a: a, b: b, capacity: 10}
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fat-tree", "5"], "fat-tree:k: a fat-tree of 5-port switches, expected an even number from 2 to 254"),
        (["--period", "0.05"], "option:period: 0.05 is too short for a round, expected 0.1 seconds or more"),
        (["--placement", "magic"], "invalid choice: 'magic'"),
        (["missing.yaml"], "missing.yaml"),
    ],
)
def test_bad_options_are_refused_in_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["scheduler", *arguments])
    except SystemExit as ended:
        status = int(ended.code or 0)
    error = capsys.readouterr().err
    assert status == 2
    assert said in error
    assert error.startswith("error: ")
    assert error.count("\n") == 1


def test_a_graph_without_hosts_is_refused_by_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lonely.yaml"
    file.write_text(LONELY)
    assert main(["scheduler", str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {file}:")

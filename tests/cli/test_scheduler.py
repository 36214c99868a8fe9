"""`kuijia scheduler` refuses what it cannot serve before it listens."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from kuijia.cli.main import main
from tests.cpu_time import at_most

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


@pytest.mark.parametrize("ports", [34, 100, 254])
def test_a_fat_tree_that_takes_minutes_to_prepare_is_refused_at_once(
    ports: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with at_most(2):
        assert main(["scheduler", "--fat-tree", str(ports)]) == 2
    assert capsys.readouterr().err == (
        f"error: fat-tree:k: a fat-tree of {ports}-port switches, expected at most 32 ports to schedule\n"
    )


def test_a_graph_of_thousands_of_edge_switches_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    links = [f"{{a: s{n}, b: s{n + 1}}}" for n in range(8000)] + [f"{{a: s{n}, b: h{n}}}" for n in range(8000)]
    nodes = [f"s{n}" for n in range(8001)] + [f"h{n}" for n in range(8000)]
    file = tmp_path / "chain.yaml"
    file.write_text(f"nodes: [{', '.join(nodes)}]\nlinks: [{', '.join(links)}]\n".replace("}", ", capacity: 10}"))
    with at_most(4):
        assert main(["scheduler", str(file)]) == 2
    said = capsys.readouterr().err
    assert "8,000 edge switches and 15,998 links between switches, expected a product of at most" in said


def test_a_large_network_is_announced_before_its_tables_are_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []

    def note(*_: object) -> int:
        said.append(capsys.readouterr().err)
        return 0

    monkeypatch.setattr("kuijia.cli.scheduler.run_application", note)
    with suppress(AssertionError):  # a verb that listens does not come back
        main(["scheduler", "--fat-tree", "12"])
    assert said == ["preparing the tables of 180 switches\n"]

"""The command of a row makes the committed result: as many seeds, and runs of as many flows.

Commands of simulated transports and load balancers are parsed and run up to their first case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from experiments.catalog import find_entry
from experiments.reporting.results_page import Results, all_items
from kuijia.cli.main import main
from kuijia_base.sweep.sweep import Sweep

FOLDER = Path(__file__).parents[3] / "docs" / "results"
RESULTS = Results(FOLDER)
SIMULATED = ("CQRD", "FlashPass", "ExpressPass", "Hermes")

COMMANDS = sorted(
    {
        item.command
        for item in all_items()
        if item.paper in SIMULATED and item.command and find_entry(item.command.split(" ")[2]).load().sweeps
    }
)


class Begun(BaseException):
    """Stops a command where its runs would begin."""

    def __init__(self, cases: Sequence[Any]) -> None:
        super().__init__()
        self.cases = cases


def cases_of(command: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Sequence[Any]:
    """Return the cases that a command would run."""

    def begin(_: Sweep[Any, Any, Any], *__: object, cases: Sequence[Any], **___: object) -> NoReturn:
        raise Begun(cases)

    monkeypatch.setattr(Sweep, "__init__", begin)
    with pytest.raises(Begun) as begun:
        main([*command.split(" ")[1:], "-o", str(folder / "out")])
    return begun.value.cases


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_the_seeds_and_flows_of_its_committed_result(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cases = cases_of(command, monkeypatch, tmp_path)
    shown = [RESULTS.exhibit(place) for item in all_items() if item.command == command for place in item.results]
    points = [point for exhibit in shown for line in exhibit.lines for point in line.points]
    # Percentiles over the flows of all seeds together count as one run.
    assert max(point.runs for point in points) == len({case.seed for case in cases})
    flows = {case.flows for case in cases if hasattr(case, "flows")}
    titled = {int(each.replace(",", "")) for exhibit in shown for each in re.findall(r"([\d,]+) flows", exhibit.title)}
    assert not flows or titled <= flows


def test_a_committed_result_with_a_manifest_was_made_by_the_command_of_its_row() -> None:
    for item in all_items():
        for place in item.results:
            folder, name, backend = place.split(" ")
            path = FOLDER / folder / f"{name}.json"
            manifest = json.loads(path.read_text(encoding="utf-8")).get("manifest", {}) if path.is_file() else {}
            command = item.command.removeprefix("sudo ")
            assert manifest.get("command", command) in (command, f"{command} --backend {backend}"), place


def test_commands_of_each_paper_are_compared() -> None:
    assert len(COMMANDS) > 20
    assert "kuijia run hermes-fig13 --repetitions 3" in COMMANDS

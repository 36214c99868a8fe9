"""The page of all published items is the one that committed results give, and leaves none of them out."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import pytest

from experiments.catalog import find_entry
from experiments.reporting import results_page
from experiments.reporting.report import findings_of, report_of
from experiments.reporting.results_page import Item, Results, _row, all_items, page_of, places
from experiments.reporting.verdict import REPRODUCED, UNPUBLISHED, judgement_of
from experiments.results.result import LIMIT, ORDER
from kuijia.cli.main import main
from kuijia_base.errors import InputError

RESULTS = Path(__file__).parents[3] / "docs" / "results"

RESULTS_READ = Results(RESULTS)

OTHER_READINGS = (
    *("hermes-fig17-b-", "hermes-fig17-c-", "hermes-table2-exchanged"),
    *("hedera-shuffle-readings", "hedera-8192-parts-ramp", "hedera-iterations-", "hedera-first-fit"),
)
"""Names of exhibits that show an item under another reading than the one its row is about."""


def test_the_committed_page_is_the_one_that_committed_results_give() -> None:
    told = "`./run kuijia report docs/results --items` makes it again"
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == page_of(RESULTS), told


def test_every_committed_result_beside_published_numbers_has_a_row() -> None:
    named = set(places(all_items()))
    for folder in sorted({place.split(" ")[0] for place in named}):
        for exhibit in report_of(RESULTS / folder).exhibits:
            if judgement_of(exhibit).verdict != UNPUBLISHED and not exhibit.name.startswith(OTHER_READINGS):
                assert f"{folder} {exhibit.name} {exhibit.backend}" in named


def test_every_row_has_a_command_with_its_backends_or_says_why_there_is_none() -> None:
    for item in all_items():
        if item.command:
            name = item.command.removeprefix("sudo ").removeprefix("kuijia run ").split(" ")[0]
            assert ", ".join(find_entry(name).backends) == item.backends
        assert item.results or item.question


def one_item(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, item: Item) -> Path:
    monkeypatch.setattr(results_page, "all_items", lambda: [item])
    copytree(RESULTS / "tables", tmp_path / "tables")
    return tmp_path


def test_another_number_in_a_result_is_another_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = one_item(monkeypatch, tmp_path, Item("Kuijia", "Figure 8", results=("tables fig8 tables",)))
    before = page_of(root)
    assert "| reproduced |" in before
    path = root / "tables" / "fig8.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["checks"][0]["measured"] = 0.51
    path.write_text(json.dumps(data), encoding="utf-8")
    assert "| **differs** | 0 of 1 | 20% |" in page_of(root)


def test_a_row_whose_result_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = one_item(monkeypatch, tmp_path, Item("Kuijia", "Figure 9", results=("tables fig9 tables",)))
    with pytest.raises(InputError, match="has no fig9 on tables"):
        page_of(root)


def test_the_worst_of_several_results_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    both = Item("Kuijia", "Counts", results=("tables fig6 tables", "tables fields tables"))
    page = page_of(one_item(monkeypatch, tmp_path, both))
    assert "| **differs** | 3 of 6 | 20% |" in page
    assert "| fields on tables: part saved |" in page


def test_an_item_that_nobody_attempted_is_a_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = page_of(one_item(monkeypatch, tmp_path, Item("Hedera", "61 % wasted", question="not attempted")))
    assert f"| 61 % wasted | none |  | **not measured** | {' | ' * 8} | not attempted |" in page


def test_what_cannot_be_decided_says_what_would_decide_it_and_how_it_is_as_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    item = Item("Kuijia", "fields", results=("tables fields tables",), decided_by="its entries")
    page = page_of(one_item(monkeypatch, tmp_path, item))
    assert "**not decidable from what is published** | 3 of 6 |" in page
    assert "| as run: differs; would decide it: its entries; " in page


def test_what_is_reproduced_is_so_whatever_would_decide_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    item = Item("Kuijia", "fields", results=("tables fig8 tables",), decided_by="its entries", memory=True)
    page = page_of(one_item(monkeypatch, tmp_path, item))
    assert "| reproduced | 1 of 1 |" in page
    assert "would decide it" not in page
    assert "the published numbers are from memory" in page


def test_no_row_is_reproduced_with_a_number_beyond_a_fifth() -> None:
    for row in (_row(item, RESULTS_READ) for item in all_items()):
        if row.verdict == REPRODUCED:
            assert all(number.is_within_part for number in row.score.numbers), row.item.item


def test_numbers_from_memory_are_marked_and_judged() -> None:
    marked = [item for item in all_items() if item.memory]
    assert [item.item.split(" ")[0] for item in marked] == ["Time", "Time", "Iterations"]
    for item in marked:
        for place in item.results:
            shown = RESULTS_READ.exhibit(place)
            assert "memory" in (shown.published or "")
            assert judgement_of(shown).score.numbers


def test_rows_by_which_the_default_reading_was_chosen_say_so() -> None:
    for item in all_items():
        if item.paper == "Kuijia" and item.item.startswith(("Figure 10", "Figure 11", "Figure 12", "Figure 13")):
            assert "chosen by these numbers" in item.question


def test_the_command_writes_the_page_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = one_item(monkeypatch, tmp_path, Item("Kuijia", "Figure 8", results=("tables fig8 tables",)))
    assert main(["report", str(root), "--items", "-o", str(root / "out")]) == 0
    assert [path.name for path in (root / "out").iterdir()] == ["README.md"]
    assert "README.md" in capsys.readouterr().out


def test_a_folder_is_read_once() -> None:
    results = Results(RESULTS)
    assert results.exhibit("tables fig8 tables") is results.exhibit("tables fig8 tables")


def test_committed_bars_with_one_side_say_that_they_are_no_sizes() -> None:
    """Those on Hermes state orders by bounds on one side."""
    for place in places(all_items()):
        if not place.startswith(("hermes ", "hermes-profile-")):
            for check in RESULTS_READ.exhibit(place).checks:
                one_sided = check.low is None or check.high is None
                assert not one_sided or check.name.startswith((ORDER, LIMIT)), f"{place}: {check.name}"


def test_the_committed_report_on_gscale_says_the_same() -> None:
    folders = ("gscale-shared", "gscale-shared-flow", "tables")
    exhibits = [each for folder in folders for each in report_of(RESULTS / folder).exhibits]
    report = (RESULTS / "report.md").read_text(encoding="utf-8")
    for row in findings_of(exhibits):
        assert f"| {' | '.join(row.cells)} |" in report, row.item

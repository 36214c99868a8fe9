"""A report finds what runs left, says first where ours are not the published numbers, and is safe to show."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.gscale.cases import LINKS, Case, grid
from experiments.reporting.report import Report, findings_of, html_page, lead_of, markdown_page, pictures_of, report_of
from experiments.reporting.verdict import judged
from experiments.results.exhibit import Exhibit, Line, Point, exhibit_to_json
from experiments.results.result import Check, Result, result_to_json
from experiments.results.score import order
from kuijia.cli.main import main
from kuijia_base.errors import InputError, key_path
from tests.experiments.gscale.results import made_up
from tests.experiments.sample_results import FIGURE_4, TABLE_2_KUIJIA, TABLE_2_RESCALING, result, save_result


def _save(folder: Path, *runs: Result) -> None:
    folder.mkdir(exist_ok=True)
    for number, run in enumerate(runs):
        save_result(run, folder / f"{run.experiment}-{number}.json")


def page_of(report: Report) -> str:
    return html_page(report, pictures_of(report))


def _rescaling(kept: float, backend: str = "emulation") -> Result:
    run = made_up(Case("tcp", 1.2, LINKS[0], "rescaling", 1), {"direct": kept})
    return replace(run, backend=backend)


def test_the_first_paragraph_says_where_numbers_do_not_match(tmp_path: Path) -> None:
    _save(tmp_path, _rescaling(0.8), result("kuijia", TABLE_2_KUIJIA), result("rescaling", TABLE_2_RESCALING))
    report = report_of(tmp_path)
    lead = report.lead
    assert lead.startswith("Differ: Figure 10 on emulation (rescaling at 1.2 is 20.0 instead of 3.57). ")
    found = {finding.item: finding.cells[1:] for finding in report.findings}
    assert list(found) == ["Figure 10 on emulation", "Table 2 on emulation", "Table 4 on emulation"]
    verdict, *scored, where, published, ours, deviation, why = found["Figure 10 on emulation"]
    assert (where, verdict) == ("rescaling at 1.2", "differs")
    assert scored == ["0 of 1", "20%, or 1 where that is more", "460%", "1", ""]
    assert (published, ours, deviation) == ("3.57", "20.0", "16.4 (+460%)")
    assert "docs/gscale.md" in why
    assert "Losses depend on the sampled pairs" in lead
    page = page_of(report_of(tmp_path))
    assert page.index("<th>verdict</th>") < page.index("Differ: ") < page.index("<h2")
    opening = markdown_page(report).split("\n\n")[1:3]
    assert opening[0].startswith(
        "| item | verdict | within margin | margin | mean error | runs | spread | at | published |"
    )
    assert opening[1] == lead


def test_matching_numbers_are_said_to_match(tmp_path: Path) -> None:
    _save(tmp_path, _rescaling(0.96))
    lead = report_of(tmp_path).lead
    assert lead == "Reproduced: Figure 10 on emulation. Bars for measured runs: 1 of 1 are met."


def test_numbers_within_noise_alone_are_not_said_to_match(tmp_path: Path) -> None:
    _save(tmp_path, _rescaling(0.974))
    lead = report_of(tmp_path).lead
    assert lead == "Within noise: Figure 10 on emulation. Bars for measured runs: 1 of 1 are met."


def test_the_first_table_leads_with_what_is_not_as_published() -> None:
    def of(name: str, value: float, *checks: Check) -> Exhibit:
        lines = (Line("kuijia", (Point.of(1.6, [value], 8.0),)),)
        return judged(Exhibit(name, "t", name, "emulation", "demand", "%", lines, checks=checks))

    rows = findings_of([of("a", 8.1), of("b", 30.0), of("c", 8.0, order("x less y", -1.0, low=0.0))])
    assert [(*row.cells[:4], *row.cells[7:-1]) for row in rows] == [
        (
            "c on emulation",
            "order not shown",
            "1 of 1",
            "20%",
            "x less y (1 of 1 orders missed)",
            "at least 0",
            "-1",
            "",
        ),
        ("b on emulation", "differs", "0 of 1", "20%", "kuijia at 1.6", "8", "30", "22 (+275%)"),
        ("a on emulation", "reproduced", "1 of 1", "20%", "kuijia at 1.6", "8", "8.10", "0.100 (+1%)"),
    ]


def test_bars_of_measured_runs_are_told_first_and_apart_from_those_of_the_model() -> None:
    bad, good = Check("loss", 3.0, None, 2.0), Check("loss", 1.0, None, 2.0)
    lines = (Line("a", (Point.of(1.0, [1.0]),)),)
    bad, good = (replace(check, name=f"limit: {check.name}") for check in (bad, good))
    model = Exhibit("fig10", "t", "Figure 10", "flow", "x", "y", lines, "the paper", checks=(good,))
    measured = replace(model, backend="emulation", checks=(good, bad))
    assert lead_of([model, measured]) == (
        "Differ: Figure 10 on emulation (limit: loss is 3, expected at most 2)."
        " Reproduced: Figure 10 on flow."
        " Bars for measured runs: 1 of 2 are met; missed: fig10 (emulation): limit: loss is 3, expected at most 2."
        " Bars for the model: 1 of 1 are met."
    )


def test_missed_bars_are_told_before_the_figures(tmp_path: Path) -> None:
    _save(tmp_path, made_up(Case("tcp", 1.2, LINKS[0], "kuijia", 1), {"direct": 0.9}))
    report = report_of(tmp_path)
    missed = "fig10 (emulation): limit: kuijia, loss in % at demand 1.2 is 10, expected at most 2"
    assert report.missed[0] == missed
    assert report.missed[0] in page_of(report)
    assert report.missed[0] in markdown_page(report)


def test_results_of_folders_below_are_found_and_each_backend_is_shown(tmp_path: Path) -> None:
    _save(tmp_path / "a", _rescaling(0.9))
    _save(tmp_path / "b", _rescaling(0.85, "flow"))
    report = report_of(tmp_path)
    assert [(each.name, each.backend) for each in report.exhibits] == [
        ("fig10", "emulation"),
        ("fig10", "flow"),
        ("table4-changes", "emulation"),
        ("table4-changes", "flow"),
        ("agreement", "emulation less flow"),
    ]
    agreed = report.exhibits[-1]
    assert agreed.line("fig10, rescaling").at(1.2).value == pytest.approx(-5.0)
    assert not agreed.passed


def test_emulation_and_model_agree_within_three_points_and_only_of_the_same_runs(tmp_path: Path) -> None:
    _save(tmp_path / "a", _rescaling(0.9))
    other = made_up(Case("tcp", 1.2, LINKS[1], "rescaling", 1), {"direct": 0.2})
    _save(tmp_path / "b", _rescaling(0.88, "flow"), replace(other, backend="flow"))
    assert report_of(tmp_path).exhibits[-1].passed


def test_the_agreement_shows_single_runs_beside_their_mean(tmp_path: Path) -> None:
    for number, kept in enumerate((0.9, 0.8)):
        emulated = made_up(Case("tcp", 1.2, LINKS[number], "rescaling", 1), {"direct": kept})
        computed = made_up(Case("tcp", 1.2, LINKS[number], "rescaling", 1), {"direct": 0.86})
        _save(tmp_path / f"{number}", emulated, replace(computed, backend="flow"))
    point = report_of(tmp_path).exhibits[-1].line("fig10, rescaling").at(1.2)
    assert [point.low, point.value, point.high] == pytest.approx([-4.0, 1.0, 6.0])
    assert point.runs == 2


def test_a_run_that_is_not_used_is_named_with_its_reason(tmp_path: Path) -> None:
    _save(tmp_path, _rescaling(0.9), replace(_rescaling(0.1), repetition=2, invalid=("too busy",)))
    report = report_of(tmp_path)
    assert list(report.invalid.values()) == ["too busy"]
    assert "traffic tcp" in next(iter(report.invalid))
    assert "too busy" in page_of(report)


def test_saved_exhibits_and_figure_4_are_shown_too(tmp_path: Path) -> None:
    saved = Exhibit("fig8", "<b>fields</b>", "Figure 8", "tables", "x", "y", (Line("a", (Point.of(1, [2.0]),)),))
    (tmp_path / "fig8.json").write_text(json.dumps(exhibit_to_json(saved)))
    (tmp_path / "fig4.json").write_text(json.dumps(FIGURE_4))
    report = report_of(tmp_path)
    assert [each.name for each in report.exhibits] == ["fig4", "fig8"]
    assert report.lead == "Reproduced: Figure 4 on flow. Bars for the model: 1 of 1 are met."
    assert "&lt;b&gt;fields" in page_of(report).lower()


def test_the_page_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    _save(tmp_path, *(made_up(case, {"direct": 0.95}) for case in grid(("tcp", "udp"), repetitions=1)))

    links = re.findall(r'(?:src|href)="([^"]*)"', page_of(report_of(tmp_path)))
    assert links
    assert all(link.startswith(("data:image/svg+xml;base64,", "#")) for link in links)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (("parameters", "traffic"), None),
        (("parameters", "demand"), 1.3),
        (("parameters", "demand"), "1.2"),
        (("failure", "link"), ["1", "2"]),
        (("scheme",), "ffc"),
        (("manifest", "settings"), 3),
        (("flows", 0, "after"), 1e9),
    ],
)
def test_a_damaged_result_is_refused_in_one_line_with_its_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: tuple[str | int, ...], value: object
) -> None:
    data = result_to_json(_rescaling(0.9))
    inner: Any = data
    for part in key[:-1]:
        inner = inner[part]
    inner[key[-1]] = value
    path = tmp_path / "run.json"
    path.write_text(json.dumps(data))
    assert main(["report", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: {path}:{key_path(key)}: ")
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("other", "key"),
    [
        ({"capacity": 10.0}, "capacity"),
        ({"seed": 2}, "seed"),
        ({"manifest": {"settings": {"quick": True}}}, "manifest.settings.quick"),
        ({"manifest": {"settings": {"slots": 32}}}, "manifest.settings.slots"),
        ({"manifest": {"settings": {"framework": "ryu"}}}, "manifest.settings.framework"),
        ({"manifest": {"timing": {"after": 5}}}, "manifest.timing"),
        ({"manifest": {"sending": {"burst_seconds": 0.5}}}, "manifest.sending"),
        ({"parameters": {"traffic": "tcp", "demand": 1.2, "private_entries": True}}, "parameters.private_entries"),
        ({"parameters": {"traffic": "tcp", "demand": 1.2, "planned_share": 0.9}}, "parameters.planned_share"),
    ],
)
def test_runs_that_were_not_measured_alike_are_not_averaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: dict[str, Any], key: str
) -> None:
    _save(tmp_path, _rescaling(0.9), replace(_rescaling(0.9), repetition=2, **other))
    assert main(["report", str(tmp_path)]) == 2
    first, second = tmp_path / "gscale-0.json", tmp_path / "gscale-1.json"
    told = capsys.readouterr().err
    assert told.startswith(f"error: {second}:{key}: is ")
    assert told.endswith(f" as in {first}, or a folder for each\n")


def test_how_long_labels_were_watched_does_not_matter(tmp_path: Path) -> None:
    runs = [
        replace(_rescaling(0.9), repetition=number, manifest={"timing": {"after": 5, **watched}})
        for number, watched in enumerate(({}, {"observe": 1}), start=1)
    ]
    _save(tmp_path, *runs)
    assert report_of(tmp_path).runs == {"emulation": 2}


def test_all_that_runs_were_made_with_is_told(tmp_path: Path) -> None:
    versions = [replace(_rescaling(0.9), repetition=number, manifest={"commit": f"c{number}"}) for number in (1, 2)]
    _save(tmp_path, *versions)
    assert report_of(tmp_path).made_with == {"commit": "c1 and c2"}


def test_pairs_may_differ_only_between_repetitions(tmp_path: Path) -> None:
    def run(pairs: list[list[str]], repetition: int, number: int) -> Result:
        made = made_up(Case("tcp", 1.2, LINKS[number], "rescaling", repetition), {"direct": 0.9})
        return replace(made, parameters={**made.parameters, "pairs": pairs})

    _save(tmp_path, run([["1", "2"]], 1, 0), run([["3", "4"]], 2, 0))
    report_of(tmp_path)
    _save(tmp_path, run([["1", "2"]], 1, 0), run([["3", "4"]], 1, 1))
    with pytest.raises(InputError, match=r"gscale-1\.json:parameters\.pairs: is"):
        report_of(tmp_path)


def test_a_run_that_is_there_twice_is_not_counted_twice(tmp_path: Path) -> None:
    _save(tmp_path / "a", _rescaling(0.9))
    _save(tmp_path / "b", _rescaling(0.8))
    with pytest.raises(InputError, match=r"b.gscale-0\.json: is the same run as .*a.gscale-0\.json"):
        report_of(tmp_path)


def test_runs_of_the_same_table_are_not_mixed_either(tmp_path: Path) -> None:
    _save(tmp_path, result("kuijia", TABLE_2_KUIJIA), replace(result("rescaling", TABLE_2_RESCALING), capacity=100.0))
    with pytest.raises(InputError, match=r"table2-1\.json:capacity: is 100"):
        report_of(tmp_path)


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "holds no results"), ("{}", "holds no results"), ("{\n!", ":2: malformed JSON")]
)
def test_a_folder_without_results_is_refused(tmp_path: Path, content: str | None, problem: str) -> None:
    if content is not None:
        (tmp_path / "some.json").write_text(content)
    with pytest.raises(InputError, match=problem):
        report_of(tmp_path)


def test_a_folder_that_is_not_there_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "none")]) == 2
    assert (
        capsys.readouterr().err
        == f"error: {tmp_path / 'none'}: is not a folder, expected one that `kuijia run -o` wrote into\n"
    )


def test_the_command_writes_both_pages_and_the_pictures_they_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _save(tmp_path / "runs", _rescaling(0.9))
    assert main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "out")]) == 0
    pictures = {"fig10-emulation.svg", "table4-changes-emulation.svg"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"report.html", "report.md", *pictures}
    assert all(f"]({picture})" in (tmp_path / "out" / "report.md").read_text() for picture in pictures)
    printed = capsys.readouterr().out
    assert printed.split("\n")[0].split()[:5] == ["item", "verdict", "within", "margin", "margin"]
    assert "Differ: Figure 10 on emulation" in printed
    assert main(["report", str(tmp_path / "runs"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exhibits"][0]["name"] == "fig10"


def test_a_picture_without_a_possible_name_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _save(tmp_path / "runs", _rescaling(0.9, backend="emulation" + "\u2028" * 1000))
    assert main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "out")]) == 2
    assert "a file called 'fig10-emulation" in capsys.readouterr().err
    assert list(tmp_path.glob("out/*")) == []


def test_the_name_of_a_page_is_that_of_the_page_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, page = tmp_path / "results", tmp_path / "pages" / "report.html"
    for each in (folder, page.parent):
        each.mkdir()
    _save(folder, _rescaling(0.9))
    assert main(["report", str(folder), "-o", str(page)]) == 0
    assert list(page.parent.iterdir()) == [page]
    assert capsys.readouterr().out.endswith(f"wrote {page}\n")

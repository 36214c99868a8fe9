from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from benchmarks import registry
from benchmarks.__main__ import as_text, main
from benchmarks.registry import BenchmarkSetting, Comparison, benchmarks, goal
from kuijia_base.errors import InputError

COMPARISON = Comparison(
    2.0, 5.0, "the peer", "ms", {"problem": "a small one", "goals": [goal("at most 3 ms", met=True)]}
)


def two(_: BenchmarkSetting) -> Iterator[Comparison]:
    yield COMPARISON
    yield COMPARISON


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_FILES", ())
    monkeypatch.setattr(registry, "_REGISTERED", {"first": two, "second": two})


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    return main()


def test_json_is_an_object_of_the_contract_per_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "second", "--json") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert json.loads(lines[0]) == {
        "name": "second",
        "ours": 2.0,
        "peer": 5.0,
        "peer_name": "the peer",
        "unit": "ms",
        "ratio": 2.5,
        "detail": {"problem": "a small one", "goals": [{"goal": "at most 3 ms", "met": True}]},
    }


def test_for_people_a_comparison_has_a_headline_and_its_detail() -> None:
    assert as_text("first", COMPARISON) == [
        "first: 2 ms, 2.5 times better than the peer with 5",
        "    problem: a small one",
        "    goals:",
        "        goal at most 3 ms, met yes",
    ]


def test_figures_beside_the_compared_ones_are_shown_in_a_row() -> None:
    detail = {"MB; before": [76.25, 73.0], "median and worst": [(1.0, 22.512), (2.0, 3.0)], "goals": []}
    assert as_text("first", replace(COMPARISON, detail=detail))[1:] == [
        "    MB; before: 76.25; 73",
        "    median and worst: 1 and 22.51; 2 and 3",
        "    goals:",
    ]


def test_all_benchmarks_are_run_unless_some_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--json") == 0
    assert [json.loads(line)["name"] for line in capsys.readouterr().out.splitlines()] == ["first"] * 2 + ["second"] * 2


def test_an_unknown_name_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "third") == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "error: bench:third: is unknown, expected one of first, second\n")


def test_what_fails_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(_: BenchmarkSetting) -> Iterator[Comparison]:
        raise InputError("Kdl.graphml", "", "cannot be read", "a file")

    monkeypatch.setattr(registry, "_REGISTERED", {"fails": fails})
    assert run(monkeypatch, "fails") == 2
    assert capsys.readouterr().err.endswith("error: Kdl.graphml: cannot be read, expected a file\n")


def test_benchmarks_come_in_the_order_they_are_named_in_each_once() -> None:
    assert list(benchmarks(["second", "first", "second"])) == ["second", "first"]

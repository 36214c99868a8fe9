"""Large solutions say what they will take, and how far they are."""

from __future__ import annotations

import io
from pathlib import Path
from threading import Event

import pytest

import kuijia
from kuijia.api import solve_effort
from kuijia.api.solve_effort import Watch
from kuijia.api.solving import SolveOptions, planned
from kuijia.cli.main import main
from kuijia_base.progress import Progress
from te_solver.programs import effort
from te_solver.programs.effort import Effort
from te_solver.programs.solver import interruptible

LARGE = Effort(38_612, 115_836, 1_600_000)


class Clock:
    """A clock that goes on by ten seconds whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 10
        return self.now


def watched(parts: int | None, *, predictable: bool = True) -> tuple[Watch, io.StringIO]:
    told = io.StringIO()
    return Watch(Progress(told, Clock()), parts, predictable), told


def test_a_large_program_is_announced_with_its_memory_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_effort, "free_memory", lambda: 64e9)
    watch, told = watched(None)
    watch.announce(Effort(10, 30, 90))
    assert told.getvalue() == ""
    watch.announce(LARGE)
    (line,) = told.getvalue().splitlines()
    assert line.startswith("38,612 pairs have 115,836 tunnels: solving takes about 1.5 GB of memory and 72 s")
    in_parts, told_of_parts = watched(8)
    in_parts.announce(LARGE)
    assert told_of_parts.getvalue().endswith(" MB of memory\n") or told_of_parts.getvalue().endswith(" GB of memory\n")


def test_a_program_that_does_not_fit_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_effort, "free_memory", lambda: 1e9)
    watch, told = watched(None)
    watch.announce(LARGE)
    assert told.getvalue().splitlines()[1] == "warning: only 1 GB of memory is free; more --partitions take less"


@pytest.mark.usefixtures("late_progress")
def test_the_time_of_several_programs_is_added_up() -> None:
    watch, told = watched(None, predictable=False)
    for seconds in (10.0, 20.0, 5.0):
        watch.tick(seconds)
    assert told.getvalue().splitlines() == [
        "solving a program: 10 s so far",
        "solving a program: 20 s so far",
        "solving a program: 25 s so far",
    ]


@pytest.mark.usefixtures("late_progress")
def test_an_estimate_is_shown_until_it_has_passed() -> None:
    watch, told = watched(None)
    watch.announce(Effort(10_000, 29_000, 90_000))
    watch.tick(0.1)
    watch.tick(5000.0)
    first, second = told.getvalue().splitlines()
    assert ", about " in first
    assert second == "solving a program of 29,000 tunnels: 83 min so far"


@pytest.mark.usefixtures("late_progress")
@pytest.mark.parametrize(("is_quick", "programs"), [(True, 2), (False, 4)])
def test_a_quick_plan_deals_its_demands_once(*, is_quick: bool, programs: int) -> None:
    told = io.StringIO()
    gscale = kuijia.load_topology("gscale")
    asked = kuijia.load_demands("gscale", gscale)
    how = SolveOptions(partitions=2)
    plan = planned(gscale, tuple(asked), how, "demands", Progress(told, Clock()), is_quick=is_quick)
    assert plan.options is not None
    assert plan.options.partitions == 2
    assert f"{programs} of {programs} programs solved" in told.getvalue()


def test_long_calls_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("te_solver.programs.solver._WATCH_SECONDS", 0.001)
    seen: list[float] = []
    was_seen = Event()

    def watch(seconds: float) -> None:
        seen.append(seconds)
        if len(seen) >= 3:
            was_seen.set()

    def call() -> int:
        assert was_seen.wait(60.0)
        return 7

    assert interruptible(call, watch) == 7
    assert seen == sorted(seen)
    assert len(seen) >= 3


def test_many_demands_are_solved_in_parts_unless_one_program_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(effort, "PAIRS_OF_ONE_PROGRAM", 100)
    monkeypatch.setattr(effort, "PAIRS_OF_A_PART", 66)
    all_pairs = tmp_path / "all.csv"
    assert main(["demands", "gscale", "--model", "uniform", "--total", "2T", "-o", str(all_pairs)]) == 0
    capsys.readouterr()
    assert main(["solve", "gscale", str(all_pairs)]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith("132 demands are solved in 2 parts, nearly as well")
    assert "below the optimum" in printed.out
    for options in (["--partitions", "1"], ["--spread"], ["--objective", "max-min"]):
        assert main(["solve", "gscale", str(all_pairs), *options]) == 0
        printed = capsys.readouterr()
        assert "parts" not in printed.err
        assert "below the optimum" not in printed.out


def test_what_if_solves_many_demands_in_parts_for_schemes_that_take_any_plan(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(effort, "PAIRS_OF_ONE_PROGRAM", 4)
    monkeypatch.setattr(effort, "PAIRS_OF_A_PART", 3)
    command = ["whatif", "gscale", "gscale", "--sample", "1", "--schemes"]
    assert main([*command, "kuijia,ffc"]) == 0
    note = "note: gscale: 5 demands are solved in 2 parts, nearly as well (docs/te_solver.md#large-networks); "
    assert f"{note}--partitions 1 solves them as one program" in capsys.readouterr().err.splitlines()
    for others in (["ffc"], ["kuijia", "--partitions", "1"], ["kuijia", "--objective", "max-min"]):
        assert main([*command, *others]) == 0
        assert "parts" not in capsys.readouterr().err
    found = kuijia.whatif("gscale", schemes="kuijia", sample=1)
    assert [each for each in found.notes if "2 parts" in each]


def test_what_if_leaves_out_schemes_that_solve_one_program_for_many_demands_unless_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(effort, "PAIRS_OF_ONE_PROGRAM", 4)
    found = kuijia.whatif("gscale", sample=1)
    assert found.schemes == ("kuijia", "rescaling", "precomputed")
    said = "ffc and recompute left out: one program for all 5 demands takes long; schemes chooses the schemes"
    assert said in found.notes
    assert "ffc" in kuijia.whatif("gscale", sample=1, protect=1).schemes
    assert kuijia.whatif("gscale", sample=1, schemes="ffc,recompute").schemes == ("ffc", "recompute")

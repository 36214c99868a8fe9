"""Sweeps: the same bytes for any workers, and nothing lost when workers or the whole run are killed."""

from __future__ import annotations

import io
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kuijia_base.errors import InputError, InterruptedWorkError
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.pools import WorkersKilledError
from kuijia_base.sweep.sweep import CaseError, Sweep, swept
from kuijia_base.sweep.workers import Workers
from tests.kuijia_base.sweep import held
from tests.kuijia_base.sweep.processes import gone, held_sweep, wait_until, wait_until_held, worked


def times(factor: float) -> float:
    return factor


def product(factor: float, case: float) -> list[float]:
    return [factor * case, case]


def refuse_seven(factor: float, case: int) -> float:
    if case == 7:
        raise InputError("file", 3, "is a seven", "another number")
    return factor * case


def process(_: float, __: int) -> int:
    return os.getpid()


def threads(_: float, __: int) -> str | None:
    return os.environ.get("OPENBLAS_NUM_THREADS")


def die_once(folder: Path, case: int) -> int:
    if case == 5 and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return case


def die_at_five(_: Path, case: int) -> int:
    if case == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return case


def as_it_is(folder: Path) -> Path:
    return folder


def run(sweep: Sweep[Any, Any, Any], processes: int, output: OutputFolder | None = None) -> list[Any]:
    with swept(sweep, Workers(processes), output, Progress(io.StringIO())) as results:
        return results


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_results_come_in_the_order_of_the_cases(processes: int) -> None:
    cases = [number / 7 for number in range(50)]
    assert run(Sweep("products", {}, 0.1, times, product, cases), processes) == [[0.1 * case, case] for case in cases]


def test_one_process_is_this_one_and_more_are_others() -> None:
    assert set(run(Sweep("here", {}, 1.0, times, process, range(4)), 1)) == {os.getpid()}
    assert os.getpid() not in set(run(Sweep("there", {}, 1.0, times, process, range(4)), 2))


def test_workers_leave_the_other_processors_to_each_other() -> None:
    assert run(Sweep("threads", {}, 1.0, times, threads, range(2)), 2) == ["1", "1"]


def test_no_cases_have_no_results() -> None:
    assert run(Sweep("nothing", {}, 1.0, times, product, []), 2) == []


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_for_the_user_names_the_case_and_keeps_the_others(processes: int, tmp_path: Path) -> None:
    output = OutputFolder(tmp_path)
    sweep = Sweep("sevens", {}, 1.0, times, refuse_seven, range(8))
    with pytest.raises(CaseError, match=r"^sevens, case 8 of 8: file:3: is a seven, expected another") as caught:
        run(sweep, processes, output)
    assert caught.value.exit_status == InputError.exit_status
    assert (tmp_path / "sevens.checkpoint").read_text().count("\n") > 1


@pytest.mark.slow
def test_what_a_killed_worker_had_is_given_to_another(tmp_path: Path) -> None:
    assert run(Sweep("once", {}, tmp_path, as_it_is, die_once, range(20)), 2) == list(range(20))


@pytest.mark.slow
def test_workers_that_are_killed_again_and_again_end_the_sweep_in_one_line(tmp_path: Path) -> None:
    output = OutputFolder(tmp_path)
    with pytest.raises(WorkersKilledError, match="killed 3 times in a row, perhaps for lack of memory"):
        run(Sweep("deadly", {}, tmp_path, as_it_is, die_at_five, range(6)), 2, output)
    assert (tmp_path / "deadly.checkpoint").exists()


@pytest.mark.slow
def test_a_killed_sweep_goes_on_with_the_rest_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    killed.mkdir()
    whole.mkdir()
    with held_sweep(killed) as process:
        try:
            wait_until_held(process, killed)
        finally:
            process.kill()
    begun = worked(killed)
    workers = {each for _, each in begun}
    wait_until(lambda: all(map(gone, workers)))
    (killed / "worked").unlink()
    (killed / "go").touch()
    held.run(killed, Workers(1))
    finished = {case for case, _ in begun[: held.FREE]}
    assert sorted(case for case, _ in worked(killed)) == sorted(set(range(held.CASES)) - finished)
    (whole / "go").touch()
    held.run(whole, Workers(3))
    assert (killed / "results" / "held.json").read_bytes() == (whole / "results" / "held.json").read_bytes()
    assert [path.name for path in (killed / "results").iterdir()] == ["held.json"]


def test_ctrl_c_ends_the_workers_and_says_how_to_go_on(tmp_path: Path) -> None:
    with held_sweep(tmp_path) as process:
        try:
            wait_until_held(process, tmp_path)
            for each in {process.pid, *(number for _, number in worked(tmp_path))}:  # as a terminal does
                with suppress(ProcessLookupError):  # the first has ended it already
                    os.kill(each, signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert all(gone(number) for _, number in worked(tmp_path))
    told = (
        f"stopped; 12 of 30 cases were finished and are kept: the same command with -o {tmp_path / 'results'} resumes"
    )
    assert told in errors


def test_ctrl_c_while_files_are_written_keeps_the_cases_and_says_so(tmp_path: Path) -> None:
    sweep = Sweep("products", {}, 0.1, times, product, range(3))
    told = f"^stopped; 3 of 3 cases were finished and are kept: the same command with -o {tmp_path} resumes$"
    with (
        pytest.raises(InterruptedWorkError, match=told),
        swept(sweep, Workers(1), OutputFolder(tmp_path), Progress(io.StringIO())),
    ):
        raise KeyboardInterrupt
    assert (tmp_path / "products.checkpoint").exists()

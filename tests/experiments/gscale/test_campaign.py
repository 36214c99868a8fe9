"""A campaign measures missing cases, trusts no run of a busy machine, and survives failures and its own death."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from experiments.experiment import Settings
from experiments.gscale.bench import SENDING, expected_seconds
from experiments.gscale.campaign import BUSY_ATTEMPTS, FAILED_ATTEMPTS, LOG_NAME, Campaign, CampaignOutcome, Show
from experiments.gscale.cases import Case, grid, phases_of
from experiments.gscale.models import compute
from experiments.results.result import Result, load_result
from kuijia_base.errors import InputError, TestbedError
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from tests.experiments.gscale.killed import campaign, valid_results
from tests.experiments.sample_results import save_result
from tests.kuijia_base.sweep.processes import wait_until

pytestmark = pytest.mark.slow

SETTINGS = Settings("flow", 20.0, "os-ken", 64, 1, quick=True, seed=1)
CASES = grid(("tcp", "udp"), (0.8, 1.2), (("2", "3"), ("7", "9")), repetitions=1)
BUSY = ("the machine was busy",)

Measure = Callable[[Case], Result]


class Benches:
    """Places to measure in, and a record of the measurements there."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self.measured: list[list[Case]] = []
        self.open = 0

    @contextmanager
    def __call__(self, _: Case, show: Show) -> Iterator[Benches]:
        self.measured.append([])
        self.open += 1
        show("starting")
        try:
            yield self
        finally:
            self.open -= 1

    def measure(self, case: Case) -> Result:
        self.measured[-1].append(case)
        return self._measure(case)

    @property
    def all_measured(self) -> list[Case]:
        return [case for cases in self.measured for case in cases]


def good(case: Case) -> Result:
    return compute(case, SETTINGS)


class Troubled:
    """Good results except for some cases, whose first runs end as given."""

    def __init__(self, troubles: dict[Case, Sequence[str]]) -> None:
        self._left = {case: list(ends) for case, ends in troubles.items()}

    def __call__(self, case: Case) -> Result:
        end = self._left[case].pop(0) if self._left.get(case) else "good"
        if end == "fails":
            raise TestbedError("ovs-vswitchd has died")
        return replace(good(case), invalid=BUSY) if end == "busy" else good(case)


def run(folder: Path, measure: Measure, cases: Sequence[Case] = CASES) -> tuple[CampaignOutcome, Benches]:
    benches = Benches(measure)
    campaign = Campaign(cases, SETTINGS, OutputFolder(folder), benches, Progress(io.StringIO()))
    return campaign.run(), benches


def outcomes(folder: Path) -> list[str]:
    return [attempt["outcome"] for attempt in json.loads((folder / LOG_NAME).read_text())["attempts"]]


def test_every_case_has_a_file_and_those_that_can_share_a_lab_do(tmp_path: Path) -> None:
    outcome, benches = run(tmp_path, good)
    assert [result.flows for result in outcome.results] == [good(case).flows for case in CASES]
    assert not outcome.given_up
    assert sorted(benches.all_measured) == sorted(CASES)
    for group in benches.measured:
        assert len(group) == 4  # two kinds of traffic, two links
        assert len({(case.demand, case.scheme) for case in group}) == 1
    for case in CASES:
        assert load_result(tmp_path / f"{case.name}.json").flows == good(case).flows
    assert outcomes(tmp_path) == ["measured"] * len(CASES)


def test_what_is_there_is_not_measured_again(tmp_path: Path) -> None:
    run(tmp_path, good, CASES[:3])
    outcome, benches = run(tmp_path, good)
    assert sorted(benches.all_measured) == sorted(CASES[3:])
    assert len(outcome.results) == len(CASES)
    _, benches = run(tmp_path, good)
    assert benches.measured == []


def test_a_campaign_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    done = iter(range(5))

    def killed_at_the_sixth(case: Case) -> Result:
        if next(done, None) is None:
            raise KeyboardInterrupt
        return good(case)

    benches = Benches(killed_at_the_sixth)
    with pytest.raises(KeyboardInterrupt):
        Campaign(CASES, SETTINGS, OutputFolder(tmp_path), benches, Progress(io.StringIO())).run()
    assert benches.open == 0
    outcome, again = run(tmp_path, good)
    assert len(again.all_measured) == len(CASES) - 5
    assert len(outcome.results) == len(CASES)
    assert len(outcomes(tmp_path)) == len(CASES)


def test_what_a_killed_process_had_begun_to_write_is_removed(tmp_path: Path) -> None:
    own, dead = (tmp_path / f".{CASES[1].name}.json.{process}.partial" for process in (os.getpid(), ended_process()))
    own.touch()
    dead.write_text('{"format"')
    run(tmp_path, good, CASES[:1])
    assert own.exists()
    assert not dead.exists()


def ended_process() -> int:
    """Return the former process id of a process."""
    with subprocess.Popen(["true"]) as process:
        return process.pid


def has_files(folder: Path, count: int) -> bool:
    return len(list(folder.glob("*-*.json"))) >= count


def test_a_campaign_that_is_killed_again_and_again_measures_nothing_twice(tmp_path: Path) -> None:
    options = ("--backend", "flow", "--traffic", "tcp,udp", "--demands", "1.2")
    kept: dict[str, bytes] = {}
    for enough in (1, 4):
        with campaign(tmp_path, *options, at_most=5) as process:
            wait_until(partial(has_files, tmp_path, enough))
        assert process.returncode == -signal.SIGKILL
        found = valid_results(tmp_path)
        assert enough <= len(found) < 12
        assert kept.items() <= found.items()
        kept = found
    with campaign(tmp_path, *options) as process:
        assert process.wait() in (0, 1)  # losses that differ do not count here
    found = valid_results(tmp_path)
    assert len(found) == 12
    assert kept.items() <= found.items()
    assert not list(tmp_path.glob(".*"))


def test_runs_of_a_busy_machine_are_repeated_in_the_same_lab(tmp_path: Path) -> None:
    outcome, benches = run(tmp_path, Troubled({CASES[0]: ["busy", "busy"]}))
    assert len(outcome.results) == len(CASES)
    assert benches.measured[0][:4] == [CASES[0]] * 3 + [benches.measured[0][3]]
    assert outcomes(tmp_path)[:3] == ["invalid", "invalid", "measured"]


def test_a_case_that_is_never_valid_is_reported_and_tried_again_by_the_next_campaign(tmp_path: Path) -> None:
    outcome, _ = run(tmp_path, Troubled({CASES[0]: ["busy"] * BUSY_ATTEMPTS}))
    assert list(outcome.given_up) == [CASES[0].name]
    assert "the machine was busy" in outcome.given_up[CASES[0].name]
    assert len(outcome.results) == len(CASES) - 1
    outcome, benches = run(tmp_path, good)
    assert benches.all_measured == [CASES[0]]
    assert len(outcome.results) == len(CASES)


def test_a_failed_case_is_measured_once_more_in_a_new_lab(tmp_path: Path) -> None:
    outcome, benches = run(tmp_path, Troubled({CASES[0]: ["fails"]}))
    assert len(outcome.results) == len(CASES)
    assert benches.measured[0] == [CASES[0]]
    assert benches.measured[1][0] == CASES[0]
    assert outcomes(tmp_path)[:2] == ["failed", "measured"]


def test_a_case_that_fails_again_is_reported_and_the_others_are_measured(tmp_path: Path) -> None:
    outcome, benches = run(tmp_path, Troubled({CASES[0]: ["fails"] * FAILED_ATTEMPTS}))
    assert outcome.given_up == {CASES[0].name: "ovs-vswitchd has died"}
    assert len(outcome.results) == len(CASES) - 1
    assert not (tmp_path / f"{CASES[0].name}.json").exists()
    assert benches.all_measured.count(CASES[0]) == FAILED_ATTEMPTS


@pytest.mark.parametrize(
    ("place", "other"),
    [
        ("capacity", replace(SETTINGS, capacity=10.0)),
        ("quick", replace(SETTINGS, quick=False)),
        ("slots", replace(SETTINGS, slots=32)),
        ("framework", replace(SETTINGS, framework="ryu")),
        ("seed", replace(SETTINGS, seed=2)),
        ("backend", replace(SETTINGS, backend="emulation")),
    ],
)
def test_results_of_other_settings_are_not_mixed_in(tmp_path: Path, place: str, other: Settings) -> None:
    run(tmp_path, good, CASES[:1])
    with pytest.raises(InputError) as caught:
        Campaign(CASES, other, OutputFolder(tmp_path), Benches(good), Progress(io.StringIO()))
    assert str(caught.value).startswith(f"{tmp_path / CASES[0].name}.json:{place}: was measured with ")


@pytest.mark.parametrize("key", ["timing", "sending"])
def test_results_measured_for_another_time_or_sent_otherwise_are_not_mixed_in(tmp_path: Path, key: str) -> None:
    case, settings = CASES[0], replace(SETTINGS, backend="emulation")
    timing = phases_of(case.protocol, quick=True)
    manifest = {"settings": asdict(settings), "timing": asdict(timing), "sending": asdict(SENDING)}
    run = replace(good(case), backend="emulation", manifest=manifest)
    save_result(run, tmp_path / f"{case.name}.json")
    folder, benches = OutputFolder(tmp_path), Benches(good)
    assert Campaign([case], settings, folder, benches, Progress(io.StringIO())).run().results == (run,)
    save_result(replace(run, manifest=manifest | {key: {}}), tmp_path / f"{case.name}.json")
    with pytest.raises(InputError, match=rf"json:{key}: was measured with \{{\}}"):
        Campaign([case], settings, folder, benches, Progress(io.StringIO()))


def test_a_damaged_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / LOG_NAME).write_text('{"attempts": 3}')
    with pytest.raises(InputError, match=rf"{LOG_NAME}:attempts: is 3, expected a list"):
        run(tmp_path, good)


def test_a_result_with_damaged_settings_is_refused(tmp_path: Path) -> None:
    run(tmp_path, good, CASES[:1])
    path = tmp_path / f"{CASES[0].name}.json"
    data = json.loads(path.read_text())
    data["manifest"]["settings"] = 3
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"manifest\.settings: breaks the schema, expected an object"):
        run(tmp_path, good, CASES[:1])


def test_a_lab_that_does_not_end_well_costs_no_result(tmp_path: Path) -> None:
    class Crumbling(Benches):
        @contextmanager
        def __call__(self, first: Case, show: Show) -> Iterator[Benches]:
            with super().__call__(first, show):
                yield self
            show("ending")
            raise TestbedError("ovs-vswitchd does not end")

    benches = Crumbling(good)
    outcome = Campaign(CASES, SETTINGS, OutputFolder(tmp_path), benches, Progress(io.StringIO())).run()
    assert len(outcome.results) == len(benches.all_measured) == len(CASES)
    assert not outcome.given_up


def test_the_progress_tells_the_number_of_the_run_and_how_long_is_left(tmp_path: Path) -> None:
    stream = io.StringIO()
    Campaign(CASES[:1], SETTINGS, OutputFolder(tmp_path), Benches(good), Progress(stream)).run()
    left = timedelta(seconds=expected_seconds(CASES[0], quick=True))
    assert stream.getvalue() == f"{CASES[0].name} (1 of 1, {left} left): starting\n"

"""Measures many cases, one result file each: goes on after a kill, repeats what cannot be believed, reports what fails.

Every result is written, whole, as soon as it is had. `campaign.json` beside them tells of every attempt.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Literal, Protocol

from experiments.alike import timing_told
from experiments.gscale.bench import SENDING, BenchKey, expected_seconds, timing_of
from experiments.gscale.cases import Case, stored_case
from experiments.gscale.scenario import parameters_of, plan_of
from experiments.output import OutputFolder
from experiments.progress import Progress
from experiments.registry import Settings
from experiments.result import Result, load_result, result_to_json
from te_solver.errors import InputError, shown
from te_solver.formats.json_document import read_json
from te_solver.partial_file import remove_partial_files
from testbed.errors import TestbedError

LOG_NAME = "campaign.json"
BUSY_ATTEMPTS = 3
"""How often a case is run when the machine is too busy for it to be believed."""

FAILED_ATTEMPTS = 2
"""How often a case is run when something fails, each time in a lab of its own."""


class Measuring(Protocol):
    """Where cases of one key are measured, such as `experiments.gscale.bench.Bench`."""

    def measure(self, case: Case) -> Result:
        """Raises TestbedError when something failed; nothing else can be measured here then."""


Show = Callable[[str], None]
OpenBench = Callable[[Case, Show], AbstractContextManager[Measuring]]


@dataclass(frozen=True)
class Attempt:
    """One try to measure a case: when it began (Unix time), how long it took, what came of it and why."""

    case: str
    began: float
    seconds: float
    outcome: Literal["measured", "invalid", "failed"]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class CampaignOutcome:
    """The valid results, in the order of the cases, and of every case without one why it has none."""

    results: tuple[Result, ...]
    given_up: Mapping[str, str]


class Campaign:
    """Cases to be measured into a folder."""

    def __init__(
        self,
        cases: Iterable[Case],
        settings: Settings,
        output: OutputFolder,
        open_bench: OpenBench,
        progress: Progress,
        clock: Callable[[], float] = time.time,
        *,
        private_entries: bool = False,
    ) -> None:
        """Look at what the folder holds already.

        Args:
            cases: what is wanted.
            settings: what results were measured with.
            output: where they are, and where new ones go.
            open_bench: makes a place to measure in, for all cases that share their key with the one given, that tells
                what it is doing.
            progress: told how far it is.
            clock: seconds since the epoch.
            private_entries: whether flows have entries of their own instead of being hashed.

        Raises:
            InputError: a file of a case that is no result, or one of other settings.
        """
        self._cases = tuple(sorted(set(cases)))
        self._settings = settings
        self._output = output
        self._open_bench = open_bench
        self._progress = progress
        self._clock = clock
        self._private_entries = private_entries
        self._results = {case: result for case in self._cases if (result := self._result_in_folder(case)) is not None}
        self._attempts = _read_log(output)
        self._given_up: dict[Case, str] = {}
        self._spent = self._expected = 0.0

    def run(self) -> CampaignOutcome:
        """Measure what is missing; what processes that were killed left half written is removed first.

        Raises:
            InputError: a file cannot be written, or the machine cannot run an emulation.
        """
        remove_partial_files(self._output.path)
        missing = [case for case in self._cases if case not in self._results]
        if len(missing) < len(self._cases):
            self._progress.say(f"{len(self._cases) - len(missing)} of {len(self._cases)} runs are there already")
        for group in _by_bench(missing):
            self._measure_group(group)
        return CampaignOutcome(
            tuple(self._results[case] for case in self._cases if case in self._results),
            {case.name: reason for case, reason in self._given_up.items()},
        )

    def _measure_group(self, group: Sequence[Case]) -> None:
        """Measure cases that share a bench, in as many benches as failures make necessary."""
        failures: Counter[Case] = Counter()
        waiting = list(group)
        while waiting:
            self._current = case = waiting[0]
            began = self._clock()
            try:
                with self._open_bench(case, self._show) as bench:
                    for case in tuple(waiting):
                        self._current, began = case, self._clock()
                        self._measure(bench, case)
                        waiting.remove(case)
            except TestbedError as error:
                if case not in waiting:
                    self._progress.say(f"the lab of {case.name} did not end well: {error}")
                    continue
                failures[case] += 1
                self._note(case, began, "failed", (str(error),))
                self._progress.say(f"{case.name} failed: {error}")
                if failures[case] == FAILED_ATTEMPTS:
                    self._given_up[case] = str(error)
                    waiting.remove(case)

    def _measure(self, bench: Measuring, case: Case) -> None:
        """Measure a case until the machine was not too busy, or too often was."""
        reasons = ""
        for attempt in range(1, BUSY_ATTEMPTS + 1):
            began = self._clock()
            result = bench.measure(case)
            self._spent += self._clock() - began
            self._expected += expected_seconds(case, quick=self._settings.quick)
            self._save(case, result)
            if not result.invalid:
                self._results[case] = result
                self._note(case, began, "measured", ())
                return
            reasons = "; ".join(result.invalid)
            self._note(case, began, "invalid", result.invalid)
            self._progress.say(f"{case.name}, try {attempt} of {BUSY_ATTEMPTS}, is not used: {reasons}")
        self._given_up[case] = f"invalid each of {BUSY_ATTEMPTS} times, last as {reasons}"

    def _show(self, doing: str) -> None:
        """Tell which run of how many this is, how long all that are left will take, and what is going on."""
        left = [each for each in self._cases if each not in self._results and each not in self._given_up]
        pace = self._spent / self._expected if self._expected else 1.0
        seconds = round(pace * sum(expected_seconds(each, quick=self._settings.quick) for each in left))
        number, total = len(self._cases) - len(left) + 1, len(self._cases)
        self._progress.show(f"{self._current.name} ({number} of {total}, {timedelta(seconds=seconds)} left): {doing}")

    def _save(self, case: Case, result: Result) -> None:
        # In one line: the series make up most of it, and would have a line for every number.
        self._output.write_text(_file_name(case), json.dumps(result_to_json(result), separators=(",", ":")) + "\n")

    def _note(
        self,
        case: Case,
        began: float,
        outcome: Literal["measured", "invalid", "failed"],
        reasons: tuple[str, ...],
    ) -> None:
        self._attempts.append(asdict(Attempt(case.name, began, round(self._clock() - began, 1), outcome, reasons)))
        self._output.write_json(LOG_NAME, {"attempts": self._attempts})

    def _result_in_folder(self, case: Case) -> Result | None:
        """The valid result of a case, None where there is none."""
        path = self._output.path / _file_name(case)
        if not path.exists():
            return None
        result = load_result(path)
        stored_case(result, path)
        settings = self._settings
        manifest, told = result.manifest, result.manifest.get("settings", {})
        plan = plan_of(case, settings.capacity, settings.seed)
        wanted: dict[str, tuple[object, object]] = {
            "backend": (result.backend, settings.backend),
            "scheme": (result.scheme, case.scheme),
            "link": (result.failure.link, case.link),
            "seed": (result.seed, settings.seed),
            "capacity": (result.capacity, settings.capacity),
            "parameters": (
                result.parameters,
                parameters_of(case, plan, private_entries=self._private_entries),
            ),
            **{name: (told.get(name), getattr(settings, name)) for name in ("quick", "slots", "framework")},
        }
        if settings.backend == "emulation":
            timing = asdict(timing_of(case, quick=settings.quick))
            wanted["timing"] = (timing_told(manifest.get("timing")), timing_told(timing))
            wanted["sending"] = (manifest.get("sending"), asdict(SENDING))
        for key, (had, value) in wanted.items():
            if had != value:
                raise InputError(path, key, f"was measured with {had}", f"{value}, as asked for now, or another folder")
        return None if result.invalid else result


def _file_name(case: Case) -> str:
    return f"{case.name}.json"


def _by_bench(cases: Iterable[Case]) -> Iterable[Sequence[Case]]:
    """Cases in order, but those that can share a bench together."""
    by_key: dict[BenchKey, list[Case]] = {}
    for case in cases:
        by_key.setdefault(BenchKey.of(case), []).append(case)
    return by_key.values()


def _read_log(output: OutputFolder) -> list[object]:
    path = output.path / LOG_NAME
    if not path.exists():
        return []
    expected = "one that `kuijia run` wrote"
    log = read_json(path, "the log of a campaign", expected)
    if not isinstance(log, dict) or "attempts" not in log:
        raise InputError(path, "", "is not the log of a campaign", expected)
    attempts = log["attempts"]
    if not isinstance(attempts, list):
        raise InputError(path, "attempts", f"is {shown(str(attempts))}", "a list, as `kuijia run` wrote it")
    return attempts

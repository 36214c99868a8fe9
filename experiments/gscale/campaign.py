"""Measures many cases, one result file each: resumes after a kill, repeats untrustworthy runs, reports failures.

Every result is written as soon as it is complete. `campaign.json` beside the results logs every attempt.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Literal, Protocol

from experiments.experiment import Settings
from experiments.grid import Execution
from experiments.gscale.bench import SENDING, Bench, BenchKey, expected_seconds
from experiments.gscale.cases import Case, phases_of, stored_case
from experiments.gscale.models import FlowModel, PacketModel, compute_packets
from experiments.gscale.plans import gscale, pairs_of_case, parameters_of, plan_of
from experiments.measuring.emulation import ground_of
from experiments.measuring.packet_run import conditions_from
from experiments.results.result import Result, load_result, result_from_json, result_to_json
from experiments.results.stored_files import timing_told
from kuijia_base.errors import InputError, TestbedError, shown
from kuijia_base.json_document import read_json
from kuijia_base.output_folder import OutputFolder
from kuijia_base.partial_file import remove_partial_files
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, no_preparation, swept
from kuijia_base.sweep.workers import workers_from
from te_solver.model.plan import Plan
from te_solver.schemes.all_schemes import failure_scheme
from testbed.machine.processes import preferred_session

LOG_NAME = "campaign.json"
BUSY_ATTEMPTS = 3
"""Attempts at a case if the machine is too busy for a trustworthy result."""

FAILED_ATTEMPTS = 2
"""Attempts at a case when something fails, each in a new lab."""


class Measuring(Protocol):
    """Set-up in which cases of one key are measured, such as `experiments.gscale.bench.Bench`."""

    def measure(self, case: Case) -> Result:
        """Return the result; after a TestbedError nothing else can be measured here."""


Show = Callable[[str], None]
OpenBench = Callable[[Case, Show], AbstractContextManager[Measuring]]


@dataclass(frozen=True)
class Attempt:
    """One attempt at a case: its start (Unix time), duration, outcome and reasons."""

    case: str
    began: float
    seconds: float
    outcome: Literal["measured", "invalid", "failed"]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class CampaignOutcome:
    """Valid results in the order of the cases, and for every other case the reason why it has none."""

    results: tuple[Result, ...]
    given_up: Mapping[str, str]


class Campaign:
    """Cases to be measured into a folder."""

    def __init__(  # noqa: PLR0913  # all by name, and most callers leave the last ones out
        self,
        cases: Iterable[Case],
        settings: Settings,
        output: OutputFolder,
        open_bench: OpenBench | None,
        progress: Progress,
        clock: Callable[[], float] = time.time,
        *,
        private_entries: bool = False,
        told: Callable[[Case], Mapping[str, Any]] | None = None,
    ) -> None:
        """Read the results that the folder already holds.

        Args:
            cases: wanted cases.
            settings: settings of the results.
            output: folder of existing and new results.
            open_bench: opens a place to measure in for all cases that share a key with the given one; it receives a
                progress callback. None if results are made elsewhere, for `keep`.
            progress: shows the state of the campaign.
            clock: seconds since the epoch.
            private_entries: True if flows have their own entries instead of being hashed.
            told: returns the `timing` and `sending` that manifests have; by default the emulation's.

        Raises:
            InputError: the file of a case is no result, or was measured with other settings.
        """
        self._cases = tuple(sorted(set(cases)))
        self._settings = settings
        self._output = output
        self._open_bench = open_bench
        self._progress = progress
        self._clock = clock
        self._private_entries = private_entries
        self._told = told
        self._results = {case: result for case in self._cases if (result := self._result_in_folder(case)) is not None}
        self._attempts = _read_log(output)
        self._given_up: dict[Case, str] = {}
        self._spent = self._expected = 0.0

    def run(self) -> CampaignOutcome:
        """Measure the missing cases.

        Raises:
            InputError: a file cannot be written, or the machine cannot run an emulation.
        """
        for group in _by_bench(self.missing()):
            self._measure_group(group)
        return self.outcome()

    def missing(self) -> Sequence[Case]:
        """Return the cases without a result, after removing files that killed processes left half written."""
        remove_partial_files(self._output.path)
        missing = [case for case in self._cases if case not in self._results]
        if len(missing) < len(self._cases):
            self._progress.say(f"{len(self._cases) - len(missing)} of {len(self._cases)} runs exist already")
        return missing

    def keep(self, case: Case, result: Result) -> None:
        """Write a valid result that was made elsewhere."""
        self._save(case, result)
        self._results[case] = result

    def outcome(self) -> CampaignOutcome:
        """Return the results until now."""
        return CampaignOutcome(
            tuple(self._results[case] for case in self._cases if case in self._results),
            {case.name: reason for case, reason in self._given_up.items()},
        )

    def _measure_group(self, group: Sequence[Case]) -> None:
        """Measure cases that share a bench, opening a new bench after each failure."""
        assert self._open_bench is not None, "a place to measure in"
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
                    self._progress.say(f"the lab of {case.name} ended with an error: {error}")
                    continue
                failures[case] += 1
                self._note(case, began, "failed", (str(error),))
                self._progress.say(f"{case.name} failed: {error}")
                if failures[case] == FAILED_ATTEMPTS:
                    self._given_up[case] = str(error)
                    waiting.remove(case)

    def _measure(self, bench: Measuring, case: Case) -> None:
        """Measure a case until the machine is quiet enough or the attempts are used up."""
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
        """Show the number of the run, the time left for all remaining ones, and the current activity."""
        left = [each for each in self._cases if each not in self._results and each not in self._given_up]
        pace = self._spent / self._expected if self._expected else 1.0
        seconds = round(pace * sum(expected_seconds(each, quick=self._settings.quick) for each in left))
        number, total = len(self._cases) - len(left) + 1, len(self._cases)
        self._progress.show(f"{self._current.name} ({number} of {total}, {timedelta(seconds=seconds)} left): {doing}")

    def _save(self, case: Case, result: Result) -> None:
        # On one line: the series are most of it, and would put every number on its own line.
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
        """Return the valid result of a case, None if there is none."""
        path = self._output.path / _file_name(case)
        if not path.exists():
            return None
        result = load_result(path)
        stored_case(result, path)
        settings = self._settings
        manifest, before = result.manifest, result.manifest.get("settings", {})
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
            **{name: (before.get(name), getattr(settings, name)) for name in ("quick", "slots", "framework")},
        }
        told_now: Mapping[str, Any] = {}
        if self._told is not None:
            told_now = self._told(case)
        elif settings.backend == "emulation":
            told_now = {"timing": asdict(phases_of(case.protocol, quick=settings.quick)), "sending": asdict(SENDING)}
        if told_now:
            wanted["timing"] = (timing_told(manifest.get("timing")), timing_told(told_now["timing"]))
            wanted["sending"] = (manifest.get("sending"), told_now["sending"])
        for key, (had, value) in wanted.items():
            if had != value:
                raise InputError(path, key, f"was measured with {had}", f"{value}, as asked for now, or another folder")
        return None if result.invalid else result


def _file_name(case: Case) -> str:
    return f"{case.name}.json"


def _by_bench(cases: Iterable[Case]) -> Iterable[Sequence[Case]]:
    """Return the cases in order, grouped by those that can share a bench."""
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


def _simulate_cases(run: Execution, cases: tuple[Case, ...], model: PacketModel) -> CampaignOutcome:
    """Simulate the cases without a result in the folder.

    Raises:
        InputError: the folder holds results of other settings, or slots are too few for an aggregate.
    """
    campaign = Campaign(cases, model.settings, run.output, None, run.progress, told=model.told)
    missing = campaign.missing()
    plans = {case: plan_of(case, model.settings.capacity, model.settings.seed) for case in missing}
    told = {"settings": asdict(model.settings), "conditions": asdict(model.conditions), "first": str(missing[:1])}
    work = [(case, plans[case]) for case in missing]
    sweep = Sweep(_IN_PACKETS, told, model, no_preparation, _work, work)
    with swept(sweep, workers_from(run.args), run.output, run.progress) as found:
        for case, data in zip(missing, found, strict=True):
            campaign.keep(case, result_from_json(data, case.name))
    return campaign.outcome()


def _work(model: PacketModel, work: tuple[Case, Plan]) -> dict[str, Any]:
    case, plan = work
    return result_to_json(compute_packets(case, plan, model))


_IN_PACKETS = "gscale-packet"
_WITHOUT_ENTRIES = {
    "flow": "the fluid model has no switches",
    "packet": "the packet simulator runs a plan's own tables",
}

NICENESS = -10
"""Niceness of senders, receivers and observers, and of the switch that they load."""


def measure(run: Execution, cases: tuple[Case, ...]) -> CampaignOutcome:
    """Measure or compute the cases without a valid result in the folder, writing each result at once.

    Raises:
        InputError: the machine cannot run an emulation, boxes are missing, the folder holds results of other settings,
            or the backend has no entries to make private.
    """
    settings, private_entries = run.settings, run.args.private_entries
    if settings.backend in _WITHOUT_ENTRIES and private_entries:
        problem = _WITHOUT_ENTRIES[settings.backend]
        raise InputError("option", "--private-entries", problem, "--backend emulation or boxes")
    if private_entries and any(failure_scheme(case.scheme).renormalises for case in cases):
        problem = "flows with entries of their own have no ranges of hash values that could grow"
        raise InputError("option", "--private-entries", problem, "schemes without rescaling-renormalised")
    if settings.backend == "packet":
        return _simulate_cases(run, cases, PacketModel(settings, conditions_from(run.args)))
    if settings.backend == "flow":
        return Campaign(cases, settings, run.output, lambda *_: nullcontext(FlowModel(settings)), run.progress).run()
    pairs = (pair for case in cases for pair in pairs_of_case(case, settings.seed))
    ground, machine = ground_of(settings, gscale(), (site for pair in pairs for site in pair))

    def open_bench(case: Case, show: Show) -> AbstractContextManager[Measuring]:
        return Bench(case, settings, ground, machine, show, private_entries=private_entries)

    campaign = Campaign(cases, settings, run.output, open_bench, run.progress, private_entries=private_entries)
    with preferred_session(NICENESS):
        return campaign.run()

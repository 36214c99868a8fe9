"""A study packet by packet as a sweep: one failure under one scheme is a case."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, swept
from kuijia_base.sweep.workers import Workers
from simulator.studies.whatif_packets.run import Conditions, Play
from te_solver.formats.plan_file import plan_to_json
from te_solver.model.failures import Failure
from te_solver.model.plan import Plan
from te_solver.schemes.failure_scheme import FailureScheme


@dataclass(frozen=True, eq=False)
class PacketQuestions:
    """Question of a study: the plan and scheme of each contender, their common failures and conditions."""

    contenders: Sequence[tuple[Plan, FailureScheme]]
    failures: Sequence[Failure]
    conditions: Conditions

    def play(self, contender: int) -> Play:
        """Return a contender, compiled; raises UnsoundError if switches cannot carry its plan."""
        return Play(*self.contenders[contender], self.conditions)


class ReadyPlays:
    """The questions, and the contenders that were needed."""

    def __init__(self, questions: PacketQuestions) -> None:
        self._questions = questions
        self._plays: dict[int, Play] = {}

    def result(self, contender: int, failure: int) -> dict[str, Any]:
        if contender not in self._plays:
            self._plays[contender] = self._questions.play(contender)
        return self._plays[contender].result(self._questions.failures[failure])


@contextmanager
def results_of(
    questions: PacketQuestions, workers: Workers, output: OutputFolder | None, progress: Progress
) -> Iterator[list[list[dict[str, Any]]]]:
    """Yield the result of each failure, for each contender.

    A checkpoint in `output` keeps finished cases until the block, which writes the files made from them, has ended.

    Raises:
        KuijiaError, InterruptedWorkError: see `kuijia_base.sweep.sweep.swept`.
    """
    failures, contenders = range(len(questions.failures)), range(len(questions.contenders))
    cases = [(contender, failure) for failure in failures for contender in contenders]
    sweep = Sweep("whatif-packets", _settings(questions), questions, ReadyPlays, _work, cases)
    with swept(sweep, workers, output, progress) as results:
        yield [results[contender :: len(contenders)] for contender in contenders]


def _work(ready: ReadyPlays, case: tuple[int, int]) -> dict[str, Any]:
    return ready.result(*case)


def _settings(questions: PacketQuestions) -> dict[str, Any]:
    how = questions.conditions
    told = {key: value for key, value in vars(how).items() if key != "sizes"}
    points = [how.sizes.sizes.tolist(), how.sizes.probabilities.tolist(), how.sizes.interpolation.value]
    return {
        "network": questions.contenders[0][0].topology.name,
        "schemes": [scheme.name for _, scheme in questions.contenders],
        "failures": _digest([asdict(failure) for failure in questions.failures]),
        "plans": _digest([{**plan_to_json(plan), "solve_seconds": None} for plan, _ in questions.contenders]),
        "sizes": _digest(points),
        **told,
    }


def _digest(data: object) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()[:12]

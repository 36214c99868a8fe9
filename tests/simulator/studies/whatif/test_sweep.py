"""What-if as a sweep: the outcomes of `what_if` for any workers, and a stop loses none."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest

from kuijia_base.errors import InputError, SolverError
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import CaseError
from kuijia_base.sweep.workers import Workers
from simulator.flow.failure_impact import FailureModel
from simulator.flow.what_if import Contender, FailureOutcome, outcome_of
from simulator.studies.whatif import study as sweep
from simulator.studies.whatif.study import Questions, outcomes_of
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.failures import Failure, link_pairs, single_links
from te_solver.networks import shipped_demands, shipped_network
from te_solver.programs.resolve import WarmThroughput
from te_solver.schemes.making import make_scheme
from te_solver.schemes.models.traffic import PlannedTraffic
from te_solver.solve import solve
from tests.simulator.flow.outcomes import what_if


def questions(schemes: Sequence[str] = ("kuijia", "precomputed", "recompute")) -> Questions:
    """Return questions on Gscale; two of the schemes solve programs, each its own."""
    topology = load_topology(shipped_network("gscale"))
    traffic = PlannedTraffic.of(solve(topology, load_demands(shipped_demands("gscale"), topology)))
    contenders = []
    for name in schemes:
        solver = WarmThroughput()
        solver(traffic.tunnels.incidence, traffic.capacity, traffic.demand)
        contenders.append(Contender(make_scheme(name, solver), traffic))
    return Questions(
        contenders, (*single_links(topology), *islice(link_pairs(topology), 29)), elastic=True, weighting="equal"
    )


def outcomes(
    asked: Questions, processes: int, output: OutputFolder | None = None, told: io.StringIO | None = None
) -> list[FailureOutcome]:
    progress = Progress(told or io.StringIO())
    with outcomes_of(asked, {"split": "proportional"}, Workers(processes), output, progress) as found:
        return found


@pytest.mark.slow
def test_outcomes_are_those_of_what_if_whatever_the_number_of_workers() -> None:
    asked = questions()
    expected = list(what_if(asked.contenders, asked.failures))
    assert len(expected) == 3 * (19 + 29)
    for processes in (1, 2):
        assert outcomes(questions(), processes) == expected


def test_a_stop_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, output = questions(), OutputFolder(tmp_path)
    last = asked.failures[-1]

    def gives_up_at_last(contender: Contender, model: FailureModel, failure: Failure) -> FailureOutcome:
        if failure is last and contender.scheme.name == "recompute":
            raise SolverError("gave up")
        return outcome_of(contender, model, failure)

    with monkeypatch.context() as patch:
        patch.setattr(sweep, "outcome_of", gives_up_at_last)
        with pytest.raises(CaseError, match="whatif, case 9 of 9: gave up"):
            outcomes(asked, 1, output)
    with pytest.raises(InputError, match="schemes was"):
        outcomes(questions(["kuijia"]), 1, output)
    told = io.StringIO()
    assert outcomes(questions(), 1, output, told) == list(what_if(asked.contenders, asked.failures))
    assert "whatif: 8 of 9 cases were finished by an earlier run" in told.getvalue()
    assert list(tmp_path.iterdir()) == []

"""The parts of a what-if study, for `kuijia.whatif` and the command `kuijia whatif`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from kuijia.api.whatif_options import WhatIfOptions
from kuijia_base.output_folder import OutputFolder
from kuijia_base.parallel import processors
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import Workers

if TYPE_CHECKING:
    from simulator.flow.what_if import Contender, FailureOutcome
    from simulator.studies.whatif.study import Provenance, WhatIfStudy
    from te_solver.model.failures import Failure

Say = Callable[[str], None]
"""Receives a sentence for the user, which may name options."""

_WORTH_PROCESSES = 500_000
"""Tunnels times failures from which on more processes save more time than their start takes."""


def outcomes_of(
    how: WhatIfOptions,
    contenders: Sequence[Contender],
    failures: Sequence[Failure],
    workers: Workers | None,
    folder: OutputFolder | None,
    progress: Progress,
) -> AbstractContextManager[list[FailureOutcome]]:
    """Return the outcomes as a context; without `workers` as many processes compute them as the work is worth."""
    from simulator.studies.whatif import sweep  # noqa: PLC0415  # slow to import: NumPy

    questions = sweep.Questions(contenders, failures, elastic=not how.udp, weighting=how.weighting)
    options = {"split": how.split, "new_tunnels": how.new_tunnels}
    tunnels = sum(contender.traffic.sent.size for contender in contenders)
    if workers is None:
        workers = Workers(1) if tunnels * len(failures) < _WORTH_PROCESSES else Workers(processors())
    return sweep.outcomes_of(questions, options, workers, folder, progress)


def write_results(folder: OutputFolder, study: WhatIfStudy, data: dict[str, object]) -> None:
    """Write a study's numbers."""
    from kuijia.api.whatif_report import as_csv  # noqa: PLC0415  # slow to import: NumPy

    folder.write_json("whatif.json", data)
    folder.write_text("whatif.csv", as_csv(study.outcomes))


def write_report(folder: OutputFolder, study: WhatIfStudy, provenance: Provenance, seed: int) -> None:
    """Write a study's report and its pictures, which need matplotlib."""
    from kuijia_base.picture_file import picture_bytes  # noqa: PLC0415  # slow to import
    from simulator.studies.whatif.figures import figures  # noqa: PLC0415  # slow to import: matplotlib
    from simulator.studies.whatif.html_report import html_report  # noqa: PLC0415  # slow to import: matplotlib

    folder.write_text("whatif.html", html_report(study, provenance, seed))
    for name, figure in figures(study).items():
        for suffix in (".svg", ".pdf"):
            folder.write_bytes(f"{name}{suffix}", picture_bytes(figure, suffix))

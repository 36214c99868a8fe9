"""All runs of a packet study, as a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any

from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, swept
from kuijia_base.sweep.workers import Workers
from simulator.studies.packet.study import Run, Study, digest, finished_result


@contextmanager
def results_of(
    study: Study, runs: Sequence[Run], workers: Workers, output: OutputFolder | None, progress: Progress
) -> Iterator[list[dict[str, Any]]]:
    """Yield the results of all runs, in order.

    A checkpoint in `output` keeps finished runs until the block, which writes the files made from them, has ended.

    Raises:
        As `swept`.
    """
    settings = {"runs": digest([astuple(run) for run in runs]), **study.identity()}
    sweep = Sweep("packet", settings, study, _same, finished_result, runs)
    with swept(sweep, workers, output, progress) as results:
        yield results


def _same(study: Study) -> Study:
    return study

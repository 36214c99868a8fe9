"""Runs all cases, in parallel or on a cluster, and writes their exhibits."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from experiments.packet_study.transports import transport_names
from experiments.registry import Outcome, Settings
from experiments.reporting.exhibit_output import write_exhibits
from experiments.sweep.sweep import Sweep, swept
from experiments.sweep.workers import Workers
from experiments.victim_transports.cases import Case, Choice, Conditions, cases_of
from experiments.victim_transports.picture import transports_figure
from experiments.victim_transports.report import exhibits
from experiments.victim_transports.run import demotes, is_credited, outcome
from kuijia_base.errors import InputError
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import write_picture
from kuijia_base.progress import Progress

_NAME = "victim-transports"


def run_cases(
    choice: Choice,
    conditions: Conditions,
    settings: Settings,
    workers: Workers,
    output: OutputFolder,
    progress: Progress,
) -> Outcome:
    """Simulate all cases, and write tables, pictures and the numbers of each case.

    Raises:
        InputError: a transport is unknown.
    """
    known = transport_names()
    if unknown := [name for name in choice.transports if name not in known]:
        raise InputError("option", "--transports", f"{unknown[0]} is unknown", f"among {', '.join(known)}")
    demoting = [scheme for scheme in choice.schemes if demotes(scheme)]
    credited = [name for name in choice.transports if is_credited(name)]
    cases = list(cases_of(choice, demoting, credited))
    began = time.time()
    told = {"choice": asdict(choice), "conditions": asdict(conditions)}
    with swept(Sweep(_NAME, told, conditions, _as_it_is, outcome, cases), workers, output, progress) as found:
        data = {**told, "cases": found, "manifest": describe_computation(began, time.time() - began)}
        output.write_json(f"{_NAME}.json", data)
        shown = list(exhibits(_paired(cases, found), conditions))
        write_picture(output, f"{_NAME}.svg", lambda: transports_figure(shown))
        return write_exhibits(_NAME, shown, settings, output)


def _paired(cases: list[Case], found: list[dict[str, Any]]) -> list[tuple[Case, dict[str, Any]]]:
    return list(zip(cases, found, strict=True))


def _as_it_is(conditions: Conditions) -> Conditions:
    return conditions

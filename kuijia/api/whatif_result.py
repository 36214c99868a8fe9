"""Results of `kuijia.whatif` by the fluid model: how they come about, and as tables, text, JSON, CSV and report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from kuijia.api.plan import Plan
from kuijia.api.table import Column, Picture, Table, Text, html_page, words, written
from kuijia.api.table import share as share_cell
from kuijia.api.whatif_options import WhatIfOptions
from kuijia_app.tables.connected_pairs import DeadPairs, dead_pairs
from kuijia_app.tables.options import PipelineOptions
from kuijia_base.additions import is_installed, require_installed
from kuijia_base.options import require_known
from kuijia_base.output_folder import OutputFolder
from kuijia_base.parallel import processors
from kuijia_base.picture_file import LIBRARY, picture_bytes
from kuijia_base.progress import Progress
from kuijia_base.quantities import counted, rate, rate_of, share
from kuijia_base.sweep.workers import Workers
from kuijia_base.text import csv_text
from kuijia_base.text_table import TextTable
from simulator.flow.availability import GUARANTEED, KEPT, Availability
from simulator.flow.failure_impact import Role
from simulator.flow.what_if import (
    ABORIGINAL,
    OLD,
    Contender,
    FailureOutcome,
    SchemeFigures,
    compare,
    loss_share,
    ranked,
    recovery,
)
from simulator.studies.whatif.figures import figures
from simulator.studies.whatif.html_report import html_report
from simulator.studies.whatif.study import Likelihood, Provenance, Questions, WhatIfStudy, hurting, span
from simulator.studies.whatif.study import outcomes_of as swept_outcomes
from te_solver.model.failures import Failure

if TYPE_CHECKING:
    import pandas as pd


FORMAT = "kuijia-whatif"
VERSION = 1

_SUMS = ("sent", "failure_loss", "congestion_loss", "goodput")
_THREE_NINES = GUARANTEED.index(0.999)


def summary(study: WhatIfStudy, worst: int | None) -> Iterator[str | TextTable]:
    """Yield the schemes side by side, then the worst failures of each, at most `worst` if that is given."""
    pairs = counted(len(study.contenders[0].traffic.plan.pairs), "pair")
    yield f"{study.topology.name}: {counted(len(study.failures), 'failure')}, {pairs}"
    yield from _comparison(study, None)
    if len(study.classes) > 1:
        for priority in study.classes:
            yield from ("", f"class {priority}", *_comparison(study, priority))
    yield from _recoveries(study)
    dead = _dead_pairs(study)
    if dead.without_tunnel:
        yield from ("", str(dead))
    if study.likelihood is not None:
        yield from _availability(study, study.likelihood)
    for contender in study.contenders:
        yield from ("", f"worst failures under {contender.scheme.name} (share lost, rates lost)")
        yield from _worst_lines(study.of(contender), worst)


def _dead_pairs(study: WhatIfStudy) -> DeadPairs:
    """Return the pairs of the first scheme's plan that lose all tunnels but not their path, as switches see it."""
    return dead_pairs(study.contenders[0].traffic.plan, PipelineOptions(), study.failures)


def _comparison(study: WhatIfStudy, priority: int | None) -> Iterator[str | TextTable]:
    groups = ("", "", "lost, mean:", "", "", "worst:", "of role:", "", "", "", "aboriginal:")
    heads = (
        "scheme",
        "sent",
        "all",
        "failure",
        "congestion",
        "all",
        "victim",
        "direct",
        "indirect",
        "untouched",
        "worst",
    )
    rows = (_comparison_row(compare(contender, study.of(contender), priority)) for contender in study.contenders)
    yield ""
    yield TextTable((groups, heads, *rows), headings=2)


def _comparison_row(of: SchemeFigures) -> list[str]:
    roles = (Role.VICTIM, Role.DIRECT, Role.INDIRECT, Role.UNTOUCHED)
    lost = (of.lost, of.failure_loss, of.congestion_loss, of.lost_worst)
    shares = (*lost, *(of.of_role[role] for role in roles), of.aboriginal_worst)
    return [of.scheme, rate(of.sent), *map(share, shares)]


def _recoveries(study: WhatIfStudy) -> Iterator[str | TextTable]:
    groups = ("", "goodput:", "", "changes tunnel:", "", "links over capacity:", "", "capacity:")
    heads = ("scheme", *["mean", "worst"] * 3, "vacant")
    rows = []
    for contender in study.contenders:
        mine = study.of(contender)
        rates, effort = compare(contender, mine), recovery(contender, mine)
        goodput = (rate(rates.goodput_mean), rate(rates.goodput_least))
        moved = (share(effort.moved_mean), share(effort.moved_most))
        overloaded = (f"{effort.overloaded_mean:.1f}", f"{effort.overloaded_most}")
        rows.append((rates.scheme, *goodput, *moved, *overloaded, share(effort.vacant)))
    yield ""
    yield TextTable((groups, heads, *rows), headings=2)


def _availability(study: WhatIfStudy, likelihood: Likelihood) -> Iterator[str | TextTable]:
    chances = likelihood.probabilities
    yield ""
    yield f"availability by {likelihood.source}: nothing fails {chances.none:.4%}, failures not examined"
    yield f"{chances.unlisted:.4%}; bounds if these lose everything or nothing"
    for priority in (None, *(study.classes if len(study.classes) > 1 else ())):
        yield "" if priority is None else f"class {priority}"
        heads = ("scheme", "of the demand", "all arrives", "pair, mean", "pair, worst", "99.9% of time")
        found = (study.availability(contender, priority) for contender in study.contenders)
        yield TextTable((heads, *map(_availability_row, found)))


def _availability_row(of: Availability) -> list[str]:
    shares = (of.throughput, of.kept[0], of.pair_mean, of.pair_worst, of.guaranteed[_THREE_NINES])
    return [of.scheme, *map(span, shares)]


def _worst_lines(mine: Sequence[FailureOutcome], worst: int | None) -> Iterator[str]:
    listed = hurting(mine)
    for outcome in listed[:worst]:
        lost, victims = outcome.total(), outcome.total((Role.VICTIM,))
        others = outcome.total(ABORIGINAL)
        yield (
            f"  {share(loss_share(lost)):>6}  {outcome.failure}: "
            f"victims {rate_of(victims.lost, victims.sent)}, others {rate_of(others.lost, others.sent)}"
        )
    left = len(listed) - len(listed[:worst])
    if left:
        yield f"  and {left} more with losses (-v lists all)"
    if len(listed) < len(mine):
        yield f"  nothing is lost in {len(mine) - len(listed)} of {len(mine)}"


def as_json(study: WhatIfStudy, provenance: Provenance) -> dict[str, object]:
    """Return all outcomes, their summary and their provenance; rates in Mbit/s."""
    data: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "provenance": asdict(provenance),
        "topology": study.topology.name,
        "pairs": asdict(_dead_pairs(study)),
        "schemes": [_scheme_as_json(study, contender) for contender in study.contenders],
        "outcomes": [
            {
                "scheme": outcome.scheme,
                "failure": outcome.failure,
                "moved": outcome.moved,
                "overloaded": [list(ends) for ends in outcome.overloaded],
                "hurt": list(outcome.hurt),
                "sums": [
                    {"priority": priority, "role": role.name.lower(), **asdict(of_role)}
                    for (priority, role), of_role in outcome.sums.items()
                ],
            }
            for outcome in study.outcomes
        ],
    }
    if study.likelihood is not None:
        chances = study.likelihood.probabilities
        data["probabilities"] = {
            "source": study.likelihood.source,
            "none": chances.none,
            "unlisted": chances.unlisted,
            "failures": [
                {"failure": failure.name, "probability": probability}
                for failure, probability in zip(study.failures, chances.of, strict=True)
            ],
        }
    return data


def _scheme_as_json(study: WhatIfStudy, contender: Contender) -> dict[str, object]:
    plan = contender.traffic.plan
    mine = study.of(contender)
    return {
        "name": contender.scheme.name,
        "objective": plan.objective,
        "protected_failures": plan.protected_failures,
        "demand": contender.demand(),
        "sent": contender.sent(),
        "all": _figures_as_json(study, contender, None),
        "classes": [
            {"priority": priority, **_figures_as_json(study, contender, priority)} for priority in study.classes
        ],
        "recovery": asdict(recovery(contender, mine)),
        "worst": [{"failure": outcome.failure, "lost": loss_share(outcome.total())} for outcome in ranked(mine)],
    }


def _figures_as_json(study: WhatIfStudy, contender: Contender, priority: int | None) -> dict[str, object]:
    data = _comparison_as_json(compare(contender, study.of(contender), priority))
    if study.likelihood is not None:
        data["availability"] = _availability_as_json(study.availability(contender, priority))
    return data


def _availability_as_json(found: Availability) -> dict[str, object]:
    return {
        "throughput": asdict(found.throughput),
        "kept": [{"share": kept, **asdict(bounds)} for kept, bounds in zip(KEPT, found.kept, strict=True)],
        "guaranteed": [
            {"probability": probability, **asdict(bounds)}
            for probability, bounds in zip(GUARANTEED, found.guaranteed, strict=True)
        ],
        "pair_mean": asdict(found.pair_mean),
        "pair_worst": {**asdict(found.pair_worst), "pair": list(found.worst_pair)},
    }


def _comparison_as_json(of: SchemeFigures) -> dict[str, object]:
    data = {key: value for key, value in asdict(of).items() if key not in {"scheme", "priority", "of_role"}}
    return {**data, "lost_of_role": {role.name.lower(): lost for role, lost in of.of_role.items()}}


def as_csv(outcomes: Sequence[FailureOutcome]) -> str:
    """Return a line for each scheme, failure, class and role; rates in Mbit/s."""
    rows = (
        (
            *(outcome.scheme, outcome.failure, len(outcome.overloaded), outcome.moved),
            *(priority, role.name.lower(), *(getattr(of_role, name) for name in _SUMS)),
        )
        for outcome in outcomes
        for (priority, role), of_role in outcome.sums.items()
    )
    return csv_text(("scheme", "failure", "overloaded_links", "moved", "priority", "role", *_SUMS), rows)


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
    questions = Questions(contenders, failures, elastic=not how.udp, weighting=how.weighting)
    options = {"split": how.split, "new_tunnels": how.new_tunnels}
    tunnels = sum(contender.traffic.sent.size for contender in contenders)
    if workers is None:
        workers = Workers(1) if tunnels * len(failures) < _WORTH_PROCESSES else Workers(processors())
    return swept_outcomes(questions, options, workers, folder, progress)


def write_results(folder: OutputFolder, study: WhatIfStudy, data: dict[str, object]) -> None:
    """Write a study's numbers."""
    folder.write_json("whatif.json", data)
    folder.write_text("whatif.csv", as_csv(study.outcomes))


def write_report(folder: OutputFolder, study: WhatIfStudy, provenance: Provenance, seed: int) -> None:
    """Write a study's report and its pictures, which need matplotlib."""
    folder.write_text("whatif.html", html_report(study, provenance, seed))
    for name, figure in figures(study).items():
        for suffix in (".svg", ".pdf"):
            folder.write_bytes(f"{name}{suffix}", picture_bytes(figure, suffix))


Drawing = Literal["loss-distribution", "loss-and-vacancy", "loss-ranked"]

_WORST = 5
_SCHEMES = (
    words("scheme"),
    Column("sent", rate),
    Column("lost", share_cell),
    Column("by_failure", share_cell),
    Column("by_congestion", share_cell),
    Column("lost_worst", share_cell),
    *(Column(role.name.lower(), share_cell) for role in OLD),
    Column("aboriginal_worst", share_cell),
)
_OUTCOMES = (
    words("scheme"),
    words("failure"),
    Column("lost", share_cell),
    Column("victims_sent", rate),
    Column("victims_lost", rate),
    Column("others_lost", rate),
    Column("moved", rate),
    Column("overloaded_links"),
)


class WhatIf:
    """Costs of every failure under every scheme; losses are shares of the traffic sent, rates are Mbit/s.

    Attributes:
        study: all numbers, as `simulator.studies.whatif.study.WhatIfStudy` describes them.
        provenance: how the study was made.
        notes: what readers assumed, one sentence each.
    """

    def __init__(self, study: WhatIfStudy, provenance: Provenance, seed: int = 1) -> None:
        self.study = study
        self.provenance = provenance
        self._seed = seed

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.provenance.assumptions)

    @property
    def schemes(self) -> tuple[str, ...]:
        return tuple(contender.scheme.name for contender in self.study.contenders)

    @property
    def failures(self) -> tuple[str, ...]:
        return tuple(failure.name for failure in self.study.failures)

    def plan(self, scheme: str) -> Plan:
        """Return the plan that a scheme started from."""
        require_known("scheme", scheme, self.schemes)
        return Plan.of(self.study.contenders[self.schemes.index(scheme)].traffic.plan)

    def table(self) -> Table:
        """Return a row for each scheme: mean losses over all failures, the worst, and those of each role."""
        return Table.of(_SCHEMES, self._scheme_rows())

    def outcomes(self) -> Table:
        """Return a row for each failure under each scheme."""
        return Table.of(_OUTCOMES, self._outcome_rows())

    def worst(self, scheme: str, rows: int = _WORST) -> Table:
        """Return the failures that cost most under a scheme, the worst first."""
        require_known("scheme", scheme, self.schemes)
        mine = hurting(self.study.of(self.study.contenders[self.schemes.index(scheme)]))
        places = {each.failure: place for place, each in enumerate(mine)}
        rows_of = [row for row in self._outcome_rows() if row[0] == scheme and row[1] in places]
        return Table.of(_OUTCOMES, sorted(rows_of, key=lambda row: places[str(row[1])])[:rows])

    def summary(self, worst: int | None = _WORST) -> Text:
        """Return the summary that `kuijia whatif` prints, with at most `worst` failures of each scheme."""
        return Text.of(summary(self.study, worst))

    def to_frame(self) -> pd.DataFrame:
        """Return the table of outcomes as a data frame; raises MissingPackageError without pandas."""
        return self.outcomes().to_frame()

    def to_json(self) -> dict[str, object]:
        """Return all numbers as JSON data, as `kuijia whatif --json` prints them."""
        return as_json(self.study, self.provenance)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return a line for each scheme, failure, class and role, as CSV; with a path also write it there."""
        return written(as_csv(self.study.outcomes), path)

    def plot(self, of: Drawing = "loss-distribution") -> Picture:
        """Draw how many failures cost how much, the losses beside the vacant capacity, or all failures by rank."""
        require_installed(LIBRARY, "pictures")

        require_known("of", of, get_args(Drawing))
        return Picture(figures(self.study)[of], f"{self.study.topology.name}, {of}")

    def save(self, folder: str | Path) -> Path:
        """Write the report (whatif.html), its pictures and all numbers into a folder; raises InputError.

        Without matplotlib it is the numbers alone.
        """
        with OutputFolder(Path(folder)) as output:
            self.write(output)
        return output.path

    def write(self, output: OutputFolder) -> bool:
        """Write what `save` writes into a folder that is open; return False if that is the numbers alone."""
        write_results(output, self.study, self.to_json())
        if drawn := is_installed(LIBRARY):
            write_report(output, self.study, self.provenance, self._seed)
        return drawn

    def __repr__(self) -> str:
        failures = counted(len(self.failures), "failure")
        return f"WhatIf({self.study.topology.name!r}, {failures}, {', '.join(self.schemes)})"

    def _repr_html_(self) -> str:
        title = f"{self.study.topology.name}: {counted(len(self.failures), 'failure')}"
        return html_page(title, ["shares of the traffic sent; rates in Mbit/s", *self.notes], self.table())

    def _scheme_rows(self) -> Iterator[tuple[object, ...]]:
        for contender in self.study.contenders:
            of = compare(contender, self.study.of(contender))
            roles = (of.of_role[role] for role in OLD)
            losses = (of.lost, of.failure_loss, of.congestion_loss, of.lost_worst)
            yield of.scheme, of.sent, *losses, *roles, of.aboriginal_worst

    def _outcome_rows(self) -> Iterator[tuple[object, ...]]:
        for each in self.study.outcomes:
            victims, others = each.total((Role.VICTIM,)), each.total(ABORIGINAL)
            rates = (victims.sent, victims.lost, others.lost, each.moved)
            yield each.scheme, each.failure, loss_share(each.total()), *rates, len(each.overloaded)

"""Results of `kuijia.whatif` by the fluid model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from kuijia.api.picture import Picture
from kuijia.api.plan import Plan
from kuijia.api.table import Column, Table, Text, html_page, share, words, written
from kuijia.api.whatif_report import as_csv, as_json, summary
from kuijia.api.whatif_study import write_report, write_results
from kuijia_base.extras import is_installed, require_installed
from kuijia_base.options import require_known
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import LIBRARY
from kuijia_base.quantities import counted, rate
from simulator.flow.comparison import ABORIGINAL, OLD, compare
from simulator.flow.failure_impact import Role
from simulator.flow.what_if import loss_share
from simulator.studies.whatif.shown import hurting
from simulator.studies.whatif.study import Provenance, WhatIfStudy

if TYPE_CHECKING:
    import pandas as pd

Drawing = Literal["loss-distribution", "loss-and-vacancy", "loss-ranked"]

_WORST = 5
_SCHEMES = (
    words("scheme"),
    Column("sent", rate),
    Column("lost", share),
    Column("by_failure", share),
    Column("by_congestion", share),
    Column("lost_worst", share),
    *(Column(role.name.lower(), share) for role in OLD),
    Column("aboriginal_worst", share),
)
_OUTCOMES = (
    words("scheme"),
    words("failure"),
    Column("lost", share),
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
        from simulator.studies.whatif.figures import figures  # noqa: PLC0415  # slow to import: matplotlib

        require_known("of", of, get_args(Drawing))
        return Picture(figures(self.study)[of], f"{self.study.topology.name}, {of}")

    def save(self, folder: str | Path) -> Path:
        """Write the report (whatif.html), its pictures and all numbers into a folder; raises InputError.

        Without matplotlib it is the numbers alone.
        """
        output = OutputFolder(Path(folder))
        try:
            self.write(output)
        finally:
            output.remove_if_empty()
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

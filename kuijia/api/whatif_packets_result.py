"""Results of `kuijia.whatif(..., backend="packet")`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from kuijia.api.picture import Picture
from kuijia.api.table import Column, Table, Text, html_page, number, words
from kuijia.api.whatif_packets import FILE, write_report
from kuijia_base.extras import is_installed, require_installed
from kuijia_base.options import require_known
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import LIBRARY
from kuijia_base.quantities import counted
from simulator.studies.whatif_packets.findings import percent
from simulator.studies.whatif_packets.run import CLASSES, ROLES
from simulator.studies.whatif_packets.study import PacketStudy

if TYPE_CHECKING:
    import pandas as pd

PacketDrawing = Literal["missing-ranked", "completion-times"]

_WORST = 5
_TIMES = [(role, size) for role in ROLES for size in CLASSES]
_SCHEMES = (
    words("scheme"),
    Column("dropped", percent),
    *(Column(f"dropped_{role}", percent) for role in ROLES),
    Column("missing", percent),
    *(Column(f"missing_{role}", percent) for role in ROLES),
    Column("missing_worst", percent),
    *(Column(f"slowdown_{role}_{size}", number) for role, size in _TIMES),
)
_OUTCOMES = (
    words("scheme"),
    words("failure"),
    Column("dropped", percent),
    Column("missing", percent),
    *(Column(f"missing_{role}", percent) for role in ROLES),
    *(Column(f"slowdown_{role}_{size}", number) for role, size in _TIMES),
)


class WhatIfPackets:
    """First seconds after every failure under every scheme, packet by packet.

    `dropped` is a share of the packets sent, `missing` one of the payload that arrives without the failure, `slowdown`
    the mean completion time of flows in times of that without the failure. None where there are no such flows.

    Attributes:
        study: all numbers, as `simulator.studies.whatif_packets.study.PacketStudy` describes them.
        call: the call that reproduces them.
    """

    def __init__(self, study: PacketStudy, call: str) -> None:
        self.study = study
        self.call = call

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.study.assumptions)

    @property
    def schemes(self) -> tuple[str, ...]:
        return self.study.schemes

    @property
    def failures(self) -> tuple[str, ...]:
        return self.study.failures

    def table(self) -> Table:
        """Return a row for each scheme: means over all failures, and the worst."""
        return Table.of(_SCHEMES, self._scheme_rows())

    def outcomes(self) -> Table:
        """Return a row for each failure under each scheme."""
        return Table.of(_OUTCOMES, self._outcome_rows())

    def worst(self, scheme: str, rows: int = _WORST) -> Table:
        """Return the failures after which most payload is missing under a scheme, the worst first."""
        require_known("scheme", scheme, self.schemes)
        names = [each.failure for each in self.study.found.ranked(scheme)]
        places = {name: place for place, name in enumerate(names)}
        found = [row for row in self._outcome_rows() if row[0] == scheme and row[1] in places]
        return Table.of(_OUTCOMES, sorted(found, key=lambda row: places[str(row[1])])[:rows])

    def summary(self, worst: int | None = _WORST) -> Text:
        """Return the summary that `kuijia whatif` prints, with at most `worst` failures of each scheme."""
        return Text.of([*self.study.heading(), "", *self.study.found.lines(worst)])

    def to_frame(self) -> pd.DataFrame:
        """Return the table of outcomes as a data frame; raises MissingPackageError without pandas."""
        return self.outcomes().to_frame()

    def to_json(self) -> dict[str, object]:
        """Return all numbers as JSON data, as `kuijia whatif --json` prints them."""
        return self.study.as_json()

    def plot(self, of: PacketDrawing = "missing-ranked") -> Picture:
        """Draw all failures by the payload that they cost, or how much longer flows take."""
        require_installed(LIBRARY, "pictures")
        from simulator.studies.whatif_packets.figures import figures  # noqa: PLC0415  # slow to import: matplotlib

        require_known("of", of, get_args(PacketDrawing))
        return Picture(figures(self.study.found)[of], f"{self.study.network}, {of}")

    def save(self, folder: str | Path) -> Path:
        """Write the report (whatif-packets.html), its pictures and all numbers into a folder; raises InputError.

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
        output.write_json(FILE, self.to_json())
        if drawn := is_installed(LIBRARY):
            write_report(output, self.study, self.call)
        return drawn

    def __repr__(self) -> str:
        failures = counted(len(self.failures), "failure")
        return f"WhatIfPackets({self.study.network!r}, {failures}, {', '.join(self.schemes)})"

    def _repr_html_(self) -> str:
        title = f"{self.study.network}: {counted(len(self.failures), 'failure')}, packet by packet"
        return html_page(title, [*self.study.heading(), *self.notes], self.table())

    def _scheme_rows(self) -> Iterator[tuple[object, ...]]:
        groups = ("all", *ROLES)
        for scheme, of in self.study.found.figures.items():
            dropped, missing = ([of[what][group]["mean"] for group in groups] for what in ("dropped", "missing"))
            slowdown = [of["slowdown"][role][size]["mean"]["mean"] for role, size in _TIMES]
            yield scheme, *dropped, *missing, of["missing"]["all"]["worst"], *slowdown

    def _outcome_rows(self) -> Iterator[tuple[object, ...]]:
        for scheme, outcomes in self.study.found.outcomes.items():
            for each in outcomes:
                slowdown = (each.slowdown(role, size, "mean") for role, size in _TIMES)
                missing = (each.missing(role) for role in ROLES)
                yield scheme, each.failure, each.dropped(*ROLES), each.missing(*ROLES), *missing, *slowdown

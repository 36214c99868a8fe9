"""Results of `kuijia.whatif` by the fluid model: how they come about, and as tables, text, JSON, CSV and report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from kuijia.api.plan import Plan
from kuijia.api.table import Column, Picture, Table, Text, html_page, rates, words, written
from kuijia.api.table import share as share_cell
from kuijia.api.whatif_numbers import FORMAT, VERSION, WhatIfNumbers
from kuijia.api.whatif_options import WhatIfOptions
from kuijia.api.whatif_packets import FILE as PACKETS_FILE
from kuijia.api.whatif_packets import WhatIfPackets
from kuijia_base.additions import is_installed, require_installed
from kuijia_base.errors import InputError
from kuijia_base.json_document import read_json
from kuijia_base.options import require_known
from kuijia_base.output_folder import OutputFolder
from kuijia_base.parallel import processors
from kuijia_base.picture_file import LIBRARY, picture_bytes
from kuijia_base.progress import Progress
from kuijia_base.quantities import counted, rate, rate_of, share
from kuijia_base.reading import reading
from kuijia_base.sweep.workers import Workers
from kuijia_base.text_table import TextTable
from simulator.flow.availability import GUARANTEED, Availability
from simulator.flow.failure_impact import Role
from simulator.flow.what_if import ABORIGINAL, OLD, Contender, FailureOutcome, SchemeFigures, loss_share
from simulator.studies.whatif.html_report import figures, html_report
from simulator.studies.whatif.study import Likelihood, Provenance, Questions, WhatIfStudy, hurting, span
from simulator.studies.whatif.study import outcomes_of as swept_outcomes
from simulator.studies.whatif_packets.findings import FORMAT as PACKETS_FORMAT
from simulator.studies.whatif_packets.findings import VERSION as PACKETS_VERSION
from simulator.studies.whatif_packets.findings import PacketStudy
from te_solver.model.failures import Failure

if TYPE_CHECKING:
    import pandas as pd


FILE = "whatif.json"

_EXPECTED = "results of `kuijia whatif`, in JSON"
_THREE_NINES = GUARANTEED.index(0.999)


def summary(numbers: WhatIfNumbers, worst: int | None) -> Iterator[str | TextTable]:
    """Yield the schemes side by side, then the worst failures of each, at most `worst` if that is given."""
    pairs = "" if numbers.pairs is None else f", {counted(numbers.pairs, 'pair')}"
    yield f"{numbers.topology}: {counted(len(numbers.failures), 'failure')}{pairs}"
    yield from _comparison(numbers, None)
    if len(numbers.classes) > 1:
        for priority in numbers.classes:
            yield from ("", f"class {priority}", *_comparison(numbers, priority))
    yield from _recoveries(numbers)
    if numbers.dead.without_tunnel:
        yield from ("", str(numbers.dead))
    if numbers.likelihood is not None:
        yield from _availability(numbers, numbers.likelihood)
    for scheme in numbers.schemes:
        yield from ("", f"worst failures under {scheme.name} (share lost, rates lost)")
        yield from _worst_lines(scheme.outcomes, worst)


def _comparison(numbers: WhatIfNumbers, priority: int | None) -> Iterator[str | TextTable]:
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
    rows = (_comparison_row(scheme.figures[priority]) for scheme in numbers.schemes)
    yield ""
    yield TextTable((groups, heads, *rows), headings=2)


def _comparison_row(of: SchemeFigures) -> list[str]:
    roles = (Role.VICTIM, Role.DIRECT, Role.INDIRECT, Role.UNTOUCHED)
    lost = (of.lost, of.failure_loss, of.congestion_loss, of.lost_worst)
    shares = (*lost, *(of.of_role[role] for role in roles), of.aboriginal_worst)
    return [of.scheme, rate(of.sent), *map(share, shares)]


def _recoveries(numbers: WhatIfNumbers) -> Iterator[str | TextTable]:
    groups = ("", "goodput:", "", "changes tunnel:", "", "links over capacity:", "", "capacity:")
    heads = ("scheme", *["mean", "worst"] * 3, "vacant")
    rows = []
    for scheme in numbers.schemes:
        rates, effort = scheme.figures[None], scheme.recovery
        goodput = (rate(rates.goodput_mean), rate(rates.goodput_least))
        moved = (share(effort.moved_mean), share(effort.moved_most))
        overloaded = (f"{effort.overloaded_mean:.1f}", f"{effort.overloaded_most}")
        rows.append((rates.scheme, *goodput, *moved, *overloaded, share(effort.vacant)))
    yield ""
    yield TextTable((groups, heads, *rows), headings=2)


def _availability(numbers: WhatIfNumbers, likelihood: Likelihood) -> Iterator[str | TextTable]:
    chances = likelihood.probabilities
    yield ""
    yield f"availability by {likelihood.source}: nothing fails {chances.none:.4%}, failures not examined"
    yield f"{chances.unlisted:.4%}; bounds if these lose everything or nothing"
    for priority in (None, *(numbers.classes if len(numbers.classes) > 1 else ())):
        yield "" if priority is None else f"class {priority}"
        heads = ("scheme", "of the demand", "all arrives", "pair, mean", "pair, worst", "99.9% of time")
        found = (scheme.availability[priority] for scheme in numbers.schemes)
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


def write_report(folder: OutputFolder, study: WhatIfStudy, provenance: Provenance, seed: int) -> None:
    """Write a study's report and its pictures, which need matplotlib."""
    folder.write_text("whatif.html", html_report(study, provenance, seed))
    for name, figure in figures(study.numbers).items():
        for suffix in (".svg", ".pdf"):
            folder.write_bytes(f"{name}{suffix}", picture_bytes(figure, suffix))


Drawing = Literal["loss-ranked", "loss-distribution", "loss-and-vacancy"]

_WORST = 5
_SCHEMES = (
    words("scheme"),
    rates("sent"),
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
    rates("victims_sent"),
    rates("victims_lost"),
    rates("others_lost"),
    rates("moved"),
    Column("overloaded_links"),
)


class WhatIf:
    """Costs of every failure under every scheme; losses are shares of the traffic sent, rates are Mbit/s.

    Attributes:
        numbers: all that `to_json` returns, as `kuijia.api.whatif_numbers.WhatIfNumbers` describes it.
    """

    def __init__(self, numbers: WhatIfNumbers, study: WhatIfStudy | None = None, seed: int = 1) -> None:
        self.numbers = numbers
        self._study = study
        self._seed = seed

    @property
    def study(self) -> WhatIfStudy:
        """Network, plans and failures, as `simulator.studies.whatif.study.WhatIfStudy` describes them.

        Raises:
            ValueError: the results come from a file, which has none of these.
        """
        if self._study is None:
            raise ValueError("results from a file have no plans: whatif(...) makes them again")
        return self._study

    @property
    def provenance(self) -> Provenance:
        """Provenance of the study: its call, versions and assumptions."""
        return self.numbers.provenance

    @property
    def notes(self) -> tuple[str, ...]:
        """Assumptions of readers of files, one sentence each."""
        return tuple(self.provenance.assumptions)

    @property
    def schemes(self) -> tuple[str, ...]:
        return tuple(scheme.name for scheme in self.numbers.schemes)

    @property
    def failures(self) -> tuple[str, ...]:
        return self.numbers.failures

    def plan(self, scheme: str) -> Plan:
        """Return the plan that a scheme started from; raises ValueError for results from a file."""
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
        mine = hurting(self.numbers.schemes[self.schemes.index(scheme)].outcomes)
        places = {each.failure: place for place, each in enumerate(mine)}
        rows_of = [row for row in self._outcome_rows() if row[0] == scheme and row[1] in places]
        return Table.of(_OUTCOMES, sorted(rows_of, key=lambda row: places[str(row[1])])[:rows])

    def summary(self, worst: int | None = _WORST) -> Text:
        """Return the summary that `kuijia whatif` prints, with at most `worst` failures of each scheme."""
        return Text.of(summary(self.numbers, worst))

    def to_frame(self) -> pd.DataFrame:
        """Return the table of outcomes as a data frame; raises MissingPackageError without pandas."""
        return self.outcomes().to_frame()

    def to_json(self) -> dict[str, object]:
        """Return all numbers as JSON data, as `kuijia whatif --json` prints them."""
        return self.numbers.as_json()

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return a line for each scheme, failure, class and role, as CSV; with a path also write it there."""
        return written(self.numbers.as_csv(), path)

    def plot(self, of: Drawing = "loss-ranked") -> Picture:
        """Draw who loses in all failures by rank, how many cost how much, or the losses beside the vacant capacity."""
        require_installed(LIBRARY, "pictures")

        require_known("of", of, get_args(Drawing))
        return Picture(figures(self.numbers.schemes)[of], f"{self.numbers.topology}, {of}")

    def save(self, folder: str | Path) -> Path:
        """Write the report (whatif.html), its pictures and all numbers into a folder; raises InputError.

        Without matplotlib, and of results from a file, it is the numbers alone.
        """
        with OutputFolder(Path(folder)) as output:
            self.write(output)
        return output.path

    def write(self, output: OutputFolder) -> bool:
        """Write what `save` writes into a folder that is open; return False if that is the numbers alone."""
        output.write_json(FILE, self.to_json())
        output.write_text("whatif.csv", self.to_csv())
        if self._study is None or not is_installed(LIBRARY):
            return False
        write_report(output, self._study, self.provenance, self._seed)
        return True

    def __repr__(self) -> str:
        failures = counted(len(self.failures), "failure")
        return f"WhatIf({self.numbers.topology!r}, {failures}, {', '.join(self.schemes)})"

    def _repr_html_(self) -> str:
        title = f"{self.numbers.topology}: {counted(len(self.failures), 'failure')}"
        return html_page(title, ["shares of the traffic sent; rates in Mbit/s", *self.notes], self.table())

    def _scheme_rows(self) -> Iterator[tuple[object, ...]]:
        for scheme in self.numbers.schemes:
            of = scheme.figures[None]
            roles = (of.of_role[role] for role in OLD)
            losses = (of.lost, of.failure_loss, of.congestion_loss, of.lost_worst)
            yield of.scheme, of.sent, *losses, *roles, of.aboriginal_worst

    def _outcome_rows(self) -> Iterator[tuple[object, ...]]:
        for each in (outcome for scheme in self.numbers.schemes for outcome in scheme.outcomes):
            victims, others = each.total((Role.VICTIM,)), each.total(ABORIGINAL)
            rates = (victims.sent, victims.lost, others.lost, each.moved)
            yield each.scheme, each.failure, loss_share(each.total()), *rates, len(each.overloaded)


def load_whatif(source: str | Path) -> WhatIf | WhatIfPackets:
    """Return the results in a whatif.json or whatif-packets.json, or in its folder, as `kuijia whatif -o` writes it.

    They have all numbers, but neither plans nor a report.

    Raises:
        InputError: there are none.
    """
    path = Path(source)
    if path.is_dir():
        path = next((each for each in (path / FILE, path / PACKETS_FILE) if each.exists()), path / FILE)
    data = read_json(path, "a file of results", _EXPECTED)
    with reading(path, _EXPECTED):
        found: Mapping[str, Any] = data if isinstance(data, dict) else {}
        kind = found.get("format"), found.get("version")
        result: WhatIf | WhatIfPackets
        if kind == (FORMAT, VERSION):
            result = WhatIf(WhatIfNumbers.from_json(found))
        elif kind == (PACKETS_FORMAT, PACKETS_VERSION):
            result = WhatIfPackets(PacketStudy.from_json(found))
        else:
            raise InputError(path, "", "holds something else", _EXPECTED)
        result.summary(), result.table(), result.outcomes()  # they refuse what is no study
    return result

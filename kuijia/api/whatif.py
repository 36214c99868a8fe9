"""What-if studies for notebooks: what every failure costs under every scheme, by the fluid model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeGuard, get_args

from experiments.sweep.workers import Workers
from experiments.whatif.shown import hurting
from experiments.whatif.study import Likelihood, Provenance, Study
from kuijia.api.demands import DemandsLike, demands_for
from kuijia.api.picture import Picture
from kuijia.api.plan import Plan, load_plan
from kuijia.api.progress import progress_line
from kuijia.api.solving import MOST_FAILURES, MOST_PARTS, announced
from kuijia.api.spelling import Phrase, bad_option, in_python, parsed, parsed_or_none, require_known
from kuijia.api.table import Column, Table, Text, html_page, share, words
from kuijia.api.topology import FileName, Topology, TopologyLike, load_topology
from kuijia.api.whatif_failures import TOPOLOGY, chosen_failures, chosen_probabilities, default_probabilities
from kuijia.api.whatif_report import as_csv, as_json, summary
from kuijia.api.whatif_study import (
    SPLIT_NAMES,
    WEIGHTING_NAMES,
    Planning,
    Rerouting,
    outcomes_of,
    write_report,
    write_results,
)
from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.extras import is_installed, require_installed
from kuijia_base.manifest import python_versions
from kuijia_base.option_values import whole_number
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import LIBRARY
from kuijia_base.progress import Progress
from kuijia_base.quantities import rate
from simulator.flow.comparison import ABORIGINAL, OLD, compare
from simulator.flow.failure_impact import Role, Weighting
from simulator.flow.what_if import loss_share
from te_solver import plan as core
from te_solver.failure_schemes.failure_scheme import FailureScheme
from te_solver.failures import Failure
from te_solver.formats.notes import counted
from te_solver.plan import MAX_TUNNELS_PER_PAIR
from te_solver.programs.registry import objective_names

if TYPE_CHECKING:
    import pandas as pd

    from kuijia.api.whatif_contenders import Plans
    from simulator.flow.what_if import Contender

Failures: TypeAlias = str | Path | Iterable[Failure | tuple[str, str]]
"""Kinds of failures ("links", "pairs", "nodes", several separated by commas), a CSV file, or failures and links."""

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
        study: all numbers, as `experiments.whatif.study.Study` describes them.
        provenance: how the study was made.
        notes: what readers assumed, one sentence each.
    """

    def __init__(self, study: Study, provenance: Provenance, seed: int = 1) -> None:
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

    def to_csv(self) -> str:
        """Return a line for each scheme, failure, class and role, as CSV."""
        return as_csv(self.study.outcomes)

    def plot(self, of: Drawing = "loss-distribution") -> Picture:
        """Draw how many failures cost how much, the losses beside the vacant capacity, or all failures by rank."""
        require_installed(LIBRARY, "pictures")
        from experiments.whatif.figures import figures  # noqa: PLC0415  # slow to import: matplotlib

        require_known("of", of, get_args(Drawing))
        return Picture(figures(self.study)[of], f"{self.study.topology.name}, {of}")

    def save(self, folder: str | Path) -> Path:
        """Write the report (whatif.html), its pictures and all numbers into a folder; raises InputError.

        Without matplotlib it is the numbers alone.
        """
        output = OutputFolder(Path(folder))
        try:
            write_results(output, self.study, self.to_json())
            if is_installed(LIBRARY):
                write_report(output, self.study, self.provenance, self._seed)
        finally:
            output.remove_if_empty()
        return output.path

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


def whatif(  # noqa: PLR0913  # options are keywords
    plan: core.Plan | TopologyLike,
    demands: DemandsLike | None = None,
    *,
    schemes: str | Sequence[str | FailureScheme] | None = None,
    failures: Failures = "links",
    sample: int | None = None,
    seed: int = 1,
    tunnels: int | None = None,
    node_disjoint: bool = False,
    objective: str | None = None,
    partitions: int | None = None,
    protect: int | None = None,
    split: str = SPLIT_NAMES[0],
    new_tunnels: bool = False,
    udp: bool = False,
    weighting: Weighting = "equal",
    probabilities: FileName | None = None,
    workers: int | None = None,
) -> WhatIf:
    """Return what every failure costs under every scheme.

    Args:
        plan: a plan or its file (.json). A scheme that needs another objective, such as "ffc", gets a plan of that
            objective over the same tunnels. Or a network in any form, for which plans are solved.
        demands: with a network: its demands, as for `solve`.
        schemes: names of schemes, and schemes of your own. By default "kuijia", "rescaling", "precomputed", "ffc" and
            "recompute"; "ffc" is left out, with a note, where it can protect no pair.
        failures: every single "links", "pairs" of links, "nodes", several of these separated by commas, a CSV file, or
            a list of failures and of links such as ("s2", "s4").
        sample: at most so many failures of each kind, drawn by `seed`.
        seed: seed of the sample, and of random places of nodes in pictures.
        tunnels: with a network: tunnels per pair, 3 by default.
        node_disjoint: with a network: tunnels of a pair have no node in common where possible.
        objective: with a network: objective of the plan that the schemes work on; ffc has its own.
        partitions: with a network: solve its plan in so many parts; by default one, and more for very many demands.
        protect: ffc: failed links that its plan survives without loss; 1 by default.
        split: kuijia, rescaling: division of the victims of several failed tunnels, "proportional" or
            "failover-order".
        new_tunnels: recompute: replace failed tunnels by new ones.
        udp: traffic does not slow down on loss.
        weighting: weight of a tunnel's traffic on a full link, "equal" or "offered".
        probabilities: probabilities of links or failures, for availability: a CSV file, published ones by name, "none",
            or those of the "topology", the default if it has some.
        workers: processes; by default as many as the work is worth.

    Raises:
        InputError: an input or an option cannot be used.
        SolverError: the solver gave up.
    """
    require_known("split", split, SPLIT_NAMES)
    require_known("weighting", weighting, WEIGHTING_NAMES)
    if objective is not None:
        require_known("objective", objective, objective_names())
    protected = parsed_or_none("protect", protect, whole_number(1, MOST_FAILURES, of=" failed links"))
    how = Rerouting(_distinct(schemes), protected, split, new_tunnels, udp, weighting)
    how.require_used()
    planning = Planning(
        parsed_or_none("tunnels", tunnels, whole_number(1, MAX_TUNNELS_PER_PAIR, of=" tunnels per pair")),
        node_disjoint,
        objective,
        parsed_or_none("partitions", partitions, whole_number(1, MOST_PARTS)),
        parsed("seed", seed, whole_number(0)),
    )
    processes = parsed_or_none("workers", workers, whole_number(1))
    kept = parsed_or_none("sample", sample, whole_number(1, 10**9, expected="a whole number, one or more"))
    notes: list[str] = []
    with progress_line(patient=True) as progress:
        topology, plans = _start(plan, demands, planning, protected, progress, notes)
        examined = _failures(failures, topology, kept, planning.seed)
        likelihood = _likelihood(probabilities, topology, examined, notes)
        contenders = _contenders(how, plans, notes)
        of_many = None if processes is None else Workers(processes)
        with outcomes_of(how, contenders, examined, of_many, None, progress) as outcomes:
            study = Study(topology, contenders, examined, outcomes, likelihood)
    named = {
        "schemes": [each.scheme.name for each in contenders],
        "failures": str(failures) if isinstance(failures, str | Path) else [each.name for each in examined],
        "sample": kept,
        **asdict(planning),
        "protect": protected,
        "split": split,
        "new_tunnels": new_tunnels,
        "udp": udp,
        "weighting": weighting,
        "probabilities": None if likelihood is None else likelihood.source,
    }
    return WhatIf(study, Provenance(_call(topology.name, named), python_versions(), tuple(notes)), planning.seed)


def _call(name: str, options: Mapping[str, object]) -> str:
    """Return the call that makes a study; options without a value, or that are off, are left out."""
    given = (f"{option}={value!r}" for option, value in options.items() if value is not None and value is not False)
    return f"kuijia.whatif({', '.join([repr(name), *given])})"


def _start(
    source: core.Plan | TopologyLike,
    demands: DemandsLike | None,
    planning: Planning,
    protect: int | None,
    progress: Progress,
    notes: list[str],
) -> tuple[Topology, Plans]:
    """Return the network and the plans on it; `notes` gets the assumptions behind both."""
    from kuijia.api.whatif_contenders import plans_for, plans_from  # noqa: PLC0415  # slow to import: CVXPY

    def say(words: Phrase) -> None:
        notes.append(in_python(words))

    if isinstance(source, core.Plan) or _is_plan_file(source):
        if demands is not None:
            raise bad_option("demands", "given with a plan, which has its own", "a network in the place of the plan")
        planning.refuse()
        plan = load_plan(source)
        notes += plan.notes
        name = "plan" if isinstance(source, core.Plan) else str(source)
        return plan.topology, plans_from(plan, plan.demands, protect, name, progress, say)
    planning.require_sense()
    topology = load_topology(source)
    asked = demands_for(demands, source, topology, {})
    notes += [*topology.notes, *asked.notes]
    if (line := announced(topology)) is not None:
        progress.show(line)
    return topology, plans_for(topology, asked, planning, protect, asked.source, progress, say)


def _contenders(how: Rerouting, plans: Plans, notes: list[str]) -> list[Contender]:
    from kuijia.api.whatif_contenders import contenders_of  # noqa: PLC0415  # slow to import: CVXPY

    return contenders_of(how, plans, lambda words: notes.append(in_python(words)))


def _is_plan_file(source: object) -> TypeGuard[str | Path]:
    return isinstance(source, str | Path) and Path(source).suffix == ".json"


def _distinct(schemes: str | Sequence[str | FailureScheme] | None) -> tuple[str | FailureScheme, ...] | None:
    """Return the schemes, each once; a text may have several names separated by commas. None stays None."""
    if schemes is None:
        return None
    found = tuple(dict.fromkeys(schemes.split(",") if isinstance(schemes, str) else schemes))
    if not found:
        raise bad_option("schemes", "none", "at least one")
    return found


def _failures(which: Failures, topology: Topology, sample: int | None, seed: int) -> tuple[Failure, ...]:
    if isinstance(which, str | Path):
        return chosen_failures(str(which), topology, sample, parsed("seed", seed, whole_number(0)))
    listed: object = which
    if not isinstance(listed, Iterable):
        problem = f"found {quoted(type(listed).__name__)}"
        raise bad_option("failures", problem, "names such as 'links', a CSV file, or a list of failures")
    found = [each if isinstance(each, Failure) else _of_link(each) for each in listed]
    if not found:
        raise bad_option("failures", "nothing fails", "at least one failure")
    for each in found:
        try:
            each.require_part_of(topology)
        except UnsoundError as error:
            raise bad_option("failures", error.problem, error.expected) from error
    return tuple(found)


def _of_link(ends: object) -> Failure:
    if not (isinstance(ends, tuple | list) and len(ends) == 2):
        raise bad_option("failures", f"found {quoted(str(ends))}", "failures, or links such as ('s2', 's4')")
    a, b = map(str, ends)
    return Failure(f"{a}-{b}", edges=((a, b),))


def _likelihood(
    which: str | Path | None, topology: Topology, failures: Sequence[Failure], notes: list[str]
) -> Likelihood | None:
    """Return the probabilities of failures; `notes` gets a sentence about each gap in them."""
    if which is None:
        found = default_probabilities(topology, failures, notes.append)
        return None if found is None else Likelihood(TOPOLOGY, found)
    chosen = chosen_probabilities(str(which), topology, failures, notes.append)
    return None if chosen is None else Likelihood(str(which), chosen)

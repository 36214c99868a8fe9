"""The parts of a what-if study, for `kuijia.whatif` and the command `kuijia whatif`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kuijia.api.solving import DEFAULT_TUNNELS, chosen_paths, require_paths
from kuijia_base.options import bad_option, require_known, spelled
from kuijia_base.output_folder import OutputFolder
from kuijia_base.parallel import processors
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import Workers
from te_solver.failure_schemes.failure_scheme import FailureScheme
from te_solver.failure_schemes.registry import failure_scheme, scheme_names
from te_solver.programs.registry import MAX_THROUGHPUT
from te_solver.tunnels import DISJOINT

if TYPE_CHECKING:
    from simulator.flow.failure_impact import Weighting
    from simulator.flow.what_if import Contender, Outcome
    from simulator.studies.whatif.study import Provenance, Study
    from te_solver.failures import Failure

DEFAULT_SCHEMES = ("kuijia", "rescaling", "precomputed", "ffc", "recompute")
SPLIT_NAMES = ("proportional", "failover-order")
WEIGHTING_NAMES = ("equal", "offered")

Say = Callable[[str], None]
"""Receives a sentence for the user, which may name options."""

_WORTH_PROCESSES = 500_000
"""Tunnels times failures from which on more processes save more time than their start takes."""


@dataclass(frozen=True)
class Rerouting:
    """The schemes that are compared, and their options; see `kuijia.whatif`.

    Without `schemes` they are those of `DEFAULT_SCHEMES` whose plan protects any pair.
    """

    schemes: Sequence[str | FailureScheme] | None = None
    protect: int | None = None
    split: str = SPLIT_NAMES[0]
    new_tunnels: bool = False
    udp: bool = False
    weighting: Weighting = "equal"

    def found(self) -> list[FailureScheme]:
        """Return the schemes; raises InputError for an unknown name."""
        asked = DEFAULT_SCHEMES if self.schemes is None else self.schemes
        for each in asked:
            if isinstance(each, str):
                require_known("schemes", each, scheme_names())
        found = [failure_scheme(each) if isinstance(each, str) else each for each in asked]
        names = [each.name for each in found]
        for name in names:
            if names.count(name) > 1:
                raise bad_option("schemes", f"two are called {name}", "different names")
        return found

    def require_used(self) -> None:
        """Raise InputError for options of schemes that are not compared."""
        names = {each.name for each in self.found()}
        for option, given, schemes in (
            ("protect", self.protect is not None, ("ffc",)),
            ("split", self.split != SPLIT_NAMES[0], ("kuijia", "rescaling")),
            ("new_tunnels", self.new_tunnels, ("recompute",)),
        ):
            if given and not set(schemes) & names:
                problem = "none of the compared schemes has this option"
                raise bad_option(option, problem, f"{' or '.join(schemes)} in {spelled('schemes')}")


@dataclass(frozen=True)
class Planning:
    """The options of plans that a study makes; None for the default."""

    tunnels: int | None = None
    node_disjoint: bool = False
    objective: str | None = None
    partitions: int | None = None
    seed: int = 1
    paths: str = DISJOINT

    @property
    def tunnels_per_pair(self) -> int:
        return DEFAULT_TUNNELS if self.tunnels is None else self.tunnels

    def require_sense(self) -> None:
        """Raise InputError for parts of an objective that is not solved in parts, or paths that cannot be chosen."""
        require_paths(self.paths, node_disjoint=self.node_disjoint)
        chosen_paths(self.objective or MAX_THROUGHPUT, self.paths)
        if self.partitions is not None and self.objective not in {None, MAX_THROUGHPUT}:
            problem = f"{self.objective} is not solved in parts"
            raise bad_option("partitions", problem, spelled("objective", MAX_THROUGHPUT))

    def refuse(self) -> None:
        """Raise InputError for options beside a plan, which needs none."""
        for option, given in (
            ("objective", self.objective is not None),
            ("partitions", self.partitions is not None),
            ("node_disjoint", self.node_disjoint),
            ("paths", self.paths != DISJOINT),
            ("tunnels", self.tunnels is not None),
        ):
            if given:
                problem = "the plan has its tunnels and rates"
                raise bad_option(option, problem, f"{spelled('plan')} without {spelled(option)}")


def outcomes_of(
    how: Rerouting,
    contenders: Sequence[Contender],
    failures: Sequence[Failure],
    workers: Workers | None,
    folder: OutputFolder | None,
    progress: Progress,
) -> AbstractContextManager[list[Outcome]]:
    """Return the outcomes as a context; without `workers` as many processes compute them as the work is worth."""
    from simulator.studies.whatif import sweep  # noqa: PLC0415  # slow to import: NumPy

    questions = sweep.Questions(contenders, failures, elastic=not how.udp, weighting=how.weighting)
    options = {"split": how.split, "new_tunnels": how.new_tunnels}
    tunnels = sum(contender.traffic.sent.size for contender in contenders)
    if workers is None:
        workers = Workers(1) if tunnels * len(failures) < _WORTH_PROCESSES else Workers(processors())
    return sweep.outcomes_of(questions, options, workers, folder, progress)


def write_results(folder: OutputFolder, study: Study, data: dict[str, object]) -> None:
    """Write a study's numbers."""
    from kuijia.api.whatif_report import as_csv  # noqa: PLC0415  # slow to import: NumPy

    folder.write_json("whatif.json", data)
    folder.write_text("whatif.csv", as_csv(study.outcomes))


def write_report(folder: OutputFolder, study: Study, provenance: Provenance, seed: int) -> None:
    """Write a study's report and its pictures, which need matplotlib."""
    from kuijia_base.picture_file import picture_bytes  # noqa: PLC0415  # slow to import
    from simulator.studies.whatif.figures import figures  # noqa: PLC0415  # slow to import: matplotlib
    from simulator.studies.whatif.html_report import html_report  # noqa: PLC0415  # slow to import: matplotlib

    folder.write_text("whatif.html", html_report(study, provenance, seed))
    for name, figure in figures(study).items():
        for suffix in (".svg", ".pdf"):
            folder.write_bytes(f"{name}{suffix}", picture_bytes(figure, suffix))

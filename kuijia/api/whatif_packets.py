"""What-if studies of a plan's first seconds after each failure, packet by packet, and their results."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from kuijia.api.packet_options import sizes_of
from kuijia.api.table import Column, Picture, Table, Text, html_page, number, words
from kuijia.api.whatif_options import DEFAULT_SCHEMES, DEFAULT_SIZES, FLOW, Say, WhatIfOptions, packet_options
from kuijia_base.additions import is_installed, require_installed
from kuijia_base.errors import UnsoundError
from kuijia_base.options import bad_option, require_known, spelled
from kuijia_base.output_folder import OutputFolder
from kuijia_base.parallel import processors
from kuijia_base.picture_file import LIBRARY, picture_bytes
from kuijia_base.progress import Progress
from kuijia_base.quantities import counted, rate
from kuijia_base.sweep.workers import Workers
from simulator.packet.units import FASTEST
from simulator.studies.whatif_packets.findings import FailureCounts, PacketStudy, StudyFindings, percent
from simulator.studies.whatif_packets.run import (
    CLASSES,
    MOST_PACKETS,
    ROLES,
    TRANSPORTS,
    Conditions,
    PacketQuestions,
    Play,
    results_of,
)
from te_solver.model.plan import Plan
from te_solver.schemes.all_schemes import switch_schemes
from te_solver.schemes.failure_scheme import FailureScheme

if TYPE_CHECKING:
    import pandas as pd

    from simulator.flow.what_if import Contender


FILE = "whatif-packets.json"

_MOST_PACKETS = 1e9
"""Data packets of a run."""

_LAST_SEED = 2**63 - 1


_FIELDS = {"controller_at": "controller", "rate_scale": "scale"}
"""Conditions that have other names than their options."""


def conditions_of(how: WhatIfOptions) -> Conditions:
    """Return the conditions of a study, at rates as planned unless a scale was given; raises InputError."""
    given = {name: getattr(how, name) for name in packet_options() if getattr(how, name) is not None}
    if "transport" in given:
        require_known("transport", given["transport"], TRANSPORTS)
    if how.seed > _LAST_SEED:
        raise bad_option("seed", f"is {how.seed}", f"{_LAST_SEED} or less")
    chosen = {_FIELDS.get(name, name): value for name, value in given.items() if name != "sizes"}
    return Conditions(sizes_of(how.sizes or DEFAULT_SIZES), seed=how.seed, **chosen)


def plans_of(contenders: Sequence[Contender], how: WhatIfOptions) -> list[tuple[Plan, FailureScheme]]:
    """Return the plan of each contender, with its scheme as switches know it."""
    schemes = {scheme.name: scheme for scheme in how.found()}
    return [(each.traffic.plan, schemes[each.scheme.name]) for each in contenders]


def on_switches(how: WhatIfOptions, say: Say) -> WhatIfOptions:
    """Return the options with the schemes that switches can be programmed with; `say` hears which are left out.

    Raises:
        InputError: another one was asked for.
    """
    known = [each.name for each in switch_schemes() if each.is_precut]
    if how.schemes is None:
        kept = tuple(name for name in DEFAULT_SCHEMES if name in known)
        left = [name for name in DEFAULT_SCHEMES if name not in known]
        if how.protect is None and not how.new_tunnels:
            say(f"{', '.join(left)} left out: switches cannot be programmed with them")
        return replace(how, schemes=kept)
    for each in how.found():
        if not each.is_precut:
            problem = f"switches cannot be programmed with {each.name}"
            raise bad_option("schemes", problem, f"{' or '.join(sorted(known))}, or {spelled('backend', FLOW)}")
    return how


@contextmanager
def simulated(
    asked: WhatIfOptions,
    questions: PacketQuestions,
    workers: Workers | None,
    folder: OutputFolder | None,
    progress: Progress,
    say: Say,
) -> Generator[PacketStudy, None, None]:
    """Simulate all failures under all schemes, and yield what they cost; a checkpoint in `folder` outlasts the block.

    Without `workers` as many processes do so as there are processors. `say` hears what was assumed.

    Raises:
        InputError: the plan or an option cannot be simulated.
    """
    how, plans, failures = questions.conditions, questions.contenders, questions.failures
    if asked.rate_scale is None:
        how = replace(how, scale=_scale(how, plans[0][0]))
    _require_bounds(how, plans[0][0])
    questions = replace(questions, conditions=how)
    play = _first(questions)
    lacking = sum(link.delay == 0 for link in plans[0][0].topology.links)
    if lacking and asked.link_delay is None:
        sentence = f"{counted(lacking, 'link')} without a delay: each gets {how.link_delay:g} s"
        say(f"{sentence} ({spelled('link_delay')})")
    if workers is None:
        workers = Workers(min(processors(), len(failures) * len(plans)))
    with results_of(questions, workers, folder, progress) as found:
        names = [failure.name for failure in failures]
        outcomes = {each.name: list(map(FailureCounts, names, of)) for (_, each), of in zip(plans, found, strict=True)}
        yield PacketStudy.of(how, asked.sizes or DEFAULT_SIZES, play, StudyFindings(outcomes))


def options_of(study: PacketStudy) -> dict[str, Any]:
    """Return all options of the packet backend with the values that a study has, given or not: defaults may change."""
    return {name: study.conditions[_FIELDS.get(name, name)] for name in packet_options()}


def write_report(folder: OutputFolder, study: PacketStudy, command: str) -> None:
    """Write a study's page and its pictures, which need matplotlib."""
    from simulator.studies.whatif_packets.html_report import figures, html_report  # noqa: PLC0415  # slow to import: SciPy, jinja2

    folder.write_text("whatif-packets.html", html_report(study, command))
    for name, figure in figures(study.found).items():
        for suffix in (".svg", ".pdf"):
            folder.write_bytes(f"{name}{suffix}", picture_bytes(figure, suffix))


def _first(questions: PacketQuestions) -> Play:
    """Return the first contender, compiled; raises InputError if the plan or an option cannot be simulated."""
    try:
        play = questions.play(0)
    except UnsoundError as error:
        place = {"controller": "controller_at"}.get(str(error.where[0]) if error.where else "", "backend")
        raise bad_option(place, error.problem, error.expected) from error
    if not play.traffic.count:
        expected = f"a greater load, {spelled('rate_scale')}, more seconds or smaller flows"
        raise bad_option("load", "no flow comes", expected)
    return play


def _scale(how: Conditions, plan: Plan) -> float:
    """Return the factor of rates, two digits of it, at which a run can be simulated in some seconds; at most 1."""
    wanted = min(MOST_PACKETS / max(how.packets(plan), 1.0), FASTEST / _fastest_link(plan))
    if wanted >= 1:
        return 1.0
    digit = 10.0 ** (math.floor(math.log10(wanted)) - 1)
    return math.floor(wanted / digit) * digit


def _require_bounds(how: Conditions, plan: Plan) -> None:
    """Raise InputError if links are too fast for the simulator, or a run has more packets than anyone waits for."""
    if (fastest := _fastest_link(plan) * how.scale) > FASTEST:
        raise bad_option("rate_scale", f"a link of {rate(fastest)}", f"links of at most {rate(FASTEST)}")
    if (packets := how.packets(plan) * how.scale) > _MOST_PACKETS:
        problem = f"{packets:.3g} data packets in a run"
        raise bad_option("rate_scale", problem, f"a factor that leaves at most {_MOST_PACKETS:.0e}")


def _fastest_link(plan: Plan) -> float:
    return max(link.capacity for link in plan.topology.links)


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
        study: all numbers, as `simulator.studies.whatif_packets.findings.PacketStudy` describes them.
        call: the call that reproduces them; None of results from a file.
    """

    def __init__(self, study: PacketStudy, call: str | None = None) -> None:
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
        from simulator.studies.whatif_packets.html_report import figures  # noqa: PLC0415  # slow to import: SciPy, jinja2

        require_known("of", of, get_args(PacketDrawing))
        return Picture(figures(self.study.found)[of], f"{self.study.network}, {of}")

    def save(self, folder: str | Path) -> Path:
        """Write the report (whatif-packets.html), its pictures and all numbers into a folder; raises InputError.

        Without matplotlib, and of results from a file, it is the numbers alone.
        """
        with OutputFolder(Path(folder)) as output:
            self.write(output)
        return output.path

    def write(self, output: OutputFolder) -> bool:
        """Write what `save` writes into a folder that is open; return False if that is the numbers alone."""
        output.write_json(FILE, self.to_json())
        if self.call is None or not is_installed(LIBRARY):
            return False
        write_report(output, self.study, self.call)
        return True

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

"""Studies of a plan's first seconds after each failure, packet by packet, for `kuijia.whatif` and `kuijia whatif`."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kuijia.api.whatif_options import DEFAULT_SCHEMES, DEFAULT_SIZES, FLOW, WhatIfOptions, packet_options
from kuijia.api.whatif_study import Say
from kuijia_base.errors import UnsoundError
from kuijia_base.options import bad_option, require_known, spelled
from kuijia_base.output_folder import OutputFolder
from kuijia_base.parallel import processors
from kuijia_base.progress import Progress
from kuijia_base.quantities import counted, rate
from kuijia_base.sweep.workers import Workers
from simulator.packet.units import FASTEST
from te_solver.schemes.all_schemes import switch_schemes

if TYPE_CHECKING:
    from simulator.flow.what_if import Contender
    from simulator.studies.whatif_packets.conditions import Conditions
    from simulator.studies.whatif_packets.run import Play
    from simulator.studies.whatif_packets.study import PacketStudy
    from simulator.studies.whatif_packets.sweep import PacketQuestions
    from te_solver.model.plan import Plan
    from te_solver.schemes.failure_scheme import FailureScheme

FILE = "whatif-packets.json"

_MOST_PACKETS = 1e9
"""Data packets of a run."""

_LAST_SEED = 2**63 - 1


_FIELDS = {"controller_at": "controller", "rate_scale": "scale"}
"""Conditions that have other names than their options."""


def conditions_of(how: WhatIfOptions) -> Conditions:
    """Return the conditions of a study, at rates as planned unless a scale was given; raises InputError."""
    from kuijia.api.packet_options import sizes_of  # noqa: PLC0415  # slow to import: NumPy
    from simulator.studies.whatif_packets.conditions import TRANSPORTS, Conditions  # noqa: PLC0415  # slow: NumPy

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
    from simulator.studies.whatif_packets.findings import FailureCounts, StudyFindings  # noqa: PLC0415  # slow to import: NumPy
    from simulator.studies.whatif_packets.study import PacketStudy  # noqa: PLC0415  # slow to import: NumPy
    from simulator.studies.whatif_packets.sweep import results_of  # noqa: PLC0415  # slow to import: NumPy

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
        yield PacketStudy(how, asked.sizes or DEFAULT_SIZES, play, StudyFindings(outcomes))


def options_of(study: PacketStudy) -> dict[str, Any]:
    """Return all options of the packet backend with the values that a study has, given or not: defaults may change."""
    conditions = {name: getattr(study.how, _FIELDS.get(name, name)) for name in packet_options()}
    return {**conditions, "sizes": study.sizes, "controller_at": study.play.controller}


def write_report(folder: OutputFolder, study: PacketStudy, command: str) -> None:
    """Write a study's page and its pictures, which need matplotlib."""
    from kuijia_base.picture_file import picture_bytes  # noqa: PLC0415  # slow to import
    from simulator.studies.whatif_packets.figures import figures  # noqa: PLC0415  # slow to import: matplotlib
    from simulator.studies.whatif_packets.html_report import html_report  # noqa: PLC0415  # slow to import: matplotlib

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
    from simulator.studies.whatif_packets.conditions import MOST_PACKETS  # noqa: PLC0415  # slow to import: NumPy

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

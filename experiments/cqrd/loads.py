"""Experiments 1, 2 and 5: four switches under three loads, with the flows of the journal and of the conference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments.cqrd.published import LOADS, published
from experiments.cqrd.runs import Case, Run, choices_of, interference, run_cases
from experiments.cqrd.switches import SWITCHES, OneSwitch, TwoTiers
from experiments.cqrd.tables import FCT, LABELS, Naming, of_distribution, of_interfered, of_kinds, over_loads
from experiments.experiment import Outcome, Settings
from experiments.reporting.exhibit_output import write_exhibits
from experiments.results.exhibit import Exhibit
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import write_picture
from kuijia_base.picture_style import look, new_figure
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import Workers

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LOOKS = {label: look(position) for position, label in enumerate(("CQRD", "CQ", "HCF", "OQ", "OQ, TCP"))}
_QUANTILES = np.linspace(0, 100, 201)

Marks = Mapping[str, Sequence[tuple[float, float]]]
"""Published points of each curve: value and percentile."""


def cdf_figure(
    panels: Mapping[str, Mapping[str, NDArray[np.float64]]], unit: str, published: Mapping[str, Marks] | None = None
) -> Figure:
    """Return panels side by side, each with a curve for every switch; published points are hollow marks."""
    from matplotlib.lines import Line2D  # noqa: PLC0415  # not always installed

    figure = new_figure(1 + 3.4 * len(panels), 3.8)
    all_axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (title, curves) in zip(all_axes, panels.items(), strict=True):
        for label, values in curves.items():
            how = _LOOKS[label]
            at = np.percentile(values, _QUANTILES)
            axes.plot(at, _QUANTILES / 100, color=how.colour, linestyle=how.dashes, label=label)
        for label, points in (published or {}).get(title, {}).items():
            x, part = [point[0] for point in points], [point[1] / 100 for point in points]
            axes.plot(x, part, "D", color=_LOOKS[label].colour, markerfacecolor="none", markersize=5)
        axes.set_xscale("log")
        axes.set_xlabel(unit)
        axes.set_title(title, fontsize="medium")
        axes.grid(alpha=0.3)
    all_axes[0].set_ylabel("part of flows")
    handles, labels = all_axes[0].get_legend_handles_labels()
    if published:
        handles.append(Line2D([], [], color="black", marker="D", markerfacecolor="none", linestyle=""))
        labels.append("published")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
    return figure


JUDGED = ("fct-average", "goodput-average")
"""Tables whose ratios of CQRD to OQ are held against the published ones."""

INTERFERED_AT = LOADS[0]


def remarks_of(paper: str) -> tuple[str, ...]:
    """Return what is below every table of the journal's or of the conference's flows."""
    choices = choices_of(paper)
    return (
        f"Load 1 is assumed to be {choices.overload:g} times the rate of hosts' links (docs/cqrd.md explains why).",
        f"{choices.host_queue} packets may wait in front of a host's link, as in ns-2.",
        "Completion times run from a flow's start, including the handshake, to the arrival of its last byte.",
    )


@dataclass(frozen=True)
class Experiment:
    """One of the three experiments.

    Attributes:
        name: such as `exp1`; also the key of its published numbers.
        title: of the simulated network.
        place: returns the network with one scheme in every switch.
        flows: number of flows of each workload.
        figures: the papers' names for the tables by load and for those of interfered flows, for each workload.
        dctcp: True if DCTCP replaces TCP, beside OQ with TCP.
    """

    name: str
    title: str
    place: Callable[[str], OneSwitch | TwoTiers]
    flows: dict[str, int]
    figures: dict[str, tuple[str, str]]
    dctcp: bool = False


EXPERIMENTS = {
    "cqrd-exp1": Experiment(
        "exp1",
        "one switch of 24 ports",
        OneSwitch,
        {"journal": 6_000, "lcn": 1_200},
        {"journal": ("CQRD Figure 8", "CQRD Figure 9"), "lcn": ("CQRD (LCN) Figure 6", "CQRD (LCN) Figure 7")},
    ),
    "cqrd-exp2": Experiment(
        "exp2",
        "480 hosts",
        TwoTiers.of,
        {"journal": 20_000, "lcn": 2_000},
        {"journal": ("CQRD Figure 11", "CQRD Figure 12"), "lcn": ("CQRD (LCN) Figure 9", "CQRD (LCN) Figure 10")},
    ),
    "cqrd-exp5": Experiment(
        "exp5",
        "480 hosts, DCTCP",
        TwoTiers.of,
        {"journal": 20_000},
        {"journal": ("CQRD Figure 15", "")},
        dctcp=True,
    ),
}


@dataclass(frozen=True)
class Part:
    """Part of an experiment to run: a workload, its number of flows, and the loads."""

    workload: str
    flows: int
    loads: tuple[float, ...] = LOADS


def run_experiment(
    name: str, parts: Sequence[Part], settings: Settings, workers: Workers, output: OutputFolder, progress: Progress
) -> Outcome:
    """Run all parts under every switch for every repetition; write tables and pictures."""
    experiment = EXPERIMENTS[name]
    seeds = settings.seeds
    schemes = [*SWITCHES, "tcp-oq"] if experiment.dctcp else list(SWITCHES)
    keys = [(part, load, scheme, seed) for part in parts for load in part.loads for scheme in schemes for seed in seeds]
    cases = [
        Case(
            experiment.place("oq" if scheme == "tcp-oq" else scheme),
            part.flows,
            load,
            seed,
            dctcp=experiment.dctcp and scheme != "tcp-oq",
            choices=choices_of(part.workload),
        )
        for part, load, scheme, seed in keys
    ]
    runs = run_cases(name, cases, workers, output, progress)
    found = dict(zip(keys, zip(cases, runs, strict=True), strict=True))
    exhibits: list[Exhibit] = []
    for part in parts:
        of_part = {
            (scheme, load): [found[part, load, scheme, seed][1] for seed in seeds]
            for scheme in schemes
            for load in part.loads
        }
        exhibits += _tables(experiment, part, of_part)
        if "cdf" in _published(experiment, part):
            exhibits += of_distribution(_naming(experiment, part, experiment.figures[part.workload][0]), of_part)
        if experiment.figures[part.workload][1] and INTERFERED_AT in part.loads:
            of_seed = {scheme: found[part, INTERFERED_AT, scheme, settings.seed] for scheme in schemes}
            exhibits += _interfered(experiment, part, of_seed)
        write_picture(output, f"{name}-{part.workload}-cdf.svg", partial(_cdf, experiment, part, of_part))
    return write_exhibits(name, exhibits, settings, output)


def _naming(experiment: Experiment, part: Part, figure: str) -> Naming:
    whole = experiment.flows[part.workload]
    remarks = remarks_of(part.workload)
    if part.flows != whole:
        remarks += (f"{part.flows:,} flows instead of the {whole:,} published ones: fewer run at the same time.",)
    title = f"{experiment.title}, {part.flows:,} flows"
    return Naming(f"cqrd-{experiment.name}-{part.workload}", title, figure, (experiment.name, part.workload), remarks)


def _tables(experiment: Experiment, part: Part, runs: dict[tuple[str, float], list[Run]]) -> list[Exhibit]:
    naming = _naming(experiment, part, experiment.figures[part.workload][0])
    if experiment.dctcp:
        naming = Naming(naming.name, naming.title, naming.figure, (experiment.name,), naming.remarks)
    whole = part.flows == experiment.flows[part.workload]
    return over_loads(naming, runs, JUDGED if whole else ())


def _published(experiment: Experiment, part: Part) -> dict[str, Any]:
    found: dict[str, Any] = published()[experiment.name].get(part.workload, {})
    return found


def _interfered(experiment: Experiment, part: Part, of_seed: dict[str, tuple[Case, Run]]) -> list[Exhibit]:
    """Return tables of the flows that meet giant ones; the run of OQ selects these flows for all switches."""
    at_output, on_path = interference(*of_seed["oq"])
    naming = _naming(experiment, part, experiment.figures[part.workload][1])
    counted = (int(at_output.sum()), int(on_path.sum()))
    theirs = published()[experiment.name][part.workload].get("flows")
    said = f"{counted[0]:,} flows are OC-PC, {counted[1]:,} PC"
    if theirs is not None:
        said += f" (published: {theirs['OC-PC'][0]:,} and {theirs['PC'][0]:,})"
    remarks = (*naming.remarks, f"Of {part.flows:,} at load {INTERFERED_AT:g} {said}, in the run of OQ.")
    naming = Naming(naming.name, naming.title, naming.figure, naming.keys, remarks)
    kinds = {"all": at_output | on_path, "OC-PC": at_output, "PC": on_path}
    counts = dict(zip(("OC-PC", "PC"), counted, strict=True))
    return [
        *of_interfered(naming, {scheme: run for scheme, (_, run) in of_seed.items()}, kinds),
        *of_kinds(_naming(experiment, part, ""), INTERFERED_AT, counts, part.flows),
    ]


def _cdf(experiment: Experiment, part: Part, runs: dict[tuple[str, float], list[Run]]) -> Figure:
    panels = {
        f"load {load:g}": {LABELS[scheme]: of[0].milliseconds() for (scheme, at), of in runs.items() if at == load}
        for load in part.loads
    }
    theirs = _published(experiment, part)
    marks: dict[str, Marks] = {}
    if "cdf" in theirs:
        for place, load in enumerate(LOADS):
            marks[f"load {load:g}"] = {
                SWITCHES[scheme]: [
                    (value, percentile)
                    for value, percentile in zip(curves[place], theirs["cdf_percentiles"], strict=True)
                    if value is not None
                ]
                for scheme, curves in theirs["cdf"].items()
            }
    return cdf_figure(panels, FCT, marks)

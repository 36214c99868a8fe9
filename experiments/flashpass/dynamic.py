"""Figures 11 and 12, 14, 15 and 5: flows that come and go over the WAN of three data centres."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.experiment import Outcome, Settings
from experiments.flashpass.published import published
from experiments.flashpass.schemes import LABELS, NAMES, Scheme, published_name
from experiments.flashpass.wan import Case, outcome
from experiments.reporting.exhibit_output import write_exhibits
from experiments.results.bars import slower
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.keyed import swept_by_key
from kuijia_base.sweep.workers import Workers
from simulator.packet.credited import Finishing, FlashPass

STATISTICS = ("small average", "small 99th", "large average", "all average")
TARGETS = ((0.01, 0.05), (0.01, 0.1), (0.01, 0.2), (0.05, 0.1))
FINISHING_LOAD = TARGETS_LOAD = 0.8
MEGABYTES = (10, 20, 40, 80)


Found = Mapping[Any, Sequence[Mapping[str, Any]]]


def run_load(
    name: str,
    load: float,
    flows: int,
    settings: Settings,
    workers: Workers,
    output: OutputFolder,
    progress: Progress,
) -> Outcome:
    """Run the five transports, and Cubic with pacing, at one load."""
    made = {scheme: Scheme.of(scheme) for scheme in LABELS}
    keyed = {scheme: [Case(load, flows, seed, made[scheme]) for seed in settings.seeds] for scheme in LABELS}
    with swept_by_key(name, keyed, outcome, workers, output, progress) as found:
        theirs = published()["dynamic"].get(f"{load:g}", {})
        places = {scheme: place for place, scheme in enumerate(NAMES)}
        lines = [
            Line(
                label,
                tuple(
                    Point.of(
                        each,
                        [run[each] for run in found[scheme]],
                        theirs[each][places[published_name(scheme)]] if theirs else None,
                    )
                    for each in STATISTICS
                ),
            )
            for scheme, label in LABELS.items()
        ]
        exhibit = Exhibit(
            name=name,
            title=f"flows over three data centres at load {load:g}, {flows:,} flows",
            reproduces=f"FlashPass Figure {'11' if name.endswith('11') else '12'}",
            backend="packet",
            axis="flows",
            quantity="completion time (ms)",
            lines=tuple(lines),
            published=published()["source"],
            checks=tuple(ratio_checks(lines)),
            remarks=(*_remarks(found), "Small flows have less than 10 MB."),
        )
        return write_exhibits(name, [exhibit], settings, output)


def run_targets(flows: int, settings: Settings, workers: Workers, output: OutputFolder, progress: Progress) -> Outcome:
    """Run FlashPass with different target losses of emulation packets."""
    data = published()["targets"]
    labels = dict(zip(data["labels"], TARGETS, strict=True))
    keyed = {
        label: [
            Case(TARGETS_LOAD, flows, seed, Scheme(FlashPass(least_loss=least, most_loss=most)))
            for seed in settings.seeds
        ]
        for label, (least, most) in labels.items()
    }
    with swept_by_key("flashpass-fig14", keyed, outcome, workers, output, progress) as found:
        means = {label: [run["all average"] for run in runs] for label, runs in found.items()}
        first = means[data["labels"][0]]
        fct = [
            Point.of(label, [ours / base for ours, base in zip(means[label], first, strict=True)], data["fct"][place])
            for place, label in enumerate(labels)
        ]
        loss = [
            Point.of(label, [100 * (1 - run["credits"] / run["offered"]) for run in found[label]], data["loss"][place])
            for place, label in enumerate(labels)
        ]
        by_time = sorted(fct, key=lambda point: point.published or 0.0)
        orders = [
            check
            for fast, slow in itertools.pairwise(by_time)
            for check in slower(f"{slow.x} / {fast.x}", slow, fast, relative=True)
        ]
        exhibits = [
            Exhibit(
                name=f"flashpass-fig14-{key}",
                title=f"target losses of emulation packets, load {TARGETS_LOAD:g}, {flows:,} flows",
                reproduces="FlashPass Figure 14",
                backend="packet",
                axis="target loss",
                quantity=quantity,
                lines=(Line("FlashPass", tuple(points)),),
                published=published()["source"],
                checks=tuple(orders) if key == "fct" else (),
                remarks=_remarks(found),
            )
            for key, quantity, points in (
                ("fct", "mean completion time relative to 1-5 %", fct),
                ("loss", "loss of emulation packets (%)", loss),
            )
        ]
        return write_exhibits("flashpass-fig14", exhibits, settings, output)


def run_finishing(
    flows: int, settings: Settings, workers: Workers, output: OutputFolder, progress: Progress
) -> Outcome:
    """Run FlashPass with and without selective dropping of over-provisioned emulation packets, flows of one size."""
    data = published()["finishing"]
    kinds = (Finishing.SELECTIVE, Finishing.AGGRESSIVE)
    keyed = {
        (size, kind): [
            Case(FINISHING_LOAD, flows, seed, Scheme(FlashPass(finishing=kind)), size * 1_000_000)
            for seed in settings.seeds
        ]
        for size in MEGABYTES
        for kind in kinds
    }
    with swept_by_key("flashpass-fig15", keyed, outcome, workers, output, progress) as found:
        fct, saved = [], []
        for place, megabytes in enumerate(MEGABYTES):
            pairs = list(zip(found[megabytes, kinds[0]], found[megabytes, kinds[1]], strict=True))
            ratios = [on["all average"] / off["all average"] for on, off in pairs]
            parts = [100 * (_wasted(off) - _wasted(on)) for on, off in pairs]
            fct.append(Point.of(megabytes, ratios, data["fct"][place]))
            saved.append(Point.of(megabytes, parts, data["saved"][place]))
        exhibits = [
            Exhibit(
                name=f"flashpass-fig15-{key}",
                title=f"over-provisioning with selective dropping, load {FINISHING_LOAD:g}, {flows:,} flows",
                reproduces="FlashPass Figure 15",
                backend="packet",
                axis="size of flows (MB)",
                quantity=quantity,
                lines=(Line("on / off" if key == "fct" else "saved", tuple(points)),),
                published=published()["source"],
                remarks=(*_remarks(found), "Off: emulation packets beyond the demand are like all others."),
            )
            for key, quantity, points in (
                ("fct", "mean completion time, with relative to without", fct),
                ("saved", "credits saved (% of data packets)", saved),
            )
        ]
        return write_exhibits("flashpass-fig15", exhibits, settings, output)


def run_waste(flows: int, settings: Settings, workers: Workers, output: OutputFolder, progress: Progress) -> Outcome:
    """Run ExpressPass, whose receivers send credits until they are told to stop, with flows of one size."""
    data = published()["waste"]
    scheme = Scheme.of("expresspass")
    keyed = {
        size: [Case(FINISHING_LOAD, flows, seed, scheme, size * 1_000_000) for seed in settings.seeds]
        for size in MEGABYTES
    }
    with swept_by_key("flashpass-fig5", keyed, outcome, workers, output, progress) as found:
        points = [
            Point.of(size, [100 * run["unused"] / run["credits"] for run in found[size]], data["wasted"][place])
            for place, size in enumerate(MEGABYTES)
        ]
        exhibit = Exhibit(
            name="flashpass-fig5",
            title=f"credits of ExpressPass without data, load {FINISHING_LOAD:g}, {flows:,} flows",
            reproduces="FlashPass Figure 5",
            backend="packet",
            axis="size of flows (MB)",
            quantity="wasted credits (% of those that reach senders)",
            lines=(Line(NAMES["expresspass"], tuple(points)),),
            published=published()["source"],
            remarks=_remarks(found),
        )
        return write_exhibits("flashpass-fig5", [exhibit], settings, output)


def _wasted(run: Mapping[str, Any]) -> float:
    return float(run["unused"] / max(run["sent"], 1))


def _remarks(found: Found) -> tuple[str, ...]:
    runs = [run for of_key in found.values() for run in of_key]
    unfinished = sum(run["unfinished"] for run in runs)
    said = f"{unfinished:,} flows of all runs had not ended a minute after the last had begun." if unfinished else ""
    return (said,) if said else ()


def ratio_checks(lines: Sequence[Line]) -> list[Check]:
    """Return the orders of transports by the mean over all flows, each beside the next slower one."""
    at = {line.label: line.at("all average") for line in lines}
    return [
        check
        for slow, fast in itertools.pairwise(label for label in NAMES.values() if label in at)
        for check in slower(f"all flows: {slow} / {fast}", at[slow], at[fast])
    ]

"""A what-if study as pictures, and as one self-contained HTML page with maps of the network, tables and provenance."""

from __future__ import annotations

from base64 import b64encode
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from kuijia_base.picture_file import COLOURS, in_percent, look, new_figure, picture_bytes
from kuijia_base.quantities import NO_SHARE, counted, rate, rate_of, share
from simulator.flow.availability import GUARANTEED, KEPT
from simulator.flow.failure_impact import Role, RoleTraffic
from simulator.flow.what_if import (
    ABORIGINAL,
    OLD,
    Contender,
    FailureOutcome,
    Recovery,
    SchemeFigures,
    loss_share,
    ranked,
)
from simulator.studies.whatif.study import Provenance, SchemeNumbers, WhatIfStudy, hurting, span
from te_solver.pictures.layout import Positions, mapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Part = frozenset[str]
"""Failing part: a link by its two nodes, or a node by itself."""

WIDTH = 640.0
_MARGIN = 34.0
_HIGHEST = 560.0

STEPS = (0.01, 0.05, 0.1, 0.25, 1.0)
"""Upper ends of the loss bands after the first, which is no loss."""

_NAMED_NODES = 60
_ABOVE, _BELOW = -10.0, 19.0
"""Vertical offsets of names, away from most of a node's links."""

_LETTER, _LINE_HEIGHT = 6.6, 12.0
"""Width of a letter and height of a line of names, generously."""

_SHOWN_CHARACTERS = 14


@dataclass(frozen=True)
class Band:
    """A range of losses with its name in the legend; `css` is its class."""

    css: str
    title: str


BANDS = (
    Band("b0", "nothing"),
    *(
        Band(f"b{number}", f"{low:.0%} to {high:.0%}" if low else f"up to {high:.0%}")
        for number, (low, high) in enumerate(zip((0.0, *STEPS), STEPS, strict=False), start=1)
    ),
)
UNTRIED = Band("bx", "not examined")


@dataclass(frozen=True)
class MapLink:
    """A cable as a line."""

    x1: float
    y1: float
    x2: float
    y2: float
    css: str
    title: str


@dataclass(frozen=True)
class MapNode:
    """A node as a dot; its `label`, empty where there is no room for it, stands `label_below` its middle."""

    x: float
    y: float
    css: str
    title: str
    label: str
    label_below: float


@dataclass(frozen=True)
class NetworkMap:
    """All shapes, links with the smallest losses first, so that large losses are drawn over them.

    `named` is True if nodes have labels.
    """

    width: float
    height: float
    named: bool
    links: Sequence[MapLink]
    nodes: Sequence[MapNode]
    bands: Sequence[Band]


def network_map(study: WhatIfStudy, contender: Contender, places: Positions, roles: Sequence[Role]) -> NetworkMap:
    """Return a map of the losses of these roles under a scheme, relative to their traffic, when a link or node fails.

    The part fails alone or, if that case was not computed, in the worst failure that includes it.
    """
    costs = _costs(study, contender, roles)
    spots, height = _on_page(places)
    ends = sorted(study.topology.edges, key=lambda edge: costs.get(frozenset(edge), -1.0))
    links = [MapLink(*spots[a], *spots[b], *_look(costs.get(frozenset((a, b))), f"{a}-{b}")) for a, b in ends]
    named = len(study.topology.nodes) <= _NAMED_NODES
    dots = []
    for node in study.topology.nodes:
        css, title = _look(costs[alone], node) if (alone := frozenset((node,))) in costs else ("n", node)
        around = [spots[other][1] for other in study.topology.neighbours[node]]
        is_below = bool(around) and sum(around) / len(around) < spots[node][1]
        label = _short(node) if named else ""
        dots.append(MapNode(*spots[node], css, title, label, _BELOW if is_below else _ABOVE))
    dots = _without_overlap(dots, study)
    seen = {link.css for link in links} | {dot.css for dot in dots}
    bands = (*BANDS, UNTRIED) if UNTRIED.css in seen else BANDS
    return NetworkMap(WIDTH, height, named, links, dots, bands)


def _without_overlap(dots: Sequence[MapNode], study: WhatIfStudy) -> list[MapNode]:
    """Return the nodes with names above or below them that cover no other name, those with many links first."""
    taken: list[tuple[float, float, float]] = []
    shown: dict[int, MapNode] = {}
    degree = [len(study.topology.neighbours[node]) for node in study.topology.nodes]
    for number in sorted(range(len(dots)), key=lambda number: -degree[number]):
        dot = dots[number]
        half = len(dot.label) * _LETTER / 2
        for below in (dot.label_below, _ABOVE + _BELOW - dot.label_below):
            y = dot.y + below
            if not any(abs(dot.x - x) < half + other and abs(y - row) < _LINE_HEIGHT for x, row, other in taken):
                shown[number] = replace(dot, label_below=below)
                break
        else:
            shown[number] = replace(dot, label="")
        if shown[number].label:
            taken.append((dot.x, dot.y + shown[number].label_below, half))
    return [shown[number] for number in range(len(dots))]


def _costs(study: WhatIfStudy, contender: Contender, roles: Sequence[Role]) -> dict[Part, float]:
    """Return the share lost when a link or node fails, for each one that does."""
    alone: dict[Part, float] = {}
    worst: dict[Part, float] = {}
    for failure, outcome in zip(study.failures, study.of(contender), strict=True):
        share = loss_share(outcome.total(roles))
        parts = (*map(frozenset, failure.edges), *(frozenset((node,)) for node in failure.nodes))
        for part in parts:
            worst[part] = max(share, worst.get(part, 0.0))
        if len(parts) == 1:
            alone[parts[0]] = share
    return worst | alone


def _on_page(places: Positions) -> tuple[dict[str, tuple[float, float]], float]:
    """Return the places as points on a page with y downwards, and the page's height."""
    spots = np.array(list(places.values()))
    spots = (spots - spots.min(axis=0)) * (1, -1)
    wide, high = np.ptp(spots, axis=0)
    inside = WIDTH - 2 * _MARGIN
    scale = min(inside / wide if wide > 0 else np.inf, (_HIGHEST - 2 * _MARGIN) / high if high > 0 else np.inf)
    page = (spots - spots.min(axis=0)) * scale + _MARGIN
    page[:, 0] += (inside - wide * scale) / 2
    return (
        {node: (round(float(x), 1), round(float(y), 1)) for node, (x, y) in zip(places, page, strict=True)},
        round(float(high * scale) + 2 * _MARGIN, 1),
    )


def _look(share: float | None, name: str) -> tuple[str, str]:
    if share is None:
        return UNTRIED.css, f"{name}: {UNTRIED.title}"
    band = BANDS[0 if share <= NO_SHARE else 1 + min(bisect_left(STEPS, share), len(STEPS) - 1)]
    return band.css, f"{name}: {share:.2%}"


def _short(name: str) -> str:
    return name if len(name) <= _SHOWN_CHARACTERS else f"{name[: _SHOWN_CHARACTERS - 1]}…"


LISTED = 25
"""Failures that the page lists for each scheme; a file lists all."""

_NAMED_LINKS = 2

_CAPTIONS = {
    "loss-distribution": "Share of failures that cost more than a given share of the traffic sent.",
    "loss-and-vacancy": "Capacity that a scheme leaves vacant, and its losses: the mean and the worst.",
    "loss-ranked": "Failures by their cost, and who loses.",
}


@dataclass(frozen=True)
class _Row:
    """A failure in a scheme's list."""

    rank: int
    outcome: FailureOutcome
    lost: float
    probability: float | None
    overloaded: str


@dataclass(frozen=True)
class _Scheme:
    """Content of the page for one scheme."""

    name: str
    objective: str
    figures: SchemeFigures
    recovery: Recovery
    worst: str
    classes: Sequence[SchemeFigures]
    maps: Sequence[tuple[str, NetworkMap]]
    rows: Sequence[_Row]
    harmless: int
    unlisted: int


def html_report(study: WhatIfStudy, provenance: Provenance, seed: int = 1) -> str:
    """Return the page; `seed` places nodes that neither a file nor distances place."""
    environment = page_environment("simulator.studies.whatif")
    environment.filters |= {"percent": share, "rate": rate, "rate_of": _rate_of, "counted": counted, "span": span}
    places = mapped(study.topology, seed)
    maps = (("all traffic", OLD), ("aboriginal traffic (whose own tunnels survive)", ABORIGINAL))
    schemes = [
        _scheme(study, of, [(title, network_map(study, contender, places, roles)) for title, roles in maps])
        for contender, of in zip(study.contenders, study.numbers, strict=True)
    ]
    classes = study.classes if len(study.classes) > 1 else ()
    return environment.get_template("report.html.j2").render(
        study=study,
        demand=study.contenders[0].demand(),
        answer=answer(study.numbers),
        schemes=schemes,
        classes=classes,
        pictures=[(name, _CAPTIONS[name], data_uri(figure)) for name, figure in figures(study.numbers).items()],
        availability=[
            (priority, [each.availability[priority] for each in study.numbers if each.availability])
            for priority in (None, *classes)
        ],
        kept=KEPT,
        guaranteed=GUARANTEED,
        provenance=provenance,
        listed=LISTED,
        Role=Role,
        ABORIGINAL=ABORIGINAL,
    )


def page_environment(package: str) -> Environment:
    """Return the environment of a package's templates, and of those that all reports share."""
    folders = dict.fromkeys((package, "simulator.studies.whatif"))
    return Environment(
        loader=ChoiceLoader([PackageLoader(folder, ".") for folder in folders]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def answer(schemes: Sequence[SchemeNumbers]) -> str:
    """Return the sentence that opens the page: who loses how much in the failure that costs the first scheme most."""
    worst = next((found[0].failure for each in schemes if (found := hurting(each.outcomes))), None)
    losses = {}
    for each in schemes:
        outcome = next((outcome for outcome in each.outcomes if outcome.failure == worst), None)
        if outcome is not None:
            victims, others = (loss_share(outcome.total(roles)) for roles in ((Role.VICTIM,), ABORIGINAL))
            losses[each.name] = victims, others
    return who_loses(worst, losses)


def who_loses(failure: str | None, losses: Mapping[str, tuple[float, float]]) -> str:
    """Return a sentence on a failure, if any costs something: the shares that victims and others lose, by scheme."""
    if failure is None:
        return "No failure costs anything, under any scheme."
    losers: dict[str, list[str]] = {}
    for name, of in losses.items():
        losers.setdefault(_losers(*of), []).append(name)
    clauses = (f"{who} under {' and '.join(names)}" for who, names in losers.items())
    return f"If {failure} fails, {'; '.join(clauses)}."


def _losers(victims: float, others: float) -> str:
    if max(victims, others) <= NO_SHARE:
        return "nobody loses anything"
    if others <= NO_SHARE:
        return f"victims lose {share(victims)} and nobody else anything"
    return f"victims lose {share(victims) if victims > NO_SHARE else 'nothing'} and others {share(others)}"


def _scheme(study: WhatIfStudy, of: SchemeNumbers, maps: Sequence[tuple[str, NetworkMap]]) -> _Scheme:
    chances: dict[str, float] = {}
    if study.likelihood is not None:
        names = (failure.name for failure in study.failures)
        chances = dict(zip(names, study.likelihood.probabilities.of, strict=True))
    worst = hurting(of.outcomes)
    protected = f", survives any {counted(of.protected_failures, 'failed link')}" if of.protected_failures else ""
    return _Scheme(
        of.name,
        f"{of.objective}{protected}",
        of.figures[None],
        of.recovery,
        worst[0].failure if worst else "none",
        [of.figures[priority] for priority in study.classes],
        maps,
        [
            _Row(rank, each, loss_share(each.total()), chances.get(each.failure), _links(each))
            for rank, each in enumerate(worst[:LISTED], start=1)
        ],
        harmless=len(of.outcomes) - len(worst),
        unlisted=max(0, len(worst) - LISTED),
    )


def _links(outcome: FailureOutcome) -> str:
    named = ", ".join(f"{a}→{b}" for a, b in outcome.overloaded[:_NAMED_LINKS])
    more = len(outcome.overloaded) - _NAMED_LINKS
    return f"{named} and {more} more" if more > 0 else named or "none"


def data_uri(figure: Figure) -> str:
    """Return a picture as the source of an `img` element."""
    return f"data:image/svg+xml;base64,{b64encode(picture_bytes(figure, '.svg')).decode()}"


def _rate_of(of: RoleTraffic) -> str:
    return rate_of(of.lost, of.sent)


_VICTIMS, _OTHERS = COLOURS[1], COLOURS[0]
_COLUMNS = 3
_SIZE = (6.4, 3.8)
PANEL = (3.1, 2.5)
"""Inches of a panel: width, height."""

DPI = 100

Parts = np.ndarray[tuple[int], np.dtype[np.float64]]
"""Part of the traffic by failure."""


def figures(schemes: Sequence[SchemeNumbers]) -> dict[str, Figure]:
    """Return all pictures by their file names without suffix."""
    return {
        "loss-distribution": loss_distribution(schemes),
        "loss-and-vacancy": loss_and_vacancy(schemes),
        "loss-ranked": ranked_losses(schemes),
    }


def loss_distribution(schemes: Sequence[SchemeNumbers]) -> Figure:
    """Return, for each scheme, the share of failures that cost more than a given part of the traffic sent."""
    figure = new_figure(*_SIZE, DPI)
    axes = figure.subplots()
    for position, scheme in enumerate(schemes):
        losses = np.sort([loss_share(outcome.total()) for outcome in scheme.outcomes])
        more = 1 - np.arange(1, losses.size + 1) / losses.size
        axes.step(
            np.concatenate([[0], losses, [1]]),
            np.concatenate([[1], more, [0]]),
            where="post",
            color=look(position).colour,
            linestyle=look(position).dashes,
            label=scheme.name,
        )
    most = max(loss_share(outcome.total()) for scheme in schemes for outcome in scheme.outcomes)
    axes.set_xlim(0, min(1.0, most * 1.08) or 1.0)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("part of the traffic sent that is lost")
    axes.set_ylabel("failures that cost more")
    for axis in (axes.xaxis, axes.yaxis):
        in_percent(axis)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


def ranked_losses(schemes: Sequence[SchemeNumbers]) -> Figure:
    """Return a panel for each scheme: failures ranked by cost, victims' part below, that of others above."""
    worst_first = {scheme.name: ranked(scheme.outcomes) for scheme in schemes}
    lost = {scheme: (_lost(each, (Role.VICTIM,)), _lost(each, ABORIGINAL)) for scheme, each in worst_first.items()}
    return ranked_panels(lost, "lost of all traffic sent")


def ranked_panels(parts: Mapping[str, tuple[Parts, Parts]], quantity: str) -> Figure:
    """Return a panel for each scheme: parts of victims and, above them, of others, the worst failure first."""
    rows, columns = -(-len(parts) // _COLUMNS), min(_COLUMNS, len(parts))
    width, height = PANEL
    figure = new_figure(max(width * columns, width + 2), height * rows + 0.5, DPI)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for panel in panels[len(parts) :]:
        panel.set_visible(False)
    for panel, (scheme, (victims, others)) in zip(panels, parts.items(), strict=False):
        rank = np.arange(len(victims) + 1) + 0.5
        panel.stairs(victims, rank, fill=True, color=_VICTIMS, label="victims")
        panel.stairs(
            victims + others,
            rank,
            baseline=victims,
            fill=True,
            facecolor=_OTHERS,
            hatch="////",
            edgecolor="white",
            linewidth=0,
            label="aboriginal traffic",
        )
        panel.set_title(scheme, fontsize="medium")
        panel.grid(axis="y", alpha=0.3)
    panels[0].set_xlim(0.5, len(next(iter(parts.values()))[0]) + 0.5)
    panels[0].set_ylim(bottom=0)
    in_percent(panels[0].yaxis)
    figure.supxlabel("failures, the worst first", fontsize="medium")
    figure.supylabel(quantity, fontsize="medium")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def loss_and_vacancy(schemes: Sequence[SchemeNumbers]) -> Figure:
    """Return the cost of failures under each scheme, the mean and a line up to the worst, above its vacant capacity."""
    figure = new_figure(*_SIZE, DPI)
    losses, vacancies = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    # Schemes on one plan leave the same capacity vacant: places of their own keep them apart.
    for place, scheme in enumerate(schemes):
        found = scheme.figures[None]
        how = look(place)
        losses.plot([place] * 2, [found.lost, found.lost_worst], color=how.colour, linewidth=1, marker="_")
        losses.plot(place, found.lost, marker=how.mark, color=how.colour, clip_on=False, linestyle="none")
        vacancies.bar(place, scheme.recovery.vacant, width=0.5, color=how.colour)
    losses.set_ylim(bottom=0)
    losses.set_ylabel("lost of the traffic sent:\nmean, worst")
    vacancies.set_ylim(0, 1)
    vacancies.set_ylabel("vacant before\nanything fails")
    vacancies.set_xticks(range(len(schemes)), [scheme.name for scheme in schemes])
    for axes in (losses, vacancies):
        in_percent(axes.yaxis)
        axes.grid(axis="y", alpha=0.3)
    return figure


def _lost(outcomes: Sequence[FailureOutcome], roles: Sequence[Role]) -> Parts:
    """Return the loss of these roles in each failure, as a share of all traffic sent."""
    return np.array([outcome.total(roles).lost / (outcome.total().sent or 1.0) for outcome in outcomes])

"""Figures 6 and 8 and the count of section 5.4: fields of flow entries in one table and in decomposed tables."""

from __future__ import annotations

from itertools import count, permutations

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.experiment import Settings
from experiments.grid import Offered, offered
from experiments.gscale.cases import DEMANDS, LINKS, Case
from experiments.gscale.plans import plan_of
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_curves
from experiments.results.result import Check
from experiments.results.score import SizeBar, limit, size
from kuijia_app.tables.field_counts import count_fields
from kuijia_app.tables.identifiers import DROP_PRIORITY
from kuijia_app.tables.options import Form, PipelineOptions
from kuijia_app.tables.paper_tables import Memory, figure_6, figure_8, stored
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.rules import ETH_TYPE_MPLS, FlowEntry, Match, Output, SetQueue
from te_solver.model.plan import FIRST_PATH_ID, Plan, Tunnel

_PRIORITY = 100


def aggregate_tables(plan: Plan) -> dict[str, tuple[FlowEntry, ...]]:
    """Return the entries of each switch: an aggregate's packets, by port, tag and class, go to a queue and a port."""
    ports = _ports(plan)
    tables: dict[str, list[FlowEntry]] = {node: [] for node in plan.topology.nodes}
    tags = count(FIRST_PATH_ID)
    for pair in plan.pairs:
        for tunnel, backup in permutations(pair.tunnels, 2):
            tag = next(tags)
            for path, queue in ((tunnel, 2 * pair.priority), (backup, 2 * pair.priority + 1)):
                for node, in_port, out_port in _places(path, ports):
                    match = Match(in_port=in_port, eth_type=ETH_TYPE_MPLS, mpls_label=tag, mpls_tc=queue)
                    tables[node].append(FlowEntry(_PRIORITY, match, (SetQueue(queue), Output(out_port))))
    return {node: tuple(entries) for node, entries in tables.items()}


def _ports(plan: Plan) -> dict[tuple[str, str], int]:
    """Return the port of a switch (first) to each neighbour (second), and to its own host (itself)."""
    ports: dict[tuple[str, str], int] = {}
    for node in plan.topology.nodes:
        ends = (end for link in plan.topology.links if node in link.ends for end in link.ends)
        others = dict.fromkeys((node, *ends))
        ports |= {(node, other): number for number, other in enumerate(others, start=1)}
    return ports


def _places(tunnel: Tunnel, ports: dict[tuple[str, str], int]) -> list[tuple[str, int, int]]:
    """Return each switch of a tunnel with the ports that packets come in by and leave by."""
    nodes = tunnel.nodes
    before, after = (nodes[0], *nodes[:-1]), (*nodes[1:], nodes[-1])
    return [
        (node, ports[node, earlier], ports[node, later])
        for node, earlier, later in zip(nodes, before, after, strict=True)
    ]


BACKEND = "tables"
FIGURE_6_PRIORITIES = 3

_QUANTITY = "match fields and actions"
_NOT_COUNTED = "The EtherType of a match is not counted, as in the paper"
_COUNTED = f"{_NOT_COUNTED}; going to a table is an action."
_ONE, _MULTIPLE = "one table", "multiple tables"
_FORMS = {_ONE: Form.SINGLE, _MULTIPLE: Form.DECOMPOSED}
_AGGREGATES = {
    _ONE: "one table, an entry for each aggregate",
    _MULTIPLE: "multiple tables, an entry for each aggregate",
}


def figure_6_counts() -> Exhibit:
    """Return the fields and tables needed by the three forms of figure 6."""
    held = {memory: stored(figure_6(FIGURE_6_PRIORITIES), memory) for memory in Memory}
    tables = {memory: len({entry.table_id for entry in entries}) for memory, entries in held.items()}
    saved = tables[Memory.SPLIT] - tables[Memory.DECOMPOSED]
    return Exhibit(
        "fig6",
        "one switch, one tunnel in both directions, three priorities",
        "Figure 6",
        BACKEND,
        "how the entries are held",
        "number",
        (
            Line("fields", tuple(Point.of(memory.value, [count_fields(held[memory])]) for memory in Memory)),
            Line("tables", tuple(Point.of(memory.value, [tables[memory]]) for memory in Memory)),
        ),
        published="Zhang et al., Kuijia, Fig. 6",
        checks=(Check("tables that (c) saves compared to (b)", saved, 1.0, 1.0, 1.0),),
        remarks=("The paper draws the tables and prints no counts; (c) saves one table compared to (b).", _COUNTED),
    )


def figure_8_counts() -> Exhibit:
    """Return the growth of fields with the number of priorities in the network of figure 7."""
    published = published_curves("fig8").at("slope of multiple tables to that of one", "ratio")
    assert published is not None
    growth = figure_8()
    lines = [
        Line(label, tuple(Point.of(priorities, [count]) for priorities, count in enumerate(counts, start=1)))
        for label, counts in ((_ONE, growth.replicated), (_MULTIPLE, growth.decomposed))
    ]
    return Exhibit(
        "fig8",
        "four switches with traffic in both directions",
        "Figure 8",
        BACKEND,
        "priorities",
        _QUANTITY,
        tuple(lines),
        published_curves("fig8").source,
        checks=(
            size("slope of multiple tables to that of one", growth.slope_ratio, published),
            limit("part saved at 8 priorities (published: more than half)", growth.last_saving, low=0.5),
        ),
        remarks=(
            "The paper's curves have no numbers; it gives the ratio of the slopes.",
            f"{_NOT_COUNTED}; nor is going to a table.",
        ),
    )


def fields(settings: Settings) -> Exhibit:
    """Return the number of fields in our tables for the pairs of the first repetition."""
    published = published_curves("fields")
    plan = plan_of(Case("priorities", DEMANDS[0], LINKS[0], PAPERS_SCHEMES[0], 1), settings.capacity, settings.seed)
    counts = {
        label: sum(
            # The paper has no entries that count what hosts send beside the plan.
            count_fields([entry for entry in tables.flows if entry.priority != DROP_PRIORITY])
            for tables in build_tables(
                plan, PipelineOptions(slot_count=settings.slots, layout=LAYOUTS["four"], form=form)
            ).values()
        )
        for label, form in _FORMS.items()
    }
    by_aggregate = aggregate_tables(plan)
    memories = {_ONE: Memory.REPLICATED, _MULTIPLE: Memory.DECOMPOSED}
    aggregates = {
        label: sum(count_fields(stored(entries, memories[label])) for entries in by_aggregate.values())
        for label in _AGGREGATES
    }
    printed = {label: published.at(label, "fields") or 0.0 for label in _FORMS}
    return Exhibit(
        "fields",
        "all entries of Gscale's switches for five random pairs with two classes",
        "Section 5.4",
        BACKEND,
        "count",
        _QUANTITY,
        (
            *(Line(label, (Point.of("fields", [count], printed[label]),)) for label, count in counts.items()),
            *(
                Line(_AGGREGATES[label], (Point.of("fields", [count], printed[label]),))
                for label, count in aggregates.items()
            ),
        ),
        published.source,
        checks=(
            size(
                "part saved",
                1 - counts[_MULTIPLE] / counts[_ONE],
                1 - printed[_MULTIPLE] / printed[_ONE],
                "our entries match tunnels and classes, the paper's single aggregates",
            ),
            size(
                "part saved with an entry for each aggregate",
                1 - aggregates[_MULTIPLE] / aggregates[_ONE],
                1 - printed[_MULTIPLE] / printed[_ONE],
                "the paper does not print its entries",
            ),
        ),
        remarks=(
            "The paper's switches have an entry for each aggregate, ours have them for classes and tunnels.",
            "An entry for each aggregate is a count only, on its tunnel and on the one it may be moved to.",
            _COUNTED,
        ),
    )


SIZE_BARS = {
    "fields": SizeBar(
        cause="our entries match tunnels and classes, the paper's single aggregates",
        causes={"multiple tables, an entry for each aggregate": "the paper does not print its entries"},
    ),
}

_NEITHER = ("repetitions", "quick", "full")
EXPERIMENTS = offered(
    {
        "fig6": Offered(lambda run: run.written(figure_6_counts()), without=_NEITHER, sweeps=False),
        "fig8": Offered(lambda run: run.written(figure_8_counts()), without=_NEITHER, sweeps=False),
        "fields": Offered(lambda run: run.written(fields(run.settings)), without=_NEITHER, sweeps=False),
    }
)

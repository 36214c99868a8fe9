"""Tables and figures of the results on Gscale, by name; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from experiments.gscale.cases import UNNAMED, Traffic, case_of
from experiments.gscale.changed_flows import changes_table
from experiments.gscale.convergence_definitions import NAME as DEFINITIONS
from experiments.gscale.convergence_definitions import definitions_table
from experiments.gscale.convergence_table import roles_table, table_4, victims_table
from experiments.gscale.distance import distance_exhibit
from experiments.gscale.loss_figures import LOSS_FIGURES
from experiments.gscale.volume import figure_16
from experiments.results.exhibit import Exhibit
from experiments.results.result import Result


@dataclass(frozen=True)
class Maker:
    """Makes an exhibit from the results of its traffics; `over_time` restricts it to results that have a `series`."""

    traffics: tuple[Traffic, ...]
    make: Callable[[Sequence[Result]], Exhibit]
    over_time: bool = False


MAKERS = {
    **{figure.name: Maker(figure.traffics, figure.exhibit) for figure in LOSS_FIGURES},
    "table4": Maker(("tcp",), table_4, over_time=True),
    "table4-victims": Maker(("tcp",), victims_table, over_time=True),
    "table4-roles": Maker(("tcp",), roles_table, over_time=True),
    "table4-changes": Maker(("tcp",), changes_table),
    DEFINITIONS: Maker(("tcp",), definitions_table, over_time=True),
    "losses-distance": Maker(("tcp", "udp"), distance_exhibit),
    "fig16": Maker(("priorities",), figure_16),
}


def exhibits_of(results: Sequence[Result], names: Iterable[str] = MAKERS) -> tuple[Exhibit, ...]:
    """Return the named exhibits that can be made from valid results, all of one backend."""
    usable = [result for result in results if not result.invalid]
    made = []
    for name in names:
        maker = MAKERS[name]
        own = [
            result
            for result in usable
            if case_of(result).traffic in maker.traffics and (result.flows[0].series.start or not maker.over_time)
        ]
        if own:
            exhibit = maker.make(own)
            made.append(replace(exhibit, remarks=(*exhibit.remarks, *_told(own[0]))))
    return tuple(exhibit for exhibit in made if exhibit.has_values)


def _told(result: Result) -> Iterator[str]:
    """Yield the reading of the results, if they name one."""
    reading = case_of(result).reading
    if reading != UNNAMED:
        yield f"Pairs, plans, roles and averages are those of the reading `{reading}` of the paper (docs/gscale.md)."

"""Options are typed by the names that they take, for editors to complete, and these are all names that there are."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import kuijia
from kuijia.api import names, tables
from kuijia.api.packet_options import REFERENCES
from kuijia.api.table_building import FAILURE_KINDS
from kuijia.api.whatif_options import FAILURES, NONE, TOPOLOGY
from kuijia_app.tables.options import Form, Liveness, OptionWords, OtherTraffic, Tagging
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.wiring import Neighbours
from simulator.flow.failure_impact import Weighting
from simulator.flow_sizes.published import published_names
from simulator.packet.load_balancing import LOAD_BALANCERS
from simulator.studies.packet.transports import DISCIPLINES
from simulator.studies.whatif_packets.run import TRANSPORTS
from te_solver.formats.demands_file import DEMAND_FORMATS
from te_solver.formats.draft import RATE_UNITS
from te_solver.formats.topology_file import topology_formats
from te_solver.model.failures import PUBLISHED
from te_solver.networks import shipped_names
from te_solver.schemes.all_schemes import switch_schemes

ALIASES = {name: get_args(value) for name, value in vars(names).items() if name.endswith("Name")}


def annotation(function: str, option: str) -> str:
    found = inspect.signature(getattr(kuijia, function)).parameters[option].annotation
    assert isinstance(found, str)
    return found


def named(words: str) -> set[str]:
    """Return the names that an annotation has an editor complete."""
    return {name for alias in re.findall(r"\w+", words) for name in ALIASES.get(alias, ())}


@pytest.mark.parametrize(
    ("function", "option", "known"),
    [
        ("load_topology", "format", topology_formats()),
        ("load_topology", "rate_unit", RATE_UNITS),
        ("load_demands", "format", DEMAND_FORMATS),
        ("load_demands", "rate_unit", RATE_UNITS),
        ("make_demands", "model", ("gravity", "uniform", "bimodal", "pairs")),
        ("make_demands", "masses", ("capacity", "random")),
        ("solve", "objective", kuijia.objectives()),
        ("solve", "paths", [each for each in kuijia.path_choices() if not each.endswith(":FILE")]),
        ("solve", "format", topology_formats()),
        ("solve", "demand_format", DEMAND_FORMATS),
        ("solve", "rate_unit", RATE_UNITS),
        ("whatif", "backend", ("flow", "packet")),
        ("whatif", "schemes", kuijia.schemes()),
        ("whatif", "paths", [each for each in kuijia.path_choices() if not each.endswith(":FILE")]),
        ("whatif", "objective", kuijia.objectives()),
        ("whatif", "split", ("proportional", "failover-order")),
        ("whatif", "weighting", get_args(Weighting)),
        ("whatif", "probabilities", (TOPOLOGY, NONE, *PUBLISHED)),
        ("whatif", "sizes", published_names()),
        ("whatif", "transport", TRANSPORTS),
        ("packet", "sizes", published_names()),
        ("packet", "pattern", ("random", "permutation", "all-to-all")),
        ("packet", "load_of", REFERENCES),
        ("packet", "arrivals", ("poisson", "log-normal")),
        ("packet", "queue", DISCIPLINES),
        ("packet", "transport", kuijia.transports()),
        ("packet", "load_balancer", LOAD_BALANCERS),
        ("packet", "format", topology_formats()),
        ("compile", "scheme", [each.name for each in switch_schemes()]),
        ("compile", "layout", LAYOUTS),
        ("compile", "tagging", [each.value for each in Tagging]),
        ("compile", "pipeline", [each.value for each in Form]),
        ("compile", "liveness", [each.value for each in Liveness]),
        ("compile", "other_traffic", [each.value for each in OtherTraffic]),
        ("compile", "neighbours", [each.value for each in Neighbours]),
        ("verify", "failures", FAILURE_KINDS),
    ],
)
def test_an_option_is_typed_by_the_names_that_there_are(function: str, option: str, known: Iterable[str]) -> None:
    assert named(annotation(function, option)) == set(known)


def test_networks_and_kinds_of_failures_are_typed_as_parts_of_longer_types() -> None:
    assert set(ALIASES["NetworkName"]) == set(shipped_names())
    assert set(ALIASES["FailuresName"]) == set(FAILURES)
    assert "NetworkName" in str(kuijia.TopologyLike)
    assert set(shipped_names()) <= set(re.findall(r"'(\w+)'", str(kuijia.DemandsLike)))


@pytest.mark.parametrize("option", ["objective", "paths", "probabilities", "schemes", "sizes", "split", "transport"])
def test_both_kinds_of_what_if_studies_type_an_option_alike(option: str) -> None:
    source = Path(inspect.getfile(kuijia.whatif)).read_text(encoding="utf-8")
    typed = re.findall(rf"^    {option}: (.*) = .*,$", source, re.MULTILINE)
    assert len(typed) >= 2
    assert set(typed) == {annotation("whatif", option)}


def test_options_of_tables_are_typed_alike_everywhere_with_the_defaults_of_the_command() -> None:
    typed, several = get_type_hints(kuijia.compile), get_type_hints(tables.TableOptions)
    assert {name: typed[name] for name in several} == several
    options = inspect.signature(kuijia.compile).parameters
    assert OptionWords(**{name: options[name].default for name in several}) == OptionWords()

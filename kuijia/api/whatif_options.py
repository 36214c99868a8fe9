"""The options of a what-if study: one declaration for `kuijia.whatif`, `kuijia whatif` and the checks of both."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args

from kuijia.api.names import BackendName, FailuresName, SplitName, WeightingName
from kuijia.api.solving import (
    DEFAULT_TUNNELS,
    MOST_FAILURES,
    MOST_PARTS,
    chosen_paths,
    objective_choices,
    require_paths,
)
from kuijia_base.errors import quoted
from kuijia_base.option_values import whole_number
from kuijia_base.options import Option, bad_option, declared, require_known, spelled
from kuijia_base.text import parse_number
from te_solver.model.failures import PUBLISHED, Failure, link_pairs, single_links, single_nodes
from te_solver.model.plan import DISJOINT, MOST_PATHS
from te_solver.programs.effort import PAIRS_OF_A_PART, PAIRS_OF_ONE_PROGRAM
from te_solver.programs.registry import MAX_THROUGHPUT
from te_solver.schemes.all_schemes import failure_scheme, scheme_names
from te_solver.schemes.failure_scheme import FailureScheme

Failures: TypeAlias = FailuresName | str | Path | Iterable[Failure | str | tuple[Any, Any]]
"""Kinds ("links", "pairs", "nodes") or links and nodes, several separated by commas, a CSV file, or a list of failures,
links and nodes."""

Say = Callable[[str], None]
"""Receives a sentence for the user, which may name options."""

BACKENDS: tuple[BackendName, ...] = get_args(BackendName)
FLOW, PACKET = BACKENDS

DEFAULT_SCHEMES = ("kuijia", "rescaling", "precomputed", "ffc", "recompute")
SPLIT_NAMES: tuple[SplitName, ...] = get_args(SplitName)
WEIGHTING_NAMES: tuple[WeightingName, ...] = get_args(WeightingName)
DEFAULT_SIZES = "web-search"

TOPOLOGY, NONE = "topology", "none"
"""Values of --probabilities for those of the topology's file, the default where it has some, and for none."""

FAILURES = {"links": single_links, "pairs": link_pairs, "nodes": single_nodes}

_OF_PACKETS = "--backend packet"
"""Group of the options that only packets have."""

_OF_FLOW = ("split", "udp", "weighting", "probabilities")


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if "" in names:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected names separated by commas")
    return names


def _number(least: float, most: float, of: str) -> Callable[[str], float]:
    """Return a parser of numbers from `least` to `most`."""

    def number(text: str) -> float:
        value = parse_number(text)
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{quoted(text)}, expected {least:g} to {most:g}{of}")
        return value

    return number


_Packets = partial(Option, group=_OF_PACKETS)


@dataclass(frozen=True)
class WhatIfOptions:
    """The options of a what-if study beside its network, demands and plan. None stands for the default.

    Without `schemes` they are those of `DEFAULT_SCHEMES` whose plan protects any pair.
    """

    tunnels: Annotated[
        int | None, Option("tunnels per pair", whole_number(1, MOST_PATHS, of=" tunnels per pair"), common=True)
    ] = None
    paths: Annotated[str, Option("choice of tunnels", common=True)] = DISJOINT
    node_disjoint: Annotated[bool, Option("tunnels of a pair have no node in common where possible")] = False
    objective: Annotated[
        str | None,
        Option(
            f"objective of the plan of all schemes but ffc (default: {MAX_THROUGHPUT})",
            metavar="NAME",
            choices=objective_choices(),
        ),
    ] = None
    partitions: Annotated[
        int | None,
        Option(
            f"solve --objective {MAX_THROUGHPUT} in P parts on all processors (default: 1, above "
            f"{PAIRS_OF_ONE_PROGRAM:,} demands one for each {PAIRS_OF_A_PART:,})",
            whole_number(1, MOST_PARTS),
            "P",
        ),
    ] = None
    schemes: Annotated[
        Sequence[str | FailureScheme] | None,
        Option(
            f"schemes to compare, separated by commas (default: {','.join(DEFAULT_SCHEMES)}; without ffc if it "
            "can protect no pair)",
            _names,
            "NAMES",
        ),
    ] = None
    failures: Annotated[
        Failures,
        Option(
            f"failures to study: every one of a kind or of several ({', '.join(FAILURES)}); named links and nodes, as "
            "in A-B,C; or a CSV file of failures (default: %(default)s)",
            metavar="WHICH",
        ),
    ] = "links"
    sample: Annotated[
        int | None,
        Option(
            "at most N failures of each kind, drawn by --seed",
            whole_number(1, 10**9, expected="a whole number, one or more"),
            "N",
        ),
    ] = None
    protect: Annotated[
        int | None,
        Option(
            "ffc: number of failed links that its plan survives without loss (default: 1)",
            whole_number(1, MOST_FAILURES, of=" failed links"),
            "K",
        ),
    ] = None
    split: Annotated[
        str,
        Option(
            "kuijia, rescaling: how victims of several failed tunnels are divided: by the weights of all live tunnels, "
            "or as switches do it by themselves (default: %(default)s)",
            choices=SPLIT_NAMES,
        ),
    ] = SPLIT_NAMES[0]
    new_tunnels: Annotated[bool, Option("recompute: replace failed tunnels by new ones")] = False
    udp: Annotated[bool, Option("UDP traffic, which does not slow down on loss, instead of TCP")] = False
    weighting: Annotated[
        WeightingName,
        Option(
            "share of a full link that a tunnel's traffic gets: that of one TCP connection, or of one for each Mbit/s "
            "offered (default: %(default)s)",
            choices=WEIGHTING_NAMES,
        ),
    ] = "equal"
    probabilities: Annotated[
        str | None,
        Option(
            "failure probabilities, from which availability is computed: a CSV file, those of the topology file "
            f"({TOPOLOGY}, the default if it has any), {NONE}, or published: {', '.join(PUBLISHED)}",
            metavar="WHICH",
        ),
    ] = None
    backend: Annotated[
        str,
        Option(
            "flow: rates after each failure, by the fluid model; packet: the first seconds after it, packet by packet, "
            "with flows that arrive and end (default: %(default)s)",
            choices=BACKENDS,
        ),
    ] = FLOW
    sizes: Annotated[
        str | None,
        _Packets(
            "sizes of flows: a published distribution by name, a file of sizes and probabilities, or bytes (default: "
            f"{DEFAULT_SIZES})",
            metavar="WHICH",
        ),
    ] = None
    load: Annotated[
        float | None,
        _Packets("offered load, as a share of the planned rates (default: 0.7)", _number(0.001, 10, ""), "NUMBER"),
    ] = None
    seconds: Annotated[
        float | None,
        _Packets(
            "seconds after each cut during which flows arrive and losses count (default: 1)",
            _number(0.01, 60, " seconds"),
            "S",
        ),
    ] = None
    transport: Annotated[str | None, _Packets("congestion control of TCP (default: cubic)", metavar="NAME")] = None
    buffer: Annotated[
        int | None,
        _Packets(
            "size of each queue of a port, not scaled by --rate-scale (default: 1500000)",
            whole_number(1500, 10**9, of=" bytes"),
            "BYTES",
        ),
    ] = None
    detection: Annotated[
        float | None,
        _Packets("seconds until the switches at a cut link notice (default: 0.01)", _number(0, 60, " seconds"), "S"),
    ] = None
    controller_at: Annotated[
        str | None,
        _Packets(
            "site of the controller; its messages take the delay of the links on their way (default: the most central "
            "node)",
            metavar="NODE",
        ),
    ] = None
    link_delay: Annotated[
        float | None,
        _Packets("delay of links without one in the topology file (default: 0.005)", _number(0, 10, " seconds"), "S"),
    ] = None
    rate_scale: Annotated[
        float | None,
        _Packets(
            "factor for all rates, which makes large networks faster to simulate (default: 1, or less to have at most "
            "half a million data packets in a run)",
            _number(1e-9, 1, ""),
            "F",
        ),
    ] = None
    seed: Annotated[int, Option("seed of the sample", whole_number(0), common=True)] = 1

    @property
    def tunnels_per_pair(self) -> int:
        return DEFAULT_TUNNELS if self.tunnels is None else self.tunnels

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

    def require_backend(self) -> None:
        """Raise InputError for options that the backend does not have."""
        given = next((name for name in other_options(self.backend) if getattr(self, name) != _DEFAULTS[name]), None)
        if given is None:
            return
        if self.backend == FLOW:
            raise bad_option(given, "is of simulated packets", spelled("backend", PACKET))
        raise bad_option(given, "is of the flow model", spelled("backend", FLOW))

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

    def require_planning(self) -> None:
        """Raise InputError for parts of an objective that is not solved in parts, or paths that cannot be chosen."""
        require_paths(self.paths, node_disjoint=self.node_disjoint)
        chosen_paths(self.objective or MAX_THROUGHPUT, self.paths)
        if self.partitions is not None and self.objective not in {None, MAX_THROUGHPUT}:
            problem = f"{self.objective} is not solved in parts"
            raise bad_option("partitions", problem, spelled("objective", MAX_THROUGHPUT))

    def refuse_planning(self) -> None:
        """Raise InputError for options that a plan has settled already."""
        for option in ("objective", "partitions", "node_disjoint", "paths", "tunnels"):
            if getattr(self, option) != _DEFAULTS[option]:
                problem = "the plan has its tunnels and rates"
                raise bad_option(option, problem, f"{spelled('plan')} without {spelled(option)}")


_DEFAULTS = {each.name: each.default for each in fields(WhatIfOptions)}


def packet_options() -> list[str]:
    """Return the names of the options that only packets have."""
    return [each.name for each, option in declared(WhatIfOptions) if option.group == _OF_PACKETS]


def other_options(backend: str) -> Sequence[str]:
    """Return the names of the options that only the other backend has."""
    return packet_options() if backend == FLOW else _OF_FLOW

"""Demands made for a network by a seeded model, for `make_demands` and `kuijia demands`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields

import numpy as np

from kuijia.api.demands import Demands
from kuijia.api.topology import TopologyLike, load_topology
from kuijia_base.errors import InputError, UnsoundError, quoted
from kuijia_base.option_values import positive_number, positive_rate, whole_number
from kuijia_base.options import bad_option, parsed, parsed_or_none, require_known, spelled
from kuijia_base.quantities import counted
from kuijia_base.quantities import rate as in_words
from kuijia_base.reading import uncollected
from kuijia_base.text import parse_number
from te_solver.model.demand_generators import (
    Progress,
    bimodal,
    gravity,
    random_pairs,
    scaled_to_total,
    scaled_to_utilisation,
    uniform,
)
from te_solver.model.demands import Demand
from te_solver.model.ncflow_demands import NcflowModel, parsed_model
from te_solver.model.topology import Topology

MODELS = ("gravity", "uniform", "bimodal", "pairs")
MASSES = ("capacity", "random")
DEFAULT_UTILISATION = 1.0

Drawn = tuple[tuple[Demand, ...], str]
"""Demands and how they were made, in words."""


@dataclass(frozen=True)
class DemandModel:
    """A model of demands and their scale: `rate`, else `total`, else `max_utilisation`; see `make_demands`."""

    model: str = MODELS[0]
    masses: str = MASSES[0]
    large_share: float = 0.2
    large_to_small: float = 4.0
    pairs: int = 5
    rate: float | None = None
    total: float | None = None
    max_utilisation: float = DEFAULT_UTILISATION
    seed: int = 1
    ncflow: NcflowModel | None = None
    factor: float = 1.0


def share_of(text: str) -> float:
    """Return a number from 0 to 1; raises ArgumentTypeError."""
    share = parse_number(text)
    if share is None or not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected a number from 0 to 1")
    return abs(share)  # -0 is 0


def pairs_of(text: str) -> int:
    """Return a number of pairs; raises ArgumentTypeError."""
    return whole_number(1, 10**9, expected="a whole number, one or more")(text)


def ncflow_model_of(text: str) -> NcflowModel:
    """Return a model of NCFlow with its parameters; raises ArgumentTypeError."""
    try:
        return parsed_model(text)
    except UnsoundError as error:
        raise argparse.ArgumentTypeError(f"{error.problem}, expected {error.expected}") from error


def require_scale(how: DemandModel) -> None:
    """Raise InputError for a scale that the model does not have."""
    if how.rate is not None and (how.model != "pairs" or how.ncflow is not None):
        name = how.model if how.ncflow is None else "of NCFlow"
        raise bad_option("rate", f"given for the model {name}", f"{spelled('total')} or {spelled('max_utilisation')}")
    if how.ncflow is None and how.factor != 1:
        raise bad_option("factor", "given without a model of NCFlow", spelled("ncflow"))


def drawn(topology: Topology, how: DemandModel, source: str, show: Progress) -> Drawn:
    """Return scaled demands; `show` receives progress. Raises InputError, whose source is that of the topology."""
    try:
        with uncollected():
            return _scaled(topology, how, *_drawn(topology, how), show)
    except UnsoundError as error:
        raise InputError(source, "", error.problem, error.expected) from error


def make_demands(  # noqa: PLR0913  # options are keywords
    topology: TopologyLike,
    model: str = MODELS[0],
    *,
    masses: str = MASSES[0],
    large_share: float = 0.2,
    large_to_small: float = 4.0,
    pairs: int = 5,
    rate: float | str | None = None,
    total: float | str | None = None,
    max_utilisation: float | None = None,
    seed: int = 1,
    ncflow: str | None = None,
    factor: float = 1.0,
) -> Demands:
    """Return demands for a network, made by a model.

    Args:
        topology: the network.
        model: "gravity", "uniform", "bimodal" or "pairs" (random pairs).
        masses: gravity: a node's mass is the "capacity" of its links, or a "random" number.
        large_share: bimodal: the share of large demands.
        large_to_small: bimodal: mean of the large demands over that of the small ones.
        pairs: pairs: number of pairs.
        rate: pairs: rate of each pair, in Mbit/s or as in "10G".
        total: rate of all demands together.
        max_utilisation: utilisation of the busiest link when all demands take their shortest path; 1 by default.
        seed: seed of every random choice.
        ncflow: a model of NCFlow instead of `model`, such as "uniform,most=0.46": the numbers that NCFlow and POP draw
            from the same seed. They are not scaled unless `total` is given.
        factor: ncflow: multiplies all rates.

    Raises:
        InputError: an option has no such value, or the network cannot have such demands.
    """
    require_known("model", model, MODELS)
    require_known("masses", masses, MASSES)
    if sum(scale is not None for scale in (rate, total, max_utilisation)) > 1:
        raise bad_option("rate", "several scales", "one of rate, total and max_utilisation")
    how = DemandModel(
        model,
        masses,
        parsed("large_share", large_share, share_of),
        parsed("large_to_small", large_to_small, positive_number),
        parsed("pairs", pairs, pairs_of),
        parsed_or_none("rate", rate, positive_rate),
        parsed_or_none("total", total, positive_rate),
        parsed_or_none("max_utilisation", max_utilisation, positive_number) or DEFAULT_UTILISATION,
        parsed("seed", seed, whole_number(0)),
        parsed_or_none("ncflow", ncflow, ncflow_model_of),
        parsed("factor", factor, positive_number),
    )
    require_scale(how)
    network = load_topology(topology)
    demands, words = drawn(network, how, network.name, lambda _done, _of: None)
    return Demands.of(demands, [words])


def _drawn(topology: Topology, how: DemandModel) -> Drawn:
    if how.ncflow is not None:
        values = ", ".join(f"{field.name} {getattr(how.ncflow, field.name):g}" for field in fields(how.ncflow))
        words = f"NCFlow's {how.ncflow.name} model with {values}, seed {how.seed}, times {how.factor:g}"
        return how.ncflow.demands(topology, how.seed, how.factor), words
    random = np.random.default_rng(how.seed)
    if how.model == "gravity" and how.masses == "capacity":
        return gravity(topology), "gravity with the capacity of a node's links as its mass"
    seed = f"seed {how.seed}"
    if how.model == "gravity":
        return gravity(topology, random), f"gravity with random masses, {seed}"
    if how.model == "uniform":
        return uniform(topology, random), f"uniform, {seed}"
    if how.model == "bimodal":
        words = f"bimodal, {how.large_share:.0%} of them {how.large_to_small:g} times as large, {seed}"
        return bimodal(topology, random, how.large_share, how.large_to_small), words
    pairs = random_pairs(topology, random, how.pairs, how.rate or 1.0)
    return pairs, f"{counted(how.pairs, 'random pair')} with equal demands, {seed}"


def _scaled(topology: Topology, how: DemandModel, demands: tuple[Demand, ...], words: str, show: Progress) -> Drawn:
    if how.rate is not None:
        return demands, f"{words}, {in_words(how.rate)} each"
    if how.total is not None:
        return scaled_to_total(demands, how.total), f"{words}, scaled to {in_words(how.total)} in all"
    if how.ncflow is not None:
        return demands, words
    scaled = scaled_to_utilisation(topology, demands, how.max_utilisation, show)
    return scaled, f"{words}, scaled to a busiest link at {how.max_utilisation * 100:.6g}% on shortest paths"

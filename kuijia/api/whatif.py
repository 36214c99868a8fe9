"""What-if studies for notebooks: what every failure costs under every scheme, by the fluid model or in packets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard, overload

from kuijia.api.demands import DemandsLike, demands_for
from kuijia.api.frames import name_of
from kuijia.api.plan import load_plan
from kuijia.api.progress import progress_line
from kuijia.api.solving import MOST_FAILURES, MOST_PARTS, announced, require_objective
from kuijia.api.topology import FileName, Topology, TopologyLike, load_topology
from kuijia.api.whatif_failures import TOPOLOGY, chosen_failures, chosen_probabilities, default_probabilities
from kuijia.api.whatif_packets import (
    BACKENDS,
    FLOW,
    PACKET,
    Asked,
    on_switches,
    options_of,
    plans_of,
    refuse_others,
    simulated,
)
from kuijia.api.whatif_packets_result import WhatIfPackets
from kuijia.api.whatif_result import WhatIf
from kuijia.api.whatif_study import (
    SPLIT_NAMES,
    WEIGHTING_NAMES,
    Planning,
    Rerouting,
    outcomes_of,
)
from kuijia_app.proof.trace import parse_failure
from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.manifest import python_versions
from kuijia_base.option_values import whole_number
from kuijia_base.options import bad_option, options_spelled, parsed, parsed_or_none, require_known
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import Workers
from simulator.flow.failure_impact import Weighting
from simulator.studies.whatif.study import Likelihood, Provenance, Study
from te_solver import plan as core
from te_solver.failure_schemes.failure_scheme import FailureScheme
from te_solver.failures import Failure
from te_solver.plan import MOST_PATHS
from te_solver.tunnels import DISJOINT

if TYPE_CHECKING:
    from kuijia.api.whatif_contenders import Plans
    from simulator.flow.what_if import Contender

Failures: TypeAlias = str | Path | Iterable[Failure | str | tuple[Any, Any]]
"""Kinds ("links", "pairs", "nodes") or links and nodes, several separated by commas, a CSV file, or a list of failures,
links and nodes."""


@overload
def whatif(
    plan: core.Plan | TopologyLike,
    demands: DemandsLike | None = None,
    *,
    backend: Literal["flow"] = "flow",
    schemes: str | Sequence[str | FailureScheme] | None = None,
    failures: Failures = "links",
    sample: int | None = None,
    seed: int = 1,
    tunnels: int | None = None,
    node_disjoint: bool = False,
    paths: str = DISJOINT,
    objective: str | None = None,
    partitions: int | None = None,
    protect: int | None = None,
    split: str = ...,
    new_tunnels: bool = False,
    udp: bool = False,
    weighting: Weighting = "equal",
    probabilities: FileName | None = None,
    workers: int | None = None,
) -> WhatIf: ...


@overload
def whatif(
    plan: core.Plan | TopologyLike,
    demands: DemandsLike | None = None,
    *,
    backend: Literal["packet"],
    schemes: str | Sequence[str | FailureScheme] | None = None,
    failures: Failures = "links",
    sample: int | None = None,
    seed: int = 1,
    tunnels: int | None = None,
    node_disjoint: bool = False,
    paths: str = DISJOINT,
    objective: str | None = None,
    partitions: int | None = None,
    sizes: FileName | int | None = None,
    load: float | None = None,
    seconds: float | None = None,
    transport: str | None = None,
    buffer: int | None = None,
    detection: float | None = None,
    controller_at: str | None = None,
    link_delay: float | None = None,
    rate_scale: float | None = None,
    workers: int | None = None,
) -> WhatIfPackets: ...


def whatif(  # noqa: PLR0913  # options are keywords
    plan: core.Plan | TopologyLike,
    demands: DemandsLike | None = None,
    *,
    backend: str = FLOW,
    schemes: str | Sequence[str | FailureScheme] | None = None,
    failures: Failures = "links",
    sample: int | None = None,
    seed: int = 1,
    tunnels: int | None = None,
    node_disjoint: bool = False,
    paths: str = DISJOINT,
    objective: str | None = None,
    partitions: int | None = None,
    protect: int | None = None,
    split: str = SPLIT_NAMES[0],
    new_tunnels: bool = False,
    udp: bool = False,
    weighting: Weighting = "equal",
    probabilities: FileName | None = None,
    sizes: FileName | int | None = None,
    load: float | None = None,
    seconds: float | None = None,
    transport: str | None = None,
    buffer: int | None = None,
    detection: float | None = None,
    controller_at: str | None = None,
    link_delay: float | None = None,
    rate_scale: float | None = None,
    workers: int | None = None,
) -> WhatIf | WhatIfPackets:
    """Return what every failure costs under every scheme.

    Args:
        plan: a plan or its file (.json). A scheme that needs another objective, such as "ffc", gets a plan of that
            objective over the same tunnels. Or a network in any form, for which plans are solved.
        demands: with a network: its demands, as for `solve`.
        backend: "flow", the rates once all has settled, or "packet", the first seconds after each failure.
        schemes: names of schemes, and schemes of your own. By default "kuijia", "rescaling", "precomputed", "ffc" and
            "recompute"; "ffc" is left out, with a note, where it can protect no pair.
        failures: every single "links", "pairs" of links, "nodes", several of these separated by commas, a CSV file, or
            a list of failures, of links such as "s2-s4" or ("s2", "s4"), and of nodes; "s2-s4,s3" is such a list too.
        sample: at most so many failures of each kind, drawn by `seed`.
        seed: seed of the sample, and of random places of nodes in pictures.
        tunnels: with a network: tunnels per pair, 3 by default.
        node_disjoint: with a network: tunnels of a pair have no node in common where possible.
        paths: with a network: how tunnels are chosen, as in `kuijia.solve`.
        objective: with a network: objective of the plan that the schemes work on; ffc has its own.
        partitions: with a network: solve its plan in so many parts; by default one, and more for very many demands.
        protect: ffc: failed links that its plan survives without loss; 1 by default.
        split: flow; kuijia, rescaling: division of the victims of several failed tunnels, "proportional" or
            "failover-order".
        new_tunnels: recompute: replace failed tunnels by new ones.
        udp: flow: traffic does not slow down on loss.
        weighting: flow: weight of a tunnel's traffic on a full link, "equal" or "offered".
        probabilities: flow: probabilities of links or failures, for availability: a CSV file, published ones by name,
            "none", or those of the "topology", the default if it has some.
        sizes: packet: sizes of flows, a distribution by name or its file, or bytes; "web-search" by default.
        load: packet: share of the planned rates that flows offer on the mean; .7 by default.
        seconds: packet: how long after each cut losses are counted, and flows come; 1 by default.
        transport: packet: congestion control of TCP; "cubic" by default.
        buffer: packet: bytes that may wait in each queue of a port; 1,500,000 by default.
        detection: packet: seconds from a cut until the switches beside it notice; .01 by default.
        controller_at: packet: site of the controller; by default the node whose farthest node is nearest.
        link_delay: packet: seconds of each link that has no delay; .005 by default.
        rate_scale: packet: factor of all rates; by default 1, or as much less as leaves half a million packets a run.
        workers: processes; by default as many as the work is worth.

    Raises:
        InputError: an input or an option cannot be used.
        SolverError: the solver gave up.
    """
    require_known("backend", backend, BACKENDS)
    of_packets = {
        "sizes": sizes,
        "load": load,
        "seconds": seconds,
        "transport": transport,
        "buffer": buffer,
        "detection": detection,
        "controller_at": controller_at,
        "link_delay": link_delay,
        "rate_scale": rate_scale,
    }
    of_flow = {"split": split, "udp": udp, "weighting": weighting, "probabilities": probabilities}
    refuse_others(backend, {**of_packets, **of_flow})
    require_known("split", split, SPLIT_NAMES)
    require_known("weighting", weighting, WEIGHTING_NAMES)
    if objective is not None:
        require_objective(objective)
    protected = parsed_or_none("protect", protect, whole_number(1, MOST_FAILURES, of=" failed links"))
    how = Rerouting(_distinct(schemes), protected, split, new_tunnels, udp, weighting)
    notes: list[str] = []

    if backend == PACKET:
        how = on_switches(how, notes.append)
    how.require_used()
    planning = Planning(
        parsed_or_none("tunnels", tunnels, whole_number(1, MOST_PATHS, of=" tunnels per pair")),
        node_disjoint,
        objective,
        parsed_or_none("partitions", partitions, whole_number(1, MOST_PARTS)),
        parsed("seed", seed, whole_number(0)),
        paths,
    )
    processes = parsed_or_none("workers", workers, whole_number(1))
    kept = parsed_or_none("sample", sample, whole_number(1, 10**9, expected="a whole number, one or more"))
    asked = Asked.of(of_packets, planning.seed) if backend == PACKET else None
    of_many = None if processes is None else Workers(processes)
    with progress_line(patient=True) as progress:
        topology, plans = _start(plan, demands, planning, protected, progress, notes)
        examined = _failures(failures, topology, kept, planning.seed)
        likelihood = None if asked is not None else _likelihood(probabilities, topology, examined, notes)
        contenders = _contenders(how, plans, notes)
        named = {
            "schemes": [each.scheme.name for each in contenders],
            "failures": str(failures) if isinstance(failures, str | Path) else [each.name for each in examined],
            "sample": kept,
            **asdict(planning),
        }
        if asked is not None:
            with simulated(asked, plans_of(contenders, how), examined, of_many, None, progress, notes.append) as found:
                call = _call(topology.name, {"backend": backend, **named, **options_of(found)})
                return WhatIfPackets(replace(found, assumptions=tuple(notes)), call)
        with outcomes_of(how, contenders, examined, of_many, None, progress) as outcomes:
            study = Study(topology, contenders, examined, outcomes, likelihood)
    named |= {
        "protect": protected,
        "split": split,
        "new_tunnels": new_tunnels,
        "udp": udp,
        "weighting": weighting,
        "probabilities": None if likelihood is None else likelihood.source,
    }
    return WhatIf(study, Provenance(_call(topology.name, named), python_versions(), tuple(notes)), planning.seed)


def _call(name: str, options: Mapping[str, object]) -> str:
    """Return the call that makes a study; options without a value, or that are off, are left out."""
    given = (f"{option}={value!r}" for option, value in options.items() if value is not None and value is not False)
    return f"kuijia.whatif({', '.join([repr(name), *given])})"


def _start(
    source: core.Plan | TopologyLike,
    demands: DemandsLike | None,
    planning: Planning,
    protect: int | None,
    progress: Progress,
    notes: list[str],
) -> tuple[Topology, Plans]:
    """Return the network and the plans on it; `notes` gets the assumptions behind both."""
    from kuijia.api.whatif_contenders import plans_for, plans_from  # noqa: PLC0415  # slow to import: CVXPY

    if isinstance(source, core.Plan) or _is_plan_file(source):
        if demands is not None:
            raise bad_option("demands", "given with a plan, which has its own", "a network in the place of the plan")
        planning.refuse()
        plan = load_plan(source)
        notes += plan.notes
        name = "plan" if isinstance(source, core.Plan) else str(source)
        return plan.topology, plans_from(plan, plan.demands, protect, name, progress, notes.append)
    planning.require_sense()
    topology = load_topology(source)
    asked = demands_for(demands, source, topology, {})
    notes += [*topology.notes, *asked.notes]
    if (line := announced(topology)) is not None:
        progress.show(line)
    return topology, plans_for(topology, asked, planning, protect, asked.source, progress, notes.append)


def _contenders(how: Rerouting, plans: Plans, notes: list[str]) -> list[Contender]:
    from kuijia.api.whatif_contenders import contenders_of  # noqa: PLC0415  # slow to import: CVXPY

    return contenders_of(how, plans, notes.append)


def _is_plan_file(source: object) -> TypeGuard[str | Path]:
    return isinstance(source, str | Path) and Path(source).suffix == ".json"


def _distinct(schemes: str | Sequence[str | FailureScheme] | None) -> tuple[str | FailureScheme, ...] | None:
    """Return the schemes, each once; a text may have several names separated by commas. None stays None."""
    if schemes is None:
        return None
    found = tuple(dict.fromkeys(schemes.split(",") if isinstance(schemes, str) else schemes))
    if not found:
        raise bad_option("schemes", "none", "at least one")
    return found


def _failures(which: Failures, topology: Topology, sample: int | None, seed: int) -> tuple[Failure, ...]:
    if isinstance(which, str | Path):
        return chosen_failures(str(which), topology, sample, parsed("seed", seed, whole_number(0)))
    listed: object = which
    if not isinstance(listed, Iterable):
        problem = f"found {quoted(type(listed).__name__)}"
        raise bad_option("failures", problem, "names such as 'links', a CSV file, or a list of failures")
    found = [each if isinstance(each, Failure) else _failure(each, topology) for each in listed]
    if not found:
        raise bad_option("failures", "nothing fails", "at least one failure")
    for each in found:
        try:
            each.require_part_of(topology)
        except UnsoundError as error:
            raise bad_option("failures", error.problem, error.expected) from error
    return tuple(found)


def _failure(part: object, topology: Topology) -> Failure:
    """Return the failure of a link or node; raises InputError."""
    if isinstance(part, str):
        with options_spelled():
            return parse_failure([part], topology)
    if not (isinstance(part, tuple | list) and len(part) == 2):
        raise bad_option("failures", f"found {quoted(str(part))}", "failures, nodes, or links such as ('s2', 's4')")
    a, b = map(name_of, part)
    return Failure(f"{a}-{b}", edges=((a, b),))


def _likelihood(
    which: str | Path | None, topology: Topology, failures: Sequence[Failure], notes: list[str]
) -> Likelihood | None:
    """Return the probabilities of failures; `notes` gets a sentence about each gap in them."""
    if which is None:
        found = default_probabilities(topology, failures, notes.append)
        return None if found is None else Likelihood(TOPOLOGY, found)
    chosen = chosen_probabilities(str(which), topology, failures, notes.append)
    return None if chosen is None else Likelihood(str(which), chosen)

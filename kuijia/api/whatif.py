"""What-if studies: what every failure costs under every scheme, by the fluid model or in packets."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeGuard, overload

from kuijia.api.demands import DemandsLike, demands_for
from kuijia.api.names import (
    BackendName,
    ObjectiveName,
    PathsName,
    ProbabilitiesName,
    SchemeName,
    SizesName,
    SplitName,
    TcpName,
    WeightingName,
)
from kuijia.api.plan import load_plan
from kuijia.api.solving import announce
from kuijia.api.table import name_of
from kuijia.api.topology import FileName, TopologyLike, load_topology
from kuijia.api.whatif_options import (
    FAILURES,
    FLOW,
    NONE,
    PACKET,
    SPLIT_NAMES,
    TOPOLOGY,
    Failures,
    WhatIfOptions,
    other_options,
)
from kuijia.api.whatif_packets import WhatIfPackets, conditions_of, on_switches, options_of, plans_of, simulated
from kuijia_app.proof.trace import parse_failure
from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.manifest import python_versions
from kuijia_base.option_values import whole_number
from kuijia_base.options import bad_option, from_keywords, options_spelled, parsed_or_none
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress, progress_line
from kuijia_base.suggestion import unknown
from kuijia_base.sweep.workers import Workers
from kuijia_base.text import Note
from simulator.studies.whatif_packets.run import PacketQuestions
from te_solver.formats.failures_file import load_failures, load_probabilities
from te_solver.model import plan as core
from te_solver.model.demands import Demand
from te_solver.model.failures import PUBLISHED, Failure, FailureProbabilities, from_counts, from_links, named
from te_solver.model.plan import DISJOINT
from te_solver.model.topology import Topology
from te_solver.schemes.failure_scheme import FailureScheme

if TYPE_CHECKING:
    from kuijia.api.whatif_result import WhatIf
    from simulator.studies.whatif.study import Likelihood


_FIRST = ("backend", "schemes", "failures", "sample", "tunnels", "node_disjoint", "objective", "partitions", "seed")
"""Options in the order in which the call that makes a study has them; others follow."""


@overload
def whatif(
    plan: core.Plan | TopologyLike,
    demands: DemandsLike | None = None,
    *,
    backend: Literal["flow"] = "flow",
    schemes: SchemeName | str | Sequence[SchemeName | str | FailureScheme] | None = None,
    failures: Failures = "links",
    sample: int | None = None,
    seed: int = 1,
    tunnels: int | None = None,
    node_disjoint: bool = False,
    paths: PathsName | str = DISJOINT,
    objective: ObjectiveName | str | None = None,
    partitions: int | None = None,
    protect: int | None = None,
    split: SplitName = ...,
    new_tunnels: bool = False,
    udp: bool = False,
    weighting: WeightingName = "equal",
    probabilities: ProbabilitiesName | FileName | None = None,
    workers: int | None = None,
    progress: bool = True,
) -> WhatIf: ...


@overload
def whatif(
    plan: core.Plan | TopologyLike,
    demands: DemandsLike | None = None,
    *,
    backend: Literal["packet"],
    schemes: SchemeName | str | Sequence[SchemeName | str | FailureScheme] | None = None,
    failures: Failures = "links",
    sample: int | None = None,
    seed: int = 1,
    tunnels: int | None = None,
    node_disjoint: bool = False,
    paths: PathsName | str = DISJOINT,
    objective: ObjectiveName | str | None = None,
    partitions: int | None = None,
    sizes: SizesName | FileName | int | None = None,
    load: float | None = None,
    seconds: float | None = None,
    transport: TcpName | None = None,
    buffer: int | None = None,
    detection: float | None = None,
    controller_at: str | None = None,
    link_delay: float | None = None,
    rate_scale: float | None = None,
    workers: int | None = None,
    progress: bool = True,
) -> WhatIfPackets: ...


def whatif(  # noqa: PLR0913  # options are keywords
    plan: core.Plan | TopologyLike,
    demands: DemandsLike | None = None,
    *,
    backend: BackendName = FLOW,
    schemes: SchemeName | str | Sequence[SchemeName | str | FailureScheme] | None = None,
    failures: Failures = "links",
    sample: int | None = None,
    seed: int = 1,
    tunnels: int | None = None,
    node_disjoint: bool = False,
    paths: PathsName | str = DISJOINT,
    objective: ObjectiveName | str | None = None,
    partitions: int | None = None,
    protect: int | None = None,
    split: SplitName = SPLIT_NAMES[0],
    new_tunnels: bool = False,
    udp: bool = False,
    weighting: WeightingName = "equal",
    probabilities: ProbabilitiesName | FileName | None = None,
    sizes: SizesName | FileName | int | None = None,
    load: float | None = None,
    seconds: float | None = None,
    transport: TcpName | None = None,
    buffer: int | None = None,
    detection: float | None = None,
    controller_at: str | None = None,
    link_delay: float | None = None,
    rate_scale: float | None = None,
    workers: int | None = None,
    progress: bool = True,
) -> WhatIf | WhatIfPackets:
    """Return what every failure costs under every scheme.

    Args:
        plan: a plan or its file (.json). A scheme that needs another objective, such as "ffc", gets a plan of that
            objective over the same tunnels. Or a network in any form, for which plans are solved.
        demands: with a network: its demands, as for `solve`.
        backend: "flow", rates after each failure, or "packet", the first seconds after it.
        schemes: names of schemes, and schemes of your own. By default "kuijia", "rescaling", "precomputed", "ffc" and
            "recompute"; without "ffc", and with a note, if it can protect no pair.
        failures: every single "links", "pairs" of links, "nodes", several of these separated by commas, a CSV file, or
            a list of failures, of links such as "s2-s4" or ("s2", "s4"), and of nodes; "s2-s4,s3" is such a list too.
        sample: at most so many failures of each kind, drawn by `seed`.
        seed: seed of the sample, and of random places of nodes in pictures.
        tunnels: with a network: tunnels per pair, 3 by default.
        node_disjoint: with a network: tunnels of a pair have no node in common where possible.
        paths: with a network: how tunnels are chosen, as in `kuijia.solve`.
        objective: with a network: objective of the plan of all schemes but ffc.
        partitions: with a network: parts in which its plan is solved; by default one, more with very many demands.
        protect: ffc: failed links that its plan survives without loss; 1 by default.
        split: flow; kuijia, rescaling: how victims of several failed tunnels are divided, "proportional" or
            "failover-order".
        new_tunnels: recompute: replace failed tunnels by new ones.
        udp: flow: UDP traffic, which does not slow down on loss.
        weighting: flow: share of a full link that a tunnel's traffic gets, "equal" or "offered".
        probabilities: flow: failure probabilities, for availability: a CSV file, published ones by name,
            "none", or those of the "topology", the default if it has any.
        sizes: packet: sizes of flows, a distribution by name or its file, or bytes; "web-search" by default.
        load: packet: offered load, as a share of the planned rates; .7 by default.
        seconds: packet: seconds after each cut during which flows arrive and losses count; 1 by default.
        transport: packet: congestion control of TCP; "cubic" by default.
        buffer: packet: bytes of each queue of a port; 1,500,000 by default.
        detection: packet: seconds until the switches at a cut link notice; .01 by default.
        controller_at: packet: site of the controller; by default the most central node.
        link_delay: packet: seconds of delay of links without one; .005 by default.
        rate_scale: packet: factor for all rates; by default 1, or less to have at most half a million packets in a run.
        workers: processes; by default as many as the work is worth.
        progress: show the progress of work that takes seconds.

    Raises:
        InputError: an input or an option cannot be used.
        SolverError: the solver gave up.
    """
    probabilities = None if probabilities is None else str(probabilities)
    how = from_keywords(WhatIfOptions, {**locals(), "schemes": None, "failures": "links"})
    how = replace(how, schemes=_distinct(schemes), failures=failures)
    how.require_backend()
    processes = parsed_or_none("workers", workers, whole_number(1))
    of_many = None if processes is None else Workers(processes)
    notes: list[str] = []

    def say(_: str, words: str) -> None:
        notes.append(words)

    with progress_line(patient=True, silent=not progress) as line:
        inputs = _inputs(plan, demands, how, notes)
        asker = Asker(of_many, None, line, notes, say, say, partial(_call, inputs.topology.name))
        with whatif_study(inputs, how, asker) as result:
            return result


@dataclass(frozen=True)
class Inputs:
    """Subject of a study.

    Attributes:
        plan: a plan that is there already; None for one to be made.
        topology: the network.
        demands: the demands.
        source: the word for the demands in messages.
        network: the word for the network in messages.
    """

    plan: core.Plan | None
    topology: Topology
    demands: Sequence[Demand]
    source: str
    network: str


@dataclass(frozen=True)
class Asker:
    """Caller of a study, who receives its progress.

    Attributes:
        workers: processes or a cluster; by default as many processes as the work is worth.
        folder: of the checkpoint.
        progress: shows the state.
        notes: what was assumed, when the study is made.
        say: hears notes on what is compared, each with the name of what it is about.
        assume: hears what is assumed.
        call: returns what reproduces a study of these options, which have their final values.
    """

    workers: Workers | None
    folder: OutputFolder | None
    progress: Progress
    notes: Sequence[str]
    say: Callable[[str, str], None]
    assume: Callable[[str, str], None]
    call: Callable[[WhatIfOptions], str]


@contextmanager
def whatif_study(inputs: Inputs, how: WhatIfOptions, asker: Asker) -> Generator[WhatIf | WhatIfPackets, None, None]:
    """Yield the results of a study; its checkpoint outlasts the block, which may write into the folder.

    Raises:
        As `whatif`.
    """
    from kuijia.api.whatif_contenders import contenders_of, plans_for, plans_from  # noqa: PLC0415  # slow: CVXPY
    from kuijia.api.whatif_numbers import WhatIfNumbers  # noqa: PLC0415  # slow to import: SciPy
    from kuijia.api.whatif_result import WhatIf, outcomes_of  # noqa: PLC0415  # slow to import: SciPy
    from simulator.studies.whatif.study import Provenance, WhatIfStudy  # noqa: PLC0415  # slow to import: SciPy

    topology, progress = inputs.topology, asker.progress
    announce(topology, progress)
    note, assume = partial(asker.say, inputs.source), partial(asker.assume, inputs.network)
    failures = _failures(how.failures, topology, how.sample, how.seed)
    conditions = likelihood = None
    if how.backend == PACKET:
        how = on_switches(how, note)
        conditions = conditions_of(how)
    else:
        likelihood = _likelihood(how.probabilities, inputs, failures, asker.say)
    how.require_used()
    if inputs.plan is None:
        plans = plans_for(topology, inputs.demands, how, inputs.source, progress, note)
    else:
        plans = plans_from(inputs.plan, inputs.demands, how.protect, inputs.source, progress, note)
    contenders = contenders_of(how, plans, note)
    final = replace(how, schemes=tuple(each.scheme.name for each in contenders))
    if not isinstance(how.failures, str | Path):
        final = replace(final, failures=[each.name for each in failures])
    if conditions is not None:
        questions = PacketQuestions(plans_of(contenders, how), failures, conditions)
        with simulated(how, questions, asker.workers, asker.folder, progress, assume) as found:
            call = asker.call(replace(final, **options_of(found)))
            yield WhatIfPackets(replace(found, assumptions=tuple(asker.notes)), call)
        return
    with outcomes_of(how, contenders, failures, asker.workers, asker.folder, progress) as outcomes:
        study = WhatIfStudy(topology, contenders, failures, outcomes, likelihood)
        call = asker.call(replace(final, probabilities=None if likelihood is None else likelihood.source))
        provenance = Provenance(call, python_versions(), tuple(asker.notes))
        yield WhatIf(WhatIfNumbers.of(study, provenance), study, how.seed)


def _call(name: str, how: WhatIfOptions) -> str:
    """Return the call that makes a study; options without a value, or that are off, are left out."""
    left_out = {*other_options(how.backend), *(["backend"] if how.backend == FLOW else [])}
    names = dict.fromkeys((*_FIRST, *(each.name for each in fields(how))))
    values = {name: getattr(how, name) for name in names if name not in left_out}
    values |= {
        "failures": str(how.failures) if isinstance(how.failures, Path) else how.failures,
        "schemes": list(how.schemes or ()),
    }
    given = (f"{option}={value!r}" for option, value in values.items() if value is not None and value is not False)
    return f"kuijia.whatif({', '.join([repr(name), *given])})"


def _inputs(
    source: core.Plan | TopologyLike, demands: DemandsLike | None, how: WhatIfOptions, notes: list[str]
) -> Inputs:
    """Return the network and its demands; `notes` gets the assumptions behind both."""
    if isinstance(source, core.Plan) or _is_plan_file(source):
        if demands is not None:
            raise bad_option("demands", "given with a plan, which has its own", "a network in the place of the plan")
        how.refuse_planning()
        plan = load_plan(source)
        notes += plan.notes
        name = "plan" if isinstance(source, core.Plan) else str(source)
        return Inputs(plan, plan.topology, plan.demands, name, name)
    how.require_planning()
    topology = load_topology(source)
    asked = demands_for(demands, source, topology, {})
    notes += [*topology.notes, *asked.notes]
    return Inputs(None, topology, asked, asked.source, topology.name)


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
        return chosen_failures(str(which), topology, sample, seed)
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
    which: str | None, inputs: Inputs, failures: Sequence[Failure], say: Callable[[str, str], None]
) -> Likelihood | None:
    """Return the probabilities of failures; `say` hears a sentence about each gap in them."""
    from simulator.studies.whatif.study import Likelihood  # noqa: PLC0415  # slow to import: SciPy

    if which is None:
        found = default_probabilities(inputs.topology, failures, lambda words: say(inputs.network, words))
        return None if found is None else Likelihood(TOPOLOGY, found)
    chosen = chosen_probabilities(which, inputs.topology, failures, lambda words: say(which, words))
    return None if chosen is None else Likelihood(which, chosen)


def chosen_failures(which: str, topology: Topology, sample: int | None, seed: int) -> tuple[Failure, ...]:
    """Return the failures that `which` names, drawn once, so that all schemes get the same ones.

    Args:
        which: names from `FAILURES`, or links `A-B` and nodes, separated by commas; or a CSV file.
        topology: the network.
        sample: most failures of each kind, drawn at random; None for all.
        seed: seed of the draw.

    Raises:
        InputError: `which` has another form or a part twice, the file is not a list of failures, or nothing can fail.
    """
    names = which.split(",")
    parts = [which] if named(which, topology) else names
    if set(names) <= FAILURES.keys():
        if len(set(names)) < len(names):
            raise bad_option("failures", f"{which!r} has a kind twice", "each kind once")
        kinds = [(name, tuple(FAILURES[name](topology))) for name in names]
    elif Path(which).suffix and not all(named(part, topology) for part in parts):
        kinds = [("failures in the file", load_failures(Path(which), topology))]
    else:
        kinds = [("links and nodes", tuple(_of_name(part, topology) for part in parts))]
        if len(set(parts)) < len(parts):
            raise bad_option("failures", f"{which!r} has a link or node twice", "each once")
    for name, of_kind in kinds:
        if not of_kind:
            raise bad_option("failures", "nothing fails", f"a network with {name}")
    return tuple(failure for _, of_kind in kinds for failure in _drawn(of_kind, sample, seed))


def default_probabilities(topology: Topology, failures: Sequence[Failure], note: Note) -> FailureProbabilities | None:
    """Return the probabilities of the topology's file; None if it has none, or, with a note, for these failures."""
    if not topology.down:
        return None
    try:
        return from_links(topology, failures, topology.down)
    except UnsoundError as error:
        note(f"its failure probabilities are not used: {error.problem}")
        return None


def chosen_probabilities(
    which: str, topology: Topology, failures: Sequence[Failure], note: Note
) -> FailureProbabilities | None:
    """Return the probabilities of failures from `which`: a name from `PUBLISHED`, `TOPOLOGY`, `NONE`, or a CSV file.

    `note` receives a sentence about links or failures without a probability in the file.

    Raises:
        InputError: `which` is neither, or has no probability for these failures.
    """
    if which == NONE:
        return None
    if which == TOPOLOGY and not topology.down:
        problem = f"the file of {topology.name} has no failure probabilities"
        raise bad_option("probabilities", problem, "a topology of TEAVAR, or a CSV file")
    if which == TOPOLOGY or which in PUBLISHED:
        try:
            if which == TOPOLOGY:
                return from_links(topology, failures, topology.down)
            return from_counts(topology, failures, PUBLISHED[which])
        except UnsoundError as error:
            raise bad_option("probabilities", error.problem, error.expected) from error
    if not Path(which).suffix:
        names = (*PUBLISHED, TOPOLOGY, NONE)
        raise bad_option("probabilities", unknown(which, names), f"{', '.join(names)} or a CSV file")
    return load_probabilities(Path(which), topology, failures, note)


def _of_name(part: str, topology: Topology) -> Failure:
    """Return the failure of a link or node; raises InputError."""
    found = named(part, topology)
    if len(found) == 1:
        return found[0]
    if found:
        raise bad_option(
            "failures", f"{quoted(part)} is more than one link or node", "a CSV file, which has each end by itself"
        )
    if part in FAILURES:
        raise bad_option("failures", f"the kind {part} beside single links or nodes", "one or the other")
    known = (*FAILURES, *topology.nodes, *("-".join(ends) for ends in topology.edges))
    expected = f"{', '.join(FAILURES)}, A-B or a node of {topology.name}, or a CSV file"
    raise bad_option("failures", unknown(part, known), expected)


def _drawn(failures: tuple[Failure, ...], sample: int | None, seed: int) -> tuple[Failure, ...]:
    """Return a random sample of the failures, all equally likely, in their order."""
    if sample is None or sample >= len(failures):
        return failures
    positions = sorted(random.Random(seed).sample(range(len(failures)), sample))
    return tuple(failures[position] for position in positions)

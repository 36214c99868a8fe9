"""Failures that a what-if study examines: kinds, links and nodes by name, from a file, drawn; their probabilities."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from kuijia.api.whatif_options import FAILURES, NONE, TOPOLOGY
from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.options import bad_option
from kuijia_base.suggestion import unknown
from kuijia_base.text import Note
from te_solver.formats.failures_file import load_failures, load_probabilities
from te_solver.model.failures import PUBLISHED, Failure, FailureProbabilities, from_counts, from_links, named
from te_solver.model.topology import Topology


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

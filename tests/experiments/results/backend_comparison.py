"""Compares the results of two backends for the same run: losses, tunnels and queues of flows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from experiments.results.result import FlowResult, Result


@dataclass(frozen=True)
class Difference:
    """A value that was computed and measured differently.

    Attributes:
        what: flows and quantity.
        computed, measured: a loss from 0 to 1 or below for a gain, or the nodes of a tunnel, a role, a queue.
    """

    what: str
    computed: object
    measured: object

    def __str__(self) -> str:
        values = (f"{each:.1%}" if isinstance(each, float) else f"{each}" for each in (self.computed, self.measured))
        return "{}: computed {}, measured {}".format(self.what, *values)


def compare(
    computed: Result, measured: Result, margin: float, together: Sequence[Sequence[str]] | None = None
) -> list[Difference]:
    """Return the differences between two results of the same run.

    Roles, tunnels and queues must be equal where both were seen; losses may differ by `margin`.

    Args:
        computed: result of the fluid model.
        measured: result of another backend.
        margin: in parts of the lost share: 0.03 is three percentage points.
        together: groups of flows whose loss is compared as one, such as TCP flows that share a link by chance; by
            default each flow is compared by itself. Losses of flows in no group are not compared.

    Raises:
        ValueError: the results belong to different runs.
    """
    for name in ("experiment", "scheme", "parameters"):
        ours, theirs = getattr(computed, name), getattr(measured, name)
        if ours != theirs:
            raise ValueError(f"results of different runs: {name} {ours} and {theirs}")
    if set(computed.failure.link) != set(measured.failure.link):
        raise ValueError(f"results of different runs: cut of {computed.failure.link} and {measured.failure.link}")
    if {flow.name for flow in computed.flows} != {flow.name for flow in measured.flows}:
        raise ValueError("results of different runs: other flows")
    groups = [[flow.name] for flow in computed.flows] if together is None else together
    return [*_facts(computed, measured), *_losses(computed, measured, margin, groups)]


def _facts(computed: Result, measured: Result) -> Iterator[Difference]:
    for ours in computed.flows:
        theirs = measured.flow(ours.name)
        for name in ("role", "protocol", "priority", "tunnel_before", "tunnel_after", "low_after"):
            said, seen = getattr(ours, name), getattr(theirs, name)
            if None not in (said, seen) and said != seen:
                yield Difference(f"{ours.name}, {name}", said, seen)


def _losses(computed: Result, measured: Result, margin: float, groups: Sequence[Sequence[str]]) -> Iterator[Difference]:
    for group in groups:
        said, seen = (loss_of(map(result.flow, group)) for result in (computed, measured))
        if said is None and seen is None:
            continue
        if said is None or seen is None or abs(said - seen) > margin:
            yield Difference(f"{' + '.join(group)}, loss", said, seen)


def loss_of(flows: Iterable[FlowResult]) -> float | None:
    """Return the share that flows lose together, as `FlowResult.loss` defines it for one; None if nothing was sent."""
    had = kept = 0.0
    for flow in flows:
        had += flow.before if flow.sent is None else flow.sent
        kept += flow.after
    return 1 - kept / had if had > 0 else None

"""What a plan promises each kind of traffic, derived from the plan alone and not from the tables made of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kuijia_app.options import PipelineOptions, Scheme, Tagging
from kuijia_app.queues import DSCP_NETWORK_CONTROL, QueueLayout, TrafficClass
from kuijia_app.wiring import Wiring
from te_solver.failures import Failure
from te_solver.plan import PairPlan, Plan

CODE_POINTS = 64
ECN_CODES = 4


@dataclass(frozen=True, slots=True)
class Path:
    """A tunnel as traffic in one direction sees it: its switches and its share of the slots."""

    nodes: tuple[str, ...]
    weight: float

    def survives(self, failure: Failure) -> bool:
        hops = zip(self.nodes, self.nodes[1:], strict=False)
        lost = {frozenset(edge) for edge in failure.edges}
        return lost.isdisjoint(map(frozenset, hops)) and set(failure.nodes).isdisjoint(self.nodes)


@dataclass(frozen=True, slots=True)
class Traffic:
    """The packets of one class, or all control packets, from one site to another.

    Attributes:
        source: the switch they enter at.
        target: the switch whose host they are for.
        name: of the class, for people.
        code_point: the DSCP value that its packets have here; all that the ingress must treat alike are told apart,
            so that each is a kind of traffic of its own.
        ecn: the two bits beside it, told apart where tags are written there.
        paths: the tunnels, in the plan's order.
        is_split: whether it is hashed over the tunnels; control traffic takes the shortest that is alive.
        normal: queue of what is on its own tunnel.
        moved: queue of what is on another one.
        host_port: of the target, where they leave the network.
        delivered_code_point: DSCP value at the target's host; None: as sent.
    """

    source: str
    target: str
    name: str
    code_point: int
    ecn: int
    paths: tuple[Path, ...]
    is_split: bool
    normal: int
    moved: int
    host_port: int
    delivered_code_point: int | None

    def __str__(self) -> str:
        ecn = f", ecn {self.ecn}" if self.ecn else ""
        return f"{self.source} -> {self.target}, {self.name}, dscp {self.code_point}{ecn}"

    @property
    def delivered_tos(self) -> tuple[int, int]:
        """Code point and ECN bits at the target's host: as sent where tags are labels."""
        return (self.code_point, self.ecn) if self.delivered_code_point is None else (self.delivered_code_point, 0)


def expected_traffic(plan: Plan, options: PipelineOptions) -> Iterator[Traffic]:
    """All traffic that the plan promises to carry: both ways, every class, every code point that may matter.

    A class that is planned one way only gets the way back over the same links. Packets whose code point is none of the
    planned classes' belong to the least important class planned; of those that no class of the layout names, one
    stands for all, as one does for all ECN bits where nothing reads or writes them.
    """
    for ecn in range(ECN_CODES) if options.tagging is Tagging.DSCP_ECN else (0,):
        yield from _expected(plan, options, ecn)


def _expected(plan: Plan, options: PipelineOptions, ecn: int) -> Iterator[Traffic]:
    layout, wiring = options.layout, Wiring(plan.topology)
    named = {code_point for each in layout.classes for code_point in each.code_points}
    unnamed = next(code for code in range(CODE_POINTS) if code not in named | {DSCP_NETWORK_CONTROL})
    for (source, target), by_priority in _planned(plan).items():
        classes = [each for each in layout.classes if each.priority in by_priority]
        last = classes[-1]
        host_port = wiring.host_port(target)
        owner = {code: each for each in classes for code in each.code_points if code != DSCP_NETWORK_CONTROL}
        for code_point in sorted((named | {unnamed}) - {DSCP_NETWORK_CONTROL}):
            served = owner.get(code_point, last)
            moved = served.victim if options.scheme is Scheme.KUIJIA else served.normal
            yield Traffic(
                source,
                target,
                f"class {served.priority}",
                code_point,
                ecn,
                by_priority[served.priority],
                True,
                served.normal.queue_id,
                moved.queue_id,
                host_port,
                _delivered(options, served),
            )
        control = layout.control.queue_id
        paths = by_priority[classes[0].priority]
        yield Traffic(
            source,
            target,
            "control",
            DSCP_NETWORK_CONTROL,
            ecn,
            paths,
            False,
            control,
            control,
            host_port,
            _delivered(options, None),
        )


def _planned(plan: Plan) -> dict[tuple[str, str], dict[int, tuple[Path, ...]]]:
    """The paths by direction and priority."""
    found: dict[tuple[str, str], dict[int, tuple[Path, ...]]] = {}
    for pair in plan.pairs:
        found.setdefault((pair.source, pair.target), {})[pair.priority] = _paths(pair)
    for pair in plan.pairs:
        back = tuple(Path(path.nodes[::-1], path.weight) for path in _paths(pair))
        found.setdefault((pair.target, pair.source), {}).setdefault(pair.priority, back)
    return found


def _paths(pair: PairPlan) -> tuple[Path, ...]:
    return tuple(Path(tunnel.nodes, tunnel.weight) for tunnel in pair.tunnels)


def _delivered(options: PipelineOptions, served: TrafficClass | None) -> int | None:
    """The code point of a delivered packet of the class, None for control traffic: as sent where tags are labels."""
    if options.tagging is Tagging.MPLS:
        return None
    of_queue = served or _sharing_control(options.layout)
    if of_queue is None:
        return DSCP_NETWORK_CONTROL
    return of_queue.code_points[0] if of_queue.code_points else 0


def _sharing_control(layout: QueueLayout) -> TrafficClass | None:
    """The class whose packets cannot be told from control traffic once both carry the tag of one queue."""
    return next((each for each in layout.classes if layout.control in {each.normal, each.victim}), None)

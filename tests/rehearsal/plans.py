"""Small networks with several plans each, their tables with several options, and plan files in memory."""

from __future__ import annotations

import errno
from collections.abc import Collection

from kuijia_app.tables.options import Form, Liveness, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import SwitchTables
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology

_SLOTS = 16
OPTIONS = (
    PipelineOptions(slot_count=_SLOTS),
    PipelineOptions(slot_count=_SLOTS, form=Form.DECOMPOSED),
    PipelineOptions(slot_count=_SLOTS, tagging=Tagging.DSCP_ECN),
    PipelineOptions(slot_count=_SLOTS, liveness=Liveness.BFD),
)
_FIRST_PATH_ID = 16


def _plan(name: str, nodes: str, edges: str, *pairs: str) -> Plan:
    links = [Link(a, b, 1000.0) for edge in edges.split() for a, b in (tuple(edge.split("-")), edge.split("-")[::-1])]
    topology = Topology(name, tuple(nodes.split()), tuple(links))
    planned = []
    path_id = _FIRST_PATH_ID
    for pair in pairs:
        paths = [tuple(path.split("-")) for path in pair.split()]
        weight = 1 / len(paths)
        tunnels = tuple(Tunnel(path_id + n, path, 10 * weight, weight) for n, path in enumerate(paths))
        path_id += len(paths)
        planned.append(PairPlan(paths[0][0], paths[0][-1], 10.0, 10.0, tunnels))
    return Plan(topology, tuple(planned), "any", 10.0 * len(planned), "none", 0.0)


_SQUARE = ("square", "a b c d", "a-b b-c c-d d-a a-c")
_RING = ("ring", "a b c d e", "a-b b-c c-d d-e e-a b-e")
_LADDER = ("ladder", "a b c d e f g", "a-b b-c d-e e-f a-d b-e c-f c-g f-g")
NETWORKS = (
    (
        _plan(*_SQUARE, "a-b-c a-c", "d-c-b d-a-b"),
        _plan(*_SQUARE, "a-d-c a-c", "d-c-b d-a-b"),
        _plan(*_SQUARE, "a-b-c a-c a-d-c", "d-a-b d-c-a-b"),
    ),
    (
        _plan(*_RING, "a-b-c a-e-d-c", "e-d e-a-b-c-d"),
        _plan(*_RING, "a-b-c a-e-b-c", "e-b-c-d e-d"),
        _plan(*_RING, "a-e-d-c a-b-c a-b-e-d-c", "e-d"),
    ),
    (
        _plan(*_LADDER, "a-b-c-g a-d-e-f-g a-b-e-f-g", "d-e-b-c d-e-f-c", "g-f-e g-c-b-e"),
        _plan(*_LADDER, "a-d-e-f-g a-b-c-g", "d-a-b-c d-e-f-c d-e-b-c", "g-f-e"),
        _plan(*_LADDER, "a-b-e-f-c-g a-d-e-b-c-f-g", "d-e-f-g-c d-a-b-c", "g-c-b-e g-f-e"),
    ),
)
"""The plans of each network have the same pairs."""


class ProcessEndedError(Exception):
    """The process has ended while it was writing files."""


class PlanStore:
    """Plan files of one controller, in memory: they outlive its process.

    Attributes:
        plan, pending, refused: contents of the files.
        given: the plan that somebody has put into the file last.
        known: plans that this controller had in force while it acted, or has kept as refused ones.
        room: number of plans that can still be written; None if there is no end to them.
        was_full: something could not be written.
        ends_after: number of changes after which the process ends; None if it goes on.
    """

    def __init__(self, plan: Plan, named: list[Plan]) -> None:
        """Take the first plan, and the list of all plans that have a name, which is common to all stores."""
        self._named = named
        self.room: int | None = None
        self.was_full = False
        self.ends_after: int | None = None
        self._changes = 0
        self._plan_changed = self._pending_changed = 0
        self.plan = plan
        self.given: Plan | None = None
        self.known: list[Plan] = []
        self.pending: Plan | None = None
        self.refused: Plan | None = None

    def __str__(self) -> str:
        return "plan.json"

    def name(self) -> str | None:
        return self._name_of(self.plan)

    def stamp(self) -> int:
        return self._plan_changed

    def load(self) -> Plan:
        return self.plan

    def holds(self, plan: Plan) -> bool:
        return self.plan == plan

    def replace(self, names: Collection[str | None], plan: Plan, *, keeps_old: bool) -> str | None:
        if self.name() not in names:
            return None
        self._write()
        if keeps_old:
            self._refuse(self.plan)
        self.plan, self._plan_changed = plan, self._changes
        return self.name()

    def put_pending(self, plan: Plan) -> None:
        self._write()
        self.pending, self._pending_changed = plan, self._changes

    def renew_pending(self) -> None:
        self._change()
        self._pending_changed = self._changes

    def load_pending(self) -> Plan | None:
        return self.pending

    def is_pending_outdated(self) -> bool:
        return self._plan_changed > self._pending_changed

    def drop_pending(self) -> None:
        self._change()
        self.pending = None

    def refuse_pending(self) -> None:
        self._change()
        if self.pending is None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        self._refuse(self.pending)
        self.pending = None

    def _refuse(self, plan: Plan) -> None:
        self.refused = plan
        self.know(plan)

    def know(self, plan: Plan) -> None:
        """Note a plan that may be missing in the files from now on: it was in force, or is the refused one."""
        if not self.known or self.known[-1] is not plan:
            self.known.append(plan)

    def replace_by_hand(self, plan: Plan) -> None:
        self._changes += 1
        self.plan, self._plan_changed = plan, self._changes
        self.given = plan

    def _write(self) -> None:
        if self.room == 0:
            self.was_full = True
            raise OSError(errno.ENOSPC, "No space left on device")
        self._change()
        if self.room is not None:
            self.room -= 1

    def _change(self) -> None:
        """Count a change; raise `ProcessEndedError` if the process has ended before it."""
        if self.ends_after is not None:
            if self.ends_after == 0:
                raise ProcessEndedError
            self.ends_after -= 1
        self._changes += 1

    def _name_of(self, plan: Plan) -> str:
        if plan not in self._named:
            self._named.append(plan)
        return f"plan{self._named.index(plan)}"


_MADE: dict[tuple[object, ...], dict[str, SwitchTables]] = {}


def tables_of(plan: Plan, options: PipelineOptions) -> dict[str, SwitchTables]:
    """Return the tables of a plan, made once for all equal plans."""
    tunnels = ((tunnel.path_id, tunnel.nodes, tunnel.weight) for pair in plan.pairs for tunnel in pair.tunnels)
    signature = (OPTIONS.index(options), plan.topology.name, *tunnels)
    if signature not in _MADE:
        _MADE[signature] = build_tables(plan, options)
    return _MADE[signature]

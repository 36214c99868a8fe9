"""Findings of a study packet by packet: counts of each failure, figures of each scheme, and all that they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kuijia_base.manifest import python_versions
from kuijia_base.quantities import NO_SHARE, counted, duration, share, significant, size
from kuijia_base.text_table import TextTable
from simulator.studies.whatif_packets.run import ABORIGINAL, CLASSES, ROLES, VICTIM, WARMUP, Conditions, Play

FORMAT, VERSION = "kuijia-whatif-packets", 1

_NONE = "-"


@dataclass(frozen=True)
class FailureCounts:
    """The counts of a failure by role, as `simulator.studies.whatif_packets.run.Play.result` returns them."""

    failure: str
    roles: Mapping[str, Mapping[str, Any]]

    def dropped(self, *roles: str) -> float | None:
        """Return the share of data packets that was dropped; None if none were sent."""
        lost, sent = self._sum("dropped_packets", roles), self._sum("sent_packets", roles)
        return lost / max(lost, sent) if lost or sent else None

    def dropped_without_failure(self) -> float:
        lost = self._sum("dropped_packets_without_failure", ROLES)
        return lost / max(lost, self._sum("sent_packets_without_failure", ROLES), 1)

    def missing(self, *roles: str) -> float | None:
        """Return the share of the payload delivered without the failure that is missing; None without any payload."""
        calm = self._sum("delivered_bytes_without_failure", roles)
        return 1 - self._sum("delivered_bytes", roles) / calm if calm else None

    def missing_of_all(self, role: str) -> float:
        """Return what is missing of a role's payload, as a share of the payload of all flows."""
        calm = self._sum("delivered_bytes_without_failure", ROLES)
        lost = self._sum("delivered_bytes_without_failure", (role,)) - self._sum("delivered_bytes", (role,))
        return lost / calm if calm else 0.0

    def slowdown(self, role: str, size: str, figure: str) -> float | None:
        """Return a completion time of flows, mean or p99, relative to that without the failure; None without flows."""
        times = self.roles[role]["completion"][size]
        if times is None:
            return None
        return float(times["with_failure"][figure] / times["without_failure"][figure])

    def _sum(self, key: str, roles: Sequence[str]) -> int:
        return sum(int(self.roles[role][key]) for role in roles)


def _counts(data: Mapping[str, Any]) -> FailureCounts:
    return FailureCounts(data["name"], {role: data[role] for role in ROLES})


@dataclass(frozen=True)
class StudyFindings:
    """The outcomes of each failure, by scheme."""

    outcomes: Mapping[str, Sequence[FailureCounts]]

    def ranked(self, scheme: str) -> list[FailureCounts]:
        """Return the failures after which payload is missing, the worst first."""
        return sorted(
            (each for each in self.outcomes[scheme] if (each.missing(*ROLES) or 0.0) > NO_SHARE),
            key=lambda each: -(each.missing(*ROLES) or 0.0),
        )

    @cached_property
    def figures(self) -> dict[str, dict[str, Any]]:
        """The figures of each scheme: mean and worst over the failures for which there are any, None without any."""
        return {scheme: _figures(of) for scheme, of in self.outcomes.items()}

    def as_json(self) -> list[dict[str, Any]]:
        return [
            {
                "name": scheme,
                **self.figures[scheme],
                "failures": [
                    {"name": each.failure, "missing": each.missing(*ROLES), **each.roles}
                    for each in self.outcomes[scheme]
                ],
                "worst": [each.failure for each in self.ranked(scheme)],
            }
            for scheme in self.outcomes
        ]

    def lines(self, worst: int | None) -> Iterator[str | TextTable]:
        """Yield the schemes side by side, then the worst failures of each, at most `worst` if that is given."""
        yield self.losses()
        yield ""
        yield self.times()
        for scheme in self.outcomes:
            yield ""
            yield f"worst failures under {scheme} (share of all payload missing, of each role's)"
            yield from _worst_lines(self.ranked(scheme), worst)

    def losses(self) -> TextTable:
        """Return packets dropped and payload missing under each scheme; headings are two rows."""
        groups = ["", "dropped:", "", "", "missing:", "", "worst:", ""]
        head = ["scheme", "all", ABORIGINAL, VICTIM, ABORIGINAL, VICTIM, ABORIGINAL, VICTIM]
        calm = next(iter(self.outcomes.values()))[0].dropped_without_failure()
        rows = [["no failure", percent(calm)]]
        for scheme, of in self.figures.items():
            dropped, missing = of["dropped"], of["missing"]
            cells = [dropped["all"]["mean"], *(dropped[role]["mean"] for role in ROLES)]
            cells += [missing[role][figure] for figure in ("mean", "worst") for role in ROLES]
            rows.append([scheme, *map(percent, cells)])
        return TextTable((groups, head, *rows), headings=2)

    def times(self) -> TextTable:
        """Return completion times under each scheme; headings are two rows."""
        groups = ["completion time", "", *(cell for size in CLASSES for cell in (f"{size}:", "", ""))]
        head = ["scheme", "flows", *(["mean", "99th", "worst"] * len(CLASSES))]
        rows = [
            [scheme, role, *(_ratio(of["slowdown"][role][size][key][over]) for size in CLASSES for key, over in _TOLD)]
            for scheme, of in self.figures.items()
            for role in ROLES
        ]
        return TextTable((groups, head, *rows), headings=2, left={0, 1})


_TOLD = (("mean", "mean"), ("p99", "mean"), ("mean", "worst"))
"""Columns of completion times: a figure of flows, and how the failures are summed up."""


def _figures(of: Sequence[FailureCounts]) -> dict[str, Any]:
    groups = {"all": ROLES, **{role: (role,) for role in ROLES}}
    return {
        "dropped_without_failure": of[0].dropped_without_failure(),
        "dropped": {name: _summed([each.dropped(*roles) for each in of]) for name, roles in groups.items()},
        "missing": {name: _summed([each.missing(*roles) for each in of]) for name, roles in groups.items()},
        "slowdown": {
            role: {
                size: {
                    figure: _summed([each.slowdown(role, size, figure) for each in of]) for figure in ("mean", "p99")
                }
                for size in CLASSES
            }
            for role in ROLES
        },
    }


def _summed(values: Sequence[float | None]) -> dict[str, float | None]:
    known = [each for each in values if each is not None]
    if not known:
        return {"mean": None, "worst": None}
    return {"mean": sum(known) / len(known), "worst": max(known)}


def _worst_lines(hurting: Sequence[FailureCounts], worst: int | None) -> Iterator[str]:
    for each in hurting[:worst]:
        roles = ", ".join(f"{role} {percent(each.missing(role))}" for role in ROLES)
        yield f"  {percent(each.missing(*ROLES)):>6}  {each.failure}: {roles}"
    if not hurting:
        yield "  none"
    if worst is not None and len(hurting) > worst:
        yield f"  and {counted(len(hurting) - worst, 'failure')} more with losses (-v lists all)"


def percent(lost: float | None) -> str:
    """Return a share as a percentage; none is a dash."""
    return _NONE if lost is None else share(lost)


def _ratio(ratio: float | None) -> str:
    return _NONE if ratio is None else f"{ratio:.2f}"


@dataclass(frozen=True, eq=False)
class PacketStudy:
    """Results of a study together with its inputs.

    Attributes:
        conditions: by their names in `Conditions`, with the sizes in the user's words and the controller's site.
        flows, payload_bytes: of each run.
        found: the outcomes of each failure, by scheme.
        pairs: their number; None if it is unknown, as of a study from a file.
        farthest: seconds from the controller to the farthest switch; likewise.
        assumptions: what readers of files assumed, one sentence each.
        versions: of the programs, by name.
    """

    network: str
    conditions: Mapping[str, Any]
    flows: int
    payload_bytes: int
    found: StudyFindings
    pairs: int | None = None
    farthest: float | None = None
    assumptions: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=python_versions)

    @classmethod
    def of(cls, how: Conditions, sizes: str, play: Play, found: StudyFindings) -> PacketStudy:
        """Return the study of a contender, compiled; the flows are the same for all."""
        conditions = {**vars(how), "sizes": sizes, "controller": play.controller}
        plan, traffic, farthest = play.plan, play.traffic, max(play.controller_delays.values())
        return cls(plan.topology.name, conditions, traffic.count, traffic.payload, found, len(plan.pairs), farthest)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PacketStudy:
        """Return the study that `as_json` has made data of."""
        outcomes = {scheme["name"]: list(map(_counts, scheme["failures"])) for scheme in data["schemes"]}
        names = ("network", "conditions", "flows", "payload_bytes", "assumptions", "versions")
        return cls(**{name: data[name] for name in names}, found=StudyFindings(outcomes))

    @property
    def schemes(self) -> tuple[str, ...]:
        return tuple(self.found.outcomes)

    @property
    def failures(self) -> tuple[str, ...]:
        """Names of the failures, in their order."""
        return tuple(each.failure for each in next(iter(self.found.outcomes.values())))

    def heading(self) -> Iterator[str]:
        """Yield the conditions in a few lines."""
        how = self.conditions
        pairs = "" if self.pairs is None else f", {counted(self.pairs, 'pair')}"
        yield f"{self.network}: {counted(len(self.failures), 'failure')}{pairs}"
        yield (
            f"{counted(self.flows, 'flow')} of {how['sizes']} ({size(self.payload_bytes)}), load {how['load']:g}, "
            f"{how['transport']}; cut after {duration(WARMUP)}, {duration(how['seconds'])} counted"
        )
        scaled = (
            "rates as planned"
            if how["scale"] == 1
            else f"all rates, and with them the number of flows, times {how['scale']:g}"
        )
        yield f"{scaled}; queues of {size(how['buffer'])}"
        away = "" if self.farthest is None else f", up to {significant(self.farthest * 1e3)} ms away"
        yield f"switches notice after {significant(how['detection'] * 1e3)} ms; controller at {how['controller']}{away}"

    def as_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "network": self.network,
            "conditions": dict(self.conditions),
            "flows": self.flows,
            "payload_bytes": self.payload_bytes,
            "schemes": self.found.as_json(),
            "assumptions": list(self.assumptions),
            "versions": dict(self.versions),
        }

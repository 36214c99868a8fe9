"""Takeovers of a pair of controllers: network, traffic and events, phases as numbers, and their exhibit; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from experiments.experiment import Outcome
from experiments.grid import Execution
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from experiments.results.score import limit

NETWORK = "fig1"
PAIRS = {("s1", "s4"): 1.5, ("s2", "s3"): 0.5}
"""Pair to its demand, in capacities of a link."""

TUNNELS = 3

PROBE_SECONDS = 0.002
"""Time between two packets of each flow; there is one flow for each tunnel of each pair."""

REST_SECONDS = 1.0
"""Seconds of sending before the first and after the last event of a phase."""

IDLE_SECONDS = 5.0
CUT_AFTER = 0.3
"""Seconds from the end of a controller until a link is cut, while no controller is active."""

CUT_SECONDS = 2.0
"""Seconds for which the link stays cut."""

REMOTE_LINK = ("s2", "s4")
"""A link further on for one tunnel of s1 to s4, and the first link of one of s2 to s3's."""

LOCAL_LINK = ("s1", "s2")
"""The first link of a tunnel of s1 to s4."""

KILLED, FROZEN = "killed", "frozen"
HANDOVER = "handover"
CUT_REMOTE, CUT_LOCAL = "killed, then a link further on is cut", "killed, then a first link is cut"

LONGEST_TAKEOVER = {KILLED: 1.5, FROZEN: 3.0, CUT_REMOTE: 1.5, CUT_LOCAL: 1.5}
"""Phase to the seconds after which the other controller must be active."""

LONGEST_REACTION = 0.2
"""Seconds after the takeover until the ingresses must have been told of a link that was cut during it."""


@dataclass(frozen=True)
class TakeoverOptions:
    """Number of planned handovers, and of failures of each kind."""

    handovers: int
    failures: int


@dataclass(frozen=True)
class TakeoverPhase:
    """Packets and times of a phase of repeated events.

    Attributes:
        seconds: duration of the phase.
        took: for each event, seconds until the other controller acted.
        told: for each event, seconds from then until the ingresses had acknowledged what the cut of a link changes;
            empty in phases without cuts.
        sent, lost: packets of all flows.
        lost_without_excuse: of these, packets that no cut of a link excuses.
        invalid: reasons not to trust the phase, in words.
    """

    name: str
    seconds: float
    took: tuple[float, ...]
    told: tuple[float, ...]
    sent: int
    lost: int
    lost_without_excuse: int
    invalid: tuple[str, ...]


def exhibits(phases: Sequence[Mapping[str, Any]]) -> tuple[Exhibit, ...]:
    """Return the phases, given as JSON data: no packet may be lost but those that were on their way to a cut."""
    return (
        Exhibit(
            "takeover",
            "packets lost and seconds taken while one of two controllers takes over",
            "Takeover",
            "emulation",
            "number",
            f"units as in the headings; a packet every {PROBE_SECONDS * 1000:g} ms by each tunnel",
            tuple(Line(phase["name"], tuple(_points(phase))) for phase in phases),
            checks=tuple(check for phase in phases for check in _checks(phase)),
            remarks=(_EXCUSED, *unbelievable(phases)),
            mixed=True,
        ),
    )


_EXCUSED = (
    "Excused are packets by a tunnel that has lost a link: for 30 ms if it is the tunnel's first link, otherwise until"
    f" {LONGEST_REACTION * 1000:g} ms after the takeover."
)


def _points(phase: Mapping[str, Any]) -> Iterator[Point]:
    yield Point.of("events", [max(1, len(phase["took"]))])
    yield Point.of("the other acts after (s)", phase["took"])
    yield Point.of("told of the cut after that (s)", phase["told"])
    yield Point.of("packets sent", [phase["sent"]])
    yield Point.of("packets lost", [phase["lost"]])
    yield Point.of("lost without excuse", [phase["lost_without_excuse"]])


def _checks(phase: Mapping[str, Any]) -> Iterator[Check]:
    name = phase["name"]
    if not phase["took"]:
        return
    yield limit(f"packets lost without excuse, {name}", phase["lost_without_excuse"], high=0.0)
    if name not in (CUT_LOCAL, CUT_REMOTE):
        yield limit(f"packets lost, {name}", phase["lost"], high=0.0)
    if name in LONGEST_TAKEOVER:
        yield limit(f"seconds until the other acts, {name}", max(phase["took"]), high=LONGEST_TAKEOVER[name])
    if name in (CUT_LOCAL, CUT_REMOTE):
        untold = len(phase["took"]) - len(phase["told"])
        yield limit(f"cuts that no ingress was told of, {name}", untold, high=0.0)
    if phase["told"]:
        yield limit(f"seconds until ingresses are told, {name}", max(phase["told"]), high=LONGEST_REACTION)


def unbelievable(phases: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the reasons why phases, as JSON data, must not be used, in words."""
    for phase in phases:
        if phase["invalid"]:
            yield f"{phase['name']}: {'; '.join(phase['invalid'])}"


def exhibits_of_run(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the exhibits of the file of a run."""
    return exhibits(data["phases"])


def write_outcome(run: Execution, results: Sequence[TakeoverPhase], manifest: Mapping[str, object]) -> Outcome:
    """Write the phases, their summary and their table."""
    phases = [asdict(result) for result in results]
    data = {
        "experiment": run.name,
        "backend": run.backend,
        "seed": run.seed,
        "capacity": run.settings.capacity,
        "published": None,
    }
    return run.in_phases(data, phases, exhibits(phases), unbelievable(phases), manifest)

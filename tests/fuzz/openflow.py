"""The fuzz targets `openflow:…`: hostile peers against a live controller or scheduler with real switches.

Where the real switches connect by TLS, the peers have no certificate.

Cases are messages sent. Of each round it is required that the process lives, every real switch keeps its connection
and its tables, each cut of a link gets its reaction, and memory, threads and descriptors are afterwards as before;
of all rounds together, that 99 of 100 reactions of a controller come within 50 ms where the machine is idle enough to
tell. The scheduler's are measured only.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.controllers.application_process import Framework
from tests.fuzz.openflow_peers.peers import KINDS, World, kind_of, script_of
from tests.fuzz.report import Report
from tests.fuzz.targets import LiveTarget

if TYPE_CHECKING:
    from tests.fuzz.openflow_peers.assaults import Assault, Outcome
    from tests.fuzz.openflow_peers.victims import Victim

_MESSAGES = 100
"""Of a connection."""

_ROUND = 2000
"""Connections."""

_RATE = 50.0
"""Connections a second: a million messages in 200 seconds."""

_WARM_UP = 4 * len(KINDS)
_UNDISTURBED_CUTS = 50
_ALONE = 40
"""Connections of a kind alone, when it is asked which of them breaks the victim."""

_ALONE_SECONDS = 2.0
_BUSY = 0.5
"""Of the longest reaction that is allowed: a machine that takes so long without an attack is too busy to tell."""

_SHOWN = 3
_SHOWN_CHARACTERS = 2000


class OpenFlowPeers(LiveTarget):
    """An application under a framework."""

    suffix = ".json"

    def __init__(self, application: str, framework: Framework, *, by_tls: bool = False) -> None:
        self.name = f"openflow:{application}-{framework}{'-tls' if by_tls else ''}"
        self._application = application
        self._framework = framework
        self._by_tls = by_tls

    def obstacle(self) -> str | None:
        missing = [program for program in ("ovs-vswitchd", "ovsdb-server") if shutil.which(program) is None]
        return f"{' and '.join(missing)} not found (Debian package openvswitch-switch)" if missing else None

    def run(self, deadline: float, seed: int, report: Report) -> None:
        from tests.fuzz.openflow_peers.assaults import Assault, carry_out  # noqa: PLC0415  # imports what is attacked

        reactions: list[float] = []
        undisturbed: list[float] = []
        first = 0
        while not _is_over(deadline, report, self.name):
            with self._victim() as victim:
                undisturbed += [victim.reaction_to_a_cut() for _ in range(_UNDISTURBED_CUTS)]
                warm_up = Assault(tuple(KINDS), seed + 1, _WARM_UP, _WARM_UP / _RATE, messages=20)
                broken = self._take_in(warm_up, carry_out(warm_up, victim, has_to_be_flat=False), report)
                while not broken and not _is_over(deadline, report, self.name):
                    assault = self._next(deadline, seed, first, report)
                    first += assault.connections
                    outcome = carry_out(assault, victim)
                    reactions += outcome.reactions
                    broken = self._take_in(assault, outcome, report)
                    self._show(reactions, undisturbed, report)
            if broken:
                self._ask_which(seed, deadline, report)
        self._judge(reactions, undisturbed, report)

    def repeat(self, content: bytes, report: Report) -> None:
        from tests.fuzz.openflow_peers.assaults import Assault, carry_out  # noqa: PLC0415  # imports what is attacked

        case = json.loads(content)
        assault = Assault(**{**case, "kinds": tuple(case["kinds"])})
        with self._victim() as victim:
            for line in _messages(assault, victim):
                report.progress.say(line)
            self._take_in(assault, carry_out(assault, victim), report)

    @contextmanager
    def _victim(self) -> Iterator[Victim]:
        from tests.fuzz.openflow_peers.victims import victim  # noqa: PLC0415  # imports what is attacked

        with (
            tempfile.TemporaryDirectory() as folder,
            victim(self._application, self._framework, Path(folder), by_tls=self._by_tls) as started,
        ):
            yield started

    def _next(self, deadline: float, seed: int, first: int, report: Report) -> Assault:
        """Return a round no longer than the time and the cases that are left."""
        from tests.fuzz.openflow_peers.assaults import Assault  # noqa: PLC0415  # imports what is attacked

        in_time = min((deadline - time.monotonic()) * _RATE, _ROUND)  # without a deadline any number is
        connections = max(len(KINDS), int(in_time))
        messages = _MESSAGES
        if report.most_cases is not None:
            left = report.most_cases - report.cases[self.name]
            connections = min(connections, max(1, math.ceil(left / messages)))
        return Assault(tuple(KINDS), seed, connections, connections / _RATE, messages, first=first)

    def _take_in(self, assault: Assault, outcome: Outcome, report: Report) -> bool:
        """Report what an assault has done; returns whether the victim is broken."""
        figures = report.figures.setdefault(self.name, {})
        report.count(self.name, outcome.counts.get("messages", 0))
        for name in ("connections", "handshakes", "admitted", "dropped"):
            figures[name] = float(figures.get(name, 0.0)) + outcome.counts.get(name, 0)
        if not math.isnan(outcome.programmed):
            programmed = 1000 * outcome.programmed
            figures["programmed_ms"] = max(float(figures.get("programmed_ms", 0.0)), programmed)
        for name, before in asdict(outcome.before).items():
            figures.setdefault(f"{name}_before", float(before))
            figures[f"{name}_peak"] = max(float(figures.get(f"{name}_peak", 0.0)), float(getattr(outcome.peak, name)))
            figures[f"{name}_after"] = float(getattr(outcome.after, name))
        content = json.dumps(asdict(assault)).encode()
        for fault in outcome.faults:
            which = assault.kinds[0] if len(assault.kinds) == 1 else "all kinds together"
            cause = f"{which}: {' '.join(word for word in fault.split() if word.isalpha())}"
            report.failure(self.name, f"{which}: {fault}", content, self.suffix, cause)
        return bool(outcome.faults)

    def _ask_which(self, seed: int, deadline: float, report: Report) -> None:
        """Have each kind attack alone, a new victim after each that breaks it."""
        from tests.fuzz.openflow_peers.assaults import Assault, carry_out  # noqa: PLC0415  # imports what is attacked

        left = list(KINDS)
        while left and time.monotonic() < deadline:
            with self._victim() as victim:
                broken = False
                while left and not broken and time.monotonic() < deadline:
                    assault = Assault((left.pop(0),), seed, _ALONE, _ALONE_SECONDS, _MESSAGES)
                    broken = self._take_in(assault, carry_out(assault, victim), report)

    def _show(self, reactions: Sequence[float], undisturbed: Sequence[float], report: Report) -> None:
        from tests.fuzz.openflow_peers.assaults import percentile  # noqa: PLC0415  # imports what is attacked

        report.figure(self.name, "cuts", float(len(reactions)))
        for share in (0.5, 0.99, 1.0):
            report.figure(self.name, f"p{share * 100:g}_ms", percentile(reactions, share) * 1000)
            report.figure(self.name, f"undisturbed_p{share * 100:g}_ms", percentile(undisturbed, share) * 1000)
        report.progress.show(f"{self.name}: {report.cases[self.name]:,} messages")

    def _judge(self, reactions: Sequence[float], undisturbed: Sequence[float], report: Report) -> None:
        from tests.fuzz.openflow_peers.assaults import MOST_REACTION_SECONDS, percentile  # noqa: PLC0415  # likewise

        late = percentile(reactions, 0.99)
        if self._application != "controller" or not late > MOST_REACTION_SECONDS:
            return
        if percentile(undisturbed, 0.99) > _BUSY * MOST_REACTION_SECONDS:
            report.figure(self.name, "judgement", "the machine is too busy to judge reactions")
            return
        symptom = f"the reaction takes {late * 1000:.0f} ms at the 99th percentile"
        report.failure(self.name, symptom, b"{}", self.suffix, "slow reactions")


def _is_over(deadline: float, report: Report, name: str) -> bool:
    return time.monotonic() >= deadline or report.enough(name)


def _messages(assault: Assault, victim: Victim) -> Iterator[str]:
    """Return what the first connections do, as text."""
    ports = {int(datapath_id): numbers for datapath_id, numbers in victim.ports.items()}
    world = World(ports, victim.free, assault.messages)
    yield f"seed {assault.seed}, connections {assault.first} to {assault.first + assault.connections - 1}"
    for index in range(assault.first, assault.first + min(_SHOWN, assault.connections)):
        kind = kind_of(assault.kinds, assault.seed, index)
        script = " ".join(map(repr, script_of(kind, assault.seed, index, world)))
        yield f"connection {index}, {kind}: {script[:_SHOWN_CHARACTERS]}"
    if assault.connections > _SHOWN:
        yield f"... and {assault.connections - _SHOWN} more"


TARGETS: Sequence[LiveTarget] = (
    OpenFlowPeers("controller", "os-ken"),
    OpenFlowPeers("controller", "ryu"),
    OpenFlowPeers("controller", "os-ken", by_tls=True),
    OpenFlowPeers("controller", "ryu", by_tls=True),
    OpenFlowPeers("scheduler", "os-ken"),
    OpenFlowPeers("scheduler", "ryu"),
)

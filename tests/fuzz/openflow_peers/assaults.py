"""An assault on a live victim: peers of some kinds attack while links are cut; measures what that does to it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.fuzz.openflow_peers.attacker import Order
from tests.fuzz.openflow_peers.victims import DeadVictimError, Victim, Vitals

_ROOT = Path(__file__).resolve().parents[3]
_FLAT = 0.05
"""Share by which memory, threads and descriptors may differ afterwards."""

_SLACK = Vitals(2.0, 0, 0)
"""Difference that is always allowed: the allocator gives memory back in pieces."""

_SETTLED_SECONDS = 25.0
_OVERTIME_SECONDS = 60.0
_VITALS_SECONDS = 0.5
MOST_REACTION_SECONDS = 0.050


@dataclass(frozen=True)
class Assault:
    """Plan of an attack: `connections` spread over `seconds`, each with `messages`, at most `at_once` at a time."""

    kinds: tuple[str, ...]
    seed: int
    connections: int
    seconds: float
    messages: int = 100
    at_once: int = 400
    first: int = 0


@dataclass
class Outcome:
    """Counts of an assault.

    Attributes:
        counts: of the attacker: connections, messages, bytes, handshakes, those dropped and those never answered.
        reactions: seconds from each cut to the reaction.
        before, peak, after: vitals; the last when they are flat or have had time enough to become so.
        programmed: seconds until a switch that came back empty after the attack had its tables.
        reconnections: of real switches.
        faults: what must not be, in words.
    """

    before: Vitals
    peak: Vitals
    after: Vitals
    counts: dict[str, int] = field(default_factory=dict)
    reactions: list[float] = field(default_factory=list)
    programmed: float = math.nan
    reconnections: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        return percentile(self.reactions, share)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of all does not exceed; NaN where there is none."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else math.nan


def carry_out(assault: Assault, victim: Victim, *, has_to_be_flat: bool = True) -> Outcome:
    """Attack, cutting links all the while; return when the attack has ended and its traces have had time to go.

    Memory, threads and descriptors need not be as before where that is the application's first attack.
    """
    before = victim.vitals()
    outcome = Outcome(before, before, before)
    reconnections = victim.reconnections()
    began = time.monotonic()
    order = Order(port=victim.port, ports=victim.ports, free=victim.free, **asdict(assault))
    attacker = subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.openflow_peers.attacker"],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        _meanwhile(attacker, json.dumps(asdict(order)).encode(), outcome, victim)
        outcome.seconds = time.monotonic() - began
        outcome.programmed = victim.wipe()
        victim.reaction_to_a_cut()
        victim.require_programmed()
        if has_to_be_flat:
            outcome.after = _settled(victim, outcome.before)
            outcome.faults += _growth(outcome.before, outcome.after)
    except DeadVictimError as dead:
        outcome.faults.append(str(dead))
        outcome.seconds = outcome.seconds or time.monotonic() - began
    finally:
        attacker.kill()
        attacker.communicate()
    outcome.reconnections = victim.reconnections() - reconnections
    if outcome.reconnections:
        outcome.faults.append(f"{outcome.reconnections} connections of real switches were lost")
    return outcome


def _meanwhile(attacker: subprocess.Popen[bytes], order: bytes, outcome: Outcome, victim: Victim) -> None:
    assert attacker.stdin is not None
    assert attacker.stdout is not None
    attacker.stdin.write(order)
    attacker.stdin.close()
    attacker.stdin = None
    deadline = time.monotonic() + json.loads(order)["seconds"] + _OVERTIME_SECONDS
    while attacker.poll() is None and time.monotonic() < deadline:
        outcome.reactions.append(victim.reaction_to_a_cut())
        outcome.peak = _greater(outcome.peak, victim.vitals())
    if attacker.poll() is None:
        raise DeadVictimError(f"the attack has not come to its end {_OVERTIME_SECONDS:g} s after it should have")
    said = attacker.stdout.read()
    outcome.counts = json.loads(said) if said else {}


def _settled(victim: Victim, before: Vitals) -> Vitals:
    """Return the vitals as soon as they are as before, or when they have had time to become so."""
    deadline = time.monotonic() + _SETTLED_SECONDS
    while _growth(before, after := victim.vitals()) and time.monotonic() < deadline:
        time.sleep(_VITALS_SECONDS)
    return after


def _growth(before: Vitals, after: Vitals) -> list[str]:
    """Return what is not flat."""
    faults = []
    for name, old in asdict(before).items():
        new = getattr(after, name)
        if new - old > max(_FLAT * old, getattr(_SLACK, name)):
            faults.append(f"{name} grew from {old:.4g} to {new:.4g}")
    return faults


def _greater(one: Vitals, other: Vitals) -> Vitals:
    return Vitals(
        max(one.resident_mb, other.resident_mb),
        max(one.threads, other.threads),
        max(one.descriptors, other.descriptors),
    )

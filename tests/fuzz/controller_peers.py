"""Fuzz target: messages between controllers, which are read, and used as the controller that hears them does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kuijia_app.control.liveness import LivenessTracker
from kuijia_app.control.pair import LEASE, Beat, Pair
from kuijia_app.control.peer_messages import Decoder, encoded
from kuijia_app.control.roles import Claims
from kuijia_app.control.rollout import Rollout, Stages, Version
from kuijia_app.framework.peer_links import LONGEST_LINE
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import KuijiaError
from te_solver.formats.plan_file import plan_text
from tests.fuzz.file_target import FileTarget, JsonGrammar
from tests.fuzz.targets import CaseTarget
from tests.kuijia_app.plans import motivation_plan

OPTIONS = {"scheme": "kuijia", "slots": 64}
PLAN = motivation_plan()
SWITCHES = frozenset(PLAN.topology.nodes)


def message_examples() -> list[str]:
    """Return messages of one that stands by and of one that acts, without plans, with one and with several."""
    first, second = (
        Version(name, plan, build_tables(plan))
        for name, plan in (("start", PLAN), ("0123456789abcdef", motivation_plan((0.2, 0.3, 0.5))))
    )
    acts = Beat(7, True, (1 << 48) + 5, SWITCHES, process="0123456789abcdef")
    stands_by = Beat(8, False, (1 << 48) + 6, SWITCHES, process="0123456789abcde0")
    stages = (Stages(first, second), Stages(second, None, ((first, second.name), (first, None))))
    several = [(acts, None), (stands_by, None), (acts, Stages(first)), *((acts, each) for each in stages)]
    return [encoded(beat, each, OPTIONS).decode() for beat, each in several]


def use_message(line: bytes) -> None:
    """Read a message, and go on with what it says until its plans are drained; raises ValueError if it is refused."""
    beat, stages = Decoder(build_tables, PLAN, OPTIONS).decoded(line)
    pair, claims = Pair(1, 0.0), Claims(1)
    pair.heard(beat, LEASE)
    pair.look(claims.generation, SWITCHES, LEASE)
    pair.obstacle(SWITCHES, LEASE)
    claims.raised_above(pair.generations)
    pair.unlisted(LEASE)
    assert Decoder(build_tables, PLAN, OPTIONS).decoded(encoded(beat, stages, OPTIONS))[0] == beat
    if stages is not None:
        _take_over(stages)


def _take_over(stages: Stages) -> None:
    """Bring the plans of a peer to their end, with all switches, and write the last one to a file."""
    tracker = LivenessTracker(PLAN, Wiring(PLAN.topology))
    for version in filter(None, stages.versions):
        tracker.learn(version.plan)
    rollout = Rollout(Version("ours", PLAN, build_tables(PLAN)), drain=1.0)
    rollout.resume(stages)
    for turn in range(4):
        tracker.follow(rollout.plans)
        for switch in SWITCHES:
            rollout.acknowledged(switch, 2.0 * turn)
    assert rollout.is_settled
    plan_text(rollout.in_force.plan).encode()


def read_message(path: Path) -> None:
    """Use the message in a file, if it is no longer than what a controller takes from a peer."""
    length = path.stat().st_size
    if length > LONGEST_LINE:
        raise KuijiaError(f"a message of {length} bytes, expected at most {LONGEST_LINE}")
    try:
        use_message(path.read_bytes())
    except KuijiaError:
        raise
    except ValueError as error:
        raise KuijiaError(str(error)) from error


TARGETS: Sequence[CaseTarget] = (FileTarget("peer:json", "peer.json", message_examples, read_message, JsonGrammar()),)

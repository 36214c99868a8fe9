"""Hostile peers do what their seed says, and a short attack leaves a controller and a scheduler as they were."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from testbed.controllers.application_process import Framework
from tests.fuzz.openflow_peers import wire
from tests.fuzz.openflow_peers.acts import Deny, Drip, Refuse, Send, Serve, Stay
from tests.fuzz.openflow_peers.assaults import Assault, Outcome, carry_out, percentile
from tests.fuzz.openflow_peers.peers import KINDS, World, kind_of, script_of
from tests.fuzz.openflow_peers.victims import PROGRAMMED_WITHIN, victim

pytestmark = pytest.mark.slow

WORLD = World({1: [1, 2, 3], 2: [1, 2]}, free=[2], messages=30)
SEED = 16
ATTEMPTS = 2
UNDISTURBED = 5
BUSY_SECONDS = 0.2
"""A machine that takes so long without an attack cannot tell what an attack does."""

LATE_SECONDS = 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_equal_seeds_give_equal_peers_and_others_do_not_last_for_ever(kind: str) -> None:
    for index in range(20):
        script = script_of(kind, SEED, index, WORLD)
        assert script == script_of(kind, SEED, index, WORLD)
        messages = sum(act.messages for act in script if isinstance(act, Send))
        messages += sum(act.errors for act in script if isinstance(act, Refuse))
        assert messages <= WORLD.messages + 1
        seconds = sum(act.seconds for act in script if isinstance(act, Stay | Serve | Deny))
        seconds += sum(len(act.data) * act.pause for act in script if isinstance(act, Drip))
        assert seconds <= 10


def test_every_kind_comes() -> None:
    assert {kind_of(tuple(KINDS), SEED, index) for index in range(2000)} == set(KINDS)


def test_messages_say_their_length_unless_they_are_made_to_lie() -> None:
    for honest in (wire.hello(), wire.features_reply(1), wire.port_status(1, live=True), wire.error(7, 1, 2, b"x")):
        version, _, length, _ = struct.unpack_from("!BBHI", honest)
        assert (version, length) == (4, len(honest))
    assert struct.unpack_from("!H", wire.with_length(wire.hello(), 3), 2) == (3,)
    assert len(wire.flow_stats(wire.masked_address(bytes(4), b"\xff\0\xff\0"))) % 8 == 0


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile(list(map(float, range(1, 201))), 0.99) == 198.0


@pytest.mark.ovs
@pytest.mark.parametrize("application", ["controller", "scheduler"])
@pytest.mark.parametrize("framework", ["os-ken", "ryu"])
def test_a_short_attack_of_all_kinds_leaves_everything_as_it_was(
    tmp_path: Path, application: str, framework: Framework
) -> None:
    outcome, undisturbed = attacked(application, framework, tmp_path / "0")
    for attempt in range(1, ATTEMPTS):
        if percentile(undisturbed, 1.0) <= BUSY_SECONDS:
            break
        outcome, undisturbed = attacked(application, framework, tmp_path / str(attempt))
    assert outcome.faults == []
    assert percentile(outcome.reactions, 0.9) <= LATE_SECONDS
    assert outcome.programmed <= LATE_SECONDS + PROGRAMMED_WITHIN
    assert outcome.counts["messages"] > 300
    assert outcome.counts["handshakes"] > 30


def attacked(application: str, framework: Framework, folder: Path) -> tuple[Outcome, list[float]]:
    """Return what a short attack does, and the reactions before it."""
    folder.mkdir()
    with victim(application, framework, folder) as running:
        undisturbed = [running.reaction_to_a_cut() for _ in range(UNDISTURBED)]
        return carry_out(Assault(tuple(KINDS), SEED, connections=120, seconds=4.0, messages=20), running), undisturbed

"""One switch does not decide who acts: more than half of those that answer do."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kuijia_app.control.role_verification import RoleVerification

LEASE, LONGEST_WAIT = 0.8, 51.2
ANSWERED_WITHIN, ASKED_EVERY = 2.0, 0.4

SWITCHES = ("s1", "s2", "s3", "s4")


def asked(denying: int, obeying: int, connected: int = 4, now: float = 10.0) -> tuple[RoleVerification, bool]:
    """Return what so many switches have said at a time, and whether this controller stands down by that."""
    roles = RoleVerification()
    for switch in SWITCHES[:denying]:
        roles.denied(switch, "STALE", 10.0)
    for switch in SWITCHES[denying : denying + obeying]:
        roles.obeyed(switch, 10.0)
    return roles, roles.is_lost(SWITCHES[:connected], now)


@pytest.mark.parametrize(
    ("denying", "obeying", "connected", "lost"),
    [
        (1, 0, 1, True),
        (1, 1, 2, False),
        (2, 0, 2, True),
        (1, 2, 3, False),
        (2, 0, 3, True),
        (2, 2, 4, False),
        (3, 0, 4, True),
    ],
)
def test_a_controller_stands_down_if_more_than_half_of_its_switches_refuse(
    denying: int, obeying: int, connected: int, *, lost: bool
) -> None:
    assert asked(denying, obeying, connected)[1] is lost


@pytest.mark.parametrize(("obeying", "lost"), [(0, True), (1, False)])
def test_switches_that_answer_neither_way_are_left_out_after_a_time(obeying: int, *, lost: bool) -> None:
    roles, is_lost = asked(1, obeying, now=10.0 + ANSWERED_WITHIN - 0.1)
    assert not is_lost
    assert roles.is_lost(SWITCHES, 10.0 + ANSWERED_WITHIN) is lost
    assert not roles.is_lost(SWITCHES, 100.0), "it is decided once"


def test_a_claim_that_was_taken_before_the_denial_proves_nothing() -> None:
    roles = RoleVerification()
    for switch in SWITCHES[1:]:
        roles.obeyed(switch, 9.9)
    roles.denied("s1", "STALE", 10.0)
    assert roles.is_lost(SWITCHES, 10.0 + ANSWERED_WITHIN)


def test_the_others_are_asked_at_once_and_again_while_that_is_open_but_not_by_every_denial() -> None:
    roles = RoleVerification()
    assert not roles.is_to_be_asked(9.0)
    roles.denied("s1", "STALE", 10.0)
    times = [now / 10 for now in range(100, 130) if roles.is_to_be_asked(now / 10)]
    assert times[0] == 10.0
    assert 2 <= len(times) <= 3.0 / ASKED_EVERY + 1
    for _ in range(100):
        roles.denied("s2", "STALE", 12.9)
        assert not roles.is_to_be_asked(12.95)


def test_a_switch_that_denies_again_and_again_is_claimed_ever_less_often_and_at_once_after_a_calm() -> None:
    roles, now, claims = RoleVerification(), 0.0, list[float]()
    while now < 300.0:
        roles.denied("s1", "STALE", now)
        for switch in SWITCHES[1:]:
            roles.obeyed(switch, now)
        assert not roles.is_lost(SWITCHES, now)
        if roles.due(SWITCHES, now):
            roles.claimed("s1", now)
            claims.append(now)
        now += 0.1
    gaps = [later - earlier for earlier, later in pairwise(claims)]
    assert claims[0] == pytest.approx(LEASE, abs=0.2)
    assert max(gaps) == pytest.approx(LONGEST_WAIT, abs=0.5)
    assert len(claims) < 12
    roles.claimed("s1", now)
    later = now + LONGEST_WAIT + 1.0
    roles.denied("s1", "STALE", later)
    roles.obeyed("s2", later)
    roles.obeyed("s3", later)
    assert not roles.is_lost(SWITCHES, later)
    assert roles.due(SWITCHES, later + LEASE) == ["s1"]


def test_a_denying_switch_is_asked_once_a_pause() -> None:
    roles, _ = asked(1, 2)
    assert [len(roles.due(SWITCHES, 10.0 + turn / 10)) for turn in range(16)].count(1) == 1
    roles.denied("s1", "STALE", 11.5)
    assert roles.due(SWITCHES, 10.0 + 2 * LEASE + 0.05) == ["s1"], "it denies all the time, and is asked all the same"


def test_a_quiet_controller_acts_again_when_at_most_half_tell_a_later_id() -> None:
    roles, is_lost = asked(3, 0)
    assert is_lost
    assert not roles.is_wrong(SWITCHES, 10.5)
    assert roles.is_to_look_again(10.0 + LEASE)
    assert not roles.is_to_look_again(10.0 + LEASE + 0.1)
    roles.vouched("s1", 11.0)
    assert not roles.is_wrong(SWITCHES, 11.0)
    roles.vouched("s4", 11.0)
    assert roles.is_wrong(SWITCHES, 11.0)
    assert not roles.is_wrong(SWITCHES, 11.0), "it acts by now"
    assert roles.denials(SWITCHES) == {"s2": "STALE", "s3": "STALE"}


def test_a_quiet_controller_looks_again_ever_less_often() -> None:
    roles, now, looks = RoleVerification(), 0.0, list[float]()
    roles.denied("s1", "STALE", now)
    assert roles.is_lost(["s1"], now)
    for _ in range(20):
        now += 0.1
        if roles.is_to_look_again(now):
            looks.append(now)
            roles.vouched("s1", now)
            assert roles.is_wrong(["s1"], now)
            roles.denied("s1", "STALE", now)
            assert roles.is_lost(["s1"], now)
    assert len(looks) == 1, "the next pause is twice as long"


@pytest.mark.parametrize(("denied_at", "pause"), [(LONGEST_WAIT, LEASE), (LONGEST_WAIT - 0.1, 2 * LEASE)])
def test_a_switch_that_has_obeyed_for_the_longest_pause_begins_with_the_shortest_again(
    denied_at: float, pause: float
) -> None:
    roles = RoleVerification()
    roles.denied("s1", "STALE", 0.0)
    roles.claimed("s1", 0.0)
    roles.denied("s1", "STALE", denied_at)
    for switch in SWITCHES[1:]:
        roles.obeyed(switch, denied_at)
    assert not roles.is_lost(SWITCHES, denied_at)
    assert roles.due(SWITCHES, denied_at + pause - 0.01) == []
    assert roles.due(SWITCHES, denied_at + pause) == ["s1"]
    assert roles.due(SWITCHES, denied_at + 2 * pause - 0.01) == []
    assert roles.due(SWITCHES, denied_at + 2 * pause) == ["s1"]


def test_the_others_are_asked_again_after_two_fifths_of_a_second() -> None:
    roles = RoleVerification()
    roles.denied("s1", "STALE", 0.0)
    assert [roles.is_to_be_asked(now) for now in (0.0, 0.39, ASKED_EVERY, 0.79)] == [True, False, True, False]


def test_no_denying_switch_is_claimed_before_the_denial_is_decided() -> None:
    roles = RoleVerification()
    roles.denied("s1", "STALE", 0.0)
    assert roles.due(SWITCHES, 1.0) == []
    assert not roles.is_lost(SWITCHES, 1.0)
    assert roles.due(SWITCHES, 1.0) == []
    roles.obeyed("s2", 1.0)
    roles.obeyed("s3", 1.0)
    assert not roles.is_lost(SWITCHES, 1.0)
    assert roles.due(SWITCHES, 1.0) == ["s1"]


@pytest.mark.parametrize(("back_at", "pause"), [(LONGEST_WAIT, LEASE), (LONGEST_WAIT - 0.1, 2 * LEASE)])
def test_a_controller_that_was_quiet_for_the_longest_pause_begins_with_the_shortest_again(
    back_at: float, pause: float
) -> None:
    roles = RoleVerification()
    assert not roles.is_to_look_again(0.0)
    roles.denied("s1", "STALE", 0.0)
    assert roles.is_lost(["s1"], 0.0)
    looks = [roles.is_to_look_again(now) for now in (0.79, LEASE, 2.39, 3 * LEASE)]
    assert looks == [False, True, False, True]
    roles.vouched("s1", back_at)
    assert roles.is_wrong(["s1"], back_at)
    roles.denied("s1", "STALE", 60.0)
    assert roles.is_lost(["s1"], 60.0)
    assert not roles.is_to_look_again(60.0 + pause - 0.01)
    assert roles.is_to_look_again(60.0 + pause)


def test_the_latest_claim_that_was_taken_counts_until_the_switch_denies_or_leaves() -> None:
    for before, lost in ((lambda _: None, False), (lambda roles: roles.left("s2"), True)):
        roles = RoleVerification()
        for claimed_at in (5.0, 3.0):
            roles.obeyed("s2", claimed_at)
        before(roles)
        roles.denied("s1", "STALE", 4.0)
        assert roles.is_lost(SWITCHES, 4.0 + ANSWERED_WITHIN) is lost
    roles = RoleVerification()
    roles.denied("s1", "STALE", 4.0)
    roles.obeyed("s1", 5.0)  # denies by now
    roles.claimed("s1", 5.0)
    roles.denied("s2", "STALE", 5.0)
    assert roles.is_lost(SWITCHES, 4.0 + ANSWERED_WITHIN)


def test_a_quiet_controller_without_switches_stays_quiet() -> None:
    roles, _ = asked(1, 0, connected=1)
    assert not roles.is_wrong([], 100.0)

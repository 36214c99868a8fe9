"""One of several controllers acts; the switches' generation ids are the witnesses."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kuijia_app.control.pair import Beat, Decision, Pair
from kuijia_app.control.roles import Claims, first_generation, is_later

BEAT, CHALLENGE, LEASE, LONGEST_WAIT, UNHEARD_LEASE = 0.1, 3 * 0.8, 0.8, 51.2, 3 * 0.8

SWITCHES = frozenset({"s1", "s2", "s3"})
OURS, THEIRS = first_generation(1, 1), first_generation(2, 2)


def beat(*, acting: bool = True, reach: frozenset[str] = SWITCHES, instance: int = 2, hands_over: bool = False) -> Beat:
    return Beat(instance, acting, THEIRS, reach, hands_over)


def watched(
    pair: Pair, until: float, *, peer: Beat | None = None, renewed: frozenset[str] = frozenset()
) -> float | None:
    """Let time pass; return when the pair takes over, None if it does not."""
    turns = round(until / BEAT)
    for turn in range(1, turns + 1):
        now = turn * BEAT
        if peer is not None:
            pair.heard(peer, now)
        for switch in SWITCHES:
            pair.seen(switch, THEIRS + (turn if switch in renewed else 0), now)
        if pair.look(OURS, SWITCHES, now) is Decision.TAKE_OVER:
            return now
    return None


def test_a_controller_without_signs_of_others_acts_after_a_lease() -> None:
    taken = watched(Pair(1, 0.0), 5.0)
    assert taken is not None
    assert LEASE <= taken <= LEASE + 3 * BEAT


def test_nobody_takes_over_from_a_peer_that_acts() -> None:
    assert watched(Pair(1, 0.0), 5.0, peer=beat()) is None


def test_switches_whose_id_grows_show_that_somebody_acts_although_no_word_comes() -> None:
    assert watched(Pair(1, 0.0), 5.0, renewed=SWITCHES) is None
    assert watched(Pair(1, 0.0), 5.0, renewed=frozenset({"s1", "s2"})) is None
    assert watched(Pair(1, 0.0), 5.0, renewed=frozenset({"s1"})) is not None


def test_of_two_that_stand_by_the_one_with_more_switches_acts_or_the_smaller_number() -> None:
    assert watched(Pair(3, 0.0), 5.0, peer=beat(acting=False)) is None
    assert watched(Pair(1, 0.0), 5.0, peer=beat(acting=False)) is not None
    assert watched(Pair(3, 0.0), 5.0, peer=beat(acting=False, reach=frozenset({"s1"}))) is not None


def test_a_peer_that_is_cut_off_from_some_switches_is_replaced() -> None:
    taken = watched(Pair(1, 0.0), 5.0, peer=beat(reach=frozenset({"s1", "s2"})), renewed=frozenset({"s1", "s2"}))
    assert taken is not None
    assert CHALLENGE <= taken <= CHALLENGE + LEASE + 3 * BEAT


def test_a_peer_that_hands_over_is_replaced_at_once() -> None:
    pair = Pair(1, 0.0)
    assert watched(pair, 2.0, peer=beat(), renewed=SWITCHES) is None
    pair.heard(beat(hands_over=True), 2.0)
    assert pair.look(OURS, SWITCHES, 2.0) is Decision.TAKE_OVER
    assert pair.is_acting


def test_of_several_that_stand_by_one_takes_over_from_a_peer_that_hands_over() -> None:
    def taken(instance: int, other: int, *, reach: frozenset[str] = SWITCHES) -> Decision | None:
        pair = Pair(instance, 0.0)
        pair.heard(beat(hands_over=True, instance=9), 2.0)
        pair.heard(beat(acting=False, instance=other), 2.0)
        return pair.look(OURS, reach, 2.0)

    assert taken(1, other=3) is Decision.TAKE_OVER
    assert taken(3, other=1) is None
    assert taken(1, other=3, reach=frozenset({"s1"})) is None


def test_nobody_takes_over_by_agreement_who_reaches_fewer_switches() -> None:
    pair = Pair(1, 0.0)
    pair.heard(beat(hands_over=True), 2.0)
    assert pair.look(OURS, frozenset({"s1", "s2"}), 2.0) is None


def test_a_handover_needs_a_peer_that_is_alive_and_reaches_all_switches() -> None:
    pair = Pair(1, 0.0, is_acting=True)
    assert pair.obstacle(SWITCHES, 0.0) == "no peer has shown a sign of life for 0.8 s"
    pair.heard(beat(acting=False, reach=frozenset({"s1"})), 1.0)
    assert pair.obstacle(SWITCHES, 1.0) == "no peer is connected to switch s2, s3"
    pair.heard(beat(acting=False, instance=3), 1.0)
    assert pair.obstacle(SWITCHES, 1.0) is None
    assert pair.obstacle(SWITCHES, 1.0 + LEASE) is not None


def test_a_controller_stands_by_when_a_later_one_acts() -> None:
    pair = Pair(1, 0.0, is_acting=True)
    pair.heard(beat(acting=False), 1.0)
    assert pair.look(OURS, SWITCHES, 1.0) is None
    pair.heard(beat(), 1.0)
    assert pair.look(OURS, SWITCHES, 1.0) is Decision.STAND_BY
    assert not pair.is_acting


def test_only_a_controller_that_acts_can_hand_over() -> None:
    standing, acting = Pair(1, 0.0), Pair(1, 0.0, is_acting=True)
    for each in (standing, acting):
        each.hand_over()
    assert (standing.hands_over, acting.hands_over) == (False, True)


def test_a_controller_that_stood_still_watches_for_a_lease_before_it_takes_over() -> None:
    pair = Pair(1, 0.0)
    assert watched(pair, 2.0, peer=beat(), renewed=SWITCHES) is None
    assert pair.look(OURS, SWITCHES, 60.0) is None
    pair.heard(beat(), 60.0)
    assert pair.look(OURS, SWITCHES, 60.0 + BEAT) is None


class PartlyCutOff:
    """Two controllers that do not hear each other, and switches of which each reaches only some."""

    def __init__(self) -> None:
        self.reaches = (("s1", "s2", "s3", "s4"), ("s3", "s4", "s5", "s6"))
        self.pairs = (Pair(1, 0.0), Pair(2, 0.0))
        self.claims = (Claims(1), Claims(2))
        self.ids: dict[str, int] = {}
        self.dead: set[int] = set()
        self.taken: list[float] = []
        self._turns = 0

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / BEAT)):
            self._turns += 1
            for number in {0, 1} - self.dead:
                self._look(number, self._turns * BEAT)

    def _look(self, number: int, now: float) -> None:
        pair, claims, reach = self.pairs[number], self.claims[number], self.reaches[number]
        for switch in reach:
            pair.seen(switch, self.ids.get(switch), now)
        if pair.look(claims.generation, reach, now) is Decision.TAKE_OVER:
            self.taken.append(now)
            claims.begun_anew()
            claims.raised_above([self.ids.get(switch) for switch in reach])
        elif pair.is_acting and any(is_later(self.ids[switch], claims.generation) for switch in reach):
            pair.displaced(now)
        if pair.is_acting:
            self.ids.update(dict.fromkeys(reach, claims.renewed()))


def test_controllers_that_share_half_of_their_switches_and_no_word_take_turns_ever_less_often() -> None:
    both = PartlyCutOff()
    both.run(600.0)
    gaps = [later - earlier for earlier, later in pairwise(both.taken)]
    assert max(gaps[:4]) < 4 * LEASE
    assert LONGEST_WAIT - BEAT < min(gaps[-4:]) <= max(gaps[-4:]) < LONGEST_WAIT + 3 * BEAT
    assert len(both.taken) < 30


def test_a_controller_that_has_lost_often_acts_within_the_lease_when_the_other_is_dead() -> None:
    both = PartlyCutOff()
    both.run(300.0)
    (acting,) = (number for number in (0, 1) if both.pairs[number].is_acting)
    both.dead.add(acting)
    both.run(2 * LEASE)
    assert both.pairs[1 - acting].is_acting


def test_a_controller_that_hears_its_peer_again_forgets_how_often_it_has_lost() -> None:
    pair = Pair(1, 0.0, is_acting=True)
    for turn in range(5):
        pair.displaced(turn * BEAT)
    now = LEASE
    pair.look(OURS, SWITCHES, now)
    pair.heard(beat(acting=False, instance=3), now)
    pair.look(OURS, SWITCHES, now)
    pair.displaced(now)
    for turn in range(1, 20):
        pair.seen("s1", THEIRS + turn, now + turn * BEAT)
        if pair.look(OURS, SWITCHES, now + turn * BEAT) is Decision.TAKE_OVER:
            break
    assert pair.is_acting


def test_a_displaced_controller_watches_for_a_lease_before_it_acts_again() -> None:
    pair = Pair(1, 0.0, is_acting=True)
    pair.displaced(10.0)
    looks = [pair.look(OURS, SWITCHES, 10.0 + turn * BEAT) for turn in range(round(LEASE / BEAT) + 2)]
    assert looks.index(Decision.TAKE_OVER) in (round(LEASE / BEAT), round(LEASE / BEAT) + 1)


@pytest.mark.parametrize("pause", [0.3, 0.45, 0.65, 2.0])
def test_a_controller_that_is_always_late_takes_over_all_the_same(pause: float) -> None:
    pair = Pair(1, 0.0)
    assert watched(pair, 2.0, peer=beat(), renewed=SWITCHES) is None
    looks = [pair.look(OURS, SWITCHES, 2.0 + turn * pause) for turn in range(1, 8)]
    assert Decision.TAKE_OVER in looks
    assert looks.index(Decision.TAKE_OVER) * pause >= LEASE - pause


class Wanderer:
    """Two controllers that hear each other, and a switch that connects to the one that stands by."""

    def __init__(self) -> None:
        self.pairs = (Pair(1, 0.0, process="1"), Pair(2, 0.0, process="2"))
        self.taken: list[float] = []

        self._turns = 0
        self._generations = [OURS, OURS]

    def run(self, seconds: float) -> None:
        generations = self._generations
        for _ in range(round(seconds / BEAT)):
            self._turns += 1
            now = self._turns * BEAT
            acting = next((number for number in (0, 1) if self.pairs[number].is_acting), None)
            reaches = [SWITCHES if number == acting else SWITCHES | {"s4"} for number in (0, 1)]
            for number, pair in enumerate(self.pairs):
                other = self.pairs[1 - number]
                said = Beat(2 - number, other.is_acting, generations[1 - number], reaches[1 - number])
                pair.heard(said, now)
                if pair.look(generations[number], reaches[number], now) is Decision.TAKE_OVER:
                    generations[number] = max(generations) + 1
                    self.taken.append(now)


def test_a_switch_that_connects_to_whoever_stands_by_is_a_reason_for_one_takeover_in_a_minute() -> None:
    both = Wanderer()
    both.run(LONGEST_WAIT)
    assert len(both.taken) == 2, "at first one must act, and then the other reaches more"
    both.run(1000.0)
    gaps = [later - earlier for earlier, later in pairwise(both.taken[1:])]
    assert all(later >= 1.9 * earlier for earlier, later in pairwise(gaps))
    assert len(gaps) <= 5


def test_a_switch_that_the_one_that_acts_loses_is_a_reason_even_just_after_another_one() -> None:
    pair = Pair(1, 0.0)
    assert watched(pair, 5.0, peer=beat(reach=frozenset({"s1", "s2"})), renewed=SWITCHES) is not None
    pair.is_acting = False
    both, now = frozenset({"s2", "s3"}), 5.0
    for turn in range(1, 30):
        pair.heard(beat(reach=both), now + turn * BEAT)
        if pair.look(OURS, SWITCHES, now + turn * BEAT) is Decision.TAKE_OVER:
            break
    assert pair.is_acting


def outsider(*, acting: bool) -> Beat:
    """Return the word of a controller that hears nobody, as nobody lists it."""
    return Beat(7, acting, first_generation(5, 7), SWITCHES, process="outsider", hears=frozenset())


def listed(pair: Pair, now: float, *, acting: bool) -> None:
    pair.heard(Beat(2, acting, THEIRS, SWITCHES, process="listed", hears=frozenset({"us"})), now)


def test_a_controller_that_is_not_listed_does_not_keep_a_listed_one_from_acting() -> None:
    pair = Pair(9, 0.0, process="us")
    for turn in range(1, 50):
        listed(pair, turn * BEAT, acting=True)
        pair.heard(outsider(acting=False), turn * BEAT)
        assert pair.look(OURS, SWITCHES, turn * BEAT) is None
    assert [each.process for each in pair.unlisted(4.9)] == ["outsider"]
    assert not pair.may_lead(outsider(acting=True), 4.9)
    taken = None
    for turn in range(50, 100):
        for switch in SWITCHES:
            pair.seen(switch, first_generation(5, 7) + turn, turn * BEAT)
        pair.heard(outsider(acting=True), turn * BEAT)
        if pair.look(OURS, SWITCHES, turn * BEAT) is Decision.TAKE_OVER:
            taken = turn * BEAT
            break
    assert taken is not None
    assert taken <= 4.9 + LEASE + 3 * BEAT
    pair.heard(outsider(acting=True), taken)
    assert pair.look(OURS, SWITCHES, taken + BEAT) is None, "it goes on acting though the other says that it acts, too"


def test_a_peer_that_has_heard_this_one_counts_although_it_does_not_now() -> None:
    pair = Pair(9, 0.0, process="us")
    for turn in range(1, 100):
        hears = frozenset({"us"}) if turn < 10 else frozenset()
        pair.heard(Beat(2, True, THEIRS, SWITCHES, process="listed", hears=hears), turn * BEAT)
        assert pair.look(OURS, SWITCHES, turn * BEAT) is None


def test_without_a_peer_that_hears_it_a_controller_respects_one_that_does_not() -> None:
    pair = Pair(9, 0.0, process="us")
    for turn in range(1, 100):
        pair.heard(outsider(acting=True), turn * BEAT)
        assert pair.look(OURS, SWITCHES, turn * BEAT) is None
    assert pair.may_lead(outsider(acting=True), 9.9)


def test_a_controller_that_has_never_heard_those_that_act_lets_others_take_over_first() -> None:
    pair = Pair(1, 0.0)
    assert watched(pair, 20.0, renewed=SWITCHES) is None
    assert pair.is_unheard(20.0)
    looks = [pair.look(OURS, SWITCHES, 20.0 + turn * BEAT) for turn in range(1, 40)]
    waited = (looks.index(Decision.TAKE_OVER) + 1) * BEAT
    assert UNHEARD_LEASE - 2 * BEAT <= waited <= UNHEARD_LEASE + 2 * BEAT


def told(number: int, *, process: str = "", hears: frozenset[str] | None = None) -> Beat:
    return Beat(number, False, THEIRS, SWITCHES, process=process or f"{number}", hears=hears)


@pytest.mark.parametrize("witness", ["none", "peer", "switches"])
def test_a_lease_ends_after_just_as_long(witness: str) -> None:
    pair = Pair(1, 0.0)
    if witness == "peer":
        pair.heard(beat(), 0.0)
    elif witness == "switches":
        for switch in SWITCHES:
            pair.seen(switch, THEIRS, 0.0)
    assert [pair.look(OURS, SWITCHES, turn * LEASE / 4) for turn in range(5)] == [None] * 4 + [Decision.TAKE_OVER]


def test_half_of_the_switches_that_are_reached_hold_nobody_back() -> None:
    pair, looks = Pair(1, 0.0), []
    pair.heard(told(2), 0.0)
    for turn in range(1, 30):
        for switch in ("s1", "s2", "s3") if turn < 10 else ("s1", "s3"):
            pair.seen(switch, THEIRS + turn, turn * BEAT)
        looks.append(pair.look(OURS, frozenset({"s1", "s2"}), turn * BEAT))  # s3 is not reached
    taken = looks.index(Decision.TAKE_OVER) * BEAT
    assert 0.9 + LEASE - 2 * BEAT <= taken <= 0.9 + LEASE + BEAT


def test_a_controller_that_reaches_no_switch_does_not_act() -> None:
    pair = Pair(1, 0.0)
    assert {pair.look(OURS, frozenset(), turn * BEAT) for turn in range(50)} == {None}


def test_a_peer_that_is_not_heard_for_ten_seconds_is_forgotten() -> None:
    pair = Pair(1, 0.0)
    pair.heard(told(2), 0.0)
    pair.heard(told(3), 9.9)
    assert pair.hears == {"2", "3"}
    pair.heard(told(3), 10.0)
    assert pair.hears == {"3"}


def test_no_more_than_sixteen_peers_are_known_at_a_time() -> None:
    pair = Pair(1, 0.0)
    for number in range(2, 30):
        pair.heard(told(number), 0.0)
    assert pair.hears == {f"{number}" for number in range(2, 18)}
    pair.heard(told(17, process="another"), 0.0)
    assert pair.hears == {*(f"{number}" for number in range(2, 17)), "another"}


def test_another_process_with_the_number_of_one_that_was_listed_is_not_listed_for_that() -> None:
    pair = Pair(1, 0.0, process="us")
    pair.heard(told(2, process="listed", hears=frozenset({"us"})), 0.0)
    pair.heard(told(2, process="other", hears=frozenset()), 1.0)
    assert [each.process for each in pair.unlisted(1.0 + UNHEARD_LEASE)] == []
    pair.heard(told(2, process="other", hears=frozenset()), 3.0)
    assert [each.process for each in pair.unlisted(1.0 + UNHEARD_LEASE - 0.01)] == []
    assert [each.process for each in pair.unlisted(1.0 + UNHEARD_LEASE)] == ["other"]
    assert [each.process for each in pair.unlisted(3.9)] == []


def test_nobody_is_heard_once_the_last_word_is_ten_seconds_old_and_somebody_has_acted() -> None:
    pair = Pair(1, 0.0)
    pair.heard(told(2), 0.0)
    assert not pair.is_unheard(10.0), "nobody has acted"
    for generation in (THEIRS, THEIRS + 1):
        pair.seen("s1", generation, 0.0)
    assert not pair.is_unheard(9.99)
    assert pair.is_unheard(10.0)
    acting = Pair(1, 0.0, is_acting=True)
    for generation in (THEIRS, THEIRS + 1):
        acting.seen("s1", generation, 0.0)
    assert not acting.is_unheard(10.0), "it is this one that acts"


def test_a_switch_that_no_controller_has_claimed_is_no_witness_any_more() -> None:
    pair = Pair(1, 0.0)
    for generation in (THEIRS, None, THEIRS + 1):
        pair.seen("s1", generation, 0.0)
    assert not pair.is_unheard(10.0)


def test_plans_of_one_that_does_not_list_this_one_are_followed_after_a_while_if_no_peer_is_known() -> None:
    pair = Pair(1, 0.0, process="us")
    word = told(2, hears=frozenset())
    assert pair.may_lead(word, 0.0), "it is not known"
    pair.heard(word, 0.0)
    assert not pair.may_lead(word, UNHEARD_LEASE - 0.01)
    assert pair.may_lead(word, UNHEARD_LEASE)
    pair.heard(told(3, hears=frozenset({"us"})), 0.0)
    assert not pair.may_lead(word, UNHEARD_LEASE)


def test_of_peers_the_one_that_reaches_most_of_our_switches_would_go_on() -> None:
    pair = Pair(1, 0.0, is_acting=True)
    others = frozenset({"s7", "s8", "s9"})
    for number, reach in ((2, others), (3, frozenset({"s1", "s2"})), (4, frozenset({"s1"}))):
        pair.heard(beat(acting=False, instance=number, reach=reach), 0.0)
    assert pair.obstacle(SWITCHES, 0.0) == "no peer is connected to switch s3"


def test_only_peers_that_act_have_generation_ids_that_count() -> None:
    pair = Pair(1, 0.0)
    pair.heard(beat(), 0.0)
    pair.heard(told(3), 0.0)
    assert pair.generations == [THEIRS]

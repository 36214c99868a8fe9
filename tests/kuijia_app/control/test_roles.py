"""A controller claims above what switches have seen, and a switch must have the ports of the plan."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.control.roles import (
    UNDEFINED,
    Claims,
    first_generation,
    is_later,
    misfit,
    room_lacking,
    room_text,
    shortage,
    term_of,
)
from kuijia_app.control.snapshot import Room
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.stated_wiring import StatedWiring, stated
from kuijia_app.tables.wiring import Wiring
from tests.kuijia_app.plans import motivation_plan

WIRING = Wiring(motivation_plan().topology)


def test_a_controller_claims_above_what_a_switch_has_seen() -> None:
    claims = Claims(instance=7)
    assert claims.met("s1", None)
    assert claims.generation == first_generation(1, 7)
    assert claims.met("s2", first_generation(41, 9))
    assert claims.generation == first_generation(42, 7)
    assert claims.met("s1", first_generation(1, 7))
    assert claims.generation == first_generation(42, 7)


def test_ids_by_the_clock_of_earlier_versions_are_below_all_others() -> None:
    claims = Claims(instance=7)
    assert claims.met("s1", 1_795_463_969_000)
    assert claims.generation == first_generation(1, 7)


def test_a_switch_that_has_met_a_later_controller_since_is_no_longer_ours() -> None:
    claims = Claims(instance=7)
    assert claims.met("s1", None)
    assert not claims.met("s1", first_generation(2, 9))


def test_an_earlier_process_with_the_same_number_is_another_controller() -> None:
    claims = Claims(instance=7)
    assert claims.met("s1", first_generation(1, 7))
    assert claims.generation == first_generation(2, 7)
    assert claims.met("s1", first_generation(2, 7))
    assert claims.generation == first_generation(2, 7)


@given(st.integers(0, UNDEFINED), st.integers(0, 0xFFFF))
def test_the_switch_accepts_the_next_id_whatever_it_has_seen(seen: int, instance: int) -> None:
    claims = Claims(instance)
    claims.met("s1", seen)
    assert not is_later(seen, claims.generation)
    assert 0 <= claims.generation < UNDEFINED


HALF = 1 << 63


@pytest.mark.parametrize("lie", [HALF - 1, HALF, HALF - (1 << 48), HALF + 1])
def test_one_switch_that_tells_any_id_does_not_take_the_others_away(lie: int) -> None:
    claims, seen = Claims(instance=7), dict[str, int]()
    for switch in ("s1", "s2", "s3"):
        assert claims.met(switch, None)
        seen[switch] = claims.of(switch)
    liar = (claims.generation + lie) % UNDEFINED
    assert claims.met("liar", liar)
    for _ in range(3):
        for switch in ("s1", "s2", "s3"):
            assert not is_later(seen[switch], claims.of(switch))
            seen[switch] = claims.of(switch)
        assert not is_later(liar, claims.of("liar"))
        liar = claims.of("liar")
        claims.renewed()


def test_one_switch_that_tells_ever_other_ids_does_not_take_the_others_away() -> None:
    claims, random = Claims(instance=7), Random(51)
    for switch in ("s1", "s2", "s3"):
        claims.met(switch, first_generation(40_000, 9))
    seen = {switch: claims.of(switch) for switch in ("s1", "s2", "s3")}
    for _ in range(1000):
        claims.left("liar")
        told = random.getrandbits(64)
        assert claims.met("liar", told)
        assert not is_later(told, claims.of("liar"))
        for switch, before in seen.items():
            assert before == claims.of(switch) or is_later(claims.of(switch), before)
            seen[switch] = claims.of(switch)
        claims.renewed()


def test_at_a_takeover_the_id_is_above_those_of_most_switches_whatever_one_says() -> None:
    told = [first_generation(40_000, 9), first_generation(40_000, 9) + 5, first_generation(7_300, 1)]
    claims = Claims(instance=7)
    claims.begun_anew()
    claims.raised_above(told)
    assert term_of(claims.generation) == 40_001
    for switch, each in zip("abc", told, strict=True):
        assert claims.met(switch, each)
        assert not is_later(each, claims.of(switch))


def test_once_another_controller_has_acted_no_switch_keeps_an_id_of_its_own() -> None:
    claims = Claims(instance=7)
    for switch in ("s1", "s2", "s3"):
        claims.met(switch, None)
    claims.met("liar", (claims.generation + HALF - 1) % UNDEFINED)
    assert claims.of("liar") != claims.generation
    claims.begun_anew()
    assert claims.of("liar") == claims.generation
    assert claims.met("s1", first_generation(9, 9))  # as a new switch, claimed above what it has seen


def test_a_switch_that_was_left_to_another_controller_is_claimed_above_that() -> None:
    claims = Claims(instance=7)
    claims.met("s1", None)
    assert not claims.met("s1", first_generation(5, 9))
    claims.left("s1")
    assert claims.met("s1", first_generation(5, 9))
    assert is_later(claims.of("s1"), first_generation(5, 9))


def test_a_switch_may_have_more_ports_than_the_plan_uses() -> None:
    assert misfit(WIRING, "s2", range(1, 49), is_ours=False) is None


def test_a_switch_that_lacks_ports_is_another_one() -> None:
    assert misfit(WIRING, "s1", [1, 2, 0xFFFFFFFE], is_ours=False) == (
        "has no port 3, 4: the plan expects ports 1 to 4, to s2, s3, s4 and the site's host"
    )


def test_of_several_ports_of_a_site_one_is_enough() -> None:
    found = stated(WIRING)
    ends = found.switches["s1"]
    assert ends.host is not None
    two = StatedWiring("two", {**found.switches, "s1": replace(ends, host=replace(ends.host, more_ports=(9,)))})
    wiring = two.of(WIRING.topology)
    assert misfit(wiring, "s1", [1, 2, 3, 4], is_ours=False) is None
    assert misfit(wiring, "s1", [1, 2, 3, 9], is_ours=False) is None
    assert (misfit(wiring, "s1", [1, 2, 3], is_ours=False) or "").startswith("has no port 4, 9")
    assert (misfit(wiring, "s1", [1, 2, 4, 9], is_ours=False) or "").startswith("has no port 3:")


def test_a_switch_of_ours_that_lacks_a_port_has_lost_it() -> None:
    assert misfit(WIRING, "s1", [1, 2, 4], is_ours=True) is None


def test_a_switch_that_is_full_needs_had_and_has_room_for_so_many() -> None:
    needed = build_tables(motivation_plan(), PipelineOptions())["s1"]
    full = "OFPET_FLOW_MOD_FAILED/OFPFMFC_TABLE_FULL"
    needs = f"it needs {len(needed.flows)} entries and {len(needed.groups)} groups"
    assert shortage(full, needed, 3, 4) == f"{full}: {needs}, and had 3 and 4 of ours when it was read"
    assert room_lacking(full) is Room.OF_ENTRIES
    assert room_lacking("OFPET_GROUP_MOD_FAILED/OFPGMFC_OUT_OF_GROUPS") is Room.OF_GROUPS
    assert room_lacking("OFPET_GROUP_MOD_FAILED/OFPGMFC_CHAINED_GROUP") is None
    assert room_text(Room.OF_ENTRIES, {0: 1000, 7: 2}, needed) == "it has room for 1,000 entries in table 0"
    assert room_text(Room.OF_GROUPS, {0: 9, 1: 12, 3: 0}, needed) == (
        "it has room for 12 groups of type select and 0 groups of type fast failover"
    )
    assert room_text(Room.OF_GROUPS, {}, needed) == "it does not say how much it has room for"

"""A host's offered rate is limited flow by flow."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.traffic.offered_rate import BURST_SECONDS, OfferedRate, offered_rate_commands


def words_after(command: list[str], word: str) -> list[str]:
    return [following for word_here, following in pairwise(command) if word_here == word]


def test_every_flow_has_a_class_with_its_rate_and_a_bounded_queue() -> None:
    commands = offered_rate_commands("h1-eth0", [OfferedRate(20001, 8), OfferedRate(20002, 0.5)], queue_packets=30)
    classes = [command for command in commands if command[0] == "class"]
    assert [words_after(command, "rate") for command in classes] == [["8000000bit"], ["500000bit"]]
    filters = [command for command in commands if command[0] == "filter"]
    assert [words_after(command, "sport") for command in filters] == [["20001"], ["20002"]]
    assert [words_after(command, "flowid") for command in filters] == [["1:1"], ["1:2"]]
    queues = [command for command in commands if command[0] == "qdisc" and "parent" in command]
    assert [words_after(command, "limit") for command in queues] == [["30"], ["30"]]


def test_packets_of_other_flows_pass_unlimited() -> None:
    commands = offered_rate_commands("h1-eth0", [OfferedRate(20001, 8)])
    assert [words_after(command, "default") for command in commands if "default" in command] == [["0"]]


@given(st.floats(0.01, 10_000))
def test_the_token_bucket_holds_a_frame_and_what_the_rate_gives_in_its_time(rate: float) -> None:
    commands = offered_rate_commands("h1-eth0", [OfferedRate(20001, rate)])
    ((burst,),) = [words_after(command, "burst") for command in commands if command[0] == "class"]
    assert int(burst) == pytest.approx(max(1514, rate * 1e6 / 8 * BURST_SECONDS), abs=1)


def test_a_flow_can_have_a_bucket_of_its_own_depth() -> None:
    commands = offered_rate_commands("h1-eth0", [OfferedRate(20001, 8, burst_seconds=0.01)])
    assert [words_after(command, "burst") for command in commands if command[0] == "class"] == [["10000"]]


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
def test_a_rate_must_be_positive(rate: float) -> None:
    with pytest.raises(ValueError, match="from port 20001"):
        offered_rate_commands("h1-eth0", [OfferedRate(20001, rate)])


def test_a_source_port_has_one_rate() -> None:
    with pytest.raises(ValueError, match="2 rates for 1 source ports"):
        offered_rate_commands("h1-eth0", [OfferedRate(20001, 1), OfferedRate(20001, 2)])

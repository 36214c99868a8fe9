"""Frames that a switch did not read are counted from ss's list of its own sockets only."""

from __future__ import annotations

from testbed.links.load_counters import dropped_frames

LISTING = """\
p_raw 832 0 *:s1-eth2  * users:(("ovs-vswitchd",pid=249,fd=38)) skmem:(r832,rb212992,o176,bl0,d3)
p_raw 0 0 *:s1-eth1  * users:(("ovs-vswitchd",pid=249,fd=39)) skmem:(r0,rb212992,o176,bl0,d14)
p_raw 0 0 *:s1-eth1  * users:(("python3",pid=24,fd=9)) skmem:(r0,rb212992,o176,bl0,d100)
p_raw 0 0 *:s1-eth3  * users:(("tcpdump",pid=2490,fd=9))
"""


def test_drops_of_all_sockets_of_the_process_are_added_up() -> None:
    assert dropped_frames(LISTING, 249) == 17


def test_a_process_without_sockets_has_dropped_nothing() -> None:
    assert dropped_frames(LISTING, 2) == 0
    assert dropped_frames("", 249) == 0

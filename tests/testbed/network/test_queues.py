from __future__ import annotations

from dataclasses import replace

import pytest

from kuijia_app.tables.options import Tagging
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.queues import PLAIN_LAYOUT, QueueLayout
from kuijia_base.errors import UnsoundError
from testbed.network.queues import htb_commands, leaf_class, tag_filter_commands


def commands(capacity: float = 20.0) -> list[str]:
    return [" ".join(command) for command in htb_commands("s1-eth1", capacity, PLAIN_LAYOUT, 100)]


def option(command: str, name: str) -> str:
    words = command.split()
    return words[words.index(name) + 1]


def test_every_command_is_for_the_one_interface() -> None:
    assert all(option(command, "dev") == "s1-eth1" for command in commands())


def test_one_root_class_has_the_capacity_and_every_leaf_may_use_all_of_it() -> None:
    root, *leaves = [command for command in commands(12.5) if command.startswith("class")]
    assert option(root, "rate") == option(root, "ceil") == "12500kbit"
    assert [option(leaf, "parent") for leaf in leaves] == [option(root, "classid")] * 3
    assert {option(leaf, "ceil") for leaf in leaves} == {"12500kbit"}


def test_queues_are_served_in_the_order_of_the_layout() -> None:
    leaves = [command for command in commands() if command.startswith("class")][1:]
    assert [(option(leaf, "classid"), option(leaf, "prio")) for leaf in leaves] == [
        (leaf_class(queue), str(priority)) for priority, queue in enumerate(PLAIN_LAYOUT.queues)
    ]


def test_what_is_guaranteed_to_lower_queues_is_nothing_beside_the_capacity() -> None:
    leaves = [command for command in commands(1.0) if command.startswith("class")][1:]
    assert sum(int(option(leaf, "rate").removesuffix("kbit")) for leaf in leaves) < 0.05 * 1000


def test_the_traffic_class_of_a_label_chooses_the_queue() -> None:
    chosen = {}
    for words in tag_filter_commands("s1-eth1", PLAIN_LAYOUT, Tagging.MPLS):
        value, mask = (int(word, 16) for word in words[words.index("match") + 2 :][:2])
        assert mask == 0b111 << 9
        chosen[value >> 9] = option(" ".join(words), "flowid")
    assert chosen == {6: "1:1", 0: "1:2", 1: "1:3"}


def test_ecn_bits_choose_the_queue_where_tunnels_are_tagged_in_the_ip_header() -> None:
    chosen = {}
    for words in tag_filter_commands("s1-eth1", PLAIN_LAYOUT, Tagging.DSCP_ECN):
        if option(" ".join(words), "protocol") == "ip":
            assert words[words.index("match") + 3] == "0x3"
            chosen[int(words[words.index("match") + 2], 16)] = option(" ".join(words), "flowid")
    assert chosen == {2: "1:1", 0: "1:2", 1: "1:3"}


def test_a_layout_without_ecn_bits_cannot_tag_in_the_ip_header() -> None:
    with pytest.raises(UnsoundError, match="queue 'control' has no ECN bits, expected some with tagging dscp-ecn"):
        tag_filter_commands("s1-eth1", LAYOUTS["eight"], Tagging.DSCP_ECN)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_queue_of_a_layout_has_its_leaf_its_place_and_its_filter(layout: QueueLayout) -> None:
    built = [" ".join(command) for command in htb_commands("s1-eth1", 20.0, layout, 100)]
    leaves = [command for command in built if command.startswith("class")][1:]
    expected = [leaf_class(queue) for queue in layout.queues]
    assert [option(leaf, "classid") for leaf in leaves] == expected
    assert [int(option(leaf, "prio")) for leaf in leaves] == list(range(len(expected)))
    filters = [" ".join(command) for command in tag_filter_commands("s1-eth1", layout, Tagging.MPLS)]
    assert [option(command, "flowid") for command in filters] == expected


def test_a_guaranteed_share_is_that_part_of_the_capacity() -> None:
    layout = QueueLayout(
        "own",
        tuple(replace(queue, guaranteed=0.25) if queue.queue_id == 2 else queue for queue in PLAIN_LAYOUT.queues),
        PLAIN_LAYOUT.control,
        PLAIN_LAYOUT.classes,
    )
    built = [" ".join(command) for command in htb_commands("s1-eth1", 20.0, layout, 100)]
    rates = [option(command, "rate") for command in built if command.startswith("class")]
    assert rates == ["20000kbit", "12kbit", "12kbit", "5000kbit"]


def test_what_carries_no_label_is_normal_traffic() -> None:
    assert option(commands()[0], "default") == leaf_class(PLAIN_LAYOUT.classes[0].normal).removeprefix("1:")


def test_every_leaf_drops_at_its_head() -> None:
    leaves = [command for command in commands() if "pfifo_head_drop" in command]
    assert [option(leaf, "parent") for leaf in leaves] == ["1:1", "1:2", "1:3"]
    assert {option(leaf, "limit") for leaf in leaves} == {"100"}


@pytest.mark.parametrize(("capacity", "burst"), [(1.0, 4 * 1522), (20.0, 12_500), (100.0, 62_500)])
def test_a_port_makes_up_for_five_milliseconds_of_a_late_timer(capacity: float, burst: int) -> None:
    root = next(command for command in commands(capacity) if command.startswith("class"))
    assert int(option(root, "burst")) == burst


def test_leaves_of_a_link_with_a_delay_have_room_for_what_is_under_way() -> None:
    built = htb_commands("s1-eth1", 10.0, PLAIN_LAYOUT, 100, delay=0.02)
    leaves = [" ".join(command[6:]) for command in built[1:] if command[0] == "qdisc"]
    assert leaves == ["netem delay 20000us limit 117"] * len(PLAIN_LAYOUT.queues)

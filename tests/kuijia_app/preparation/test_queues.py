from __future__ import annotations

from dataclasses import replace

import pytest

from kuijia_app.preparation.queues import (
    OVS_ROOT_CLASS,
    ROOT_CLASS,
    clearing_commands,
    htb_commands,
    leaf_class,
    qos_arguments,
    qos_settings,
    queue_settings,
    tag_filter_commands,
)
from kuijia_app.tables.options import Tagging
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.queues import PLAIN_LAYOUT, QueueLayout
from kuijia_base.errors import UnsoundError


def commands(capacity: float = 20.0) -> list[str]:
    return [" ".join(command) for command in htb_commands("s1-eth1", capacity, PLAIN_LAYOUT, 100)]


def added_classes(commands: list[str]) -> list[str]:
    return [command for command in commands if command.startswith("class add")]


def option(command: str, name: str) -> str:
    words = command.split()
    return words[words.index(name) + 1]


def test_every_command_is_for_the_one_interface() -> None:
    assert all(option(command, "dev") == "s1-eth1" for command in commands())


def test_one_root_class_has_the_capacity_and_every_leaf_may_use_all_of_it() -> None:
    root, *leaves = added_classes(commands(12.5))
    assert option(root, "rate") == option(root, "ceil") == "12500kbit"
    assert [option(leaf, "parent") for leaf in leaves] == [option(root, "classid")] * 3
    assert {option(leaf, "ceil") for leaf in leaves} == {"12500kbit"}


def test_queues_are_served_in_the_order_of_the_layout() -> None:
    leaves = added_classes(commands())[1:]
    assert [(option(leaf, "classid"), option(leaf, "prio")) for leaf in leaves] == [
        (leaf_class(queue), str(priority)) for priority, queue in enumerate(PLAIN_LAYOUT.queues)
    ]


def test_what_is_guaranteed_to_lower_queues_is_nothing_beside_the_capacity() -> None:
    leaves = added_classes(commands(1.0))[1:]
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
    leaves = added_classes(built)[1:]
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
    rates = [option(command, "rate") for command in added_classes(built)]
    assert rates == ["20000kbit", "12kbit", "12kbit", "5000kbit"]


def test_what_carries_no_label_is_normal_traffic() -> None:
    last = commands()[-1]
    assert last.startswith("filter")
    assert option(last, "flowid") == leaf_class(PLAIN_LAYOUT.classes[0].normal)


def test_every_leaf_drops_at_its_head() -> None:
    leaves = [command for command in commands() if "pfifo_head_drop" in command]
    assert [option(leaf, "parent") for leaf in leaves] == ["1:1", "1:2", "1:3"]
    assert {option(leaf, "limit") for leaf in leaves} == {"100"}


@pytest.mark.parametrize(("capacity", "burst"), [(1.0, 4 * 1522), (20.0, 12_500), (100.0, 62_500)])
def test_a_port_makes_up_for_five_milliseconds_of_a_late_timer(capacity: float, burst: int) -> None:
    root = added_classes(commands(capacity))[0]
    assert int(option(root, "burst")) == burst


def test_leaves_of_a_link_with_a_delay_have_room_for_what_is_under_way() -> None:
    built = htb_commands("s1-eth1", 10.0, PLAIN_LAYOUT, 100, delay=0.02)
    leaves = [" ".join(command[6:]) for command in built[1:] if command[0] == "qdisc"]
    assert leaves == ["netem delay 20000us limit 117"] * len(PLAIN_LAYOUT.queues)


def test_leaves_move_from_the_root_class_of_open_vswitch_to_one_with_a_burst() -> None:
    found = commands()
    root = added_classes(found)[0]
    assert option(root, "classid") == ROOT_CLASS != OVS_ROOT_CLASS
    cleared = [" ".join(command) for command in clearing_commands("s1-eth1", PLAIN_LAYOUT)]
    for queue in PLAIN_LAYOUT.queues:
        assert f"class del dev s1-eth1 classid {leaf_class(queue)}" in cleared
        again = next(each for each in added_classes(found) if option(each, "classid") == leaf_class(queue))
        assert option(again, "parent") == ROOT_CLASS


def test_the_database_sets_the_same_rates_and_bursts_as_tc() -> None:
    """Open vSwitch sets them again at each change of its database."""
    leaves = added_classes(commands())[1:]
    in_database = queue_settings(20.0, PLAIN_LAYOUT.queues)
    assert in_database == {
        queue.queue_id: {
            "min-rate": option(leaf, "rate").replace("kbit", "000"),
            "max-rate": option(leaf, "ceil").replace("kbit", "000"),
            "burst": str(int(option(leaf, "burst")) * 8),
            "priority": option(leaf, "prio"),
        }
        for queue, leaf in zip(PLAIN_LAYOUT.queues, leaves, strict=True)
    }


def test_one_qos_refers_to_every_queue_by_its_id() -> None:
    words = qos_arguments("port", 20.0, PLAIN_LAYOUT.queues, "external_ids:kuijia=1")
    qos, *queues = " ".join(words).removeprefix("-- ").split(" -- ")
    assert qos == (
        "--id=@port create QoS type=linux-htb other_config:max-rate=20000000"
        " queues:0=@port-0 queues:1=@port-1 queues:2=@port-2 external_ids:kuijia=1"
    )
    assert [queue.split()[:3] for queue in queues] == [[f"--id=@port-{n}", "create", "Queue"] for n in (0, 1, 2)]


def test_rates_that_open_vswitch_cannot_hold_are_the_largest_it_can() -> None:
    assert qos_settings(100_000.0) == {"max-rate": str(8 * (2**32 - 1))}

from __future__ import annotations

import pytest

from kuijia_app.queues import PLAIN_LAYOUT
from testbed.queues import htb_commands, label_filter_commands, leaf_class


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
    for words in label_filter_commands("s1-eth1", PLAIN_LAYOUT):
        value, mask = (int(word, 16) for word in words[words.index("match") + 2 :][:2])
        assert mask == 0b111 << 9
        chosen[value >> 9] = option(" ".join(words), "flowid")
    assert chosen == {6: "1:1", 0: "1:2", 1: "1:3"}


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

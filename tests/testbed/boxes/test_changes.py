"""Plans of changes touch only named interfaces, change only what is necessary, and can be undone."""

from __future__ import annotations

from typing import Any

from testbed.boxes.changes import BoxStep, HostPlan, PortPlan, host_steps, switch_steps, wake_steps

REMOVALS = (
    ("remove-cables", "/run/openvswitch", "kuijia"),
    ("remove-bridge", "/run/openvswitch", "kuijia", "kuijia-lab=boxes"),
)


def interface(**changes: object) -> dict[str, Any]:
    usual = {"up": True, "mtu": 1500, "mac": "02:00:00:00:00:01", "gso_max_segs": 65535, "ipv6": False, "offloads": []}
    usual["promiscuous"] = False
    return {**usual, "settings": {"ipv4/conf/eth1/rp_filter": "2"}, **changes}


def facts(**interfaces: dict[str, Any]) -> dict[str, Any]:
    return {"interfaces": interfaces}


def undoing(steps: list[BoxStep]) -> list[str]:
    return [" ".join(command) for step in reversed(steps) for command in step.undo]


def test_what_is_as_it_should_be_is_not_changed() -> None:
    assert [step.do for step in wake_steps(["eth1"], facts(eth1=interface()))] == [()]
    steps = switch_steps([PortPlan("eth1", 1500, "[[], []]")], ("ovs-vsctl",), REMOVALS, facts(eth1=interface()))
    assert [step.do for step in steps] == [(), (), (("ovs-vsctl",),), (("complete-queues", "[[], []]"),)]


def test_what_was_down_and_spoke_ipv6_does_so_again() -> None:
    steps = wake_steps(["eth1.7"], facts(**{"eth1.7": interface(up=False, ipv6=True)}))
    assert undoing(steps) == [
        "ip link set dev eth1.7 down",
        "sysctl -q -w net/ipv6/conf/eth1.7/disable_ipv6=0",
    ]


def test_what_was_up_is_so_again_when_a_cut_has_taken_it_down() -> None:
    assert undoing(wake_steps(["eth1"], facts(eth1=interface()))) == ["ip link set dev eth1 up"]


def test_a_switch_is_put_back_in_reverse_and_its_bridge_even_after_a_restart() -> None:
    found = facts(eth1=interface(mtu=9000, offloads=["gro", "tx"]))
    steps = switch_steps([PortPlan("eth1", 1508, "[[], []]")], ("ovs-vsctl", "add-br"), REMOVALS, found)
    assert undoing(steps) == [
        *(" ".join(removal) for removal in REMOVALS),
        "remove-queues eth1",
        "ip link set dev eth1 promisc off",
        "ethtool -K eth1 gro on",
        "ip link set dev eth1 mtu 9000",
    ]
    assert [step.do for step in steps if step.lasting] == [(), (("ovs-vsctl", "add-br"),)]


def test_a_host_leaves_its_namespace_before_that_is_deleted() -> None:
    plan = HostPlan("kuijia-1", "eth1", 1500, (("link", "set", "lo", "up"),))
    steps = host_steps(plan, facts(eth1=interface(offloads=["tso", "tx"])))
    assert undoing(steps) == [
        "leave-namespace kuijia-1 eth1",
        'restore-settings {"ipv4/conf/eth1/rp_filter": "2"}',
        "remove-namespace kuijia-1 eth1",
        "ip link set dev eth1 gso_max_segs 65535",
        "ethtool -K eth1 tx on",
        "ethtool -K eth1 tso on",
    ]
    assert steps[-1].do == (("ip", "-n", "kuijia-1", "link", "set", "lo", "up"),)


def test_offloads_come_back_after_those_they_need() -> None:
    found = facts(eth1=interface(offloads=["gro", "lro", "tso", "gso", "rx", "tx"]))
    undone = undoing(host_steps(HostPlan("kuijia-1", "eth1", 1500, ()), found))
    back = [command.split()[3] for command in undone if command.startswith("ethtool")]
    assert sorted(back) == sorted(found["interfaces"]["eth1"]["offloads"])
    assert back.index("tx") < back.index("tso")
    assert back.index("rx") < back.index("lro")

from __future__ import annotations

from kuijia_app.tables.queues import PLAIN_LAYOUT
from testbed.machine.ovs import Datapath
from testbed.network.bridges import Bridge, Port, bridge_arguments, controller_arguments

PORTS = (Port("s10-eth1", 1, 1508, 20.0), Port("s10-eth2", 2, 1500, 40.0), Port("s10-eth3", 3, 1508, 20.0))
BRIDGE = Bridge("s10", datapath_id=10, ports=PORTS)
QUEUES = PLAIN_LAYOUT.queues


def commands(arguments: list[str]) -> list[str]:
    return " ".join(arguments).removeprefix("-- ").split(" -- ")


def test_a_bridge_drops_what_it_has_no_entry_for_and_knows_its_lab() -> None:
    added, settings, *_ = commands(bridge_arguments(BRIDGE, Datapath.USERSPACE, "1-abc", QUEUES))
    assert added == "add-br s10"
    assert set(settings.split()) >= {
        "datapath_type=netdev",
        "fail_mode=secure",
        "other_config:datapath-id=000000000000000a",
        "external_ids:kuijia-lab=1-abc",
    }


def test_ports_have_the_numbers_and_sizes_asked_for_and_queues_of_their_rates() -> None:
    said = commands(bridge_arguments(BRIDGE, Datapath.KERNEL, "1-abc", QUEUES))
    ports = said.index("add-port s10 s10-eth1")
    assert said[ports:] == [
        "add-port s10 s10-eth1",
        "set Port s10-eth1 qos=@s10-qos-1",
        "set Interface s10-eth1 ofport_request=1 mtu_request=1508",
        "add-port s10 s10-eth2",
        "set Port s10-eth2 qos=@s10-qos-2",
        "set Interface s10-eth2 ofport_request=2 mtu_request=1500",
        "add-port s10 s10-eth3",
        "set Port s10-eth3 qos=@s10-qos-1",
        "set Interface s10-eth3 ofport_request=3 mtu_request=1508",
    ]
    created = [words.split(" create ") for words in said[2:ports]]
    assert [name for name, _ in created] == [
        f"--id=@s10-qos-{number}{queue}" for number in (1, 2) for queue in ("", "-0", "-1", "-2")
    ]
    assert all(row.endswith(" external_ids:kuijia-lab=1-abc") for _, row in created)


def test_a_bridge_that_hears_nothing_of_its_controller_asks_whether_it_is_there() -> None:
    assert commands(controller_arguments(BRIDGE, 6653)) == [
        "set Bridge s10 controller=@s10-controller",
        '--id=@s10-controller create Controller target="tcp:127.0.0.1:6653" inactivity_probe=5000',
    ]


def test_a_bridge_is_connected_to_several_controllers() -> None:
    assert commands(controller_arguments(BRIDGE, 6653, others=[6654])) == [
        "set Bridge s10 controller=@s10-controller,@s10-controller-2",
        '--id=@s10-controller create Controller target="tcp:127.0.0.1:6653" inactivity_probe=5000',
        '--id=@s10-controller-2 create Controller target="tcp:127.0.0.1:6654" inactivity_probe=5000',
    ]

from __future__ import annotations

from hedera.network.data_centre import DataCentre
from hedera.network.fat_tree import FatTree
from hedera.scheduling.routes import Links
from hedera.scheduling.tables import Cable

WIRING = DataCentre(FatTree(4)).wiring
CABLE = frozenset({"p0e0", "p0a0"})


def described(switch: str, *, without: int | None = None) -> dict[int, bool]:
    return {port: True for port in WIRING.ports(switch) if port != without}


def all_described() -> Links:
    links = Links(WIRING)
    for switch in WIRING.topology.nodes:
        links.ports_described(switch, described(switch))
    return links


def test_nothing_has_failed_until_a_switch_says_so() -> None:
    assert Links(WIRING).take_changed() is None
    assert all_described().take_changed() is None


def test_a_port_that_goes_down_at_one_end_is_a_failed_cable_until_it_is_up_again() -> None:
    links = all_described()
    port = WIRING.port("p0e0", "p0a0")
    links.port_changed("p0e0", port, live=False)
    assert links.take_changed() == frozenset({CABLE})
    assert links.take_changed() is None
    links.port_changed("p0e0", port, live=True)
    assert links.take_changed() == frozenset()


def test_a_port_of_a_host_is_no_cable_of_the_network() -> None:
    links = all_described()
    links.port_changed("p0e0", WIRING.ports("p0e0")[-1], live=False)
    assert links.take_changed() is None


def test_a_missing_port_is_a_failed_cable() -> None:
    links = all_described()
    links.ports_described("p0e0", described("p0e0", without=WIRING.port("p0e0", "p0a0")))
    assert links.take_changed() == frozenset({CABLE})


def test_a_switch_that_is_gone_takes_all_its_cables_with_it_and_brings_them_back() -> None:
    links = all_described()
    links.left("c0")
    assert links.take_changed() == frozenset({frozenset({"c0", f"p{pod}a0"}) for pod in range(4)})
    links.ports_described("c0", described("c0"))
    assert links.take_changed() == frozenset()


def test_a_switch_that_never_came_is_gone_once_all_are_expected() -> None:
    links = Links(WIRING)
    for switch in WIRING.topology.nodes:
        if switch != "c3":
            links.ports_described(switch, described(switch))
    assert links.take_changed() is None
    links.expect_all()
    assert links.take_changed() == frozenset({frozenset({"c3", f"p{pod}a1"}) for pod in range(4)})


def test_a_change_of_a_port_says_nothing_of_a_switch_that_has_described_none() -> None:
    links = Links(WIRING)
    links.port_changed("p0e0", WIRING.port("p0e0", "p0a0"), live=True)
    assert links.take_changed() is None


def cables_of(switch: str) -> frozenset[Cable]:
    return frozenset(frozenset((switch, other)) for other in WIRING.topology.neighbours[switch])


def test_a_cable_that_loses_packets_counts_as_failed_until_it_does_not() -> None:
    links = all_described()
    links.avoid([frozenset({CABLE})])
    assert links.take_changed() == frozenset({CABLE})
    links.avoid([frozenset({CABLE})])
    assert links.take_changed() is None
    links.avoid([])
    assert links.take_changed() == frozenset()


def test_the_last_cable_of_a_switch_is_used_though_it_loses_packets() -> None:
    links = all_described()
    other = frozenset({"p0e0", "p0a1"})
    links.port_changed("p0e0", WIRING.port("p0e0", "p0a1"), live=False)
    links.avoid([frozenset({CABLE})])
    assert links.take_changed() == frozenset({other})
    links.port_changed("p0e0", WIRING.port("p0e0", "p0a1"), live=True)
    assert links.take_changed() == frozenset({CABLE})


def test_of_a_switchs_cables_that_all_lose_packets_the_best_is_used() -> None:
    links = all_described()
    worst, best = frozenset({CABLE}), frozenset({frozenset({"p0e0", "p0a1"})})
    links.avoid([worst, best])
    assert links.take_changed() == worst
    links.avoid([best, worst])
    assert links.take_changed() == best


def test_all_cables_of_a_switch_without_hosts_are_avoided_together() -> None:
    links = all_described()
    links.avoid([cables_of("p0a0"), cables_of("c3")])
    assert links.take_changed() == cables_of("p0a0") | cables_of("c3")


def test_a_switch_that_others_need_keeps_its_cables_though_it_loses_packets() -> None:
    links = all_described()
    links.avoid([cables_of("p0a0"), cables_of("p0a1"), cables_of("p0e0")])
    assert links.take_changed() == cables_of("p0a0")


def test_lossy_cables_between_pods_are_used_if_these_have_no_others() -> None:
    up = [
        frozenset({cable}) for name in ("p0a0", "p0a1") for cable in cables_of(name) if cable & {"c0", "c1", "c2", "c3"}
    ]
    links = all_described()
    links.avoid(up)
    assert links.take_changed() == frozenset().union(*up[:-1])

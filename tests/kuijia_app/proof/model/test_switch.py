"""The model switch clause by clause."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest

from kuijia_app.proof.model.packet import Label, Packet
from kuijia_app.proof.model.switch import Fact, FactSubject, GroupStep, ModelForwarding, ModelSwitch
from kuijia_app.tables.families import Address
from kuijia_app.tables.rules import (
    Bucket,
    FlowEntry,
    Group,
    GroupType,
    Match,
    Output,
    PopLabel,
    PushLabel,
    SetDscp,
    SetEcn,
    SetQueue,
    SwitchTables,
    ToGroup,
)

ETH_TYPE_IPV4, ETH_TYPE_IPV6, ETH_TYPE_MPLS = 0x0800, 0x86DD, 0x8847

PACKET = Packet(8, IPv4Address("10.0.1.1"), IPv4Address("10.0.4.1"))
ANYTHING = Match()


def switch(flows: Iterable[FlowEntry], groups: Iterable[Group] = (), down: Iterable[int] = ()) -> ModelSwitch:
    dead = frozenset(down)
    return ModelSwitch("s", SwitchTables(tuple(groups), tuple(flows)), lambda port: port not in dead)


def failover(group_id: int, *buckets: Bucket) -> Group:
    return Group(group_id, GroupType.FAST_FAILOVER, buckets)


def ports(forwarding: ModelForwarding) -> list[int]:
    return [port for port, _ in forwarding.sent]


def through(group: Group, *others: Group, down: Iterable[int] = (), slot: int = 0) -> ModelForwarding:
    """Return the treatment of a packet that is given to the group."""
    entry = FlowEntry(1, ANYTHING, (ToGroup(group.group_id),))
    packet = Packet(8, PACKET.source, PACKET.destination, slot=slot)
    return switch([entry], [*others, group], down).process(packet)


def test_the_greatest_priority_wins_whatever_the_order_of_the_entries() -> None:
    low, high = FlowEntry(1, ANYTHING, (Output(1),)), FlowEntry(2, Match(in_port=8), (Output(2),))
    assert ports(switch([low, high]).process(PACKET)) == [2]
    assert ports(switch([high, low]).process(PACKET)) == [2]


def test_a_table_miss_drops() -> None:
    done = switch([FlowEntry(1, Match(in_port=2), (Output(1),))]).process(PACKET)
    assert not done.sent
    assert done.problem == "no entry of table 0 matches"


def test_a_miss_in_a_later_table_drops_whatever_has_been_written() -> None:
    done = switch([FlowEntry(1, ANYTHING, written=(Output(1),), goto_table=1)]).process(PACKET)
    assert not done.sent
    assert done.problem == "no entry of table 1 matches"


def test_a_miss_in_a_later_table_executes_what_has_been_written_where_open_vswitch_is_meant() -> None:
    tables = SwitchTables((), (FlowEntry(1, ANYTHING, written=(Output(1),), goto_table=1),))
    assert ports(ModelSwitch("s", tables, lambda _: True, misses_execute=True).process(PACKET)) == [1]


def test_an_entry_takes_the_place_of_one_with_its_match_and_priority() -> None:
    entries = [FlowEntry(1, Match(in_port=8), (Output(port),)) for port in (5, 6)]
    assert ports(switch(entries).process(PACKET)) == [6]


def test_two_entries_of_one_priority_that_both_match_are_told() -> None:
    done = switch([FlowEntry(1, ANYTHING, (Output(1),)), FlowEntry(1, Match(in_port=8), (Output(2),))]).process(PACKET)
    assert done.problem == "2 entries of table 0 match at the same priority"


@pytest.mark.parametrize(
    ("match", "packet", "sent"),
    [
        (Match(eth_type=ETH_TYPE_IPV4, ipv4_dst=IPv4Network("10.0.4.0/24")), {}, [2]),
        (Match(eth_type=ETH_TYPE_IPV4, ipv4_dst=IPv4Network("10.0.5.0/24")), {}, []),
        (Match(eth_type=ETH_TYPE_IPV4, ip_dscp=46), {"dscp": 46}, [2]),
        (Match(eth_type=ETH_TYPE_IPV4, ip_dscp=46, ip_ecn=1), {"dscp": 46}, []),
        (Match(eth_type=ETH_TYPE_IPV4, ip_dscp=46), {"dscp": 46, "labels": (Label(16, 0),)}, []),
        (Match(eth_type=ETH_TYPE_MPLS, mpls_label=16), {"labels": (Label(16, 5), Label(17, 0))}, [2]),
        (Match(eth_type=ETH_TYPE_MPLS, mpls_label=17), {"labels": (Label(16, 5), Label(17, 0))}, []),
        (Match(eth_type=ETH_TYPE_MPLS, mpls_tc=5), {"labels": (Label(16, 5),)}, [2]),
        (Match(eth_type=ETH_TYPE_MPLS, mpls_label=16), {}, []),
    ],
)
def test_fields_match_the_outermost_header(match: Match, packet: dict[str, object], sent: list[int]) -> None:
    arrived = Packet(8, PACKET.source, PACKET.destination, **packet)  # type: ignore[arg-type]  # of several types
    assert ports(switch([FlowEntry(1, match, (Output(2),))]).process(arrived)) == sent


@pytest.mark.parametrize(
    ("inside", "beyond", "source", "destination"),
    [
        (
            IPv4Address("10.1.255.7"),
            IPv4Address("10.2.0.7"),
            Match(eth_type=ETH_TYPE_IPV4, ipv4_src=IPv4Network("10.1.0.0/16")),
            Match(eth_type=ETH_TYPE_IPV4, ipv4_dst=IPv4Network("10.1.0.0/16")),
        ),
        (
            IPv6Address("2001:db8:1::7"),
            IPv6Address("2001:db8:2::7"),
            Match(eth_type=ETH_TYPE_IPV6, ipv6_src=IPv6Network("2001:db8:1::/48")),
            Match(eth_type=ETH_TYPE_IPV6, ipv6_dst=IPv6Network("2001:db8:1::/48")),
        ),
    ],
    ids=["IPv4", "IPv6"],
)
def test_addresses_match_within_their_prefix(
    inside: Address, beyond: Address, source: Match, destination: Match
) -> None:
    ends = [(inside, beyond), (beyond, inside)]
    arrived = [Packet(8, *both, eth_type=source.eth_type or 0) for both in ends]
    of_source, of_destination = (switch([FlowEntry(1, match, (Output(2),))]) for match in (source, destination))
    assert [ports(of_source.process(packet)) for packet in arrived] == [[2], []]
    assert [ports(of_destination.process(packet)) for packet in arrived] == [[], [2]]


def test_nothing_is_output_to_the_port_it_came_in_by() -> None:
    done = switch([FlowEntry(1, ANYTHING, (Output(8),))]).process(PACKET)
    assert not done.sent
    assert done.problem == "no action outputs it to another port"
    assert ports(switch([FlowEntry(1, ANYTHING, (Output(8), Output(2)))]).process(PACKET)) == [2]
    later = [FlowEntry(1, ANYTHING, goto_table=4), FlowEntry(1, ANYTHING, (Output(8),), table_id=4)]
    assert switch(later).process(PACKET).problem == "no action outputs it to another port"
    assert switch([FlowEntry(1, ANYTHING)]).process(PACKET).problem == "the entry drops it"


def test_applied_actions_are_done_in_their_order() -> None:
    entry = FlowEntry(1, ANYTHING, (SetQueue(1), Output(1), PushLabel(16, 1), SetQueue(2), Output(2)))
    (first, plain), (second, labelled) = switch([entry]).process(PACKET).sent
    assert (first, plain.queue, plain.labels) == (1, 1, ())
    assert (second, labelled.queue, labelled.labels) == (2, 2, (Label(16, 1),))


def test_an_action_set_is_executed_in_the_order_of_the_specification() -> None:
    written = (Output(3), SetQueue(2), SetEcn(1), SetDscp(9), PopLabel())
    entries = [FlowEntry(1, ANYTHING, written=written)]
    packet = Packet(8, PACKET.source, PACKET.destination, labels=(Label(16, 0),))
    ((port, sent),) = switch(entries).process(packet).sent
    assert (port, sent.queue, sent.labels, sent.dscp, sent.ecn) == (3, 2, (), 9, 1)


def test_a_later_table_writes_over_what_an_earlier_one_wrote_of_the_same_kind() -> None:
    entries = [
        FlowEntry(1, ANYTHING, written=(Output(3), SetQueue(1)), goto_table=4),
        FlowEntry(1, ANYTHING, table_id=4, written=(SetQueue(2),)),
    ]
    ((port, sent),) = switch(entries).process(PACKET).sent
    assert (port, sent.queue) == (3, 2)


def test_a_group_in_an_action_set_takes_the_place_of_the_output() -> None:
    group = failover(7, Bucket((Output(5),)))
    assert ports(switch([FlowEntry(1, ANYTHING, written=(Output(3), ToGroup(7)))], [group]).process(PACKET)) == [5]


def test_fields_of_the_ipv4_header_cannot_be_set_under_a_label() -> None:
    ((_, sent),) = switch([FlowEntry(1, ANYTHING, (PushLabel(16, 0), SetDscp(9), Output(1)))]).process(PACKET).sent
    assert sent.dscp == 0


def test_what_a_bucket_does_to_a_packet_is_not_seen_after_the_group() -> None:
    group = failover(7, Bucket((PushLabel(16, 0), Output(5))))
    done = switch([FlowEntry(1, ANYTHING, (ToGroup(7), Output(6)))], [group]).process(PACKET)
    assert [(port, len(sent.labels)) for port, sent in done.sent] == [(5, 1), (6, 0)]


@pytest.mark.parametrize(("slot", "port"), [(0, 1), (1, 2), (2, 3), (3, 1)])
def test_a_select_group_uses_the_bucket_of_the_slot(slot: int, port: int) -> None:
    group = Group(7, GroupType.SELECT, tuple(Bucket((Output(port),)) for port in (1, 2, 3)))
    done = through(group, slot=slot)
    assert (ports(done), [(each.group, each.position) for each in done.choices]) == ([port], [(group, port - 1)])


def test_failover_uses_the_first_bucket_whose_port_is_live() -> None:
    group = failover(7, *(Bucket((Output(port),), watch_port=port) for port in (1, 2, 3)))
    assert ports(through(group)) == [1]
    done = through(group, down=[1])
    assert (ports(done), done.choices) == ([2], [])
    (step,) = [step for step in done.steps if isinstance(step, GroupStep)]
    assert step.dead == ("bucket 0: port 1 is down",)
    assert through(group, down=[1, 2, 3]).problem == "no bucket of group 7 is alive"


def test_a_bucket_is_alive_when_its_port_or_its_group_is() -> None:
    watched = failover(8, Bucket((), watch_port=2))
    group = failover(7, Bucket((Output(1),), watch_port=1, watch_group=8), Bucket((Output(3),), watch_port=3))
    assert ports(through(group, watched, down=[1])) == [1]
    assert ports(through(group, watched, down=[2])) == [1]
    assert ports(through(group, watched, down=[1, 2])) == [3]


def test_a_group_is_alive_while_any_of_its_buckets_is_and_an_empty_one_never() -> None:
    group = failover(7, Bucket((Output(1),), watch_group=8), Bucket((Output(3),), watch_port=3))
    two = failover(8, Bucket((), watch_port=4), Bucket((), watch_port=5))
    assert ports(through(group, two, down=[4])) == [1]
    assert ports(through(group, two, down=[4, 5])) == [3]
    assert ports(through(group, failover(8))) == [3]


def test_a_bucket_that_watches_nothing_is_always_alive() -> None:
    assert ports(through(failover(7, Bucket((Output(1),), watch_port=1), Bucket((Output(2),))), down=[1])) == [2]


def test_a_group_that_is_missing_or_leads_to_itself_is_told() -> None:
    assert switch([FlowEntry(1, ANYTHING, (ToGroup(9),))]).process(PACKET).problem == "group 9 does not exist"
    assert through(failover(7, Bucket((ToGroup(7),)))).problem == "group 7 leads to itself"


@pytest.mark.parametrize(("watched", "down", "sent"), [(7, [], [1]), (7, [2], []), (9, [], [2])])
def test_a_bucket_that_watches_no_group_is_dead_and_one_that_watches_its_own_lives_by_the_others(
    watched: int, down: list[int], sent: list[int]
) -> None:
    buckets = Bucket((Output(1),), watch_group=watched), Bucket((Output(2),), watch_port=2)
    assert ports(through(failover(7, *buckets), down=down)) == sent


def test_only_a_group_that_exists_can_be_modified() -> None:
    one = switch([], [failover(7)])
    one.modify_group(failover(7, Bucket((Output(1),))))
    assert one.groups[7].buckets
    with pytest.raises(KeyError):
        one.modify_group(failover(8))


def test_a_packet_depends_on_each_group_and_port_that_is_looked_at_and_on_no_other() -> None:
    watched = failover(2, Bucket((), watch_port=5))
    group = failover(1, Bucket((Output(1),), watch_group=2), Bucket((Output(3),), watch_port=3))
    first = {Fact("s", FactSubject.GROUP, 1), Fact("s", FactSubject.GROUP, 2), Fact("s", FactSubject.PORT, 5)}
    assert through(group, watched).asked == first
    assert through(group, watched, down=[5]).asked == first | {Fact("s", FactSubject.PORT, 3)}

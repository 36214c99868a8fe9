"""Learns the hosts of sites, answers as their gateway, and says which entries deliver to them; pure.

Frames that switches have sent to the controller come in, with the time; frames to be sent and entries to be installed
come out. A host is known by what it says in ARP or neighbour discovery, or answers when it is asked. Nothing is ever
flooded: a question goes out of the ports of the one site that has the address.

Peers send what they like: every table here is bounded, and each port, and all together, have an allowance.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import chain, count

from kuijia_app.control.host_frames import (
    BROADCAST,
    ArpFrame,
    IcmpError,
    Ipv4Frame,
    arp_request,
    echo_reply,
    framed,
    icmp_error,
    is_unicast,
    is_unicast_mac,
    read_frame,
    untagged,
)
from kuijia_app.control.ipv6_frames import (
    Ipv6Frame,
    NeighbourFrame,
    echo_reply_ipv6,
    icmpv6_error,
    is_unicast_ipv6,
    moved_away,
    read_ipv6,
    solicitation,
)
from kuijia_app.control.known_hosts import KnownHost, KnownHosts
from kuijia_app.gate.limits import Allowance
from kuijia_app.tables.families import Address, Prefix, PrefixTable
from kuijia_app.tables.neighbours import (
    GATEWAY_MAC,
    LINK_LOCAL_GATEWAY,
    LONGEST_MEASURED,
    Segment,
    Standing,
    host_entries,
    meters_of,
    outdated_entries,
    standing_entries,
)
from kuijia_app.tables.rules import FlowEntry

QUIET = 300.0
"""Seconds without a word of a host after which it is asked."""

ASKED_EVERY, QUESTIONS = 1.0, 3
"""Seconds between two questions, and how many are unanswered when a host is gone (RFC 1122, section 2.3.2.1)."""

LIFETIME = 3600
"""Seconds for which an entry of a host stays in a switch, unless it is renewed: what a controller that has ended has
left behind ends, too."""

RENEWED = 900.0
"""Seconds after which the entry of a host that is heard of is renewed."""

MOST_HOSTS = 8192
"""Known hosts of a site; one more is not learned."""

MOST_OF_CARD = 1024
"""Addresses of a site with one Ethernet address."""

MOST_SOUGHT = 256
"""Addresses of a site that are asked for at a time."""

MOST_WAITING = 3
"""Packets that wait for one address (RFC 1122, section 2.3.2.2, has one at least)."""

PORT_RATE, PORT_BURST = 100.0, 500.0
"""Frames of a port that are looked at in a second, and at once."""

RATE, BURST = 1000.0, 2000.0
"""The same for all ports together."""

ERRORS_RATE, ERRORS_BURST = 20.0, 50.0
"""Errors of both families that hosts of a site are told of in a second, and at once (RFC 1812, section 4.3.2.8)."""

SETTLED = 1.0
"""Seconds after which a host that has moved to another port is expected to stay there."""

TAKEN = 1.5
"""Seconds after which who has asked whether an address is free answers for it (RFC 4862, section 5.4)."""

_WITH_PORTS = frozenset({6, 17})
"""Protocol numbers of TCP and UDP, for which a gateway has no port."""

_GATEWAY = bytes.fromhex(GATEWAY_MAC.replace(":", ""))
_PUT_OFF = 0.1
_NOBODY = IPv4Address(0)

Said = ArpFrame | NeighbourFrame
"""What a host says of an address, and perhaps asks."""

IpFrame = Ipv4Frame | Ipv6Frame


@dataclass(frozen=True, slots=True)
class FrameOut:
    """A frame to be sent out of a port of a switch, in a VLAN if there is one."""

    switch: str
    port: int
    frame: bytes
    vlan: int | None = None


@dataclass
class NeighbourStep:
    """Actions due now: frames to be sent, and entries to be put on switches or deleted there.

    Attributes:
        lost: those of `put` that the switch should have had, as a packet shows.
    """

    frames: list[FrameOut] = field(default_factory=list)
    put: list[tuple[str, FlowEntry]] = field(default_factory=list)
    deleted: list[tuple[str, FlowEntry]] = field(default_factory=list)
    lost: list[tuple[str, FlowEntry]] = field(default_factory=list)


@dataclass(slots=True)
class _Sought:
    """An address that is asked for; packets from others wait for it, and packets of the gateway's own, as bytes."""

    site: _Site
    address: Address
    due: float
    questions: int = 0
    waiting: list[IpFrame | bytes] = field(default_factory=list)
    askers: list[tuple[int, Said]] = field(default_factory=list)


@dataclass(slots=True)
class _Doubted:
    """A known host that is quiet, or at a port that has gone down."""

    site: _Site
    packed: bytes
    questions: int = 0


@dataclass(slots=True)
class _Moved:
    """A host that has left a port a moment ago, whose neighbours there should hear it; None if it has come back."""

    site: _Site
    packed: bytes
    port: int | None


class _Site:
    """State of one segment."""

    def __init__(self, segment: Segment, now: float) -> None:
        self.segment = segment
        self.hosts = KnownHosts()
        self.doubted: dict[bytes, _Doubted] = {}
        self.sought: dict[Address, _Sought] = {}
        self.moved: dict[bytes, _Moved] = {}
        self.errors = Allowance(ERRORS_RATE, ERRORS_BURST, now)

    def frame(self, port: int, frame: bytes) -> FrameOut:
        """Return a frame for the hosts at a port."""
        return FrameOut(self.segment.switch, port, frame, self.segment.vlan)


class _Switch:
    """The sites of a switch, and what they share."""

    def __init__(self, sites: tuple[_Site, ...], now: float) -> None:
        self.sites = sites
        ports = [port for site in sites for port in site.segment.ports]
        self.allowances = {port: Allowance(PORT_RATE, PORT_BURST, now) for port in ports}
        self.from_tunnels = Allowance(PORT_RATE, PORT_BURST, now)
        self.ignored = 0

    def sender(self, port: int, vlan: int | None) -> _Site | None:
        """Return the site whose hosts send in a VLAN, or without a tag, by a port; None if there is none."""
        its = (site for site in self.sites if port in site.segment.ports and site.segment.vlan == vlan)
        return next(its, None)

    def receiver(self, address: Address) -> _Site | None:
        """Return the site that has an address, None if none here does."""
        return next((site for site in self.sites if site.segment.has(address)), None)


class LearnedHosts:
    """The hosts of all sites. Times are seconds of any clock that nobody sets."""

    def __init__(
        self, segments: Iterable[Segment], prefixes: Iterable[Prefix], now: float, mtu: int | None = None
    ) -> None:
        """Begin with no host known.

        Args:
            segments: the sites whose hosts are learned.
            prefixes: addresses of all sites, also of those whose hosts are not learned.
            now: the time.
            mtu: bytes of the longest packet that is carried to other sites; None if none is too long.
        """
        self._mtu = None if mtu is None or mtu > LONGEST_MEASURED else mtu
        sites: defaultdict[str, list[_Site]] = defaultdict(list)
        for segment in segments:
            sites[segment.switch].append(_Site(segment, now))
        self._switches = {switch: _Switch(tuple(its), now) for switch, its in sites.items()}
        self._all = PrefixTable((prefix, None) for prefix in prefixes)
        owned = ((prefix, site) for site in self._all_sites() for prefix in site.segment.prefixes)
        self._owners: PrefixTable[_Site] = PrefixTable(owned)
        self._allowance = Allowance(RATE, BURST, now)
        self._order = count()
        self._due: list[tuple[float, int, _Sought | _Doubted | _Moved]] = []

    def _all_sites(self) -> Iterator[_Site]:
        return (site for its in self._switches.values() for site in its.sites)

    @property
    def switches(self) -> Collection[str]:
        """The switches whose hosts are learned."""
        return self._switches.keys()

    def standing(self, switch: str) -> Iterator[Standing]:
        """Yield the entries of a switch that stay, whoever is known; none if no hosts there are learned."""
        for site in self._sites(switch):
            yield from standing_entries(site.segment, self._mtu)

    def unmeasured(self, switch: str) -> Iterator[FlowEntry]:
        """Yield entries that measure packets if none here does: another controller may have left some, which stay."""
        for site in self._sites(switch) if self._mtu is None else ():
            yield from (each.entry for each in standing_entries(site.segment, LONGEST_MEASURED) if each.measures)

    def outdated(self, switch: str) -> Iterator[FlowEntry]:
        """Yield entries in the place of those for hosts that a controller with another wiring may have left."""
        for site in self._sites(switch):
            yield from outdated_entries(site.segment)

    def meters(self, switch: str) -> tuple[int, ...]:
        """Return the numbers of the meters of these entries."""
        return tuple(dict.fromkeys(number for site in self._sites(switch) for number in meters_of(site.segment)))

    def _sites(self, switch: str) -> tuple[_Site, ...]:
        its = self._switches.get(switch)
        return () if its is None else its.sites

    def known(self, switch: str) -> int:
        """Return the number of hosts known at a switch."""
        return sum(len(site.hosts) for site in self._sites(switch))

    def ignored(self, switch: str) -> int:
        """Return the number of frames of a switch that were not looked at, as there were too many."""
        return self._switches[switch].ignored

    def entries(self, switch: str) -> Iterator[FlowEntry]:
        """Yield what `entries_of_hosts` does, one after the other."""
        return chain.from_iterable(self.entries_of_hosts(switch))

    def entries_of_hosts(self, switch: str) -> Iterator[tuple[FlowEntry, ...]]:
        """Yield the entries of each host that is known at a switch now; hosts may come, move and go meanwhile."""
        for site in self._sites(switch):
            yield from (tuple(_entries(site, host)) for host in site.hosts)

    def forget(self) -> None:
        """Forget all hosts: another controller has answered them."""
        for site in self._all_sites():
            for each in (site.hosts, site.doubted, site.sought, site.moved):
                each.clear()
        self._due.clear()

    def arrived(self, switch: str, port: int, frame: bytes, now: float) -> NeighbourStep:
        """Take in a frame that a switch has sent to the controller, whatever it is."""
        step, its = NeighbourStep(), self._switches.get(switch)
        if its is None:
            return step
        if not (its.allowances.get(port, its.from_tunnels).take(now) and self._allowance.take(now)):
            its.ignored += 1
            return step
        vlan, own = untagged(frame)
        sender = its.sender(port, vlan)
        if vlan is not None and sender is None:
            return step  # of none of the sites there
        found = read_frame(own) or read_ipv6(own)
        if isinstance(found, ArpFrame | NeighbourFrame):
            if sender is not None:
                self._said(sender, port, found, now, step)
        elif found is not None and not self._is_for_gateway_alone(sender, found, port, now, step):
            # Entries that look for a host at its switch have removed the tag by which its sender would be known.
            self._packet(its.receiver(found.destination) or sender or its.sites[0], found, now, step)
        return step

    def look(self, now: float) -> NeighbourStep:
        """Look at the clock: ask hosts that are quiet and addresses that are sought, and give up those who are gone."""
        step = NeighbourStep()
        for site in self._all_sites():
            for host in site.hosts.take_quiet(now, now + QUIET):  # by then it has answered, or is forgotten
                self._doubt(site, host, 0, now)
        while self._due and self._due[0][0] <= now:
            asked = heapq.heappop(self._due)[-1]
            if isinstance(asked, _Moved):
                self._tell_move(asked, step)
            elif isinstance(asked, _Doubted):
                if asked.site.doubted.get(asked.packed) is asked:  # else it was heard of
                    self._ask_doubted(asked, now, step)
            elif asked.site.sought.get(asked.address) is asked:  # else there was an answer
                self._ask_again(asked, now, step)
        return step

    def port_went_down(self, switch: str, port: int, now: float) -> None:
        """Ask for the hosts at a port of a site that has others: they may be at one of those."""
        for site in self._sites(switch):
            if len(site.segment.ports) > 1:
                for host in site.hosts:
                    if host.port == port:
                        self._doubt(site, host, 1, now)  # the question goes out of all ports

    def port_came_up(self, switch: str, port: int, now: float) -> None:
        """Ask for a router at a port: it may have been replaced by another one, which waits for packets."""
        for site in self._sites(switch):
            router = site.segment.router
            host = None if router is None else site.hosts.get(router.packed)
            if host is not None and host.port == port:
                self._doubt(site, host, 1, now)

    def _doubt(self, site: _Site, host: KnownHost, questions: int, now: float) -> None:
        """Ask for a known host from now on, as if it had been asked so many questions."""
        doubted = site.doubted[host.packed] = _Doubted(site, host.packed, questions)
        heapq.heappush(self._due, (now, next(self._order), doubted))

    def _said(self, site: _Site, port: int, said: Said, now: float, step: NeighbourStep) -> None:
        segment = site.segment
        on_cable = any(said.sender in prefix for prefix in segment.on_cable)
        is_host = on_cable and not (segment.is_gateway(said.sender) or segment.is_broadcast(said.sender))
        if is_host and _is_card(said.sender_mac):
            self._heard(site, said.sender, said.sender_mac, port, now, step)
        known = site.hosts.get(said.target.packed) if said.sender.is_unspecified else None
        is_elsewhere = known is not None and (known.port, known.mac) != (port, said.sender_mac)
        if known is not None and is_elsewhere and known.packed not in site.doubted:
            self._doubt(site, known, 1, now + TAKEN)  # perhaps it has moved
        if not said.is_question or said.target == said.sender or not _is_card(said.sender_mac):
            return
        if self._is_answered(site, port, said, now, step):
            step.frames.append(site.frame(port, said.answer(_GATEWAY)))

    def _is_answered(self, site: _Site, port: int, said: Said, now: float, step: NeighbourStep) -> bool:
        """Return True if a question has the gateway's address as answer."""
        segment = site.segment
        if segment.is_gateway(said.target):
            return True
        if said.sender.is_unspecified:
            return False  # a host asks whether an address is free (RFC 5227, RFC 4862)
        if not segment.has(said.target):
            return self._all.has(said.target)
        host = site.hosts.get(said.target.packed)
        if host is not None:
            return host.port != port
        if any(said.target in prefix for prefix in segment.behind_router):
            return said.sender != segment.router
        if len(segment.ports) > 1:
            self._seek(site, said.target, None, now, step)
            sought = site.sought.get(said.target)
            if sought is not None and len(sought.askers) < MOST_WAITING:
                sought.askers.append((port, said))
        return False  # it is at the same port and answers itself, or is still sought

    def _heard(self, site: _Site, address: Address, mac: bytes, port: int, now: float, step: NeighbourStep) -> None:
        packed = address.packed
        before = site.hosts.get(packed)
        if before is None or before.mac != mac:
            is_full = before is None and len(site.hosts) >= MOST_HOSTS
            if is_full or site.hosts.of_card(mac) >= MOST_OF_CARD:
                return
        has_moved = before is not None and (before.port, before.mac) != (port, mac)
        is_new = before is None or has_moved or now - before.put_at >= RENEWED
        put_at = now if before is None or is_new else before.put_at
        host = KnownHost(packed, mac, port, put_at)
        site.hosts.put(host, now + QUIET)
        site.doubted.pop(packed, None)
        if is_new:
            its = [(site.segment.switch, entry) for entry in _entries(site, host)]
            keys = {(entry.priority, entry.match) for _, entry in its}
            # An earlier controller may have left some of a host that moved while there was none.
            ports = site.segment.ports if before is None else (before.port,)
            old = chain.from_iterable(_entries(site, host._replace(port=each)) for each in ports)
            step.deleted += ((site.segment.switch, each) for each in old if (each.priority, each.match) not in keys)
            if before is not None and before.port != port:
                self._note_move(site, before, now)
            step.put += its
        sought = site.sought.pop(address, None)
        if sought is not None:
            self._answer_seekers(sought, host, step)

    def _note_move(self, site: _Site, before: KnownHost, now: float) -> None:
        """Have the neighbours that a host left behind told of it, unless it comes back at once.

        Then two ports lead to the same cable, and who heard that would believe that two hosts have the address.
        """
        moved = site.moved.get(before.packed)
        if moved is not None:
            moved.port = None
            return
        moved = site.moved[before.packed] = _Moved(site, before.packed, before.port)
        heapq.heappush(self._due, (now + SETTLED, next(self._order), moved))

    @staticmethod
    def _tell_move(moved: _Moved, step: NeighbourStep) -> None:
        site, address = moved.site, ip_address(moved.packed)
        if site.moved.pop(moved.packed, None) is not moved or moved.port is None:
            return
        if isinstance(address, IPv6Address):
            frame = moved_away(address, _GATEWAY)
        else:
            frame = arp_request(_GATEWAY, address, address).frame(BROADCAST)
        step.frames.append(site.frame(moved.port, frame))

    @staticmethod
    def _answer_seekers(sought: _Sought, host: KnownHost, step: NeighbourStep) -> None:
        """Deliver what waited for a host, and answer those at other ports who asked for it."""
        site = sought.site
        for packet in sought.waiting:
            if isinstance(packet, bytes):
                step.frames.append(site.frame(host.port, framed(host.mac, _GATEWAY, packet)))
            else:
                step.frames.append(site.frame(host.port, packet.forwarded(_GATEWAY, host.mac)))
        for asker, said in sought.askers:
            if asker != host.port:
                step.frames.append(site.frame(asker, said.answer(_GATEWAY)))

    @staticmethod
    def _is_for_gateway_alone(
        sender: _Site | None, packet: IpFrame, port: int, now: float, step: NeighbourStep
    ) -> bool:
        """Return True for a packet that no router forwards; those between link-local addresses are answered."""
        if not isinstance(packet, Ipv6Frame):
            return False
        to_gateway = packet.destination == LINK_LOCAL_GATEWAY
        if to_gateway and packet.source.is_link_local and sender is not None and _is_card(packet.source_mac):
            answer = echo_reply_ipv6(packet)
            is_refused = packet.protocol in _WITH_PORTS and packet.may_be_answered
            if is_refused and sender.errors.take(now):
                answer = icmpv6_error(packet, IcmpError.PORT_UNREACHABLE, LINK_LOCAL_GATEWAY)
            if answer is not None:
                step.frames.append(sender.frame(port, framed(packet.source_mac, _GATEWAY, answer)))
        is_local = packet.source.is_link_local or (packet.destination.is_link_local and not to_gateway)
        return is_local or packet.destination.is_multicast

    def _packet(self, site: _Site, packet: IpFrame, now: float, step: NeighbourStep) -> None:
        segment = site.segment
        if segment.is_gateway(packet.destination):
            answer = _echo_reply(packet)
            if answer is not None:
                self._send(packet.source, answer, now, step)
            elif packet.protocol in _WITH_PORTS:
                self._refuse(packet, IcmpError.PORT_UNREACHABLE, now, step)
            return
        if segment.is_broadcast(packet.destination):
            return
        if packet.ttl <= 1:
            self._refuse(packet, IcmpError.TIME_EXCEEDED, now, step)
            return
        hop = segment.next_hop(packet.destination)
        if hop is None:
            self._refuse(packet, self._why_not_carried(packet), now, step)
            return
        host = site.hosts.get(hop.packed)
        if host is None:
            self._seek(site, hop, packet, now, step)
            return
        if now - host.put_at >= ASKED_EVERY:  # the switch has lost its entry
            site.hosts.note_put(host, now)
            lost = [(segment.switch, entry) for entry in _entries(site, host)]
            step.put += lost
            step.lost += lost
        step.frames.append(site.frame(host.port, packet.forwarded(_GATEWAY, host.mac)))

    def _why_not_carried(self, packet: IpFrame) -> IcmpError:
        if not self._all.has(packet.destination):
            return IcmpError.NET_UNREACHABLE
        is_too_long = self._mtu is not None and len(packet.packet) > self._mtu
        return IcmpError.TOO_LONG if is_too_long else IcmpError.PROHIBITED

    def _refuse(self, packet: IpFrame, kind: IcmpError, now: float, step: NeighbourStep) -> None:
        """Report an error to the source of a packet, within limits, from the gateway that it knows."""
        if kind is IcmpError.TOO_LONG and isinstance(packet, Ipv4Frame) and packet.may_be_fragmented:
            return  # its sender expects fragments, which nothing here makes
        home = self._owners.of(packet.source)
        if home is None or not packet.may_be_answered or not home.errors.take(now):
            return
        is_own = kind is IcmpError.PORT_UNREACHABLE
        gateway = packet.destination if is_own else home.segment.gateway_for(packet.source)
        mtu = self._mtu if kind is IcmpError.TOO_LONG else None
        error = None if gateway is None else _error(packet, kind, gateway, mtu or 0)
        if error is not None:
            self._send(packet.source, error, now, step)

    def _send(self, address: Address, packet: bytes, now: float, step: NeighbourStep) -> None:
        """Send a packet of our own to a host; it waits for one that is not known."""
        home = self._owners.of(address)
        hop = None if home is None else home.segment.next_hop(address)
        if home is None or hop is None:
            return  # who has that address is not known
        host = home.hosts.get(hop.packed)
        if host is not None:
            step.frames.append(home.frame(host.port, framed(host.mac, _GATEWAY, packet)))
            return
        self._seek(home, hop, packet, now, step)

    def _seek(
        self, site: _Site, address: Address, packet: IpFrame | bytes | None, now: float, step: NeighbourStep
    ) -> None:
        """Ask for an address, and keep a packet until there is an answer."""
        sought = site.sought.get(address)
        if sought is None:
            is_no_host = site.segment.is_gateway(address) or site.segment.is_broadcast(address)
            if is_no_host or len(site.sought) >= MOST_SOUGHT:
                return
            sought = site.sought[address] = _Sought(site, address, now)
            self._ask_again(sought, now, step)
        if packet is not None and len(sought.waiting) < MOST_WAITING:
            sought.waiting.append(packet)

    def _ask_again(self, sought: _Sought, now: float, step: NeighbourStep) -> None:
        site = sought.site
        if sought.questions >= QUESTIONS:
            del site.sought[sought.address]
            for packet in sought.waiting:
                if not isinstance(packet, bytes):
                    self._refuse(packet, IcmpError.HOST_UNREACHABLE, now, step)
            return
        if self._allowance.take(now):
            sought.questions += 1
            sought.due = now + ASKED_EVERY
            self._question(site, sought.address, None, step)
        else:
            sought.due = now + _PUT_OFF
        heapq.heappush(self._due, (sought.due, next(self._order), sought))

    def _ask_doubted(self, doubted: _Doubted, now: float, step: NeighbourStep) -> None:
        """Ask a known host, or give it up."""
        site, packed = doubted.site, doubted.packed
        host = site.hosts.get(packed)
        if host is None or doubted.questions >= QUESTIONS:
            del site.doubted[packed]
            if host is not None:
                step.deleted += ((site.segment.switch, each) for each in _entries(site, host))
                site.hosts.remove(packed)
            return
        due = now + _PUT_OFF
        if self._allowance.take(now):
            doubted.questions += 1
            due = now + ASKED_EVERY
            self._question(site, ip_address(packed), host if doubted.questions == 1 else None, step)
        heapq.heappush(self._due, (due, next(self._order), doubted))

    @staticmethod
    def _question(site: _Site, address: Address, host: KnownHost | None, step: NeighbourStep) -> None:
        """Ask a known host at its port, or all at all ports."""
        segment, card = site.segment, None if host is None else host.mac
        if isinstance(address, IPv6Address):
            frame = solicitation(_GATEWAY, address, card)
        else:
            asker = segment.gateway_for(address)
            question = arp_request(_GATEWAY, asker if isinstance(asker, IPv4Address) else _NOBODY, address)
            frame = question.frame(card or BROADCAST)
        ports = segment.ports if host is None else (host.port,)
        step.frames += (site.frame(port, frame) for port in ports)


def _echo_reply(packet: IpFrame) -> bytes | None:
    if isinstance(packet, Ipv6Frame):
        return echo_reply_ipv6(packet) if is_unicast_ipv6(packet.source) else None
    return echo_reply(packet) if is_unicast(packet.source) else None


def _error(packet: IpFrame, kind: IcmpError, gateway: Address, mtu: int) -> bytes | None:
    """Return the packet that reports an error; None if the gateway's address is of another family."""
    if isinstance(packet, Ipv4Frame) and isinstance(gateway, IPv4Address):
        return icmp_error(packet, kind, gateway, mtu)
    if isinstance(packet, Ipv6Frame) and isinstance(gateway, IPv6Address):
        return icmpv6_error(packet, kind, gateway, mtu)
    return None


def _is_card(mac: bytes) -> bool:
    return is_unicast_mac(mac) and mac != _GATEWAY


def _entries(site: _Site, host: KnownHost) -> Iterator[FlowEntry]:
    return host_entries(site.segment, ip_address(host.packed), host.mac.hex(":"), host.port)

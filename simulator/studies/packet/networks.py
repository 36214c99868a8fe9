"""Networks of packet studies: generated ones by their names, those of topologies, and their limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor

from kuijia_base.errors import InputError, UnsoundError, quoted, shown
from kuijia_base.text import parse_whole
from simulator.packet.credited import Credited, FlashPass
from simulator.packet.network import Network, PacketLink
from simulator.packet.queues import Fifo, Queueing
from simulator.packet.topologies import Bottleneck, LeafSpine, dumbbell, fat_tree, single_switch
from simulator.packet.transports import Transport
from simulator.packet.units import FASTEST, LONGEST, SLOWEST
from te_solver.model.connectivity import connected_parts
from te_solver.model.topology import Topology

FORMS = ("leaf-spine:LEAVES,SPINES,HOSTS", "fat-tree:PORTS", "dumbbell:PAIRS", "single-switch:HOSTS")

DEFAULT_RATE = 10_000.0
DEFAULT_DELAY = 1e-6
MOST_HOSTS = 10_000
_MOST_SWITCHES = 1000
_MOST_PORTS = 32
_MOST_FABRIC_CABLES = 100_000


@dataclass(frozen=True)
class LinkParameters:
    """Parameters of a network's links; None for the default.

    Attributes:
        rate: Mbit/s of hosts' links. Default: 10,000; in a topology, the total of all links that leave the host's node
            for what the host sends, and of all that enter it for what it receives.
        fabric_rate: Mbit/s of links between switches. Default: as hosts'; a topology defines its own.
        delay: seconds of each link. Default: 1e-6; a topology defines its own, and its hosts' links have none.
    """

    rate: float | None = None
    fabric_rate: float | None = None
    delay: float | None = None


def is_generated(name: str) -> bool:
    """Return True if a name asks for a generated network, even a malformed one."""
    return any(name.partition(":")[0] == form.partition(":")[0] for form in FORMS)


def generated(name: str, links: LinkParameters) -> Network:
    """Return the network of a name such as `leaf-spine:4,4,8`, with unlimited queues.

    Raises:
        InputError: there is no such network.
    """
    kind, _, text = name.partition(":")
    rate, delay = links.rate or DEFAULT_RATE, DEFAULT_DELAY if links.delay is None else links.delay
    fabric = links.fabric_rate or rate
    if kind == "leaf-spine":
        what = ("leaves", "spines", "hosts per leaf", "cables")
        leaves, spines, hosts, *more = _numbers(name, text, what[: 3 + (text.count(",") == 3)], _MOST_SWITCHES)
        cables = more[0] if more else 1
        if leaves * hosts > MOST_HOSTS:
            raise InputError("network", name, f"has {leaves * hosts} hosts", f"at most {MOST_HOSTS}")
        if leaves * spines * cables > _MOST_FABRIC_CABLES:
            problem = f"has {leaves * spines * cables} cables between switches"
            raise InputError("network", name, problem, f"at most {_MOST_FABRIC_CABLES}")
        return LeafSpine(leaves, spines, hosts, rate, fabric, delay, cables).network(Fifo())
    if kind == "dumbbell":
        (pairs,) = _numbers(name, text, ("pairs of hosts",), MOST_HOSTS // 2)
        return dumbbell(pairs, rate, delay, Bottleneck(fabric, delay, Fifo()))
    if links.fabric_rate is not None:
        raise InputError("option", "--fabric-rate", f"given for {quoted(name)}", "leaf-spine or dumbbell")
    if kind == "single-switch":
        (hosts,) = _numbers(name, text, ("hosts",), MOST_HOSTS)
        return single_switch(hosts, rate, delay, Fifo())
    (ports,) = _numbers(name, text, ("ports",), _MOST_PORTS)
    if ports % 2:
        raise InputError("network", name, f"{ports} ports cannot be halved", "an even number")
    return fat_tree(ports, rate, delay, Fifo())


HOST_PREFIX = "h-"
"""Of the name of the host at a node of a topology."""

MOST_NODES = 2000
"""Of a topology file: each has a host, and routes lead to all of them."""


def of_topology(topology: Topology, source: str, links: LinkParameters) -> Network:
    """Return a switch and a host for each node; hosts are numbered like nodes.

    Raises:
        InputError: some nodes are not connected in both directions, there are more than `MOST_NODES`, or one has the
            name of another's host.
    """
    if len(topology.nodes) > MOST_NODES:
        raise InputError(source, "", f"{topology.name} has {len(topology.nodes)} nodes", f"at most {MOST_NODES}")
    _require_connected(topology, source)
    taken = {HOST_PREFIX + node for node in topology.nodes}
    if (twice := next((node for node in topology.nodes if node in taken), None)) is not None:
        problem = f"node {quoted(twice)} has the name of the host at {quoted(twice.removeprefix(HOST_PREFIX))}"
        raise InputError(source, "", problem, "another name")
    network = Network()
    host = {node: network.add_host() for node in topology.nodes}
    switch = {node: network.add_switch() for node in topology.nodes}
    leaving, entering = dict.fromkeys(topology.nodes, 0.0), dict.fromkeys(topology.nodes, 0.0)
    for link in topology.links:
        leaving[link.source] += link.capacity
        entering[link.target] += link.capacity
    for node in topology.nodes:
        network.connect((host[node], switch[node]), links.rate or leaving[node], links.delay or 0.0)
        network.connect((switch[node], host[node]), links.rate or entering[node], links.delay or 0.0)
    for link in topology.links:
        network.connect((switch[link.source], switch[link.target]), link.capacity, link.delay)
    return network


def node_names(network: Network, topology: Topology | None) -> list[str]:
    """Return the names of all nodes: `h0`, `s0` and so on; in a topology each node's name, its host being `h-NODE`."""
    if topology is not None:
        return [*(HOST_PREFIX + node for node in topology.nodes), *topology.nodes]
    hosts = len(network.hosts)
    return [*(f"h{host}" for host in range(hosts)), *(f"s{switch}" for switch in range(network.nodes - hosts))]


def equipped(network: Network, queueing: Callable[[int], Queueing]) -> Network:
    """Return the network with the queueing at all switch outputs, given the number of the switch's inputs."""
    kinds = {inputs: queueing(inputs) for inputs in set(network.inputs)}
    hosts = set(network.hosts)
    links = [
        link if link.source in hosts else replace(link, queueing=kinds[network.inputs[link.source]])
        for link in network.links
    ]
    return replace(network, links=links)


def _require_connected(topology: Topology, source: str) -> None:
    parts = connected_parts(topology)
    if len(parts) > 1:
        problem = f"no path leads from {parts[0][0]} to {parts[1][0]}"
        raise InputError(source, "", problem, "a topology all of whose nodes are connected")
    for link in topology.links:
        if not topology.has_link(link.target, link.source):
            problem = f"there is a link from {link.source} to {link.target} and none back"
            raise InputError(source, "", problem, "links both ways, for data and acknowledgements")
    if len(topology.nodes) < 2:
        raise InputError(source, "", f"has {len(topology.nodes)} nodes", "two or more, to send from one to another")


def _numbers(name: str, text: str, what: Sequence[str], most: int) -> list[int]:
    words = text.split(",")
    if len(words) != len(what) or not all(word.isascii() and word.isdecimal() for word in words):
        form = next(each for each in FORMS if each.partition(":")[0] == name.partition(":")[0])
        raise InputError("network", name, f"lacks {', '.join(what)} after its colon", f"{form} in whole numbers")
    numbers: list[int] = []
    for word, of in zip(words, what, strict=True):
        number = parse_whole(word)
        if number is None or not 1 <= number <= most:
            raise InputError("network", name, f"{shown(word)} {of}", f"1 to {most}")
        numbers.append(number)
    return numbers


MOST_IN_FLIGHT = 20_000_000
"""Most emulation packets or credits that a link may hold: more than a gigabyte, and as much for what comes back."""


@dataclass(frozen=True)
class Checked:
    """A network to be checked.

    Attributes:
        source: the file that says what its links are, or the word `network`.
        place: in the source.
    """

    network: Network
    names: Sequence[str]
    source: str
    place: str = ""


def require_links(checked: Checked, transports: Mapping[str, Transport | Credited], until: float) -> None:
    """Require that every link can be simulated, with each of the transports, until a time in seconds.

    Raises:
        InputError: a link cannot; the message names it, with the limit that holds for it.
    """
    hosts = set(checked.network.hosts)
    links = sorted(checked.network.links, key=lambda link: link.source in hosts or link.target in hosts)
    for name, transport in [("", None), *transports.items()]:
        tried: set[tuple[float, float]] = set()
        for link in links:  # those of hosts last: in a topology they follow from the others
            if (link.rate, link.delay) in tried:
                continue
            tried.add((link.rate, link.delay))
            found = _fault(link) if transport is None else _fault_with(link, name, transport, until)
            if found is not None:
                between = f"link {quoted(checked.names[link.source])} to {quoted(checked.names[link.target])}"
                raise InputError(checked.source, checked.place, f"{between} {found[0]}", found[1])


def _fault(link: PacketLink) -> tuple[str, str] | None:
    """Return the problem with a link and what is expected of it, whatever the transport."""
    if _is_slow(link.rate):
        return f"has a rate of {link.rate:g} Mbit/s", f"at least {SLOWEST:g} Mbit/s"
    if link.rate > FASTEST:
        return f"has a rate of {link.rate:.15g} Mbit/s", f"at most {FASTEST:.0f} Mbit/s"
    if link.delay > LONGEST:
        return f"has a delay of {link.delay:.9g} s", f"at most {LONGEST:.0f} s"
    return None


def _fault_with(link: PacketLink, name: str, transport: Transport | Credited, until: float) -> tuple[str, str] | None:
    """Return the problem with a link and what is expected of it, if the transport has one."""
    if not isinstance(transport, Credited):
        return None
    part = transport.ports.smallest_part
    if _is_slow(link.rate * part):
        return f"has a rate of {link.rate:g} Mbit/s", f"at least {_rounded_up(SLOWEST / part)} Mbit/s with {name}"
    wait = 2 * link.delay
    if isinstance(transport, FlashPass):
        if wait > LONGEST:
            return f"has a delay of {link.delay:.9g} s", f"at most {floor(LONGEST / 2)} s with {name}"
        wait = max(wait, transport.wait or 0.0)
    wait = min(wait, until)
    packets = _in_flight(link.rate, wait, transport)
    if packets > MOST_IN_FLIGHT:
        what = "emulation packets" if isinstance(transport, FlashPass) else "credits"
        product = f"{link.rate:g} Mbit/s x {transport.share:.4g} x {wait:g} s / {transport.control} bytes"
        return f"has {packets:.3g} {what} of {name} in flight, {product}", f"at most {MOST_IN_FLIGHT}"
    return None


def may_wait_too_long(network: Network, transport: FlashPass, until: float) -> bool:
    """Return True unless all delays together keep few emulation packets in flight in the default waiting time."""
    longest = 2 * sum(link.delay for link in network.links)
    return _in_flight(_fastest(network), min(longest, until), transport) > MOST_IN_FLIGHT


def require_default_wait(network: Network, transport: FlashPass, round_trip: float, until: float) -> None:
    """Require that few emulation packets are in flight while FlashPass waits for the largest round trip, in seconds.

    Raises:
        UnsoundError: a host could send too many.
    """
    wait = min(round_trip, until)
    packets = _in_flight(_fastest(network), wait, transport)
    if packets > MOST_IN_FLIGHT:
        product = f"{_fastest(network):g} Mbit/s x {transport.share:.4g} x {wait:g} s / {transport.control} bytes"
        problem = f"in the largest round trip a host sends {packets:.3g} emulation packets, {product}"
        raise UnsoundError(("flashpass", "wait"), problem, f"at most {MOST_IN_FLIGHT}")


def _fastest(network: Network) -> float:
    """Return the rate of the fastest link from a host, in Mbit/s."""
    hosts = set(network.hosts)
    return max(link.rate for link in network.links if link.source in hosts)


def _in_flight(rate: float, wait: float, transport: Credited) -> float:
    return rate * 1e6 * transport.share * wait / (8 * transport.control)


def _is_slow(rate: float) -> bool:
    return round(rate * 1e6) < round(SLOWEST * 1e6)  # as the core counts them


def _rounded_up(rate: float) -> str:
    """Return Mbit/s, to a whole bit/s."""
    return f"{ceil(rate * 1e6 - 1e-6) / 1e6:.6f}".rstrip("0").rstrip(".")

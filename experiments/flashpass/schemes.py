"""The transports that the papers compare, each with the queues that it needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from experiments.results.exhibit import Exhibit
from experiments.results.published import published_numbers
from simulator.packet.credited import CONTROL, DATA, ExpressPass, FlashPass
from simulator.packet.network import Network
from simulator.packet.queues import Fifo
from simulator.packet.transports import Congestion, Tcp, Transport

PUBLISHED = published_numbers("flashpass_credits")
"""All published numbers of the two papers; the file names their sources."""

packet_exhibit = partial(Exhibit, backend="packet", published=PUBLISHED["source"])
"""Returns an exhibit of simulated packets next to published numbers."""

HEADER = 78
"""Bytes of a packet on the wire that are no payload, the same for all transports."""

NAMES = {
    "cubic": "Cubic",
    "expresspass": "ExpressPass",
    "expresspass*": "ExpressPass*",
    "flashpass": "FlashPass",
    "flashpass*": "FlashPass*",
}

PACED = "cubic paced"
"""Cubic that spreads its segments over the round trip, as Linux's does; the papers do not say whether theirs does.

Without pacing, slow start sends each window as a burst at the rate of the link, and bursts of different flows meet in
small buffers. Its window may grow while half of it is in use: a paced window is seldom full.
"""

LABELS = {"cubic": NAMES["cubic"], PACED: "Cubic, paced"} | NAMES

BURSTS = "bursts of slow start meet in small buffers; Cubic needs seconds to grow back (docs/flashpass.md)"
PACED_BY_US = "the paper does not say how Cubic's segments are spread; Linux's pacing is ours (docs/flashpass.md)"
"""Causes of differences of Cubic, plain and paced."""

CUBIC_KEEPS = 0.8
"""Share of its window that Cubic keeps after a loss: beta is 0.2 in FlashPass's Table II, 205 / 1024 in its authors'
public code. RFC 9438 has 0.7."""

BUFFER = 20.0
"""Bytes of data in front of a link per Mbit/s: 20 KB per port and Gbit/s."""


EXPRESSPASS = replace(
    ExpressPass.of_public_code(),
    smallest_credit=ExpressPass().smallest_credit,
    largest_credit=ExpressPass().largest_credit,
    initial_rate=ExpressPass().initial_rate,
    initial_weight=ExpressPass().initial_weight,
    timeout=ExpressPass().timeout,
    early_stop=False,
)
"""ExpressPass by its public code, on which FlashPass's simulation rests, with the papers' first rate and timeout, and
credits of 76 to 92 bytes, as in that code's scripts.

Neither paper ends credits before the last data has left, as that code does: FlashPass's Figure 5 is about that.
"""


def with_printed_credits(transport: ExpressPass) -> ExpressPass:
    """Return the transport with credits of 84 to 92 bytes, as in its paper: data then fills 90.5 % of a link."""
    return replace(transport, smallest_credit=CONTROL, largest_credit=92)


PRINTED = ExpressPass()
"""ExpressPass by its paper's Algorithm 1.

Credits are 84 bytes on average, for which the paper's 94.82 % of data holds; with 84 to 92 bytes it would be 90.5 %.
"""

_CUBIC = Tcp(Congestion.CUBIC, header=HEADER, first_timeout=0.2, cubic_keeps=CUBIC_KEEPS)


def published_name(scheme: str) -> str:
    """Return the name under which published numbers for a scheme are found."""
    return "cubic" if scheme == PACED else scheme


@dataclass(frozen=True)
class TransportScheme:
    """A transport and the network for it.

    Attributes:
        buffer: bytes of data that wait at a port, per Mbit/s of its link; None for no limit.
    """

    transport: Transport
    buffer: float | None = BUFFER

    @classmethod
    def of(cls, name: str) -> TransportScheme:
        """Return the scheme of this name, with the paper's parameters."""
        early = name.endswith("*")
        if name == "cubic":
            return cls(_CUBIC)
        if name == PACED:
            return cls(replace(_CUBIC, paced=True, grows_from=0.5))
        return cls(replace(EXPRESSPASS, early=early) if name.startswith("expresspass") else FlashPass(early=early))

    def on(self, network: Network) -> Network:
        """Return the network with this scheme's queues; TCP has one queue at each output of a switch."""
        if not isinstance(self.transport, FlashPass | ExpressPass):
            return self._with_tail_drop(network)
        ports = self.transport.ports
        if self.buffer is None:
            return ports.on(network, Fifo().limit)
        return replace(ports, buffer=self.buffer).on(network)

    def _with_tail_drop(self, network: Network) -> Network:
        hosts = set(network.hosts)
        queues = {
            rate: Fifo() if self.buffer is None else Fifo(max(DATA, round(self.buffer * rate)))
            for rate in {link.rate for link in network.links}
        }
        links = [link if link.source in hosts else replace(link, queueing=queues[link.rate]) for link in network.links]
        return replace(network, links=links)

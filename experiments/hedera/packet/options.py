"""Options of Hedera's experiments in the packet model: buffers, delays, TCP."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from experiments.experiment import Options, refuse_given
from kuijia_base.option_values import positive_number_within
from kuijia_base.sweep.workers import refuse_workers
from simulator.packet.transports import Congestion, Tcp

_CONTROLS = (Congestion.CUBIC, Congestion.NEW_RENO)
_INITIAL_WINDOW = 3
"""Segments: Linux had RFC 3390's window until 2011."""

_BUFFERS = (1.5, 1e6)
"""KB: a full packet must fit."""

_DELAYS, _MESSAGE_DELAYS = (1e-3, 1e6), (1e-3, 1e4)
"""Microseconds and milliseconds."""


@dataclass(frozen=True)
class PacketOptions:
    """Properties of a simulated network.

    Attributes:
        buffer: kilobytes of the queue at each output of a switch.
        delay: microseconds of each cable, with the switch or host at its end.
        tcp: congestion control.
        message_delay: milliseconds of a message between scheduler and switch, one way.
        host_part: share of its cable at which a host sends and receives.
    """

    buffer: float = 128.0
    delay: float = 20.0
    tcp: str = Congestion.CUBIC.value
    message_delay: float = 1.0
    host_part: float = 1.0

    @property
    def transport(self) -> Tcp:
        """TCP as in the authors' Linux: SACK, delayed acknowledgements, timeouts of at least 200 ms."""
        return Tcp(Congestion(self.tcp), handshake=True, ack_every=2, initial_window=_INITIAL_WINDOW)


_DEFAULT = PacketOptions()


def configure_packets(options: Options) -> None:
    options.add_argument(
        "--switch-buffer",
        type=positive_number_within(*_BUFFERS, "{:g} to {:g} KB".format(*_BUFFERS)),
        default=_DEFAULT.buffer,
        metavar="KB",
        help="queue at each output of a switch (default: %(default)g, a port's part of a commodity switch's memory)",
    )
    options.add_argument(
        "--cable-delay",
        type=positive_number_within(*_DELAYS, "{:g} to {:g} microseconds".format(*_DELAYS)),
        default=_DEFAULT.delay,
        metavar="US",
        help="microseconds of each cable with what is at its end, 12 of them in a round trip (default: %(default)g)",
    )
    options.add_argument(
        "--tcp",
        choices=[each.value for each in _CONTROLS],
        default=_DEFAULT.tcp,
        help="congestion control (default: %(default)s, as in Linux)",
    )
    options.add_argument(
        "--message-delay",
        type=positive_number_within(*_MESSAGE_DELAYS, "{:g} to {:g} milliseconds".format(*_MESSAGE_DELAYS)),
        default=_DEFAULT.message_delay,
        metavar="MS",
        help="milliseconds of a message between scheduler and switch, one way (default: %(default)g)",
    )


def packet_options_from(args: argparse.Namespace) -> PacketOptions:
    return PacketOptions(args.switch_buffer, args.cable_delay, args.tcp, args.message_delay)


def refuse_packet_options(args: argparse.Namespace, backend: str) -> None:
    """Raise InputError if options of the packet backend were given for another one."""
    refuse_workers(args, f"changes nothing on {backend}", ["those with --backend packet"])
    refuse_given(args, configure_packets, f"changes nothing on {backend}", "packet")

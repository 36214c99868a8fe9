"""Whether a run on Gscale can be believed, told from what its flows got; pure."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.gscale.loss_figures import role_loss
from experiments.result import FlowResult
from testbed.iperf import UDP_FRAME, UDP_PAYLOAD

CARRIED = 0.98
"""Of what is planned, what has to get through before the failure."""

UNREACHED_LOSS = 0.01
"""Of flows that a failure does not reach, at most: they are the control group."""

TCP_PAYLOAD, TCP_FRAME = 1448, 1514
"""Bytes: with time stamps, and of the Ethernet frame without checksum."""

_PAYLOAD_SHARE = {"tcp": TCP_PAYLOAD / TCP_FRAME, "udp": UDP_PAYLOAD / UDP_FRAME}


def uncarried(flows: Sequence[FlowResult]) -> tuple[str, ...]:
    """In words, how the network failed to carry before the failure what was planned on it."""
    planned = sum(flow.offered * _PAYLOAD_SHARE[flow.protocol] for flow in flows)
    carried = sum(flow.before for flow in flows)
    if carried >= CARRIED * planned:
        return ()
    return (f"before the cut {carried:.1f} of {planned:.1f} Mbit/s planned got through, less than {CARRIED:.0%}",)


def disturbed(flows: Sequence[FlowResult]) -> tuple[str, ...]:
    """In words, what flows lost that share no link with any whose rate the failure changes: something else took it."""
    lost = role_loss([flow for flow in flows if flow.role == "aboriginal"])
    if lost is None or lost <= UNREACHED_LOSS:
        return ()
    return (f"flows that the failure does not reach lost {lost:.1%}, more than {UNREACHED_LOSS:.0%}",)

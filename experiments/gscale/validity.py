"""Judges the validity of a run on Gscale by the goodput of its flows; pure."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.gscale.loss_figures import role_loss
from experiments.results.result import FlowResult
from testbed.traffic.iperf import UDP_FRAME, UDP_PAYLOAD

CARRIED = 0.98
"""Share of the planned traffic that must get through before the failure."""

UNREACHED_LOSS = 0.01
"""Largest loss of flows that the failure does not reach: they are the control group."""

TCP_PAYLOAD, TCP_FRAME = 1448, 1514
"""Bytes of payload, with time stamps, and of the Ethernet frame without checksum."""

_PAYLOAD_SHARE = {"tcp": TCP_PAYLOAD / TCP_FRAME, "udp": UDP_PAYLOAD / UDP_FRAME}


def uncarried(flows: Sequence[FlowResult]) -> tuple[str, ...]:
    """Return reasons, in words, if the network did not carry the planned traffic before the failure."""
    planned = sum(flow.offered * _PAYLOAD_SHARE[flow.protocol] for flow in flows)
    carried = sum(flow.before for flow in flows)
    if carried >= CARRIED * planned:
        return ()
    return (f"before the cut {carried:.1f} of {planned:.1f} Mbit/s planned got through, less than {CARRIED:.0%}",)


def disturbed(flows: Sequence[FlowResult]) -> tuple[str, ...]:
    """Return reasons, in words, if flows lost that the failure cannot affect: something else disturbed the run."""
    lost = role_loss([flow for flow in flows if flow.role == "aboriginal"])
    if lost is None or lost <= UNREACHED_LOSS:
        return ()
    return (f"flows that the failure does not reach lost {lost:.1%}, more than {UNREACHED_LOSS:.0%}",)

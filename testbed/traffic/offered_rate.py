"""Limits the offered rate of each flow of a host by tc, as the paper did (section 5.1).

A rate counts whole Ethernet frames without checksum, as tc does: a TCP frame of 1514 bytes delivers 1448 of them, so an
offered 400 Mbit/s is a goodput of 382 (the paper measured 380).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.network.lab_network import SiteHost

QUEUE_PACKETS = 100
"""Length of a flow's queue. A TCP sender keeps two packets in it (TCP small queues), a UDP sender overruns it."""

_FRAME = 1514
PACED_SECONDS = 0.005
"""Depth in seconds of a UDP flow's token bucket, whose program sends in bursts: tc spaces them evenly."""

BURST_SECONDS = 0.5
"""Depth in seconds of a TCP flow's token bucket, which lets it catch up after a loss. Without that a limited TCP flow
that shares a queue with an unlimited one gets less than its fair share, as it can fall below its limit but never rise
above it."""

_MAX_CLASSES = 0xFFFE


@dataclass(frozen=True, slots=True)
class OfferedRate:
    """Rate limit of the flow with this TCP or UDP source port: `rate` Mbit/s, and `burst_seconds` to catch up."""

    source_port: int
    rate: float
    burst_seconds: float = BURST_SECONDS


def offered_rate_commands(
    interface: str, rates: Sequence[OfferedRate], queue_packets: int = QUEUE_PACKETS
) -> list[list[str]]:
    """Return the tc commands that limit flows leaving a host through `interface`; other packets pass unlimited.

    Raises:
        ValueError: a rate is not positive, a source port is given twice, or there are more flows than tc has classes.
    """
    ports = [offered.source_port for offered in rates]
    if len(set(ports)) < len(ports) or len(ports) > _MAX_CLASSES:
        raise ValueError(f"{len(ports)} rates for {len(set(ports))} source ports, tc takes {_MAX_CLASSES} at most")
    root = ["qdisc", "replace", "dev", interface, "root"]
    # HTB cannot be changed in place, so a plain queue replaces its predecessor first. The default class 0 does not
    # exist:
    # packets that match no filter are sent at once (tc-htb(8)).
    commands = [[*root, "pfifo"], [*root, "handle", "1:", "htb", "default", "0"]]
    for number, offered in enumerate(rates, start=1):
        if not offered.rate > 0:
            raise ValueError(f"the flow from port {offered.source_port} is offered {offered.rate} Mbit/s")
        bits = round(offered.rate * 1e6)
        burst = max(_FRAME, round(bits / 8 * offered.burst_seconds))
        class_id = f"1:{number:x}"
        commands += [
            [
                *("class", "add", "dev", interface, "parent", "1:", "classid", class_id, "htb"),
                *("rate", f"{bits}bit", "burst", str(burst), "cburst", str(burst), "quantum", str(_FRAME)),
            ],
            ["qdisc", "add", "dev", interface, "parent", class_id, "pfifo", "limit", str(queue_packets)],
            [
                *("filter", "add", "dev", interface, "parent", "1:", "protocol", "ip", "prio", "1", "u32"),
                *("match", "ip", "sport", str(offered.source_port), "0xffff", "flowid", class_id),
            ],
        ]
    return commands


def limit_offered_rates(host: SiteHost, rates: Sequence[OfferedRate]) -> None:
    """Apply `offered_rate_commands` in a host, replacing earlier limits; it sends single frames from then on.

    Raises:
        TestbedError: tc refuses.
    """
    commands = offered_rate_commands(host.interface, rates)
    # Otherwise TCP would hand tc up to 64 kB at once. A switch whose leaves drop at the head loses other flows' packets
    # to
    # such bursts and never those of the flow that sends them: a flow of 0.8 links then yields nothing to one of 0.4.
    host.batch("ip", [["link", "set", "dev", host.interface, "gso_max_segs", "1"]])
    host.batch("tc", commands)

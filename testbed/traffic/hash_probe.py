"""Finds flows that the ingress switch hashes to wanted tunnels, by sending packets and watching them.

A probe is a real packet of the future flow: same addresses, protocol, ports and code point. It leaves the ingress host
like a user's traffic, and is seen on the core ports of the ingress switch with its label and traffic class. This needs
no knowledge of the switch's hash function or tables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kuijia_base.errors import TestbedError
from testbed.links.label_observer import EgressFlowKey, IngressMark, ProbeError
from testbed.machine.programs import StartedProgram
from testbed.network.lab_network import LabelWatch, SiteHost
from testbed.traffic import probe_sender

PROBE_TIMEOUT = 15.0
"""Seconds after which a probe that was never seen is a fault."""

_ROUND_SECONDS = 1.0
"""Seconds to wait for probes before lost ones are sent again."""

_ANSWER_SECONDS = 0.5
"""Seconds that the sender waits for connections to be refused."""

_SENDER_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class TunnelFlowWish:
    """A flow that should use the tunnel with `path_id`, and the one with `path_id_after` while a given link is down."""

    name: str
    path_id: int
    path_id_after: int


def choose_flows(
    wishes: Iterable[TunnelFlowWish],
    candidates: Mapping[str, Sequence[EgressFlowKey]],
    before: Mapping[EgressFlowKey, IngressMark],
    after: Mapping[EgressFlowKey, IngressMark],
) -> dict[str, EgressFlowKey]:
    """Return for every wish its first candidate that fulfils it; wishes without one are missing.

    Marks `before` are those with all links up, marks `after` those with the link down.
    """
    chosen = {}
    for wish in wishes:
        for flow in candidates[wish.name]:
            if before[flow].label == wish.path_id and after[flow].label == wish.path_id_after:
                chosen[wish.name] = flow
                break
    return chosen


def probe_marks_seen_by(
    observe: Callable[[], LabelWatch],
    host: SiteHost,
    address: str,
    flows: Iterable[EgressFlowKey],
    timeout: float = PROBE_TIMEOUT,
) -> dict[EgressFlowKey, IngressMark]:
    """Send a packet of every flow from `host` and return the marks that the ingress switch gives them.

    Args:
        observe: starts watching the core ports of the ingress switch.
        host: of the ingress site.
        address: of the egress site's host.
        flows: all of one protocol; their source addresses are the host's.
        timeout: seconds in which probes that are not seen are sent again.

    Returns:
        The mark of each flow, except those whose source address and port are in use at the host.

    Raises:
        ProbeError: some probes were never seen.
    """
    unseen = list(dict.fromkeys(flows))
    if not unseen:
        return {}
    seen: dict[EgressFlowKey, IngressMark] = {}
    deadline = time.monotonic() + timeout
    with observe() as observer:
        while unseen:
            if time.monotonic() > deadline:
                raise ProbeError(
                    f"{len(unseen)} of {len(unseen) + len(seen)} probes from {host.name} to {address} were not seen to"
                    f" leave its switch within {timeout:g} s"
                )
            sender = host.launch_python(Path(probe_sender.__file__), _sender_arguments(address, unseen))
            seen.update(observer.watch(unseen, _ROUND_SECONDS))
            taken = _sources_in_use(sender, host.name)
            unseen = [flow for flow in unseen if flow not in seen and flow.source not in taken]
    return seen


def _sender_arguments(address: str, flows: Sequence[EgressFlowKey]) -> list[str]:
    (protocol,) = {flow.protocol for flow in flows}
    probes = [f"{flow.source_address}:{flow.source_port}:{flow.server_port}:{flow.code_point}" for flow in flows]
    return [protocol, address, f"{_ANSWER_SECONDS:g}", *probes]


def _sources_in_use(sender: StartedProgram, host_name: str) -> set[tuple[str, int]]:
    try:
        status = sender.wait(_SENDER_TIMEOUT)
        output = sender.output()
    except TestbedError as error:
        raise ProbeError(f"the sender of probes on {host_name}: {error}") from error
    finally:
        sender.stop()
    if status != 0:
        raise ProbeError(f"the sender of probes on {host_name} failed with exit status {status}")
    return {(address, int(port)) for address, _, port in (line.partition(":") for line in output.split())}

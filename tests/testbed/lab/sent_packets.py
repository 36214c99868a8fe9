"""Counts the packets of pings by port and queue, and leaves out the probes of links that go with them."""

from __future__ import annotations

from collections import Counter

from testbed.lab.lab import Lab

PINGS = 10
"""More than the probes that a link carries meanwhile: at most two frames every 1.5 s."""

_Queue = tuple[str, str]


def sent(lab: Lab, target: str = "10.0.4.1", tos: str = "0x00") -> Counter[_Queue]:
    """Return packets sent by s1's ports, by neighbour and queue, while its host pinged a target with a TOS byte."""

    def totals() -> Counter[_Queue]:
        queues = [queue for queue in lab.status()["queues"] if queue["switch"] == "s1"]
        return Counter({(queue["to"], queue["queue"]): queue["sent_packets"] for queue in queues})

    source = lab.emulated_network.host("s1")
    source.run(["ping", "-c", "3", "-i", "0.2", "-Q", tos, target], timeout=30)  # caches are empty
    before = totals()
    answer = source.run(["ping", "-c", str(PINGS), "-i", "0.02", "-Q", tos, target], timeout=30)
    assert f"{PINGS} received" in answer.stdout
    return without_probes(totals() - before, lab.emulated_network.options.layout.control.name)


def without_probes(counted: Counter[_Queue], control: str) -> Counter[_Queue]:
    """Return the counts without the probes in the queues of control traffic; all others stay as they are."""
    probes = Counter({each: count % PINGS for each, count in counted.items() if each[1] == control})
    return counted - probes

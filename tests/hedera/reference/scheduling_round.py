"""Reference of the flow book: counters in a dictionary for each switch."""

from __future__ import annotations

import numpy as np

from hedera.network.fabric import HASHED, Ints, Vector
from hedera.placement.scheduling_round import PollReply

_SHORTEST = 1e-3


class FlowBook:
    """The kernel's flow book, for valid polls."""

    def __init__(self) -> None:
        self._known: dict[int, dict[int, tuple[int, int]]] = {}
        self._time: dict[int, float] = {}
        self._last: list[tuple[int, int]] = []

    def read(self, poll: PollReply) -> tuple[Vector, Ints]:
        rates, labels = np.zeros(poll.key.size), np.full(poll.key.size, HASHED, np.int32)
        self._last = []
        for number, switch in enumerate(poll.switches.tolist()):
            known, entries = self._known.get(switch, {}), {}
            elapsed = poll.time - self._time.get(switch, poll.time)
            for flow in range(int(poll.first[number]), int(poll.first[number + 1])):
                key, sent = int(poll.key[flow]), int(poll.sent[flow])
                was, label = known.get(key, (None, HASHED))
                if was is not None and sent >= was:
                    passed, seconds = sent - was, elapsed
                elif was is not None:
                    passed, seconds = sent, min(float(poll.age[flow]), elapsed)
                else:
                    passed, seconds = sent, float(poll.age[flow])
                rates[flow] = passed * 8e-6 / max(seconds, _SHORTEST)
                labels[flow] = label
                entries[key] = (sent, label)
                self._last.append((switch, key))
            self._known[switch], self._time[switch] = entries, poll.time
        return rates, labels

    def note(self, labels: Ints) -> None:
        for (switch, key), label in zip(self._last, labels.tolist(), strict=True):
            self._known[switch][key] = self._known[switch][key][0], label

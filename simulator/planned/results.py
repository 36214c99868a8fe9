"""Results of a run: what flows got and lost in each window of time, and what queues sent and dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.packet.results import FlowResults, LinkResults, Totals


@dataclass(frozen=True, eq=False)
class Windows:
    """Counts of F flows, and of Q queues at each of L outputs, in W windows.

    Attributes:
        edges: seconds at which windows begin, and the last one ends, shape (W + 1,).
        goodput: bytes as in `FlowResults`, shape (W, F).
        sent, arrived, dropped: data packets, by queues, links and tables, shape (W, F).
        reordered: as in `FlowResults`, shape (W, F).
        queue_sent: bytes, shape (W, L, Q).
        queue_dropped: packets dropped for lack of room, shape (W, L, Q).
        link_lost: packets that came to a failed link, were on it, or were not forwarded after it, shape (W, L).
    """

    edges: NDArray[np.float64]
    goodput: NDArray[np.int64]
    sent: NDArray[np.int64]
    arrived: NDArray[np.int64]
    dropped: NDArray[np.int64]
    reordered: NDArray[np.int64]
    queue_sent: NDArray[np.int64]
    queue_dropped: NDArray[np.int64]
    link_lost: NDArray[np.int64]

    @property
    def goodput_rates(self) -> NDArray[np.float64]:
        """Goodput in Mbit/s, shape (W, F)."""
        return self.goodput * 8e-6 / np.diff(self.edges)[:, np.newaxis]

    @property
    def losses(self) -> NDArray[np.float64]:
        """Share of the packets sent or dropped in a window that was dropped, shape (W, F); 0 without any."""
        return self.dropped / np.maximum(np.maximum(self.sent, self.dropped), 1)

    @property
    def queue_rates(self) -> NDArray[np.float64]:
        """Mbit/s that each queue has sent, shape (W, L, Q)."""
        return self.queue_sent * 8e-6 / np.diff(self.edges)[:, np.newaxis, np.newaxis]


@dataclass(frozen=True, eq=False)
class PlanResults:
    """The results of a run until now.

    Attributes:
        windows: counts by window of time.
        outputs: switch and neighbour of each of the L outputs; the neighbour is the switch itself for its hosts.
        queues: names of the Q queues, in the order of service.
        flows, links, totals: of the packet model.
        progress: time in seconds, name of a change of plan, and its state: live, done or refused.
        damped: time in seconds, switch and port: the controller begins to hold a flapping port down.
    """

    windows: Windows
    outputs: Sequence[tuple[str, str]]
    queues: Sequence[str]
    flows: FlowResults
    links: LinkResults
    totals: Totals
    progress: Sequence[tuple[float, str, str]]
    damped: Sequence[tuple[float, str, int]]

    def output(self, switch: str, neighbour: str) -> int:
        """Return the place of an output among the L; raises ValueError if there is none."""
        return list(self.outputs).index((switch, neighbour))

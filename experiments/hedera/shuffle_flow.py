"""The shuffle by the flow model: TCP shares links as in `experiments.hedera.goodput`, rounds place elephants."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from experiments.hedera.goodput import non_blocking, tcp_goodput
from experiments.hedera.shuffle import ShuffleOptions, receivers_of
from experiments.hedera.testbed import ECMP, NON_BLOCKING, ONE_TREE
from hedera.fabric import HASHED
from hedera.fat_tree import FatTree
from hedera.placement.interface import Placement
from hedera.placement.registry import make_placement
from hedera.scheduling_round import place_by_demand
from testbed.transfers import Transfer

_UNNOTICED = 0.5
"""Seconds in which a poll does not see a new flow: Open vSwitch brings counters up to date that often."""


@dataclass(eq=False)
class _Flow:
    """A transfer under way: what is left of it in Mbit, since when it is there, and its label by hash and by rounds."""

    source: int
    target: int
    left: float
    began: float
    hashed: int
    placed: int = HASHED

    @property
    def label(self) -> int:
        return self.hashed if self.placed == HASHED else self.placed


class FlowShuffle:
    """One shuffle under one scheme on a fat-tree of 4-port switches."""

    def __init__(self, options: ShuffleOptions, scheme: str, seed: int) -> None:
        self._options = options
        self._tree = FatTree(4, options.nic_rate)
        self._capacity = non_blocking(self._tree) if scheme == NON_BLOCKING else self._tree.capacity
        unscheduled = (NON_BLOCKING, ONE_TREE, ECMP)
        self._placement: Placement | None = None if scheme in unscheduled else make_placement(scheme)
        self._labels = 1 if scheme == ONE_TREE else self._tree.labels
        self._drawn = random.Random(f"hash {seed}")
        self._waiting = [receivers_of(host, self._tree.hosts, seed) for host in range(self._tree.hosts)]
        self._flows: list[_Flow] = []
        self._now = 0.0

    def run(self) -> list[Transfer]:
        """All transfers, in the order in which they end."""
        done = []
        next_round = self._options.period
        self._begin_more()
        while self._flows:
            rates = self._rates()
            first_end = min(flow.left / rate for flow, rate in zip(self._flows, rates, strict=True))
            until = min(next_round, self._now + first_end)
            for flow, rate in zip(self._flows, rates, strict=True):
                flow.left -= rate * (until - self._now)
            self._now = until
            ended = [flow for flow in self._flows if flow.left < 1e-9]
            done += [Transfer(f"h{each.source}", f"h{each.target}", each.began, until) for each in ended]
            self._flows = [flow for flow in self._flows if flow not in ended]
            self._begin_more()
            if until == next_round:
                next_round += self._options.period
                self._run_round()
        return done

    def _begin_more(self) -> None:
        for host, waiting in enumerate(self._waiting):
            under_way = sum(flow.source == host for flow in self._flows)
            for _ in range(min(len(waiting), self._options.at_once - under_way)):
                size = self._options.size * 8 / 1e6
                self._flows.append(_Flow(host, waiting.pop(0), size, self._now, self._drawn.randrange(self._labels)))

    def _rates(self) -> list[float]:
        source, target, label = np.array([(f.source, f.target, f.label) for f in self._flows], np.int32).T.copy()
        rates: list[float] = tcp_goodput(self._capacity, self._tree.flow_paths(source, target, label)).tolist()
        return rates

    def _run_round(self) -> None:
        seen = [flow for flow in self._flows if self._now - flow.began >= _UNNOTICED]
        if self._placement is None or not seen:
            return
        source, target, before = np.array([(f.source, f.target, f.placed) for f in seen], np.int32).T.copy()
        labels = place_by_demand(self._placement, self._tree, source, target, before, self._tree.capacity)
        for flow, label in zip(seen, labels.tolist(), strict=True):
            flow.placed = label

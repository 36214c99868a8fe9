"""A study packet by packet: its conditions and findings, in words and as JSON data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kuijia_base.manifest import python_versions
from kuijia_base.quantities import counted, duration, significant, size
from simulator.studies.whatif_packets.conditions import WARMUP, Conditions
from simulator.studies.whatif_packets.findings import StudyFindings
from simulator.studies.whatif_packets.run import Play


@dataclass(frozen=True, eq=False)
class PacketStudy:
    """Results of a study together with its inputs.

    Attributes:
        how: its conditions.
        sizes: the distribution of flow sizes, in the user's words.
        play: its first contender, compiled; the flows are the same for all.
        found: the outcomes of each failure, by scheme.
        assumptions: what readers of files assumed, one sentence each.
    """

    how: Conditions
    sizes: str
    play: Play
    found: StudyFindings
    assumptions: Sequence[str] = ()

    @property
    def network(self) -> str:
        return self.play.plan.topology.name

    @property
    def schemes(self) -> tuple[str, ...]:
        return tuple(self.found.outcomes)

    @property
    def failures(self) -> tuple[str, ...]:
        """Names of the failures, in their order."""
        return tuple(each.failure for each in next(iter(self.found.outcomes.values())))

    def heading(self) -> Iterator[str]:
        """Yield the conditions in a few lines."""
        how, play = self.how, self.play
        yield f"{self.network}: {counted(len(self.failures), 'failure')}, {counted(len(play.plan.pairs), 'pair')}"
        yield (
            f"{counted(play.traffic.count, 'flow')} of {self.sizes} ({size(play.traffic.payload)}), load {how.load:g}, "
            f"{how.transport}; cut after {duration(WARMUP)}, {duration(how.seconds)} counted"
        )
        scaled = (
            "rates as planned"
            if how.scale == 1
            else f"all rates, and with them the number of flows, times {how.scale:g}"
        )
        yield f"{scaled}; queues of {size(how.buffer)}"
        far = max(play.controller_delays.values())
        yield (
            f"switches notice after {significant(how.detection * 1e3)} ms; controller at {play.controller}, "
            f"up to {significant(far * 1e3)} ms away"
        )

    def as_json(self) -> dict[str, Any]:
        told = {key: value for key, value in vars(self.how).items() if key != "sizes"}
        return {
            "format": "kuijia-whatif-packets",
            "version": 1,
            "network": self.network,
            "conditions": {"sizes": self.sizes, **told, "controller": self.play.controller},
            "flows": self.play.traffic.count,
            "payload_bytes": self.play.traffic.payload,
            "schemes": self.found.as_json(),
            "assumptions": list(self.assumptions),
            "versions": python_versions(),
        }

"""Plans that peers have told: each sends them once on a connection, and again when they have changed; pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kuijia_app.control.pair import LEASE, MOST_PEERS, Beat
from kuijia_app.control.roles import is_later
from kuijia_app.control.rollout import Stages


@dataclass(frozen=True)
class _Told:
    """Latest sign of life of a peer that acts, its time, and the plans that it told last."""

    beat: Beat
    at: float
    stages: Stages | None


@dataclass
class PeerPlans:
    """Latest plans of each peer that acts, also those that came while this controller acted itself.

    They are kept of `MOST_PEERS` processes, the last that were heard.
    """

    _told: dict[str, _Told] = field(default_factory=dict)

    def heard(self, beat: Beat, stages: Stages | None, now: float) -> None:
        """Take in a peer's sign of life; without plans, those that it told before still hold."""
        before = self._told.pop(beat.process, None)
        if not beat.is_acting:
            return  # when it acts again, it tells its plans again
        if stages is None and before is not None:
            stages = before.stages
        self._told[beat.process] = _Told(beat, now, stages)
        if len(self._told) > MOST_PEERS:
            del self._told[next(iter(self._told))]

    def followed(self, now: float, may_lead: Callable[[Beat], bool]) -> tuple[str, Stages] | None:
        """Return the process that acts by the latest generation id, and its plans; None if nobody acts.

        Those for whom `may_lead` returns False are left out.
        """
        latest: _Told | None = None
        for each in self._told.values():
            counts = now - each.at < LEASE and may_lead(each.beat)
            if counts and (latest is None or is_later(each.beat.generation, latest.beat.generation)):
                latest = each
        if latest is None or latest.stages is None:
            return None
        return latest.beat.process, latest.stages

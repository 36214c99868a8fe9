"""Plans that peers have told, and how one that stands by adopts those of the one that acts; pure.

Each sends them once on a connection, and again when they have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from kuijia_app.control.controller_roles import ControllerRoles
from kuijia_app.control.identity import are_identical
from kuijia_app.control.liveness import LivenessTracker
from kuijia_app.control.pair import LEASE, MOST_PEERS, Beat
from kuijia_app.control.plan_source import PlanSource
from kuijia_app.control.roles import is_later
from kuijia_app.control.rollout import Rollout, RolloutProgress, Stages
from kuijia_app.control.update_progress import UpdateProgress

OTHER_PLAN = "the controller that acts has another plan"


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


class PeerFollower:
    """Adopts the plans of the peer that acts, while this controller stands by."""

    def __init__(
        self,
        roles: ControllerRoles,
        rollout: Rollout,
        tracker: LivenessTracker,
        progress: UpdateProgress,
        source: PlanSource,
    ) -> None:
        """Begin without peers.

        Args:
            roles: whether this controller acts.
            rollout: the plans in use.
            tracker: the liveness of their tunnels.
            progress: tells which updates are given up.
            source: writes plans to files.
        """
        self._roles = roles
        self._rollout = rollout
        self._tracker = tracker
        self._progress = progress
        self._source = source
        self._told = PeerPlans()
        self._adopted: Stages | None = None
        self._followed: str | None = None

    def forget(self) -> None:
        """Forget which plans were adopted: this controller acts."""
        self._adopted = self._followed = None

    def heard(self, beat: Beat, stages: Stages | None, now: float) -> None:
        """Take in a peer's sign of life, and the plans of one that acts."""
        if self._roles.pair is None or beat.process == self._roles.process:
            return
        self._roles.heard_beat(beat)
        self._told.heard(beat, stages, now)
        self.follow(now)  # before the next look at the clock, which may bring a takeover

    def follow(self, now: float) -> None:
        """Adopt the plans of the peer that acts, unless this controller does."""
        if self._roles.pair is None or self._roles.acts:
            return
        followed = self._told.followed(now, partial(self._roles.pair.may_lead, now=now))
        if followed is None:
            return
        process, stages = followed
        if self._adopted is not None and are_identical(self._adopted.versions, stages.versions):
            return
        self._adopted = stages
        goes_on, self._followed = process == self._followed, process
        self._rollout.resume(stages)
        self._rollout.take_changed()
        self._tracker.follow(self._rollout.plans)
        given_up: list[str] = []
        self._progress.after_files(
            lambda: given_up.extend(self._source.adopted(stages, goes_on=goes_on)),
            partial(self._tell_given_up, given_up),
        )

    def _tell_given_up(self, names: Iterable[str]) -> None:
        for name in names:
            self._progress.tell(RolloutProgress(name, "refused"), OTHER_PLAN)

"""Tells how updates get on, each time after the plan files that belong to the news were written; pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from kuijia_app.control.plan_source import PlanSource
from kuijia_app.control.rollout import Rollout, RolloutProgress
from kuijia_app.control.switches import Runtime
from kuijia_app.framework import event_log

_EVENTS = {"live": event_log.UPDATE_LIVE, "done": event_log.UPDATE_DONE, "refused": event_log.UPDATE_REFUSED}


class UpdateProgress:
    """Queue of plans to be written to files and of what waits for that, and the events of updates."""

    def __init__(
        self,
        runtime: Runtime,
        source: PlanSource,
        rollout: Rollout,
        wrong_tables: Collection[str],
        files_wait: Callable[[], None],
    ) -> None:
        """Begin with nothing to be written.

        Args:
            runtime: of the process.
            source: writes plans to files.
            rollout: the plans in use.
            wrong_tables: switches without the tables that they should have: no plan is in force meanwhile.
            files_wait: notes that there is something to be written.
        """
        self._runtime = runtime
        self._source = source
        self._rollout = rollout
        self._wrong_tables = wrong_tables
        self._files_wait = files_wait
        self._files: deque[tuple[Callable[[], None] | None, Callable[[], object]]] = deque()
        self._held: list[RolloutProgress] = []

    def take_files(self) -> Iterator[tuple[Callable[[], None] | None, Callable[[], object]]]:
        """Yield each plan to be written, and the action that waits for it; another thread may call this."""
        while self._files:
            yield self._files.popleft()

    def after_files(self, put: Callable[[], None] | None, then: Callable[[], object]) -> None:
        """Schedule the writing of plans to files, and an action after it; in the order of calls."""
        self._files.append((put, then))
        self._files_wait()

    def note(self, progress: Iterable[RolloutProgress], reason: str = "") -> None:
        """Write the files that belong to the news, then tell them; `reason` is why updates are refused."""
        in_force = self._rollout.in_force
        for each in progress:
            # Files come before the event: whoever reads the event may look at the plan file at once.
            put: Callable[[], None] | None = None
            if each.state == "refused":
                put = partial(self._source.refused, each.name, in_force.plan)
            elif each.name == in_force.name:
                put = partial(self._source.live, in_force)
            self.after_files(put, partial(self.tell, each, reason))

    def tell(self, progress: RolloutProgress, reason: str) -> None:
        """Log the news of an update, once all switches have the tables that they should have."""
        if progress.state == "refused":
            self._held = [each for each in self._held if each.name != progress.name]
        elif self._wrong_tables or self._held:
            self._held.append(progress)  # a plan is not in force while a switch does not have it
            return
        name, state = progress.name, progress.state
        if state == "refused":
            self._runtime.log.write(_EVENTS[state], update=name, reason=reason)
            self._runtime.logger.error("the new plan is abandoned, the old one stays in force: %s", reason)
        else:
            self._runtime.log.write(_EVENTS[state], update=name)
            self._runtime.logger.info("plan %s is %s", name, "in force" if state == "live" else "fully rolled out")

    def tell_held(self) -> None:
        """Log what has waited for tables to be put right."""
        if self._held and not self._wrong_tables:
            held, self._held = self._held, []
            for progress in held:
                self.tell(progress, "")

"""The plan file of a controller: read at the start and on request, and kept at the plan that the switches follow."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from kuijia_app.control.identity import are_identical
from kuijia_app.control.plan_checks import Missing
from kuijia_app.control.plan_files import PlanFiles, PlanPath
from kuijia_app.control.plan_update import is_same_plan, overload_of, renumber, require_same_network
from kuijia_app.control.rollout import AllTables, Rollout, Stages, Version
from kuijia_base.errors import InputError, KuijiaError, quoted
from kuijia_base.reading import uncollected
from te_solver.model.plan import Plan

WITHDRAWN = "it was withdrawn"
OVERTAKEN = "another plan came before it was in force"

RESUMED = "resumed"
"""Name of an update that an earlier process of the controller has begun."""

BuildTables = Callable[[Plan], AllTables]


@dataclass(frozen=True)
class PlanReading:
    """The outcome of reading a plan: a version that can be proposed, or the reason why there is none.

    Attributes:
        name: name of the update: the beginning of the file's SHA-256, or a word.
        against: the plans in use when its path ids were chosen; none if it does not depend on them.
        request: number of the latest request that it answers; 0 if nobody asked for it.
        overtaken: names of updates that it comes in the place of, before these could be proposed.
    """

    name: str
    found: Version | KuijiaError | ValueError
    against: tuple[Plan, ...]
    request: int = 0
    overtaken: tuple[str, ...] = ()

    def is_current(self, rollout: Rollout) -> bool:
        """Return True while its path ids are still right."""
        return not self.against or are_identical(self.against, rollout.plans)

    def version(self) -> Version:
        """Return the version; raises the error that prevented it."""
        if isinstance(self.found, Version):
            return self.found
        raise self.found


class PlanSource:
    """The plan file at `path`.

    Signal handlers may call `ask` and `ask_to_withdraw`; only one thread at a time may call the other methods.

    Attributes:
        problems: messages about files, such as those that could not be written; the caller logs and removes them.
    """

    def __init__(
        self,
        files: PlanFiles | Path,
        build_tables: BuildTables,
        overload: Missing = Missing.IGNORE,
        *,
        is_long_lived: bool = True,
    ) -> None:
        """Take a path or other files; `overload` is what follows when links lack capacity for a plan in them.

        `is_long_lived` keeps tables from searches for garbage.
        """
        self.problems: list[str] = []
        self._overload = overload
        self._files = PlanPath(files) if isinstance(files, Path) else files
        self._is_long_lived = is_long_lived
        self._build_tables = build_tables
        self._is_asked = False
        self._is_withdrawn = False
        self._requests = 0
        self._withdrawn_requests = 0
        self._pending: str | None = None
        self._own: str | None = None
        self._stamp: object = None
        self._read_stamp: object = None
        self._unkept: str | None = None
        self._outdated: deque[PlanReading] = deque()
        self._latest = 0, ""

    def first(self) -> Version:
        """Return the plan at the start.

        Raises:
            ValueError: the file is not a plan, or no tables can be made from it.
        """
        with self._kept():
            self._stamp = self._files.stamp()
            self._own, plan = self._read()
            self._require_room(plan)
            version = Version("start", plan, self._build_tables(plan))
            version.index()
        return version

    def unfinished(self, rollout: Rollout) -> Version | None:
        """Return the plan of an update that an earlier process has begun, ready to be resumed; None if there is none.

        Without it, switches that follow the new plan already would lose packets: others would delete its paths first.
        """
        try:
            plan = self._files.load_pending()
            if plan is None:
                return None
            if plan == rollout.in_force.plan:
                self._files.drop_pending()
                return None
            if self._files.is_pending_outdated():
                self.problems.append(f"{self._files} was replaced: the update that had begun is not resumed")
                self._files.refuse_pending()
                return None
            require_same_network(plan, rollout.in_force.plan)
            with self._kept():
                version = rollout.prepared(Version(RESUMED, plan, self._build_tables(plan)))
        except Exception as error:  # noqa: BLE001  # the plan in force stays, whatever the file holds
            self.problems.append(f"the update that had begun is not resumed: {self._refusal(error)}")
            with self._warning():
                self._files.refuse_pending()
            return None
        self._pending = RESUMED
        return version

    def ask(self) -> None:
        """Request that the file is read soon."""
        self._requests += 1
        self._is_asked = True

    def ask_again(self, reading: PlanReading) -> None:
        """Request that a reading is made again, as other plans have come into use since.

        Its plan is kept for that: the file may have got the one that is in force now.
        """
        self._outdated.append(reading)
        self._is_asked = True

    def ask_to_withdraw(self) -> None:
        """Request that the update under way is withdrawn soon, also one whose file is still to be read."""
        self._withdrawn_requests = self._requests
        self._is_withdrawn = True

    @property
    def is_asked(self) -> bool:
        return self._is_asked

    def take_withdrawal(self) -> bool:
        """Return True if a withdrawal was requested since the last call."""
        is_withdrawn, self._is_withdrawn = self._is_withdrawn, False
        return is_withdrawn

    def is_withdrawn(self, reading: PlanReading) -> bool:
        """Return True if what the plan was read for has been withdrawn since."""
        return 0 < reading.request <= self._withdrawn_requests

    def version_of(self, reading: PlanReading) -> Version:
        """Return the version that was read; raises what prevented it, or ValueError if it has been withdrawn since."""
        if self.is_withdrawn(reading):
            raise ValueError(WITHDRAWN)
        return reading.version()

    def read_if_asked(self, rollout: Rollout) -> PlanReading | None:
        """Return the plan in the file if it was requested since the last call, else None.

        Return None also during an update while the file is the one that was written at its beginning. An equal one that
        somebody has put in its place since asks for the plan in force: the update is given up.
        """
        if not self._is_asked:
            return None
        self._is_asked = False
        outdated: list[PlanReading] = []
        while self._outdated:  # another thread may add some
            outdated.append(self._outdated.popleft())
        outdated.sort(key=lambda each: each.request)
        if not outdated:
            return self._read_anew(rollout)
        newest = outdated[-1]
        reading = self._read_anew(rollout) if max(newest.request, self._latest[0]) < self._requests else None
        if newest.request < self._latest[0]:
            overtaken = tuple(dict.fromkeys(each.name for each in outdated if each.name != self._latest[1]))
            if reading is not None:
                return replace(reading, overtaken=overtaken)
            return PlanReading(overtaken[0], ValueError(OVERTAKEN), (), 0, overtaken[1:]) if overtaken else None
        overtaken = tuple(dict.fromkeys(each.name for each in outdated[:-1] if each.name != newest.name))
        if not isinstance(newest.found, Version):
            return replace(newest, against=rollout.plans, overtaken=overtaken)
        made = self.prepared(newest.name, newest.found.plan, rollout)
        return replace(made, request=newest.request, overtaken=overtaken)

    def _read_anew(self, rollout: Rollout) -> PlanReading | None:
        reading = self._read_file(rollout)
        if reading is not None:
            self._latest = reading.request, reading.name
        return reading

    def _read_file(self, rollout: Rollout) -> PlanReading | None:
        request, name, against = self._requests, "unreadable", rollout.plans
        try:
            self._read_stamp = self._files.stamp()
            name = self._files.name() or name
            if self._pending is not None and name == self._own and self._read_stamp == self._stamp:
                return None
            name, plan = self._read()
            self._require_room(plan)
            return replace(self._numbered(name, plan, rollout), request=request)
        except Exception as error:  # noqa: BLE001  # the plan in force stays, whatever the file holds
            return PlanReading(name, self._refusal(error), against, request)

    def prepared(self, name: str, plan: Plan, rollout: Rollout) -> PlanReading:
        """Return the same for a plan that did not come from the file."""
        against = rollout.plans
        try:
            return self._numbered(name, plan, rollout)
        except Exception as error:  # noqa: BLE001  # as above
            return PlanReading(name, self._refusal(error), against)

    def _refusal(self, error: Exception) -> KuijiaError | ValueError:
        """Return the error itself if readers raise it, else a one-line error that names its class."""
        if isinstance(error, KuijiaError | ValueError):
            return error
        if isinstance(error, OSError):
            return ValueError(f"{self._files}: cannot be read: {error.strerror}")
        return ValueError(f"{self._files}: cannot be used: {type(error).__name__} {quoted(str(error))}")

    def begun(self, version: Version, in_force: Plan) -> None:
        """Write the plan of an update that has begun to a second file, with `.pending` added to the name.

        The plan file gets the plan in force, so that a restarted controller finds the plan that the switches follow.
        It stays unchanged if it was replaced since it was read, or if the second file cannot be written.
        """
        with self._warning():
            self._files.put_pending(version.plan)  # first: a process that ends after the other write has lost nothing
            self._pending = version.name
            if self._put(in_force, version.name):
                self._files.renew_pending()
            if self._files.name() == version.name and not self._is_theirs():
                self._own, self._stamp = version.name, self._files.stamp()

    def live(self, version: Version) -> None:
        """Write the version to the plan file, as all ingresses follow it."""
        self._put(version.plan, version.name)
        if self._pending == version.name:
            self._pending = None
            with self._warning():
                self._files.drop_pending()

    def adopted(self, stages: Stages, *, goes_on: bool) -> list[str]:
        """Let the files follow another controller; return the names of plans that it does not know.

        They move to the file of the refused plan, the pending one last.

        Args:
            stages: plans of the controller that acts.
            goes_on: those before were its plans as well, so it knows what it has replaced.
        """
        pending = self._pending_plan()
        goes_on = goes_on or (pending is not None and is_same_plan(pending, stages.in_force.plan))
        given_up: list[str] = []
        with self._warning():
            if not self._holds(stages.in_force.plan):
                given_up += self._give_way(stages, goes_on=goes_on)
        with self._warning():
            given_up += self._follow_pending(stages)
        return given_up

    def _give_way(self, stages: Stages, *, goes_on: bool) -> list[str]:
        """Replace the plan file, unless somebody else has; return its name if it is kept as the refused one."""
        later, name = stages.next, self._own
        try:
            held = self._files.load()
        except Exception:  # noqa: BLE001  # nothing is lost if it is missing, and what is not ours is not replaced
            held = stages.in_force.plan
        if later is not None and is_same_plan(held, later.plan):
            self._files.put_pending(later.plan)  # we have come further than the other one, which goes on from before
        keeps = (name is not None and name == self._unkept) or not _knows(stages, held, goes_on=goes_on)
        is_replaced = self._replace({name, stages.in_force.name}, stages.in_force.plan, keeps_old=keeps)
        return [name] if keeps and is_replaced and name is not None else []

    def _follow_pending(self, stages: Stages) -> list[str]:
        """Keep the plan of an update that the other controller goes on with; return its name if it has given it up."""
        pending, later = self._pending_plan(), stages.next
        name, self._pending = self._pending or RESUMED, None
        if pending is None:
            return []
        if later is not None and is_same_plan(pending, later.plan):
            self._pending = later.name
            if pending == later.plan:
                self._files.renew_pending()  # the plan file may have become newer
            else:
                self._files.put_pending(later.plan)
            return []
        if _knows(stages, pending, goes_on=False):
            self._files.drop_pending()
            return []
        self._files.refuse_pending()
        return [name]

    def _pending_plan(self) -> Plan | None:
        try:
            return self._files.load_pending()
        except Exception:  # noqa: BLE001  # a file that cannot be read, for whatever reason, holds no plan
            return None

    def refused(self, name: str, in_force: Plan) -> None:
        """Move the plan of an update that is given up to a file with `.refused` added to the name."""
        with self._warning():
            if self._pending == name:
                self._pending = None
                self._files.refuse_pending()
            else:
                self._replace({name}, in_force, keeps_old=True)
        self._put(in_force, name)

    def _read(self) -> tuple[str, Plan]:
        """Return the name and the plan in the file; read again if it was replaced in between."""
        while True:
            name = self._files.name()
            plan = self._files.load()
            if name is not None and name == self._files.name():
                return name, plan

    def _require_room(self, plan: Plan) -> None:
        excess = None if self._overload is Missing.IGNORE else overload_of(plan)
        if excess is not None and self._overload is Missing.REFUSE:
            raise InputError(str(self._files), "", excess, "links with room for all traffic, or --missing warn")
        if excess is not None:
            self.problems.append(f"{self._files}: {excess}")

    def _put(self, plan: Plan, name: str) -> bool:
        """Write the plan file, unless somebody else has replaced its content; return True if it holds the plan."""
        is_held = False
        with self._warning():
            is_held = self._holds(plan) or self._replace({name, self._own}, plan)
        return is_held  # noqa: RET504  # an error leaves it False

    def _replace(self, names: Collection[str | None], plan: Plan, *, keeps_old: bool = False) -> bool:
        """Replace the plan file if it has one of these names, and is not another's that is still to be read.

        What is to be kept once is kept by the next try, too.
        """
        if self._is_theirs():
            return False
        held = self._files.name()
        if keeps_old and held in names:
            self._unkept = held
        keeps_old = keeps_old or (held is not None and held == self._unkept)
        written = self._files.replace(names, plan, keeps_old=keeps_old)
        if written is None:
            return False
        self._own, self._unkept = written, None
        self._stamp = self._files.stamp()
        return True

    def _is_theirs(self) -> bool:
        """Return True if somebody has replaced the file, perhaps by an equal one, and waits for it to be read."""
        return self._is_asked and self._files.stamp() not in (None, self._stamp, self._read_stamp)

    def _holds(self, plan: Plan) -> bool:
        try:
            return self._files.holds(plan)
        except Exception:  # noqa: BLE001  # a file that cannot be read, for whatever reason, holds no plan
            return False

    def _kept(self) -> AbstractContextManager[None]:
        return uncollected(for_good=True) if self._is_long_lived else nullcontext()

    @contextmanager
    def _warning(self) -> Iterator[None]:
        try:
            yield
        except (KuijiaError, ValueError, OSError) as error:
            self.problems.append(f"{self._files} does not hold the plan in force: {error}")

    def _numbered(self, name: str, plan: Plan, rollout: Rollout) -> PlanReading:
        against = rollout.plans
        require_same_network(plan, rollout.in_force.plan)
        later = rollout.stages.next
        with self._kept():
            if later is not None and is_same_plan(plan, later.plan):
                plan = later.plan  # asked for again, it keeps its path ids: its sessions have their ports
            else:
                plan = renumber(plan, rollout.in_force.plan, rollout.unavailable)
            version = rollout.prepared(Version(name, plan, self._build_tables(plan)))
        return PlanReading(name, version, against)


def _knows(stages: Stages, plan: Plan, *, goes_on: bool) -> bool:
    """Return True if a controller has the plan in use, or has replaced it; False if it gave it up or never had it.

    Args:
        stages: its plans.
        plan: a plan that it would overwrite.
        goes_on: it has known all plans before.
    """
    replaced = [version for version, successor in stages.retained if successor is not None]
    given_up = [version for version, successor in stages.retained if successor is None]
    in_use = [stages.in_force] if stages.next is None else [stages.in_force, stages.next]
    if any(is_same_plan(plan, version.plan) for version in (*in_use, *replaced)):
        return True
    return goes_on and not any(is_same_plan(plan, version.plan) for version in given_up)

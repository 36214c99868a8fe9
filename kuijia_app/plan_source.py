"""The plan file of a controller: read at its start and whenever asked, and kept at what the switches carry."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kuijia_app.plan_update import renumber, require_same_network
from kuijia_app.rollout import AllTables, Rollout, Version
from te_solver.errors import KuijiaError
from te_solver.plan import Plan
from te_solver.plan_file import load_plan, save_plan

BuildTables = Callable[[Plan], AllTables]


@dataclass(frozen=True)
class Reading:
    """What came of reading a plan: a version that can be proposed, or why there is none.

    Attributes:
        name: of the update: the beginning of the SHA-256 of the file, or a word.
        against: the plans in use that its path ids were chosen for.
    """

    name: str
    found: Version | KuijiaError | ValueError
    against: tuple[Plan, ...]

    def is_current(self, rollout: Rollout) -> bool:
        """Whether its path ids are still the right ones."""
        return list(map(id, self.against)) == list(map(id, rollout.plans))

    def version(self) -> Version:
        """The version; raises what kept it from being made."""
        if isinstance(self.found, Version):
            return self.found
        raise self.found


class PlanSource:
    """The plan file at `path`; `ask` may be called in a signal handler, all else in one thread at a time."""

    def __init__(self, path: Path, build_tables: BuildTables) -> None:
        self._path = path
        self._build_tables = build_tables
        self._is_asked = False

    def first(self) -> Version:
        """The plan to begin with.

        Raises:
            ValueError: the file is none, or no tables can be made of it.
        """
        plan = load_plan(self._path)
        return Version("start", plan, self._build_tables(plan))

    def ask(self) -> None:
        """Have the file read at the next occasion."""
        self._is_asked = True

    def read_if_asked(self, rollout: Rollout) -> Reading | None:
        """The plan in the file, if it was asked for since the last call."""
        if not self._is_asked:
            return None
        self._is_asked = False
        name, against = "unreadable", rollout.plans
        try:
            name = file_name_of_update(self._path)
            return self._numbered(name, load_plan(self._path), rollout)
        except (KuijiaError, ValueError) as error:
            return Reading(name, error, against)
        except OSError as error:
            return Reading(name, ValueError(f"{self._path}: cannot be read: {error.strerror}"), against)

    def prepared(self, name: str, plan: Plan, rollout: Rollout) -> Reading:
        """The same for a plan that did not come from the file."""
        against = rollout.plans
        try:
            return self._numbered(name, plan, rollout)
        except (KuijiaError, ValueError) as error:
            return Reading(name, error, against)

    def keep(self, version: Version, *, refused: bool = False) -> None:
        """Let the file hold the plan as the switches have it, so that a controller started anew changes nothing.

        A refused plan that is in the file goes to a file beside it, with `.refused` added to its name. A file that
        cannot be written is left as it is.
        """
        try:
            is_same = load_plan(self._path) == version.plan
        except (KuijiaError, ValueError):
            is_same = False
        try:
            if refused and not is_same:
                self._path.replace(self._path.with_name(f"{self._path.name}.refused"))
            if not is_same:
                save_plan(version.plan, self._path)
        except (KuijiaError, ValueError, OSError) as error:
            logging.getLogger(__name__).warning("%s does not hold the plan in force: %s", self._path, error)

    def _numbered(self, name: str, plan: Plan, rollout: Rollout) -> Reading:
        against = rollout.plans
        require_same_network(plan, rollout.in_force.plan)
        plan = renumber(plan, rollout.in_force.plan, rollout.unavailable)
        return Reading(name, Version(name, plan, self._build_tables(plan)), against)


def file_name_of_update(path: Path) -> str:
    """What the events of an update to the plan in this file are named by."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]

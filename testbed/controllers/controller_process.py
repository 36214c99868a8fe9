"""Processes of controllers: Kuijia's, and the scheduler of a data centre's elephants; both may have peers."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from kuijia_app.control.plan_files import file_name_of_update
from kuijia_app.framework import event_log
from kuijia_app.framework.metrics.address import PageAddress
from kuijia_app.tables.options import OptionWords
from kuijia_base.errors import TestbedError
from te_solver.formats.plan_file import load_plan, save_plan
from te_solver.model.plan import Plan
from testbed.controllers.application_process import HERE, SWITCH_STATES, ApplicationProcess, Event, Framework, Listening

_ERRORS = (
    event_log.SWITCH_ERROR,
    event_log.SWITCH_UNFIT,
    event_log.SWITCH_UNKNOWN,
    event_log.SWITCH_DUPLICATE,
    event_log.SWITCH_UNBOUND,
    event_log.SWITCH_DROPPED,
    event_log.ROLE_LOST,
    event_log.PORT_DAMPED,
    event_log.UPDATE_REFUSED,
    event_log.FAILURE,
)


class ControllerLog(ABC):
    """Something that has events of controllers."""

    @abstractmethod
    def events(self) -> list[Event]:
        """Return all events so far, oldest first."""

    def unfit_switches(self) -> set[str]:
        """Return the switches without their tables: not the plan's, or they refused them, or somebody changed them."""
        states = (*SWITCH_STATES, event_log.SWITCH_UNFIT, event_log.SWITCH_REFUSED, event_log.TABLES_WRONG)
        last = {event["switch"]: event["event"] for event in self.events() if event["event"] in states}
        return {switch for switch, state in last.items() if state not in SWITCH_STATES}

    def tunnels_told_dead(self) -> set[int]:
        """Return the path ids of the tunnels that the controller has reported dead to an ingress."""
        told = {
            (event["ingress"], event["path_id"]): event["alive"]
            for event in self.events()
            if event["event"] == event_log.TUNNEL_LIVENESS
        }
        return {path_id for (_, path_id), alive in told.items() if not alive}

    def problems(self) -> list[str]:
        """Return what the controller that acts finds wrong with switches, ports and links now, one line each."""
        found: dict[tuple[object, ...], str] = {}
        for event in self.events():
            if event["event"] == event_log.ROLE_TAKEN:
                found.clear()  # the one that has taken over looks for itself
            elif event["event"] in SWITCH_STATES:
                found.pop((event_log.TABLES_WRONG, event["switch"]), None)
            elif event["event"] == event_log.TABLES_WRONG:
                text = f"switch {event['switch']}: somebody has changed its tables: {event['problem']}"
                found[event_log.TABLES_WRONG, event["switch"]] = text
            elif event["event"] in (event_log.PROBLEM_FOUND, event_log.PROBLEM_GONE):
                key = tuple(event.get(name) for name in ("kind", "switch", "port", "detail"))
                found.pop(key, None)
                if event["event"] == event_log.PROBLEM_FOUND:
                    parts = (f"switch {event['switch']}", event["problem"], event["what_to_do"])
                    found[key] = ": ".join(filter(None, parts))
        return list(found.values())

    def pairs_carried(self) -> dict[tuple[str, str], list[str]]:
        """Return the path of each pair, as ingress and egress, that is carried without a live tunnel."""
        carried: dict[tuple[str, str], list[str]] = {}
        for event in self.events():
            if event["event"] == event_log.ROLE_TAKEN:
                carried.clear()  # the one that has taken over says again which ones it carries
            elif event["event"] == event_log.RESTORATION:
                ends = event["ingress"], event["egress"]
                carried.pop(ends, None)
                if event["path"]:
                    carried[ends] = event["path"]
        return carried

    def errors(self) -> list[Event]:
        """Return what went wrong since the start: refused messages, switches that do not fit, updates given up."""
        return [event for event in self.events() if event["event"] in _ERRORS]


@dataclass(frozen=True)
class Peers:
    """Addresses HOST:PORT of a controller for its peers, and of those for it."""

    listen: str
    others: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """The options of our verbs."""
        return [*(f"--peer={peer}" for peer in self.others), f"--peer-listen={self.listen}"]

    @property
    def options(self) -> dict[str, object]:
        """The options in a section of `ryu-manager`'s configuration."""
        return {"peers": ",".join(self.others), "peer_listen": self.listen}


UPDATE_TIMEOUT = 30.0
_WITHDRAWAL_TIMEOUT = 10.0


class ControllerProcess(ApplicationProcess, ControllerLog):
    """The controller of a plan.

    Attributes:
        peers: other controllers of the same switches, if there are any, set before `start`.
        checks: options on what switches may lack, likewise; by default nothing is asked for.
        session_ports: options on ports of BFD sessions, likewise; by default the controller makes none.
    """

    def __init__(
        self,
        directory: Path,
        plan_file: Path,
        words: OptionWords,
        framework: Framework,
        listening: Listening = HERE,
        *,
        reoptimise: bool = False,
        metrics: PageAddress | None = None,
    ) -> None:
        """Make one that does not run yet; it serves `metrics`, if at all, at this address."""
        super().__init__(directory, framework, listening)
        self._plan_file = plan_file.absolute()
        self._words = words
        self._reoptimise = reoptimise
        self._metrics = metrics
        self.checks: dict[str, object] = {"missing": "ignore"}
        self.session_ports: dict[str, object] = {}
        self.peers: Peers | None = None

    def plan_in_file(self) -> Plan:
        """Return the plan that it would start with; raises InputError if its file holds none."""
        return load_plan(self._plan_file)

    def update(self, plan: Plan, timeout: float = UPDATE_TIMEOUT) -> Plan:
        """Replace the plan file and have the controller follow it; return when the old plan is gone from the switches.

        Returns:
            The plan with the path ids that the switches now use.

        Raises:
            TestbedError: the controller died, stands by or gave the plan up (the message says why), or it takes longer
                than `timeout` seconds and is withdrawn; the previous plan stays in force.
        """
        if self._process is None or not self.is_alive:
            raise TestbedError("the controller is dead: the switches cannot be updated")
        known = len(self.events())
        save_plan(plan, self._plan_file)
        name = file_name_of_update(self._plan_file)
        self._process.send_signal(signal.SIGHUP)
        refused: list[str] = []

        def has_ended(events: list[Event]) -> bool:
            if any(event["event"] == event_log.ROLE_YIELDED for event in events[known:]):
                raise TestbedError("the controller stands by: it no longer updates the switches")
            mine = [event for event in events[known:] if event.get("update") == name]
            refused.extend(event["reason"] for event in mine if event["event"] == event_log.UPDATE_REFUSED)
            return bool(refused) or any(event["event"] == event_log.UPDATE_DONE for event in mine)

        if not self.wait_for(has_ended, timeout):
            away = sorted(self._known_switches() - set(self.programmed_switches()))
            waited = f"it waited for switch {', '.join(away)}" if away else "no switch is away"
            self._process.send_signal(signal.SIGUSR1)
            if not self.wait_for(has_ended, _WITHDRAWAL_TIMEOUT):
                raise TestbedError(f"the update is neither done nor withdrawn{self._complaints()}")
            if refused:
                told = f"{waited}{self._complaints()}"
                raise TestbedError(f"the update was not done within {timeout:g} s and is withdrawn: {told}")
        if refused:
            raise TestbedError(f"the update was given up, the plan before stays in force: {refused[0]}")
        return load_plan(self._plan_file)

    def withdraw_update(self) -> None:
        """Ask for the end of the update under way, which `update` then reports; has no effect on a dead controller."""
        if self._process is not None and self.is_alive:
            self._process.send_signal(signal.SIGUSR1)

    def hand_over(self) -> None:
        """Ask it to let a peer act."""
        self.signal(signal.SIGUSR2)

    def signal(self, number: int) -> None:
        """Send the process a signal."""
        if self._process is not None:
            self._process.send_signal(number)

    def _known_switches(self) -> set[str]:
        return {event["switch"] for event in self.events() if event["event"] in SWITCH_STATES}

    def _command(self) -> list[str]:
        words = asdict(self._words)
        if self.framework == "os-ken":
            options = [
                f"--{name.replace('_', '-')}={value}"
                for name, value in (words | self.checks | self.session_ports).items()
            ]
            options += ["--reoptimise"] if self._reoptimise else []
            options += [] if self._metrics is None else [f"--metrics={self._metrics}"]
            options += [] if self.peers is None else self.peers.words
            return self._verb("controller", str(self._plan_file), *options)
        served: dict[str, object] = {} if self._metrics is None else {"metrics": self._metrics}
        served |= {} if self.peers is None else self.peers.options
        served |= {
            "plan": self._plan_file,
            "reoptimise": self._reoptimise,
            **self.checks,
            **self.session_ports,
            **words,
        }
        return self._manager("kuijia_app.controller", "kuijia", served)


class SchedulerProcess(ApplicationProcess):
    """`hedera.scheduler`, with options by their names in its configuration section; None leaves the default.

    Links are neither probed nor compared by their counters unless the options say so.

    Attributes:
        peers: other schedulers of the same switches, if there are any, set before `start`.
    """

    def __init__(
        self,
        directory: Path,
        options: Mapping[str, object],
        framework: Framework = "os-ken",
        listening: Listening = HERE,
    ) -> None:
        super().__init__(directory, framework, listening)
        checked = {"missing": "ignore", "gray_loss": "off", **options}
        self._options = {name: value for name, value in checked.items() if value is not None}
        self.peers: Peers | None = None

    def _command(self) -> list[str]:
        if self.framework == "ryu":
            peers = {} if self.peers is None else self.peers.options
            return self._manager("hedera.scheduler", "hedera", self._options | peers)
        options = dict(self._options)
        topology = options.pop("topology", None)
        words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        words += [] if self.peers is None else self.peers.words
        return self._verb("scheduler", *([] if topology is None else [str(topology)]), *words)

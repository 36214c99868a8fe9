"""Test tiers: decides which of them this machine can run, skips the others and says why."""

from __future__ import annotations

import importlib.util
import math
import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from kuijia_base.progress import PATIENCE_SECONDS
from testbed.machine.ovs import kernel_datapath_available
from testbed.uml import boot
from tests.busy_machine import QuietRunner
from tests.guest_runs import GuestOutcome, reports_of, run_tests

settings.register_profile("kuijia", derandomize=True, deadline=None, database=None)
settings.load_profile("kuijia")
# Draws would contain constants of our own modules, of those that the process happens to have imported: never the same.
providers._get_local_constants = lambda: providers._local_constants

TIERS = ("ovs", "emulation", "kernel")
REAL_PACKETS = ("emulation", "kernel")
OVS_PROGRAMS = ("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ovs-appctl")
QUIET_RUNNER = pytest.StashKey[QuietRunner]()
GUEST_OUTCOMES = pytest.StashKey[dict[str, GuestOutcome]]()
TOGETHER = {"tests/testbed/lab/test_lab_tables.py": "tests/testbed/lab/test_lab.py"}
"""Files whose tests run one after the other where others run side by side: a new lab removes what a killed one left."""
LONGEST = (
    "tests/testbed/lab/test_lab.py",
    "tests/testbed/lab/test_lab_tables.py",
    "tests/kuijia_app/framework/test_guarded_apps.py",
    "tests/kuijia_app/test_controller_updates.py",
    "tests/kuijia_app/gate/test_hostile_peers.py",
    "tests/kuijia_app/test_controller.py",
    "tests/testbed/boxes/test_fleet.py",
    "tests/hedera/test_scheduler.py",
    "tests/fuzz/test_openflow_peers.py",
    "tests/packaging/test_static_checks.py",
    "tests/simulator/packet/test_fuzz.py",
    "tests/hedera/test_fuzz.py",
    "tests/testbed/uml/test_boot.py",
    "tests/experiments/gscale/test_campaign.py",
)
"""Files that take half a minute or more, the longest first; they begin, as no process shall be left with one."""

COMPUTING = (
    "tests/api/",
    "tests/cli/test_packet.py",
    "tests/cli/test_solve.py",
    "tests/cli/test_whatif.py",
    "tests/docs/",
    "tests/experiments/cqrd/",
    "tests/experiments/test_fig4.py",
    "tests/experiments/flashpass/",
    "tests/experiments/gscale/test_choice.py",
    "tests/experiments/gscale/test_climb.py",
    "tests/experiments/gscale/test_flow_run.py",
    "tests/experiments/gscale/test_readings.py",
    "tests/experiments/gscale/test_scenario.py",
    "tests/experiments/hedera/",
    "tests/experiments/hermes/",
    "tests/experiments/motivation/test_flow_run.py",
    "tests/experiments/reporting/",
    "tests/experiments/results/",
    "tests/simulator/studies/whatif/",
    "tests/golden/",
    "tests/hedera/test_fuzz.py",
    "tests/hedera/test_kernels.py",
    "tests/hedera/test_optimum.py",
    "tests/hedera/test_scheduler_states.py",
    "tests/hedera/test_tables.py",
    "tests/kuijia_app/control/",
    "tests/kuijia_app/gate/test_elements.py",
    "tests/kuijia_app/proof/",
    "tests/kuijia_app/tables/",
    "tests/kuijia_base/test_yaml_nodes.py",
    "tests/packaging/test_floors.py",
    "tests/packaging/test_static_checks.py",
    "tests/plugins/",
    "tests/simulator/",
    "tests/te_solver/",
    "tests/testbed/crosscheck/test_crosscheck.py::test_plans",
    "tests/testbed/crosscheck/test_crosscheck.py::test_tables",
)
"""Tests, files and folders that only compute: they disturb no measurement while every other process goes first."""
CHAOS = "tests/testbed/chaos/test_ten_minutes.py"
"""File of the tests that run for minutes beside all others, in a process of their own: most of that time is waiting."""

TIMED = (
    "tests/kuijia_app/control/test_many_failures.py",
    "tests/kuijia_app/control/test_reoptimisation.py",
    "tests/kuijia_app/tables/test_ofctl_text.py",
    "tests/te_solver/programs/test_interruption.py",
)
"""Files among these that wait for something to happen soon."""

EMULATION_PROGRAMS = ("iperf3", "ethtool", "ip", "tc", "mnexec", "ping")


@pytest.fixture(scope="session", autouse=True)
def without_late_progress() -> Iterator[None]:
    """Keep progress out of what tests read: on a slow machine anything may take so long that it is shown."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr("kuijia_base.progress.PATIENCE_SECONDS", math.inf)
        yield


@pytest.fixture
def late_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show progress after the usual time, for tests with a clock of their own."""
    monkeypatch.setattr("kuijia_base.progress.PATIENCE_SECONDS", PATIENCE_SECONDS)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kuijia")
    group.addoption(
        "--part",
        choices=("all", "beside", "alone", "spare", "chaos"),
        default="all",
        help="choose tests that measure real packets and need the machine for themselves (alone), tests that compute"
        " only, in what these leave of it (spare), minutes of faults (chaos), or the others (beside)",
    )
    group.addoption("--quick", action="store_true", help="leave out tests that are slow or send real packets")


class SideBySide(LoadFileScheduling):  # type: ignore[misc]  # xdist is untyped
    """Give each file to one process, and files that stand together to the same one."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return TOGETHER.get(file, file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SideBySide | None:
    """Return what deals out tests to processes, None where another way is asked for."""
    return SideBySide(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_configure() -> None:
    """Lets Ctrl-C reach the tests and what they start: a shell's background job is started with SIGINT ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a test of the chosen part, unread: all of them take a process ten seconds."""
    part = config.getoption("part")
    if part == "all" or collection_path.is_dir():
        return None
    file = collection_path.relative_to(config.rootpath).as_posix()
    if any(each.startswith(f"{file}::") for each in COMPUTING):
        return None  # it has tests of several parts
    if file == CHAOS or part == "chaos":
        return None if file == CHAOS and part == "chaos" else True
    return True if _only_computes(file) != (part == "spare") else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what the options leave out, and skip the tests of every tier that the machine cannot run."""
    left_out = [item for item in items if not _is_chosen(item, config)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _is_chosen(item, config)]
    if config.getoption("dist") == "loadfile":  # side by side
        items.sort(key=_place)
    for item in items:
        for tier in TIERS:
            if item.get_closest_marker(tier) is None:
                continue
            obstacle = obstacle_to(tier)
            if obstacle is not None:
                item.add_marker(pytest.mark.skip(reason=f"tier {tier}: {obstacle}"))
                break


def _place(item: pytest.Item) -> tuple[int, bool]:
    """Return what tests are sorted by where they run side by side."""
    file = item.nodeid.partition("::")[0]
    return LONGEST.index(file) if file in LONGEST else len(LONGEST), item.get_closest_marker("slow") is None


def _is_chosen(item: pytest.Item, config: pytest.Config) -> bool:
    sends_packets = any(item.get_closest_marker(tier) is not None for tier in REAL_PACKETS)
    if sends_packets and _only_computes(item.nodeid):
        raise pytest.UsageError(
            f"{item.nodeid} sends packets, expected a file that is not among those that only compute"
        )
    if config.getoption("quick") and (sends_packets or item.get_closest_marker("slow")):
        return False
    return config.getoption("part") in ("all", _part_of(item, sends_packets=sends_packets))


def _part_of(item: pytest.Item, *, sends_packets: bool) -> str:
    if item.nodeid.startswith(CHAOS):
        return "chaos"
    if sends_packets and item.get_closest_marker("beside") is None:
        return "alone"
    return "spare" if _only_computes(item.nodeid) else "beside"


def _only_computes(node_id: str) -> bool:
    return node_id.startswith(COMPUTING) and not node_id.startswith(TIMED)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run tests of the kernel's datapath in a guest where this kernel has none, and real packets on a quiet machine."""
    reports: Callable[[pytest.Item, pytest.Item | None], Sequence[pytest.TestReport]]
    if _runs_in_guest(item):
        reports = _run_in_guest
    elif item.get_closest_marker("emulation") is not None:
        reports = item.config.stash.setdefault(QUIET_RUNNER, QuietRunner()).reports
    else:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports(item, nextitem):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _run_in_guest(item: pytest.Item, next_item: pytest.Item | None) -> Sequence[pytest.TestReport]:
    """Return the reports of a test; the first one runs those of all tests."""
    item.session._setupstate.teardown_exact(next_item)  # the test before has left what it shares with this one
    outcomes = item.session.stash.get(GUEST_OUTCOMES, None)
    if outcomes is None:
        items = [each for each in item.session.items if _runs_in_guest(each)]
        outcomes = item.session.stash[GUEST_OUTCOMES] = run_tests(items, item.config.rootpath)
    return reports_of(item, outcomes[item.nodeid])


def _runs_in_guest(item: pytest.Item) -> bool:
    if item.get_closest_marker("kernel") is None or obstacle_to("kernel") is not None:
        return False
    return not kernel_datapath_available()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each reason for which tests were left out, however many they are."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"skipped {count} - {reason}", yellow=True)


@cache
def obstacle_to(tier: str) -> str | None:
    """Return why this machine cannot run the tests of `tier`, None when it can."""
    missing = _missing(OVS_PROGRAMS)
    if missing:
        return f"Open vSwitch is not installed ({', '.join(missing)} not found)"
    if tier == "ovs":
        return None
    missing = _missing(EMULATION_PROGRAMS)
    if missing:
        return f"{', '.join(missing)} not found"
    if importlib.util.find_spec("mininet") is None:
        return "Mininet is not importable by this Python"
    if tier == "kernel" and not kernel_datapath_available():
        hindrance = boot.obstacle()
        return hindrance and f"this kernel has no openvswitch module, and {hindrance}"
    return "not running as root" if os.geteuid() != 0 else _namespace_obstacle()


def _missing(programs: tuple[str, ...]) -> list[str]:
    path = os.environ.get("PATH", os.defpath) + os.pathsep + "/usr/sbin:/sbin"
    return [program for program in programs if shutil.which(program, path=path) is None]


def _namespace_obstacle() -> str | None:
    """Return why a namespace of Mininet's cannot have a veth pair with an HTB queue, None if it can."""
    trial = "ip link set lo up && ip link add v0 type veth peer name v1 && tc qdisc add dev v0 root handle 1: htb"
    outcome = subprocess.run(
        ["mnexec", "-n", "sh", "-c", trial], capture_output=True, text=True, check=False, timeout=30
    )
    if outcome.returncode == 0:
        return None
    said = outcome.stderr.strip().splitlines()
    return f"no network namespace with HTB queues ({said[-1] if said else f'exit status {outcome.returncode}'})"

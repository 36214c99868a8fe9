"""`kuijia doctor`: capabilities of this machine, and their consequences."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import asdict

from kuijia.cli.printing import print_json
from kuijia_base.additions import Addition, all_additions
from kuijia_base.errors import InputError
from kuijia_base.text_table import aligned
from testbed.lab.other_grounds import OtherGrounds, examine_other_grounds
from testbed.machine.machine import Machine, examine_machine


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--emulation", action="store_true", help="exit status 1 if the emulation cannot run here")


def run(args: argparse.Namespace) -> int:
    machine = examine_machine()
    others = examine_other_grounds()
    additions = [(each, _problem_with(each)) for each in all_additions()]
    if args.json:
        problems = [{"problem": problem, "expected": expected} for problem, expected in machine.obstacles]
        report = {**asdict(machine), "can_emulate": not problems, "obstacles": problems}
        report |= {"consequences": machine.consequences, "known_faults": machine.known_faults}
        other_grounds = {**asdict(others), "advice": others.advice}
        added = [
            {"package": each.package, "kind": each.kind, "name": each.name, "problem": problem}
            for each, problem in additions
        ]
        print_json("doctor", {**report, "other_grounds": other_grounds, "additions": added})
    else:
        print("\n".join([*_lines(machine, others), *_section("Installed packages add:", map(_added, additions))]))
    return 1 if args.emulation and machine.obstacles else 0


def _lines(machine: Machine, others: OtherGrounds) -> list[str]:
    programs = machine.programs
    module = _yes(machine.openvswitch_module)
    facts = {
        "kernel": f"{machine.kernel}, {machine.cpu_count} CPUs{f' ({machine.cpu_model})' if machine.cpu_model else ''}",
        "root": _yes(machine.is_root),
        "Python": machine.python,
        "Open vSwitch": f"{programs['ovs-vswitchd'] or 'missing'}, kernel module: {module}",
        "Mininet": machine.mininet or "missing",
        "programs": _versions({name: version for name, version in programs.items() if not name.startswith("ovs")}),
        "frameworks": _versions(machine.frameworks),
        "queues": ", ".join(f"{kind} {_yes(works)}" for kind, works in sorted(machine.qdiscs.items()))
        or "not tried: needs root and network namespaces",
    }
    facts |= {
        "SSH": f"client {others.ssh or 'missing'}, daemon {_yes(others.sshd)}",
        "Vagrant": others.vagrant or "missing",
        "user-mode Linux": others.user_mode_linux or "missing",
    }
    if others.user_mode_linux is not None and others.guest_obstacle is not None:
        facts["user-mode Linux"] += ", cannot be used"
    if others.vagrant is not None:
        facts["Vagrant"] += f", providers: {', '.join(others.vagrant_providers) or 'none'}"
    lines = aligned([*facts.items()], left=(0, 1))
    if machine.obstacles:
        verdict = ["The emulation cannot run here:"]
        verdict += [f"  {problem}; it needs {expected}." for problem, expected in machine.obstacles]
        verdict.append("Commands without switches, such as `kuijia solve`, work.")
    else:
        verdict = ["The emulation can run here.", *machine.consequences]
    lacking = [name for name, there in _of_the_kernel(machine).items() if not there]
    if lacking and others.guest_obstacle is None:
        verdict.append(
            f"This kernel lacks {', '.join(lacking)}: `kuijia uml -- COMMAND` runs a command on one that has it."
        )
    verdict.append("This says nothing about your own switches: `kuijia controller PLAN` queries and probes them.")
    faults = _section("Known faults of these versions:", machine.known_faults)
    return [*lines, "", *verdict, *faults, *_section("Beyond the emulation:", others.advice)]


def _section(title: str, sentences: Iterable[str]) -> list[str]:
    """Return the lines of a paragraph; none without sentences."""
    lines = [f"  {sentence}" for sentence in sentences]
    return ["", title, *lines] if lines else []


def _problem_with(addition: Addition) -> str | None:
    """Return why an addition cannot be loaded, None if it can."""
    try:
        addition.load(object)
    except InputError as error:
        return str(error)
    return None


def _added(addition: tuple[Addition, str | None]) -> str:
    each, problem = addition
    return problem or f"{each.kind} {each.name}, by {each.package}"


def _of_the_kernel(machine: Machine) -> dict[str, bool]:
    """Return the features that user-mode Linux provides, True if this kernel has them; untried ones are left out."""
    delays = {"netem": machine.qdiscs["netem"]} if machine.qdiscs else {}
    return {"openvswitch": machine.openvswitch_module, **delays}


def _yes(there: bool) -> str:  # noqa: FBT001
    return "yes" if there else "no"


def _versions(versions: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())

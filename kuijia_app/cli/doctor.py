"""`kuijia doctor`: what this machine can and cannot do, and what follows."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict

from testbed.machine import Machine, examine_machine

HELP = "what this machine can and cannot do, and what follows"


def configure(_parser: argparse.ArgumentParser) -> None:
    pass


def run(args: argparse.Namespace) -> int:
    machine = examine_machine()
    if args.json:
        problems = [{"problem": problem, "expected": expected} for problem, expected in machine.obstacles]
        report = {**asdict(machine), "can_emulate": not problems, "obstacles": problems}
        print(json.dumps({**report, "consequences": machine.consequences}, indent=2))
    else:
        print("\n".join(_lines(machine)))
    return 1 if machine.obstacles else 0


def _lines(machine: Machine) -> list[str]:
    programs = machine.programs
    module = "yes" if machine.openvswitch_module else "no"
    facts = {
        "kernel": f"{machine.kernel}, {machine.cpu_count} CPUs{f' ({machine.cpu_model})' if machine.cpu_model else ''}",
        "root": "yes" if machine.is_root else "no",
        "Python": machine.python,
        "Open vSwitch": f"{programs['ovs-vswitchd'] or 'missing'}, kernel module: {module}",
        "Mininet": machine.mininet or "missing",
        "programs": _versions({name: version for name, version in programs.items() if not name.startswith("ovs")}),
        "frameworks": _versions(machine.frameworks),
        "queues": ", ".join(f"{kind} {'yes' if works else 'no'}" for kind, works in sorted(machine.qdiscs.items()))
        or "not tried, this needs root and network namespaces",
    }
    width = max(map(len, facts))
    lines = [f"{name:<{width}}  {value}" for name, value in facts.items()]
    if machine.obstacles:
        verdict = ["The emulation cannot run here:"]
        verdict += [f"  {problem}; it needs {expected}." for problem, expected in machine.obstacles]
        verdict.append("What needs no switches, such as `kuijia solve`, works all the same.")
    else:
        verdict = ["The emulation can run here.", *machine.consequences]
    return [*lines, "", *verdict]


def _versions(versions: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())

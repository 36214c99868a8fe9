"""Table of verbs by task, which `kuijia --help` shows without importing any of them."""

from __future__ import annotations

import argparse
import importlib
import textwrap
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from kuijia_base.suggestion import similar

DESCRIPTION = "Robust traffic engineering by rate rescaling."

TASKS: Mapping[str, Mapping[str, str]] = {
    "plan and study": {
        "solve": "choose tunnels for demands and divide the traffic over them",
        "whatif": "show which failures hurt which traffic, under each failure scheme",
        "packet": "simulate flows packet by packet, and compare loads, queues and transports",
        "topology": "describe a network (describe), or convert it to YAML (convert)",
        "demands": "generate demands for a network: gravity, uniform, bimodal or random pairs",
    },
    "prove what switches do": {
        "compile": "write a plan's switch tables in the syntax of ovs-ofctl, and count their entries",
        "verify": "prove that the switch tables keep the plan's promises for all traffic under every failure",
        "trace": "follow a packet through a plan's switch tables, hop by hop",
        "crosscheck": "compare the model of `verify` and `trace` with a real Open vSwitch over random cases",
    },
    "run switches of your own": {
        "switches": "check, prepare or restore the queues, MTUs and ports of your own switches for a plan",
        "wiring": "write the file that maps a topology to your own switches: example, discover, from-ovs",
        "controller": "run the OpenFlow controller for a plan; SIGHUP reloads the plan",
        "scheduler": "run the OpenFlow controller that schedules large flows in a data centre",
        "handover": "make the active controller or scheduler hand over to its peer",
        "pki": "make keys and certificates for TLS: authority, controller, switch, web; list, status, renew",
        "boxes": "set up physical switches and hosts over SSH: check, up, down, watch",
    },
    "run emulated switches": {
        "lab": "run an emulated network, also on a page: up, status, fail, heal, flow, down, web and more",
        "chaos": "inject faults into a lab, and report losses that they do not explain",
        "uml": "run a command under user-mode Linux, whose kernel has Open vSwitch's datapath and link delays",
    },
    "reproduce published results": {
        "list": "list the experiments of `kuijia run`",
        "run": "reproduce a table or figure of a paper",
        "reproduce": "reproduce all tables and figures of a paper, and write one report with all verdicts",
        "report": "compare the results in a folder with the published ones, in HTML and Markdown",
    },
    "set up": {
        "doctor": "show what this machine can and cannot run, and why",
        "completion": "print the completion script for bash or zsh",
        "manual": "write the man pages to a folder",
    },
}
"""Verbs and one line on each, by task. The module `kuijia.cli.VERB` is imported when its verb is asked for."""

VERBS: Mapping[str, str] = {verb: what for verbs in TASKS.values() for verb, what in verbs.items()}


_ACTIONS: Mapping[str, tuple[str, ...]] = {"topology": ("describe", "convert")}
"""Verbs whose first action may be left out, and their actions."""

_APART: Mapping[tuple[str, str], str] = {("lab", "web"): "lab_web", ("lab", "replay"): "lab_web"}
"""Verbs with actions that need none of what the others import, and run on any system, and the module of these."""

_HELP = frozenset({"-h", "--help"})


def verbs_by_task(width: int) -> str:
    """Return the verbs under the tasks they serve, in lines of at most `width` characters."""
    indent = max(map(len, VERBS)) + 4
    lines = []
    for task, verbs in TASKS.items():
        lines += ["", f"{task}:"]
        for verb, what in verbs.items():
            start = f"  {verb}".ljust(indent)
            lines += textwrap.wrap(what, max(width, 2 * indent), initial_indent=start, subsequent_indent=" " * indent)
    return "\n".join(lines[1:])


class Verb(Protocol):
    """Interface of a verb's module."""

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def with_default_action(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the action that they leave out: `topology gscale` describes the network."""
    words = list(arguments)
    at = next((place for place, word in enumerate(words) if not word.startswith("-")), len(words))
    actions = _ACTIONS.get(words[at], ()) if at < len(words) else ()
    rest = words[at + 1 :]
    if not actions or not rest or set(rest) <= _HELP or set(rest) & set(actions) or _is_mistyped(rest, actions):
        return words
    return [*words[: at + 1], actions[0], *rest]


def _is_mistyped(words: Sequence[str], actions: Sequence[str]) -> bool:
    """Return True if the first of several words looks like an action: the parser then asks what was meant."""
    names = [word for word in words if not word.startswith("-")]
    return len(names) > 1 and similar(names[0], actions) is not None


def module_of(arguments: Sequence[str]) -> str:
    """Return the name of the module for a command: that of its verb, or that of an action that has its own."""
    words = [word for word in arguments if not word.startswith("-")]
    return _APART.get((words[0], words[1]), words[0]) if len(words) > 1 else words[0]


def load_verb(name: str, words: Sequence[str] = ()) -> Verb:
    """Return a verb: its module, or what the module's `verb_for` returns, whose options depend on the command line."""
    module = importlib.import_module(f"kuijia.cli.{name}")
    return cast("Verb", module.verb_for(words) if words and hasattr(module, "verb_for") else module)

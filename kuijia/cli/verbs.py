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
        "whatif": "show which failures of a network hurt which traffic, and what each scheme changes",
        "packet": "simulate flows over a network packet by packet, at loads and under schemes side by side",
        "topology": "describe a network, or convert it to YAML: describe, convert",
        "demands": "make demands for a network: gravity, uniform, bimodal or random pairs",
    },
    "prove what switches do": {
        "compile": "write a plan's tables in the syntax of ovs-ofctl, and count them",
        "verify": "prove that tables keep the plan's promises: every kind of traffic under every failure",
        "trace": "follow a packet through a plan's tables, hop by hop and table by table",
        "crosscheck": "compare the model of `verify` and `trace` with a real Open vSwitch over random cases",
    },
    "run switches of your own": {
        "switches": "queues, frame sizes and ports that a plan needs on your own switches: check, prepare, restore",
        "wiring": "make files with the numbers of your own switches: example, discover, from-ovs",
        "controller": "run the OpenFlow controller for a plan; on SIGHUP it reads the plan file again",
        "scheduler": "run the OpenFlow controller that schedules large flows in a data centre",
        "handover": "ask the active controller or scheduler to hand over to its peer, and wait until it has",
        "pki": "make keys and certificates for TLS: authority, controller, switch, web; list, status, renew",
        "boxes": "physical switches and hosts over SSH: check, up, down",
    },
    "run emulated switches": {
        "lab": "emulated network, also as a page: up, status, watch, update, fail, heal, flow, down, web, replay",
        "chaos": "break a lab in every way, and find losses that nothing excuses",
        "uml": "run a command on a kernel with Open vSwitch's datapath and link delays: user-mode Linux",
    },
    "reproduce published results": {
        "list": "list the experiments of `kuijia run`",
        "run": "reproduce a table or figure of the paper",
        "reproduce": "run the commands of a paper's tables and figures, and write one report with all verdicts",
        "report": "compare the results in a folder with the published ones, as HTML and Markdown",
    },
    "set up": {
        "doctor": "show what this machine can and cannot do, and the consequences",
        "completion": "print the script by which bash or zsh completes verbs, options and their values",
        "manual": "write the man pages of the command and its verbs to a folder",
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

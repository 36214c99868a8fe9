"""Fuzz targets: the arguments of every verb of `kuijia`, made from its own parsers; dangerous work is left out."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from random import Random
from unittest import mock

from kuijia.cli.parsers import add_common_options
from kuijia.cli.verbs import VERBS, load_verb
from kuijia_base.errors import KuijiaError
from tests.fuzz import examples, hostile
from tests.fuzz.command_line import run_command
from tests.fuzz.documents import exhibit_examples, plan_examples
from tests.fuzz.targets import CaseTarget

_MOST_OPTIONS = 4
_LARGEST_LEGAL = 999

WORK: Mapping[str, Sequence[str]] = {
    "solve": ("kuijia.cli.solve.planned",),
    "whatif": ("kuijia.api.whatif_contenders.contenders_of",),
    "packet": ("kuijia.api.packet.results_of_runs",),
    "crosscheck": ("kuijia.cli.crosscheck.cross_check",),
    "controller": ("kuijia.cli.controller.run_application",),
    "scheduler": ("kuijia.cli.scheduler.run_application",),
    "lab": (
        "kuijia.cli.lab.ask_lab",
        "kuijia.cli.lab.start_lab",
        "kuijia.cli.lab.running_lab",
        "kuijia.cli.lab.remove_killed_lab",
        "te_solver.solve.solve",
    ),
    "wiring": ("kuijia.cli.wiring.require_free",),
    "switches": ("kuijia.cli.switches.survey", "kuijia.cli.switches.prepare", "kuijia.cli.switches.restore"),
    "boxes": ("kuijia.cli.boxes.Fleet",),
    "uml": ("kuijia.cli.uml.run_in_guest",),
    "run": ("kuijia.cli.run.OutputFolder",),
    "reproduce": ("kuijia.cli.reproduce.OutputFolder",),
    "doctor": ("kuijia.cli.doctor.run",),
}
"""Where the work of a verb begins, which is either long or touches the machine: arguments are followed up to there."""

_FILES = (
    "triangle.yaml",
    "demands.csv",
    "layout.yaml",
    "inventory.yaml",
    "wiring.yaml",
    "interfaces.yaml",
    "sizes.cdf",
    "failures.csv",
    "probabilities.csv",
)
_PATHS = (
    *_FILES,
    "plan.json",
    "results",
    "new",
    "new.svg",
    "new.json",
    "missing/new",
    "loop",
    "results/exhibit.json",
    "-",
    "",
)

_GOOD: Mapping[str, Sequence[str]] = {
    "topology": ("fig1", "triangle.yaml", "topohub:sndlib/polska"),
    "demands": ("fig1", "demands.csv"),
    "plan": ("plan.json",),
    "packet": ("s1 to s4", "s1 to s4 slot=3 dscp=46", "s4->s1 class=1"),
    "folder": ("results",),
    "inventory": ("inventory.yaml",),
    "experiment": ("fig4", "table2", "gscale", "cqrd-exp2", "hedera-testbed"),
    "layout": ("plain", "layout.yaml"),
    "wiring": ("wiring.yaml",),
    "interfaces": ("interfaces.yaml",),
    "outputs": ("a=demands.csv", "a=wiring.yaml"),
    "switch": ("s1=0x2a",),
    "not_ours": ("0x2a", "0x2a/0xff"),
    "failures": ("links", "nodes,pairs", "failures.csv", "s1-s4", "s2"),
    "probabilities": ("probabilities.csv",),
    "schemes": ("kuijia", "ffc,recompute"),
    "sizes": ("web-search", "sizes.cdf", "1500"),
    "pattern": ("random", "stride:1", "incast:2", "all-to-all"),
    "arrivals": ("poisson", "log-normal:1.5"),
    "cluster": ("tcp://127.0.0.1:1",),
}
"""Values that parsers take, by the destination of the argument."""

_SMALL = ("1", "2", "3", "0.5", "10", "16", "64", "100", "1500")
_FORMS = (
    "fat-tree:4",
    "leaf-spine:2:2:2",
    "dumbbell:2",
    "star:3",
    "fat-tree:",
    "leaf-spine:9",
    "nothing:1",
    "dumbbell:0",
)


_MOST: Mapping[str, int] = {"fat_tree": 32}
"""Numbers that good arguments may have here; larger legal ones ask for long work."""


class WorkBeginsError(KuijiaError):
    """Arguments were good: from here on a command would do its work."""


class ArgumentsTarget(CaseTarget):
    """The arguments of a verb, in a folder with files for them."""

    share = 0.08
    seconds = 4.0
    names_paths = True

    def __init__(self, verb: str) -> None:
        self.name = f"arguments:{verb}"
        self.suffix = ".json"
        self._verb = verb

    def prepare(self) -> None:
        _parser(self._verb)
        _texts()

    def make(self, random: Random) -> bytes:
        arguments = [self._verb, *_arguments(random, _parser(self._verb))]
        if random.random() < 0.1:
            arguments.insert(random.randrange(len(arguments) + 1), _any_text(random))
        return json.dumps([_possible(each) for each in arguments]).encode()

    def lay(self, content: bytes, folder: Path) -> Sequence[str]:
        for name, text in _texts().items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "results").mkdir()
        (folder / "results" / "exhibit.json").write_text(exhibit_examples()[0])
        (folder / "loop").symlink_to("loop")
        arguments: list[str] = json.loads(content)
        return arguments

    def run(self, arguments: Sequence[str]) -> None:
        with ExitStack() as stack:
            for name in WORK.get(self._verb, ()):
                stack.enter_context(mock.patch(name, side_effect=WorkBeginsError("work begins")))
            run_command(arguments)


@cache
def _parser(verb: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(verb)
    load_verb(verb).configure(parser)
    add_common_options(parser)
    return parser


@cache
def _texts() -> dict[str, str]:
    texts = dict(zip(_FILES, examples.texts(*_FILES), strict=True))
    return {**texts, "plan.json": plan_examples()[0]}


def _arguments(random: Random, parser: argparse.ArgumentParser) -> list[str]:
    """Return arguments for a parser and, where it has such, for one of the parsers below it."""
    before: list[str] = []
    after: list[str] = []
    options = [action for action in parser._actions if action.option_strings and action.dest != "help"]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            chosen = random.choice(sorted(action.choices))
            after += [chosen, *_arguments(random, action.choices[chosen])]
        elif not action.option_strings and random.random() < 0.97:
            before += [_value(random, action) for _ in range(random.choice((1, 2)) if action.nargs else 1)]
    for action in random.sample(options, min(len(options), random.randrange(_MOST_OPTIONS + 1))):
        before += _option(random, action)
    return [*before, *after]


def _option(random: Random, action: argparse.Action) -> list[str]:
    option = random.choice(action.option_strings)
    if action.nargs == 0:
        return [option] if random.random() < 0.95 else [f"{option}={_any_text(random)}"]
    count = random.choice((0, 1, 2, 3)) if action.nargs in ("+", "*") else 1
    values = [_value(random, action) for _ in range(count)]
    if option.startswith("--") and len(values) == 1 and random.random() < 0.5:
        return [f"{option}={values[0]}"]
    return [option, *values]


def _value(random: Random, action: argparse.Action) -> str:
    """Return a value for an argument, good ones among them so that the next argument is looked at, too."""
    value = _any_value(random, action)
    most = _MOST.get(action.dest)
    legal = most is not None and value.isdecimal() and len(value) <= len(str(_LARGEST_LEGAL))
    return str(min(int(value), most)) if most is not None and legal else value


def _any_value(random: Random, action: argparse.Action) -> str:
    kind = random.random()
    good: Sequence[str] = ()
    if action.choices is not None:
        good = [str(each) for each in action.choices]
    elif action.dest in _GOOD:
        good = _GOOD[action.dest]
    elif action.type is Path:
        good = _PATHS
    if kind < 0.6 and good:
        return random.choice(good)
    if kind < 0.6:
        return random.choice(_SMALL)
    if kind < 0.7:
        return random.choice(_PATHS)
    if kind < 0.85:
        return hostile.number(random)
    if kind < 0.88:
        return random.choice(_FORMS)
    return _any_text(random)


def _any_text(random: Random) -> str:
    return random.choice((hostile.text, hostile.number, hostile.value))(random)


def _possible(text: str) -> str:
    """Return the text as it can stand among the arguments of a program."""
    return text.replace("\0", "").encode(errors="replace").decode()


TARGETS: Sequence[CaseTarget] = tuple(map(ArgumentsTarget, VERBS))

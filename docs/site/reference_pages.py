"""The reference of the command line, made from the parsers, and of the Python packages, by Sphinx's autodoc."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping

from kuijia.cli.parsers import actions_of, add_common_options, help_of, parsers_below
from kuijia.cli.verbs import VERBS, load_verb


class _Formatter(argparse.HelpFormatter):
    """Help as wide as a page, whatever the terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)


def parsers() -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield the name of each verb, a sentence on it, and its parser."""
    for name, sentence in VERBS.items():
        parser = argparse.ArgumentParser(
            prog=f"kuijia {name}", description=sentence, formatter_class=_Formatter, add_help=False
        )
        load_verb(name).configure(parser)
        add_common_options(parser)
        yield name, sentence, parser


def commands_page() -> str:
    """Return the page on all verbs."""
    verbs = list(parsers())
    lines = [
        "# The command line",
        "",
        "All verbs of `kuijia` with their arguments and options, as `kuijia VERB --help` shows them. Exit status 0",
        "means done, 1 that the work failed, 2 that the input was bad; a message is one line on stderr.",
        "",
        "| verb | |",
        "|---|---|",
        *(f"| [`kuijia {name}`](#kuijia-{name}) | {_plain(sentence)} |" for name, sentence, _ in verbs),
    ]
    for name, sentence, parser in verbs:
        lines += ["", f"## kuijia {name}", "", _sentence(sentence), ""]
        lines += _described(parser)
        for action, below in parsers_below(parser).items():
            lines += ["", f"### kuijia {name} {action}", ""]
            lines += _described(below)
    return "\n".join([*lines, ""])


def _described(parser: argparse.ArgumentParser) -> list[str]:
    usage = re.sub(r"^usage: ", "", parser.format_usage()).rstrip()
    lines = ["```text", usage, "```", ""]
    if actions := list(actions_of(parser)):
        lines += ["| | |", "|---|---|"]
        lines += [f"| {_shape(parser, action)} | {_help(parser, action)} |" for action in actions]
    return lines


def _shape(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    formatter = parser._get_formatter()  # noqa: SLF001
    value = formatter._format_args(action, action.metavar or action.dest.upper())  # type: ignore[arg-type]  # noqa: SLF001
    if not action.option_strings:
        return f"`{_cell(value)}`"
    behind = f" {value}" if value else ""
    return ", ".join(f"`{_cell(option + behind)}`" for option in action.option_strings)


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    choices = ""
    if action.choices is not None and action.metavar is not None:
        choices = f"; one of {', '.join(map(str, action.choices))}"
    return _plain(f"{help_of(parser, action)}{choices}")


def _sentence(text: str) -> str:
    return f"{_plain(text[0].upper() + text[1:])}."


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _plain(text: str) -> str:
    """Return text as Markdown that shows the same characters."""
    return re.sub(r"([*_<>\[\]|~$])", r"\\\1", " ".join(text.split()))


PUBLIC: Mapping[str, tuple[str, ...]] = {
    "Use from Python": ("kuijia",),
    "Networks, demands and plans": (
        "te_solver.model.topology",
        "te_solver.formats.topology_file",
        "te_solver.model.demands",
        "te_solver.formats.demands_file",
        "te_solver.model.demand_generators",
        "te_solver.tunnels.finder",
        "te_solver.model.plan",
        "te_solver.formats.plan_file",
        "te_solver.solve",
        "te_solver.programs.program",
    ),
    "Failures and schemes": (
        "te_solver.model.failures",
        "te_solver.formats.failures_file",
        "te_solver.schemes.failure_scheme",
        "te_solver.schemes.models.interface",
        "te_solver.schemes.models.rerouting",
        "te_solver.schemes.models.traffic",
    ),
    "Switch tables and proofs": ("kuijia_app.tables.options", "kuijia_app.tables.pipeline"),
    "Simulators": (
        "simulator.flow.model",
        "simulator.packet.network",
        "simulator.packet.transports",
        "simulator.packet.credited",
        "simulator.packet.queues",
        "simulator.packet.flows",
        "simulator.packet.simulation",
    ),
    "Experiments and additions": ("experiments.experiment", "kuijia_base.additions", "kuijia_base.errors"),
}
"""Public modules by what they are for."""

_ELSEWHERE = ("Demand", "Failure", "FailureScheme", "InputError", "KuijiaError", "Link", "SolverError")
"""Names of `kuijia` that have their place on the pages of other modules."""


def api_pages() -> Iterator[tuple[str, str]]:
    """Yield the places and texts of the pages."""
    lines = [
        "# Python",
        "",
        "Modules that programs of your own may import. Everything else may change without notice.",
        "",
    ]
    names: list[str] = []
    for purpose, modules in PUBLIC.items():
        lines += [f"## {purpose}", ""]
        for name in modules:
            lines.append(f"- [`{name}`](api/{name}.md)")
            names.append(name)
            yield f"reference/api/{name}.md", _page(name)
        lines.append("")
    entries = "\n".join(f"api/{name}" for name in names)
    yield "reference/api.md", "\n".join([*lines, "```{toctree}", ":hidden:", "", entries, "```", ""])


def _page(name: str) -> str:
    elsewhere = f"   :exclude-members: {', '.join(_ELSEWHERE)}\n" if name == "kuijia" else ""
    return f"# {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n{elsewhere}```\n"

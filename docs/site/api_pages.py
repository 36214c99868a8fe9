"""The reference of the Python packages: one page for each public module, written by Sphinx's autodoc."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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

"""Verification of a plan before it is put in force: its tables under every failure of a link."""

from __future__ import annotations

from typing import Any

from kuijia_app.control.plan_update import require_same_network
from kuijia_app.proof.verification import Verifier
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_base.errors import InputError, UnsoundError, key_path
from te_solver.formats.plan_file import plan_from_json
from te_solver.model.failures import single_links
from te_solver.model.plan import Plan
from testbed.web.backend import Finding

_MOST_FINDINGS = 100
_SOURCE = "plan"


def sound_plan(data: dict[str, Any], network: Plan) -> Plan:
    """Return the plan in JSON data; raises InputError if it is none, or one for another network than `network`'s."""
    plan = plan_from_json(data, _SOURCE)
    try:
        require_same_network(plan, network)
    except UnsoundError as error:
        raise InputError(_SOURCE, key_path(error.where), error.problem, error.expected) from error
    return plan


def findings(plan: Plan, options: PipelineOptions) -> list[Finding]:
    """Return the promises that a plan's tables break; raises InputError if no tables can be made."""
    try:
        tables = build_tables(plan, options)
    except UnsoundError as error:
        raise InputError(_SOURCE, key_path(error.where), error.problem, error.expected) from error
    found = Verifier(plan, tables, options).run(single_links(plan.topology))
    return [Finding(each.rule, str(each)) for each in found.violations[:_MOST_FINDINGS]]

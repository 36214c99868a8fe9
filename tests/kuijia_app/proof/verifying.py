"""Verification as tests run it."""

from __future__ import annotations

from collections.abc import Mapping

from kuijia_app.proof.verification import Verification, Verifier
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.rules import SwitchTables
from te_solver.model.failures import link_pairs, single_links
from te_solver.model.plan import Plan


def verify(plan: Plan, tables: Mapping[str, SwitchTables], options: PipelineOptions) -> Verification:
    return Verifier(plan, tables, options).run([*single_links(plan.topology), *link_pairs(plan.topology)])


def short(options: PipelineOptions) -> str:
    words = (options.tagging, options.form, options.liveness)
    return "-".join([options.layout.name, options.scheme.name, *(each.value for each in words)])

"""The controllers of a lab: one, or several that are peers of each other, with files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kuijia_app.framework.metrics.address import PageAddress
from te_solver.formats.plan_file import save_plan
from te_solver.model.plan import Plan
from testbed.controllers.application_process import Listening
from testbed.controllers.controller_process import ControllerProcess, Peers
from testbed.controllers.controller_set import ControllerSet, LabController
from testbed.lab.lab_options import LabOptions
from testbed.machine.run_directory import RunDirectory


def ports_of(options: LabOptions, listening: Listening) -> list[int]:
    """Return the ports where the controllers wait for switches; they wait for each other at as many that follow."""
    return [listening.port + place for place in range(options.controllers)]


def controllers_of(
    plan: Plan,
    options: LabOptions,
    run: RunDirectory,
    listening: Listening,
    pages: Sequence[PageAddress] = (),
    database: str = "",
) -> LabController:
    """Return the controllers, which do not run yet; several have a subfolder each.

    They serve metrics at `pages`. With the address of a database they make the ports of BFD sessions there.
    """
    page_of = dict(enumerate(pages)).get
    if options.controllers == 1:
        return _controller(plan, options, run, "", listening, page_of(0), database)
    ports = ports_of(options, listening)
    addresses = [f"{listening.host}:{port + len(ports)}" for port in ports]
    members = []
    for place, port in enumerate(ports):
        own = replace(listening, port=port)
        member = _controller(plan, options, run, f"controller-{place + 1}", own, page_of(place), database)
        member.peers = Peers(addresses[place], tuple(addresses[:place] + addresses[place + 1 :]))
        members.append(member)
    return ControllerSet(members)


def _controller(
    plan: Plan,
    options: LabOptions,
    run: RunDirectory,
    name: str,
    listening: Listening,
    page: PageAddress | None,
    database: str,
) -> ControllerProcess:
    folder, plan_file = run.path / name, run.storage / name / "plan.json"
    for each in (folder, plan_file.parent):
        each.mkdir(exist_ok=True)
    save_plan(plan, plan_file)
    process = ControllerProcess(
        folder, plan_file, options.words, options.framework, listening, reoptimise=options.reoptimise, metrics=page
    )
    process.checks = {}  # all that the controller asks for by default, as the lab's switches have it
    if database:
        process.session_ports = {"ovsdb": database, "bfd_interval": options.bfd_interval_ms}
    return process

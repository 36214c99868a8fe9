"""The floors of the house: every room, lowest first, and the rooms that its modules may import from."""

from __future__ import annotations

_EXPERIMENT = "kuijia_base te_solver experiments.results experiments.experiment experiments.reporting"
_COMPUTED = f"{_EXPERIMENT} experiments.grid simulator"
_MEASURED = (
    f"{_EXPERIMENT} experiments.measuring kuijia_app.tables"
    " testbed.machine testbed.links testbed.network testbed.controllers testbed.traffic testbed.lab"
)
_LIBRARIES = "kuijia_base te_solver simulator kuijia_app hedera testbed experiments"

ROOMS = {
    "kuijia_base": "",
    "te_solver.schemas": "",
    "te_solver.networks": "kuijia_base",
    "te_solver.model": "kuijia_base",
    "te_solver.formats": "kuijia_base te_solver.schemas te_solver.model",
    "te_solver.tunnels": "kuijia_base te_solver.model te_solver.formats",
    "te_solver.programs": "kuijia_base te_solver.model te_solver.formats te_solver.tunnels",
    "te_solver.schemes.models": "kuijia_base te_solver.model te_solver.tunnels te_solver.programs",
    "te_solver.schemes": "kuijia_base te_solver.programs te_solver.schemes.models",
    "te_solver.pictures": "kuijia_base te_solver.model",
    "te_solver": "kuijia_base te_solver.model te_solver.tunnels te_solver.programs",
    "simulator": "kuijia_base te_solver",
    "kuijia_app.tables": "kuijia_base te_solver",
    "kuijia_app.framework": "kuijia_base",
    "kuijia_app.preparation": "kuijia_base te_solver kuijia_app.tables kuijia_app.framework.tls",
    "kuijia_app.gate": "kuijia_base kuijia_app.framework",
    "kuijia_app.pki": "kuijia_base kuijia_app.framework",
    "kuijia_app.control": "kuijia_base te_solver kuijia_app.tables kuijia_app.framework kuijia_app.gate",
    "kuijia_app.proof": (
        "kuijia_base te_solver kuijia_app.tables kuijia_app.control.liveness kuijia_app.control.reconciliation"
        " kuijia_app.control.restoration"
    ),
    "kuijia_app.controller": (
        "kuijia_base te_solver kuijia_app.tables kuijia_app.framework kuijia_app.gate kuijia_app.control"
        " kuijia_app.preparation kuijia_base.errors"
    ),
    "simulator.planned": (
        "kuijia_base te_solver simulator.packet kuijia_app.tables kuijia_app.control.flap_damping"
        " kuijia_app.control.liveness kuijia_app.control.plan_update kuijia_app.control.reconciliation"
        " kuijia_app.control.rollout kuijia_app.control.sender"
    ),
    "simulator.studies": (
        "kuijia_base te_solver simulator.flow simulator.flow_sizes simulator.packet simulator.planned"
        " simulator.portable_random kuijia_app.tables"
    ),
    "simulator.live": (
        "kuijia_base te_solver simulator.flow simulator.planned simulator.packet kuijia_app.tables"
        " kuijia_app.control.plan_update"
    ),
    "kuijia_app.discovery": (
        "kuijia_base te_solver kuijia_app.tables kuijia_app.framework kuijia_app.gate kuijia_app.control"
    ),
    "hedera._core": "",
    "hedera.network": "kuijia_base te_solver kuijia_app.tables hedera._core",
    "hedera.placement": "kuijia_base te_solver hedera._core hedera.network",
    "hedera.scheduling": (
        "kuijia_base te_solver kuijia_app.tables kuijia_app.framework kuijia_app.control hedera.network"
        " hedera.placement"
    ),
    "hedera.scheduler": (
        "kuijia_base kuijia_app.tables kuijia_app.framework kuijia_app.gate kuijia_app.control hedera.scheduling"
    ),
    "testbed.machine": "kuijia_base",
    "testbed.links": "kuijia_base testbed.machine",
    "testbed.uml": "kuijia_base testbed.machine",
    "testbed.network": (
        "kuijia_base te_solver kuijia_app.tables kuijia_app.preparation testbed.machine testbed.links"
        " kuijia_app.framework.metrics"
    ),
    "testbed.traffic": "kuijia_base testbed.machine testbed.links testbed.network",
    "testbed.controllers": (
        "kuijia_base te_solver kuijia_app.tables kuijia_app.framework.event_log kuijia_app.framework.tls"
        " kuijia_app.control.plan_files testbed.machine kuijia_app.framework.metrics"
    ),
    "testbed.crosscheck": "kuijia_base te_solver simulator.planned kuijia_app.tables kuijia_app.proof testbed.machine",
    "testbed.boxes": (
        "kuijia_base te_solver kuijia_app.tables kuijia_app.preparation kuijia_app.framework.listening"
        " kuijia_app.framework.tls testbed.machine testbed.links testbed.network testbed.controllers"
        " kuijia_app.framework.metrics"
    ),
    "testbed.lab": (
        "kuijia_base te_solver kuijia_app.tables kuijia_app.preparation kuijia_app.framework.event_log"
        " kuijia_app.control.liveness"
        " kuijia_app.control.plan_update kuijia_app.proof testbed.machine testbed.uml testbed.links testbed.network"
        " testbed.traffic testbed.controllers testbed.boxes kuijia_app.framework.metrics"
    ),
    "testbed.web": (
        "kuijia_base te_solver simulator.live kuijia_app.tables kuijia_app.proof"
        " kuijia_app.control.plan_update testbed.machine testbed.lab"
        " kuijia_app.framework.certificate_expiry kuijia_app.framework.followed_tls"
    ),
    "testbed.chaos": (
        "kuijia_base te_solver kuijia_app.tables kuijia_app.preparation kuijia_app.framework.event_log"
        " kuijia_app.control.findings kuijia_app.control.flap_damping kuijia_app.control.probe_frames testbed.machine"
        " testbed.links testbed.network testbed.traffic testbed.controllers testbed.lab"
    ),
    "experiments.results": "kuijia_base",
    "experiments.experiment": "kuijia_base experiments.results",
    "experiments.catalog": "kuijia_base experiments.results experiments.experiment",
    "experiments.reporting": "kuijia_base experiments.results experiments.experiment experiments.catalog",
    "experiments.grid": "kuijia_base experiments.results experiments.experiment experiments.reporting",
    "experiments.measuring": (
        "kuijia_base te_solver kuijia_app.tables testbed.machine testbed.links testbed.network testbed.traffic"
        " testbed.boxes testbed.lab experiments.results experiments.experiment simulator"
    ),
    "experiments.compared_schemes": "kuijia_base te_solver experiments.experiment",
    "experiments.cqrd": _COMPUTED,
    "experiments.flashpass": _COMPUTED,
    "experiments.hermes": _COMPUTED,
    "experiments.fig4": _COMPUTED,
    "experiments.update": f"{_MEASURED} simulator experiments.grid",
    "experiments.takeover": f"{_MEASURED} testbed.chaos kuijia_app.framework.event_log experiments.grid",
    "experiments.recovery": f"{_MEASURED} simulator experiments.grid",
    "experiments.motivation": f"{_MEASURED} simulator experiments.compared_schemes experiments.grid",
    "experiments.gscale": f"{_MEASURED} simulator experiments.compared_schemes experiments.grid",
    "experiments.victim_transports": f"{_MEASURED} simulator experiments.motivation experiments.gscale"
    " experiments.compared_schemes experiments.grid",
    "experiments.hedera": f"{_MEASURED} experiments.grid simulator hedera kuijia_app.preparation"
    " kuijia_app.proof.model",
    "experiments.ffc_vacancy": f"{_EXPERIMENT} experiments.grid experiments.gscale.plans",
    "experiments.memory": f"{_EXPERIMENT} kuijia_app.tables experiments.compared_schemes experiments.gscale.cases"
    " experiments.gscale.plans experiments.grid",
    "kuijia.api": _LIBRARIES,
    "kuijia.cli": f"{_LIBRARIES} kuijia.api",
    "kuijia": f"{_LIBRARIES} kuijia.api kuijia.cli",
    "tests.hedera.reference": "hedera",
    "tests.simulator.reference": "simulator",
    "tests.kuijia_app.switch_farm": "kuijia_app",
    "benchmarks": f"{_LIBRARIES} tests.hedera.reference tests.kuijia_app.switch_farm tests.simulator.reference",
    "docs.site": "kuijia",
    "tests.rehearsal": (
        "kuijia_base te_solver kuijia_app.tables kuijia_app.framework kuijia_app.control kuijia_app.proof"
    ),
    "tests": f"{_LIBRARIES} kuijia benchmarks docs.site",
}
"""Room to the rooms, or single modules of rooms, that it may import, all of which stand before it. A room is a package
with all its subpackages, or a module; the packages that hold rooms have no code of their own."""

"""Fuzz targets: documents of the project's own: plans, results, exhibits, layouts, inventories, records, sizes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from experiments.gscale.campaign import LOG_NAME, _read_log
from experiments.hedera.testbed import FILE_NAME, MatrixOptions, Record, Span
from experiments.reporting.report import markdown_page, report_of
from experiments.results.exhibit import Exhibit, Line, Point, exhibit_text, exhibit_to_json
from experiments.results.result import Check, load_result, result_to_json
from kuijia_app.discovery.ovs_output import read_interfaces
from kuijia_app.tables.options import OptionWords, pipeline_options
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layout_file import load_layout
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.wiring_file import load_wiring
from kuijia_base.errors import UnsoundError
from kuijia_base.output_folder import OutputFolder
from kuijia_base.sweep.checkpoint import Checkpoint
from simulator.flow_sizes.published import read_flow_sizes
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.studies.packet.fault_file import read_faults
from simulator.studies.packet.networks import LinkParameters, generated, node_names
from te_solver.formats.plan_file import load_plan, plan_text
from testbed.boxes.inventory import read_inventory
from tests.experiments.sample_results import FIGURE_4, TABLE_2_KUIJIA, TABLE_2_RESCALING, result
from tests.fuzz import examples
from tests.fuzz.command_line import run_command
from tests.fuzz.file_target import FileTarget, JsonGrammar, LinesGrammar, YamlGrammar
from tests.fuzz.targets import CaseTarget
from tests.kuijia_app.plans import motivation_plan, plan_of
from tests.te_solver.random_plans import within_capacity

_COMMITTED = Path(__file__).resolve().parents[2] / "docs" / "results" / "hedera"
_STUDIES = ("timing", "8192", "shuffle", "shuffle-readings", "growth")

_SWEEP = {"sweep": "fig4", "cases": 3, "code": "abc", "seed": 1}


def plan_examples() -> list[str]:
    """Return plans as `kuijia solve` writes them."""
    plan = motivation_plan()
    two = plan_of(plan.topology, "s1-s2-s4 s1-s4", "s4-s3-s1")
    return [plan_text(plan), plan_text(within_capacity(two))]


def result_examples() -> list[str]:
    """Return results as `kuijia run` writes them."""
    check = Check("gain", 1.2, 1.0, None)
    runs = (
        result("kuijia", TABLE_2_KUIJIA, checks=(check,)),
        result("rescaling", TABLE_2_RESCALING),
    )
    return [json.dumps(result_to_json(run)) for run in runs]


def exhibit_examples() -> list[str]:
    """Return exhibits as `kuijia run` writes them, and what the experiment of figure 4 writes."""
    points = (Point.of(0.5, [1.0, 2.0], 1.5), replace(Point.of("f1", [3.0], 2.0), at_least=True), Point(2.0))
    exhibit = Exhibit(
        *("fig10", "a title", "Figure 10", "emulation", "demand", "loss (%)"),
        (Line("kuijia", points), Line("rescaling", points[:1])),
        published="the paper",
        checks=(Check("loss", 1.0, None, 2.0),),
        remarks=("A remark.",),
    )
    return [json.dumps(exhibit_to_json(exhibit)), json.dumps(FIGURE_4)]


def study_examples() -> list[str]:
    """Return committed results of experiments with formats of their own."""
    return [(_COMMITTED / f"hedera-{name}.json").read_text(encoding="utf-8") for name in _STUDIES]


def read_plan(path: Path) -> None:
    """Read a plan as `kuijia compile` does, make its tables and write it again."""
    plan = load_plan(path)
    plan_text(plan).encode()
    try:
        build_tables(plan, pipeline_options(OptionWords()))
    except (UnsoundError, ValueError) as error:
        if not isinstance(error, UnsoundError) and type(error) is not ValueError:
            raise


def read_report(path: Path) -> None:
    """Read a folder as `kuijia report` does, and tell of it without pictures."""
    report = report_of(path.parent)
    markdown_page(report).encode()
    for exhibit in report.exhibits:
        exhibit_text(exhibit).encode()


def read_exhibit_report(path: Path) -> None:
    """Run `kuijia report` on a folder."""
    run_command(["report", str(path.parent)])


def read_record(path: Path) -> None:
    options = MatrixOptions(("stride",), ("ecmp",), 10.0, 5.0, Span(3, 1.0, 2.0), quick=True)
    record = Record(OutputFolder(path.parent), options, 1)
    record.has("stride", "ecmp", 0)


def read_log(path: Path) -> None:
    _read_log(OutputFolder(path.parent))


def read_checkpoint(path: Path) -> None:
    Checkpoint(path, _SWEEP).close()


def read_sizes(path: Path) -> None:
    sizes = read_flow_sizes(path)
    sizes.mean  # noqa: B018  # computed when it is asked for


def read_fault_file(path: Path) -> None:
    """Read a file of faults as `kuijia packet` does, and set up a simulation with them."""
    network = generated("leaf-spine:2,2,2", LinkParameters())
    faults = read_faults(path, network, node_names(network, None))
    Simulation(faults.network, [], Setting(outages=faults.outages, faults=faults.switches))


@cache
def _record_examples() -> list[str]:
    run = {"goodput": [1.0, 2.5], "moved": 3, "switch": 0.5, "disturbed": []}
    settings = {"seed": 1, "nic_rate": 10.0, "period": 5.0, "span": {"seconds": 3, "begin": 1.0, "end": 2.0}}
    return [json.dumps({"settings": settings, "manifest": {"kernel": "6.1"}, "patterns": {"stride": {"ecmp": [run]}}})]


def _checkpoint_examples() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(Path(folder, "fig4.checkpoint"), _SWEEP)
        checkpoint.add(2, "[0.1]")
        checkpoint.add(0, '{"a": 1e-17}')
        checkpoint.close()
        return [checkpoint.path.read_text(encoding="utf-8")]


class ReportTarget(FileTarget):
    """`kuijia report` on a folder with one document, pictures and pages with it."""

    share = 0.02
    seconds = 4.0  # two pictures of each exhibit are drawn

    def prepare(self) -> None:
        is_first = not self._examples
        super().prepare()
        if is_first:  # what draws makes folders of its own the first time, as no case may
            with tempfile.TemporaryDirectory() as folder:
                self.run(self.lay(self._examples[0], Path(folder)))


_JSON, _YAML = JsonGrammar(), YamlGrammar()

TARGETS: Sequence[CaseTarget] = (
    FileTarget("plan:json", "plan.json", plan_examples, read_plan, _JSON),
    FileTarget("result:json", "result.json", result_examples, load_result, _JSON),
    FileTarget("report:result", "result.json", result_examples, read_report, _JSON),
    FileTarget("report:exhibit", "exhibit.json", exhibit_examples, read_report, _JSON),
    FileTarget("report:study", "study.json", study_examples, read_report, _JSON),
    ReportTarget(
        "report:command", "exhibit.json", lambda: [*exhibit_examples(), *result_examples()], read_exhibit_report, _JSON
    ),
    FileTarget(
        "layout:yaml",
        "layout.yaml",
        partial(examples.texts, "layout.yaml", "classifiers.yaml"),
        partial(load_layout, bases=LAYOUTS),
        _YAML,
    ),
    FileTarget(
        "interfaces:yaml", "interfaces.yaml", partial(examples.texts, "interfaces.yaml"), read_interfaces, _YAML
    ),
    FileTarget("wiring:yaml", "wiring.yaml", partial(examples.texts, "wiring.yaml"), load_wiring, _YAML),
    FileTarget("inventory:yaml", "inventory.yaml", partial(examples.texts, "inventory.yaml"), read_inventory, _YAML),
    FileTarget(
        "sizes:cdf",
        "sizes.cdf",
        partial(examples.texts, "sizes.cdf", "percent.cdf"),
        read_sizes,
        LinesGrammar("# interpolation: logarithmic", "# interpolation:", "100", "1", "0", ",", "\t", "#", "\n"),
    ),
    FileTarget("faults:json", "faults.json", partial(examples.texts, "faults.json"), read_fault_file, _JSON),
    FileTarget("record:testbed", FILE_NAME, _record_examples, read_record, _JSON),
    FileTarget("record:campaign", LOG_NAME, lambda: ['{"attempts": [{"case": "a", "reasons": []}]}'], read_log, _JSON),
    FileTarget(
        "record:checkpoint", "fig4.checkpoint", _checkpoint_examples, read_checkpoint, LinesGrammar(*'[]{},:"\n')
    ),
)

"""Any transport of the registry runs over a plan's tables, and the experiment says what victims of each get."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments import victim_transports as study
from experiments.results.exhibit import Exhibit, exhibit_from_json
from experiments.victim_transports import OF_CREDITS, Choice, RunConditions, Service, VictimRun, cases_of, outcome
from kuijia.cli.main import main
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_base.errors import UnsoundError
from simulator.packet.credited import FlashPass
from simulator.packet.queues import Fifo
from simulator.packet.transports import Congestion, Tcp
from simulator.planned.events import Cut, Replace, Timing
from simulator.planned.network import Physical, VictimCredits
from simulator.planned.run import PlanRun
from simulator.planned.traffic import SiteFlows
from simulator.studies.packet import transports
from simulator.studies.packet.transports import CREDITED, transport_names
from te_solver.schemes.all_schemes import switch_schemes
from te_solver.schemes.shipped.kuijia import KUIJIA
from tests.simulator.planned.plans import diamond


@pytest.fixture
def _an_addition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an installed package add a transport by credits and one of TCP."""

    class Added:
        def __init__(self, found: object) -> None:
            self._found = found

        def load(self, *kinds: type) -> object:
            assert isinstance(self._found, kinds)
            return self._found

    added = {"patient": Added(FlashPass(pace=0.5)), "paced": Added(Tcp(Congestion.NEW_RENO, paced=True))}
    monkeypatch.setattr(transports, "_additions", lambda: added)


@pytest.mark.usefixtures("_an_addition")
def test_every_transport_runs_over_every_scheme_before_and_after_a_cut() -> None:
    names = transport_names()
    assert {"patient", "paced", *CREDITED, "cubic", "bbr"} <= set(names)
    for number, name in enumerate(names):
        schemes = [each for each in switch_schemes() if each.is_precut]
        options = PipelineOptions(schemes[number % len(schemes)])
        traffic = [SiteFlows.of([("a", "d")] * 2, study.named_transport(name), tunnel=[0, 1], limit=40.0)]
        physical = Physical(queue=Fifo(100 * 1518), host_rate=100.0, limit_by_link=True)
        run = PlanRun(diamond(), options, traffic, physical, Timing(port=0.01), [Cut(1.0, ("b", "d"))])
        windows = run.run(2.5, window=0.5).windows
        assert (windows.goodput_rates[[1, 4]] > 8).all(), name
        totals = run.simulation.totals()
        assert totals.unroutable == 0, name
        # Data, credits and feedback of the first flow move to the other tunnel together.
        results = run.run(2.6)
        for output in (("a", "b"), ("b", "a"), ("b", "d"), ("d", "b")):
            assert results.windows.queue_sent[0, results.output(*output)].sum() == 0, name


def test_a_transport_by_credits_shares_a_plan_with_tcp() -> None:
    traffic = [
        SiteFlows.of([("a", "d")], study.named_transport(name), tunnel=number, limit=40.0)
        for number, name in enumerate(("flashpass", "cubic"))
    ]
    results = PlanRun(diamond(), PipelineOptions(switch_schemes()[0]), traffic, Physical(host_rate=100.0)).run(2.0)
    assert (results.windows.goodput_rates[0] > 30).all()


def test_a_plan_is_replaced_under_a_transport_by_credits() -> None:
    traffic = [SiteFlows.of([("a", "d")], study.named_transport("flashpass"), slot=0, limit=80.0)]
    events = [Replace(1.0, diamond((0.0, 1.0, 0.0)))]
    run = PlanRun(diamond((1.0,)), PipelineOptions(KUIJIA), traffic, Physical(host_rate=100.0), events=events)
    windows = run.run(2.0, window=0.5).windows
    assert windows.goodput_rates[1:, 0].min() > 60
    by_c = run.run(2.5)
    assert by_c.windows.queue_sent[0, by_c.output("a", "c")].sum() > 0


def test_credits_need_a_layout_with_one_class_and_one_kind_of_queues() -> None:
    flows = {name: SiteFlows.of([("a", "d")], study.named_transport(name)) for name in ("flashpass", "expresspass")}
    with pytest.raises(UnsoundError, match="layout four has 2 classes of traffic"):
        PlanRun(diamond(), PipelineOptions(KUIJIA, layout=LAYOUTS["four"]), [flows["flashpass"]])
    with pytest.raises(UnsoundError, match="need different queues"):
        PlanRun(diamond(), PipelineOptions(KUIJIA), [*flows.values()])


@pytest.mark.parametrize("service", list(VictimCredits))
def test_victims_credits_wait_where_they_are_to(service: VictimCredits) -> None:
    transport = study.named_transport("flashpass")
    assert isinstance(transport, FlashPass)
    traffic = [SiteFlows.of([("a", "d")] * 2, transport, tunnel=[0, 1], limit=90.0)]
    physical = Physical(hosts=2, host_rate=100.0, victim_credits=service)
    run = PlanRun(diamond(), PipelineOptions(KUIJIA), traffic, physical, Timing(), [Cut(1.0, ("b", "d"))])
    run.run(0.5)
    before = run.run(1.0).windows.goodput_rates[0, 1]
    run.run(2.0)
    results = run.run(3.0)
    used = dict(zip(results.queues, results.windows.queue_sent[0, results.output("a", "c")].tolist(), strict=True))
    assert used["data"] > used["data of victims"] > 0
    assert (used["credits of victims"] == 0) == (service is VictimCredits.SAME)
    credited = (used["credits"] + used["credits of victims"]) * 8e-6
    assert (credited > 1.2 * 100 * transport.share) == (service is VictimCredits.OWN)
    kept = results.windows.goodput_rates[0, 1] / before
    assert (kept > 0.98) == (service is not VictimCredits.SAME)


def test_schemes_that_demote_nobody_have_one_service() -> None:
    choice = Choice(("room",), ("rescaling", "kuijia"), ("cubic", "flashpass"), 1)
    found = list(cases_of(choice, ["kuijia"], ["flashpass"]))
    assert [case.service for case in found if case.scheme == "rescaling"] == [Service.NORMAL] * 2
    assert [case.service for case in found if (case.scheme, case.transport) == ("kuijia", "flashpass")] == [*OF_CREDITS]


def test_marks_for_victims_spare_their_packets() -> None:
    conditions = RunConditions(50.0, 50, 0.001, 1, warmup=0.5, before=0.5, settle=0.5, after=1.0)
    found = {
        service: outcome(conditions, VictimRun("room", "kuijia", "dctcp", service, 1))["roles"]
        for service in (Service.PLAIN, Service.MARKED)
    }
    assert found[Service.PLAIN]["victim"]["dropped"] > 0
    assert found[Service.MARKED]["victim"]["dropped"] == 0
    for of_role in found.values():
        assert of_role["direct"]["after"] == pytest.approx(of_role["direct"]["before"], rel=0.02)


def test_the_experiment_writes_what_victims_and_others_keep(tmp_path: Path) -> None:
    chosen = ("--transports", "cubic,flashpass", "--places", "room", "--schemes", "kuijia", "--workers", "1")
    assert main(["run", "victim-transports", "--quick", *chosen, "-o", str(tmp_path)]) == 0

    def exhibit(name: str) -> Exhibit:
        path = tmp_path / f"victim-transports-room-{name}.json"
        return exhibit_from_json(json.loads(path.read_text()), path)

    assert (tmp_path / "victim-transports.svg").stat().st_size > 1000
    others, lost = exhibit("others"), exhibit("lost")
    shared = f"kuijia, {Service.SHARED.value}"
    assert others.line(shared).at("flashpass").value == pytest.approx(100, abs=1)
    assert (others.line(f"kuijia, {Service.SAME.value}").at("flashpass").value or 0) < 95
    assert others.line(f"kuijia, {Service.PLAIN.value}").at("cubic").value == pytest.approx(100, abs=1)
    assert (lost.line(f"kuijia, {Service.OWN.value}").at("flashpass").value or 0) > 10
    assert np.isclose(lost.line(shared).at("flashpass").value or 0, 0, atol=1)


def test_an_unknown_transport_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "victim-transports", "--transports", "quic", "-o", str(tmp_path / "new")]) == 2
    assert capsys.readouterr().err.startswith("error: option:--transports: quic is unknown, expected among newreno")

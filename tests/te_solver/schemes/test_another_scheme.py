"""A failure scheme is one object: the model, the switches and the experiments take another one as they are."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from experiments.experiment import Settings
from experiments.gscale.cases import LINKS, Case
from experiments.gscale.models import compute
from kuijia.cli.main import main
from kuijia_app.proof.verification import Verifier
from kuijia_app.tables.options import OptionWords, pipeline_options
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import GroupType
from te_solver.model.failures import single_links
from te_solver.schemes.all_schemes import add_scheme, all_schemes, failure_scheme, remove_scheme, switch_schemes
from te_solver.schemes.failure_scheme import VICTIM, FailureScheme
from te_solver.schemes.making import make_scheme, scheme_names
from te_solver.schemes.models.interface import RateSolver, Scheme, SchemeOptions
from te_solver.schemes.models.rescaling import Kuijia
from te_solver.schemes.shipped.kuijia import KUIJIA
from te_solver.schemes.shipped.rescaling import RESCALING
from tests.kuijia_app.plans import motivation_plan


class LightestFirst(FailureScheme):
    """Demotes victims as Kuijia does, but tries the lightest tunnels first."""

    name = "lightest-first"
    on_switches = True
    demoted = frozenset({VICTIM})

    def failover(self, primary: int, backup: int, weights: Sequence[float]) -> list[int]:
        del backup
        others = [position for position in range(len(weights)) if position != primary]
        return sorted(others, key=lambda position: weights[position])

    def model(self, solver: RateSolver, options: SchemeOptions) -> Scheme:
        del solver
        return Kuijia(options.split)


@pytest.fixture
def another() -> Iterator[FailureScheme]:
    scheme = LightestFirst()
    add_scheme(scheme)
    yield scheme
    remove_scheme(scheme)


def test_the_shipped_schemes_say_whom_they_demote() -> None:
    assert [scheme.name for scheme in switch_schemes()] == ["kuijia", "rescaling", "rescaling-renormalised"]
    roles = (VICTIM, "direct", "indirect", "aboriginal")
    assert [KUIJIA.demotes(role) for role in roles] == [True, False, False, False]
    assert not any(RESCALING.demotes(role) for role in roles)


def test_a_scheme_is_the_same_in_another_process() -> None:
    assert all(pickle.loads(pickle.dumps(scheme)) == scheme for scheme in all_schemes())  # noqa: S301  # our own
    assert len(set(all_schemes())) == len(all_schemes())


def test_a_name_is_given_once(another: FailureScheme) -> None:
    with pytest.raises(ValueError, match="two failure schemes are called lightest-first"):
        add_scheme(another)


def test_another_scheme_is_known_to_the_model(another: FailureScheme) -> None:
    assert scheme_names()[-1] == another.name
    assert make_scheme(another.name) == Kuijia()
    assert failure_scheme(another.name) is another


def test_switches_fail_over_as_another_scheme_says(another: FailureScheme) -> None:
    plan = motivation_plan((0.5, 0.3, 0.2))
    ours, theirs = (
        build_tables(plan, pipeline_options(OptionWords(scheme=name)))["s1"] for name in (another.name, KUIJIA.name)
    )
    assert ours.flows == theirs.flows
    assert [group for group in ours.groups if group.group_type is GroupType.SELECT] == [
        group for group in theirs.groups if group.group_type is GroupType.SELECT
    ]
    assert ours.groups != theirs.groups


def test_the_proof_asks_another_scheme_whom_it_demotes() -> None:
    class AsPromised(LightestFirst):
        name = "as-promised"
        failover = FailureScheme.failover

    scheme = AsPromised()
    add_scheme(scheme)
    try:
        plan, options = motivation_plan(), pipeline_options(OptionWords(scheme=scheme.name))
        demoted = build_tables(plan, options)
        assert demoted == build_tables(plan, pipeline_options(OptionWords(scheme=KUIJIA.name)))
        assert Verifier(plan, demoted, options).run(single_links(plan.topology)).is_sound
        served_alike = build_tables(plan, pipeline_options(OptionWords(scheme=RESCALING.name)))
        assert not Verifier(plan, served_alike, options).run(single_links(plan.topology)).is_sound
    finally:
        remove_scheme(scheme)


def test_experiments_run_another_scheme(
    another: FailureScheme, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schemes = f"kuijia,{another.name}"
    assert main(["run", "table2", "--backend", "flow", "--schemes", schemes, "-o", str(tmp_path)]) == 0
    assert f"after, {another.name}, here" in capsys.readouterr().out
    ours, theirs = (
        json.loads((tmp_path / f"table2-{name}-1.json").read_text())["flows"] for name in (another.name, "kuijia")
    )
    assert ours == theirs
    assert [flow["low_after"] for flow in ours] == [True, True, False, False]
    assert main(["report", str(tmp_path)]) == 0


def test_runs_on_gscale_ask_another_scheme(another: FailureScheme) -> None:
    settings = Settings("flow", 20.0, "os-ken", 64, 1, quick=True, seed=1)
    found = {
        name: compute(Case("tcp", 1.6, LINKS[0], name, 1), settings)
        for name in (another.name, KUIJIA.name, RESCALING.name)
    }
    assert found[another.name].flows == found[KUIJIA.name].flows
    assert found[another.name].flows != found[RESCALING.name].flows

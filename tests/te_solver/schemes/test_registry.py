"""The registry of schemes by name."""

from __future__ import annotations

import pytest

from kuijia_base.errors import InputError
from te_solver.programs.incidence import Incidence, Vector
from te_solver.schemes.all_schemes import all_schemes, switch_schemes
from te_solver.schemes.making import make_scheme, scheme_names
from te_solver.schemes.models.precomputed import Precomputed
from te_solver.schemes.models.recompute import Recompute
from tests.te_solver.schemes.cases import Rates


def wishful(incidence: Incidence, capacity: Vector, demand: Vector) -> Rates:
    return Rates(incidence.hops * capacity.sum() + demand.sum())


def test_every_scheme_goes_by_the_name_it_is_registered_under() -> None:
    names = ("kuijia", "rescaling", "rescaling-renormalised", "precomputed", "ffc", "recompute")
    assert scheme_names() == names
    assert tuple(make_scheme(name).name for name in names) == names


def test_only_forward_fault_correction_needs_a_plan_of_its_own() -> None:
    assert {name: make_scheme(name).plan_objective for name in scheme_names()} == {
        **dict.fromkeys(scheme_names()),
        "ffc": "ffc",
    }


def test_switches_have_three_schemes_of_which_one_needs_a_controller_to_cut_ranges_again() -> None:
    assert [(each.name, each.is_precut) for each in switch_schemes()] == [
        ("kuijia", True),
        ("rescaling", True),
        ("rescaling-renormalised", False),
    ]
    assert [each.name for each in all_schemes() if each.renormalises] == ["rescaling-renormalised"]


def test_schemes_that_solve_programs_use_the_solver_given() -> None:
    assert make_scheme("precomputed", wishful) == Precomputed(wishful)
    assert make_scheme("recompute", wishful) == Recompute(wishful)


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(InputError) as raised:
        make_scheme("prayer")
    assert str(raised.value) == (
        "scheme:prayer: is unknown, "
        "expected one of kuijia, rescaling, rescaling-renormalised, precomputed, ffc, recompute"
    )

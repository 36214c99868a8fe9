from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from te_solver.programs import tunnel_links
from te_solver.programs.tunnel_links import TunnelLinks, ends, ranges
from tests.te_solver.programs.problems import Case, cases


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Process few tunnels at a time, so that these problems take several passes."""
    monkeypatch.setattr(tunnel_links, "_AT_A_TIME", 3)


@given(cases(), st.data())
def test_sums_and_minima_and_loads_are_those_of_the_matrices(case: Case, data: st.DataObject) -> None:
    incidence, tunnels = case.incidence, TunnelLinks.of(case.incidence)
    links, pairs = incidence.links.toarray(), incidence.pairs.toarray()
    of_link = np.array(data.draw(st.lists(st.floats(0, 9), min_size=len(links), max_size=len(links))))
    count = links.shape[1]
    rates = np.array(data.draw(st.lists(st.just(0.0) | st.floats(0, 9), min_size=count, max_size=count)))
    assert tunnels.sums(of_link) == pytest.approx(of_link @ links)
    assert tunnels.least(of_link).tolist() == [of_link[column > 0].min() for column in links.T]
    assert tunnels.loads(rates, len(links)) == pytest.approx(links @ rates)
    assert tunnels.sent(rates) == pytest.approx(pairs @ rates)
    assert tunnels.hops.tolist() == incidence.hops.tolist()
    assert tunnels.pair_of_tunnel.tolist() == incidence.pair_of_tunnel.tolist()


@given(cases(), st.data())
def test_the_tunnels_of_some_pairs_are_those_of_these_pairs(case: Case, data: st.DataObject) -> None:
    tunnels = TunnelLinks.of(case.incidence)
    chosen = data.draw(st.lists(st.sampled_from(range(case.demand.size)), min_size=1, unique=True))
    own, columns = tunnels.of_pairs(np.array(chosen))
    expected = TunnelLinks.of(Case(case.topology, case.demands, tuple(case.tunnels[pair] for pair in chosen)).incidence)
    assert own.links.tolist() == expected.links.tolist()
    assert own.starts.tolist() == expected.starts.tolist()
    assert own.pair_starts.tolist() == expected.pair_starts.tolist()
    assert columns.tolist() == [column for pair in chosen for column in np.flatnonzero(tunnels.pair_of_tunnel == pair)]


@given(cases(), st.floats(0, 1e5))
def test_what_exceeds_a_bound_is_taken_off_and_what_keeps_all_stays(case: Case, rate: float) -> None:
    tunnels = TunnelLinks.of(case.incidence)
    rates = np.full(tunnels.hops.size, rate)
    within = tunnels.within(case.capacity, case.demand, rates)
    assert (tunnels.loads(within, case.capacity.size) <= case.capacity * (1 + 1e-12)).all()
    assert (tunnels.sent(within) <= case.demand * (1 + 1e-12)).all()
    assert tunnels.within(case.capacity, case.demand, within) == pytest.approx(within)


def test_ranges_stand_end_to_end() -> None:
    assert ranges(np.array([5, 1, 7]), np.array([2, 0, 3])).tolist() == [5, 6, 7, 8, 9]
    assert ends(np.array([2, 0, 3])).tolist() == [0, 2, 2, 5]

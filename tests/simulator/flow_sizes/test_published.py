"""The distributions of the package agree with their sources."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from simulator.flow_sizes.published import find_flow_sizes, published_flow_sizes, published_names

MEANS = {
    "cache-follower": 712_574,
    "data-mining": 12_658_199,
    "data-mining-expresspass": 7_487_884,
    "web-search": 1_711_250,
    "web-search-expresspass": 1_710_004,
    "web-server": 66_121,
}
"""Means in bytes, computed from the same points elsewhere."""


@pytest.mark.parametrize("name", MEANS)
def test_means_are_the_known_ones(name: str) -> None:
    assert published_flow_sizes(name).mean == pytest.approx(MEANS[name], abs=0.51)


def test_the_wide_area_mix_has_the_published_mean_and_share_of_small_flows() -> None:
    sizes = published_flow_sizes("wan-alibaba")
    assert sizes.mean == pytest.approx(65.1e6, abs=0.05e6)
    assert float(sizes.probability(10e6)) == pytest.approx(0.158)


def test_the_mix_of_cqrd_has_the_published_shares() -> None:
    sizes = published_flow_sizes("cqrd")
    assert 262e3 <= sizes.mean <= 286e3
    assert float(sizes.probability(100e3)) == pytest.approx(0.9, abs=0.01)
    assert float(1 - sizes.probability(1e6)) == pytest.approx(0.03, abs=0.002)


@pytest.mark.parametrize("name", published_names())
def test_each_says_where_it_is_from(name: str) -> None:
    text = files("simulator.flow_sizes").joinpath(f"data/{name}.cdf").read_text(encoding="utf-8")
    assert "github.com/" in text or "Figure" in text
    assert published_flow_sizes(name).mean > 0


def test_files_are_found_beside_names(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("100 1\n")
    assert find_flow_sizes(str(mine)).mean == 100
    assert find_flow_sizes("cqrd") is published_flow_sizes("cqrd")


def test_what_is_neither_a_name_nor_a_file_is_refused() -> None:
    with pytest.raises(InputError, match="web-serch: there is no such file, expected a file of flow sizes, or one of"):
        find_flow_sizes("web-serch")
    with pytest.raises(InputError, match="flow sizes:web-serch: unknown, expected one of cache-follower"):
        published_flow_sizes("web-serch")

"""Files of flow sizes are read in all common formats; an error names the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from simulator.flow_sizes.published import Interpolation, parse_flow_sizes, read_flow_sizes


@pytest.mark.parametrize(
    "text",
    [
        "0 0\n100 0.5\n300 1\n",
        "# of a cluster\r\n0\t0\r\n\r\n100\t.5 # half\r\n300\t1\r\n",
        "0,0\n100,0.5\n300,1",
        "0 1 0\n100 1 0.5\n300 1 1\n",
        "0 0\n100 50\n300 100\n",
    ],
)
def test_blanks_commas_comments_percentages_and_the_columns_of_ns2_are_understood(text: str) -> None:
    sizes = parse_flow_sizes(text, "mine.cdf")
    assert sizes.sizes.tolist() == [0, 100, 300]
    assert sizes.probabilities.tolist() == [0, 0.5, 1]
    assert sizes.interpolation is Interpolation.LINEAR


def test_a_comment_chooses_what_is_spread_evenly() -> None:
    sizes = parse_flow_sizes("# Interpolation: logarithmic\n10 0\n100 1\n", "mine.cdf")
    assert sizes.interpolation is Interpolation.LOGARITHMIC


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.cdf: there are no points in it, expected a size in bytes"),
        ("# nothing\n\n", "mine.cdf: there are no points in it"),
        ("0 0\n100\n", "mine.cdf:2: 1 values in a line"),
        ("0 0\n1 2 3 4\n", "mine.cdf:2: 4 values in a line"),
        ("0 0\nten 1\n", "mine.cdf:2: size 'ten' is not a number"),
        ("0 0\n10 all\n", "mine.cdf:2: probability 'all' is not a number"),
        (
            "# why\n0 0\n\n20 .5\n10 1\n",
            "mine.cdf:5: size 10 is less than that of the point before, expected 20 or more",
        ),
        ("0 0\n10 0.5\n20 0.4\n30 1\n", "mine.cdf:3: probability 0.4 is less than that of the point before"),
        ("0 0\n10 0.5\n", "mine.cdf:2: the last probability is 0.5, expected 1"),
        ("0 0\n10 2\n", "mine.cdf:2: probability 2, expected 0 to 1"),
        ("0 0\n10 nan\n", "mine.cdf:2: probability nan"),
        ("# interpolation: cubic\n0 0\n10 1\n", "mine.cdf:1: interpolation 'cubic' is unknown, expected linear or log"),
        ("# interpolation: logarithmic\n0 0\n10 1\n", "mine.cdf:2: size 0, expected a size above zero"),
    ],
)
def test_what_is_no_distribution_is_refused_by_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_flow_sizes(text, "mine.cdf")
    assert str(raised.value).startswith(message)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a file of flow sizes"):
        read_flow_sizes(tmp_path)
    (tmp_path / "picture.cdf").write_bytes(b"0 0\n\xff\xd8")
    with pytest.raises(InputError, match=r"picture\.cdf:2: byte 0xff is not UTF-8"):
        read_flow_sizes(tmp_path / "picture.cdf")

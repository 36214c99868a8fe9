"""Lists of failures are read, and what is wrong with them is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from te_solver.formats.failures_file import load_failures
from te_solver.formats.topology_file import load_topology
from te_solver.model.failures import Failure
from te_solver.networks import shipped_network

FIG1 = load_topology(shipped_network("fig1"))


def written(folder: Path, text: str) -> Path:
    path = folder / "failures.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_lines_of_one_name_fail_together_wherever_they_stand(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '# ducts\nfailure,a,b\n"duct 7, north", s4, s2\n\nsite,s3,\n"duct 7, north",s1,s3\n  # the end\n',
    )
    assert load_failures(path, FIG1) == (
        Failure("duct 7, north", (("s4", "s2"), ("s1", "s3"))),
        Failure("site", nodes=("s3",)),
    )


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "", "there is no failure, expected the header failure,a,b and at least one line after it"),
        ("failure,a,b\n", "", "there is no failure, expected the header failure,a,b and at least one line after it"),
        ("x,s1,s2\n", "1", "found 'x,s1,s2', expected the header failure,a,b"),
        ("failure,a,b\nx,s1\n", "2", "2 columns, expected 3, as in the header"),
        ('failure,a,b\n"x,s1,s2\n', "2", "malformed CSV (unexpected end of data), expected failure,a,b"),
        ("failure,a,b\n,s1,s2\n", "2", "the failure has no printable name, expected failure,a,b"),
        ("failure,a,b\nx,s2,s3\n", "2", "there is no link between 's2' and 's3', expected a link of fig1"),
        ("failure,a,b\nx,s9,\n", "2", "unknown node 's9', expected a node of fig1"),
        ("failure,a,b\nx,,\n", "2", "unknown node '', expected a node of fig1"),
        ("failure,a,b\nx,s1,s2\nx,s2,s1\n", "3", "failure x has this part already, expected each part once"),
        ("failure,a,b\nx,s1,\n\nx,s1,\n", "4", "failure x has this part already, expected each part once"),
    ],
)
def test_faults_are_named_with_their_line(tmp_path: Path, text: str, place: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as raised:
        load_failures(path, FIG1)
    assert str(raised.value) == f"{path}:{place}: {message}" if place else f"{path}: {message}"

from __future__ import annotations

import math
import tracemalloc
from pathlib import Path

import pytest

from kuijia_base.errors import InputError, UnsoundError
from te_solver.formats.demands_file import iterate_csv_demands, load_demands, save_demands
from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology

TOPOLOGY = Topology("net", ("a", "b", "c, d"), (Link("a", "b", 1),))
HEADER = "source,target,rate\n"
RATE = "Mbit/s, such as 800 or 0.5, or a rate with its unit, such as 10G"
HEADER_EXPECTED = "expected the header source,target,rate[,priority]"
PRIORITY_HEADER = "source,target,rate,priority\n"


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "demands.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_demands_keep_the_order_of_the_file(tmp_path: Path) -> None:
    text = f'# measured on Monday\n\n{HEADER}b, a, 2.5\r\n  # the rest\na,"c, d",0\n'
    assert load_demands(written(tmp_path, text), TOPOLOGY) == (Demand("b", "a", 2.5), Demand("a", "c, d", 0))


def test_one_pair_may_have_demands_of_several_priorities(tmp_path: Path) -> None:
    text = PRIORITY_HEADER + "a,b,1,0\na,b,10,1\n"
    assert load_demands(written(tmp_path, text), TOPOLOGY) == (Demand("a", "b", 1, 0), Demand("a", "b", 10, 1))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", ": there is no header, expected source,target,rate[,priority]"),
        ("# nothing\na,b,1\n", ":2: found 'a,b,1', expected the header source,target,rate[,priority]"),
        ("source;target;rate\n", f":1: found 'source;target;rate', separated by semicolons, {HEADER_EXPECTED}"),
        ("source\ttarget\trate\n", f":1: found 'source\\ttarget\\trate', separated by tabs, {HEADER_EXPECTED}"),
        ("Source,Target,Rate\n", f":1: found 'Source,Target,Rate', {HEADER_EXPECTED}"),
        (HEADER, ": there is no demand, expected at least one line after the header"),
        (HEADER + "a,b\n", ":2: 2 columns, expected 3, as in the header"),
        (HEADER + "," * 1000, ":2: more than 1000 columns, expected source,target,rate[,priority]"),
        (HEADER + "a,b,1,0\n", ":2: 4 columns, expected 3, as in the header"),
        (PRIORITY_HEADER + "a,b,1\n", ":2: 3 columns, expected 4, as in the header"),
        (HEADER + "a,b,1\n# x\n\nx,b,1\n", ":5: unknown node 'x', expected a node of net"),
        (HEADER + "a,y,1\n", ":2: unknown node 'y', expected a node of net"),
        (HEADER + "a,a,1\n", ":2: a demand from 'a' to itself, expected two different nodes"),
        (HEADER + "a,b,-1\n", ":2: rate -1, expected a finite number of Mbit/s, zero or more"),
        (HEADER + "a,b,nan\n", ":2: rate nan, expected a finite number of Mbit/s, zero or more"),
        (HEADER + "a,b,inf\n", ":2: rate inf, expected a finite number of Mbit/s, zero or more"),
        (HEADER + "a,b,1X\n", f":2: rate '1X' is not a number, expected {RATE}"),
        (HEADER + "a,b,\n", f":2: rate '' is not a number, expected {RATE}"),
        (PRIORITY_HEADER + "a,b,1,-1\n", ":2: priority '-1', expected a whole number, zero or more"),
        (PRIORITY_HEADER + "a,b,1,0.5\n", ":2: priority '0.5', expected a whole number, zero or more"),
        (
            HEADER + "a,b,1\nb,a,1\na,b,2\n",
            ":4: a second demand from a to b with priority 0, expected one for each source, target and priority",
        ),
        (
            HEADER + '"a,b,1\n',
            ":2: malformed CSV (unexpected end of data), expected source,target,rate[,priority]",
        ),
        (HEADER.encode() + b"\xff,b,1\n", ":2: byte 0xff is not UTF-8, expected text in UTF-8"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, text: str | bytes, complaint: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as raised:
        load_demands(path, TOPOLOGY)
    assert str(raised.value) == f"{path}{complaint}"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "absent.csv"
    with pytest.raises(InputError) as raised:
        load_demands(path, TOPOLOGY)
    assert str(raised.value) == f"{path}: cannot be read (No such file or directory), expected a demand file"


@pytest.mark.parametrize(
    ("target", "rate", "priority", "place"),
    [("a", 1.0, 0, "target"), ("b", math.nan, 0, "rate"), ("b", 1.0, -1, "priority")],
)
def test_what_is_no_demand_is_refused(target: str, rate: float, priority: int, place: str) -> None:
    with pytest.raises(UnsoundError) as raised:
        Demand("a", target, rate, priority)
    assert raised.value.where == (place,)


def test_what_is_written_reads_as_the_same_demands(tmp_path: Path) -> None:
    topology = Topology("net", ("a", "#b", 'c "d", e'), (Link("a", "#b", 1),))
    demands = (Demand("#b", "a", 1 / 3), Demand('c "d", e', "#b", 1e-300, 2), Demand("a", 'c "d", e', 0))
    path = tmp_path / "demands.csv"
    save_demands(demands, path, comment="two lines\nof comment")
    assert path.read_text().startswith("# two lines\n# of comment\nsource,target,rate,priority\n")
    assert load_demands(path, topology) == demands
    save_demands(demands[:1], path)
    assert path.read_text().startswith("source,target,rate\n")
    assert load_demands(path, topology) == demands[:1]


def test_a_large_file_is_read_in_pieces_and_tells_how_far_it_is(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + f"# {'x' * 98}\n" * 45_000 + "a,b,1\n")
    seen: list[int] = []
    tracemalloc.start()
    demands = tuple(iterate_csv_demands(path, TOPOLOGY, seen.append))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert demands == (Demand("a", "b", 1),)
    assert peak < path.stat().st_size / 20
    assert seen == [20_000, 40_000]


def test_demands_share_the_names_of_the_topology(tmp_path: Path) -> None:
    demands = load_demands(written(tmp_path, HEADER + "b,a,1\n"), TOPOLOGY)
    assert demands[0].source is TOPOLOGY.nodes[1]


def test_old_line_ends_count_as_lines(tmp_path: Path) -> None:
    assert load_demands(written(tmp_path, b"source,target,rate\ra,b,1\r\rb,a,2"), TOPOLOGY)[1] == Demand("b", "a", 2)
    with pytest.raises(InputError) as raised:
        load_demands(written(tmp_path, b"source,target,rate\r\na,b,1\rb,a,x\r\n"), TOPOLOGY)
    assert raised.value.place == "3"


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kuijia_base.text.LONGEST_LINE", 30)
    with pytest.raises(InputError) as raised:
        load_demands(written(tmp_path, HEADER + "a" * 31), TOPOLOGY)
    assert (raised.value.place, raised.value.problem) == ("2", "a line that does not end")


def test_a_file_without_an_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kuijia_base.text._MOST_LINES", 30)
    assert load_demands(written(tmp_path, "\n" * 28 + HEADER + "a,b,1\n"), TOPOLOGY) == (Demand("a", "b", 1),)
    with pytest.raises(InputError) as raised:
        load_demands(written(tmp_path, "\n" * 31), TOPOLOGY)
    assert (raised.value.place, raised.value.problem) == ("31", "a file that does not end")


def test_a_row_is_for_matrices_only(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + "a,b,1\n")
    with pytest.raises(InputError) as raised:
        load_demands(path, TOPOLOGY, row=2)
    assert str(raised.value) == f"{path}: row 2 of csv demands is asked for, expected a file of several matrices"
    with pytest.raises(ValueError, match="no demand format 'xls'"):
        load_demands(path, TOPOLOGY, "xls")

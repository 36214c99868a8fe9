from __future__ import annotations

import cProfile
import importlib
import subprocess
import sys
import time
from pathlib import Path
from types import CodeType

import pytest

from tests.mutants import __main__ as command
from tests.mutants import core_room, process, python_room, room
from tests.mutants.__main__ import main
from tests.mutants.change import EQUIVALENT, Change, by_place, no_change, read_equivalents
from tests.mutants.core_room import impossible_changes
from tests.mutants.cpp_changes import find_changes, switched
from tests.mutants.live_code import replace_code
from tests.mutants.python_changes import changes_of
from tests.mutants.python_room import PythonRoom
from tests.mutants.room import ROOT, Verdict
from tests.sanitized import COMPILER

COUNTING = b"""\
def count(end: int) -> int:
    number = 0
    while number < end:
        number += 1
    return number
"""
TEST = """\
from pkg.counting import count

def test_count():
    assert count(3) == 3
"""


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("a < b", ["a <= b", "a >= b"]),
        ("(a) is  not (b)", ["(a) is (b)"]),
        ("a in b and not c", ["a not in b and not c", "a in b or not c", "a in b and  c"]),
        ("x = a + b * 3", ["x = a - b * 3", "x = a + b / 3", "x = a + b * 4"]),
        ("x = -0.5 if flag else True", ["x = 0.5 if flag else True", "x = -1.0 if flag else True"]),
        ("x = min(a, b)", ["x = max(a, b)"]),
        ("x = [a for a in b if a]", ["x = [a for a in b if not (a)]"]),
        ("a.b = c", ["pass"]),
        ("f(a)", ["pass"]),
        ("x -= a", ["x += a"]),
    ],
)
def test_operators_numbers_conditions_and_statements_are_changed(line: str, changed: list[str]) -> None:
    found = [change.of(line.encode()).decode() for change in changes_of("file.py", line.encode())]
    assert all(each in found for each in changed)


@pytest.mark.parametrize(
    "line",
    [
        '"""Text of 3 words."""',
        "x: int | None",
        "assert a < 3",
        'log.info("%d", 3)',
        'f"{a + 1}"',
        "import a",
        "x = 'b'",
        "x = zip(a, b, strict=True)",
    ],
)
def test_what_no_test_can_notice_stays(line: str) -> None:
    assert changes_of("file.py", line.encode()) == []


def test_a_message_of_an_error_stays_but_the_error_may_vanish() -> None:
    source = b'if a:\n    raise ValueError("a", 3)\n'
    assert [str(change) for change in changes_of("file.py", source)] == [
        "file.py:1\n  - if a:\n  + if not (a):",
        'file.py:2\n  - raise ValueError("a", 3)\n  + pass',
    ]


def test_positions_count_bytes_and_not_characters() -> None:
    source = 'x = "\u00fc" * 3  # \u00fc\n'.encode()
    assert [change.of(source).decode() for change in changes_of("file.py", source)][
        -1
    ] == 'x = "\u00fc" * 4  # \u00fc\n'


def _compiled_changes(file: str, source: bytes) -> list[Change]:
    return [each.change for each in find_changes(file, source.decode())]


def test_each_change_that_alters_nothing_is_one_of_a_line_that_exists() -> None:
    blocks = read_equivalents(EQUIVALENT.read_text())
    for file in {place.partition(" ")[0] for place, _, _ in blocks}:
        source = (ROOT / file).read_bytes()
        changes = changes_of(file, source) if file.endswith(".py") else _compiled_changes(file, source)
        places = by_place(changes)
        for block in blocks:
            assert block in places or block[0].partition(" ")[0] != file, f"{file}: no such change: {block}"


def test_equal_lines_that_are_changed_alike_have_places_of_their_own() -> None:
    places = by_place(changes_of("a.py", b"x = 1\ny = 2\nx = 1\n"))
    assert {place: change.line for place, change in places.items()} == {
        ("a.py (1 of 2)", "x = 1", "x = 2"): 1,
        ("a.py", "y = 2", "y = 3"): 2,
        ("a.py (2 of 2)", "x = 1", "x = 2"): 3,
    }


def test_a_reason_is_needed_where_a_change_alters_nothing() -> None:
    assert read_equivalents("a.py\n- x\n+ y\nas no one sees it\n") == {("a.py", "x", "y")}
    with pytest.raises(ValueError, match=r"a\.py: expected"):
        read_equivalents("a.py\n- x\n+ y\n")


def test_changes_are_killed_survive_and_time_out_and_the_copy_is_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "clone"
    (clone / "pkg").mkdir(parents=True)
    (clone / "pkg" / "__init__.py").touch()
    (clone / "pkg" / "counting.py").write_bytes(COUNTING)
    (clone / "test_counting.py").write_text(TEST)
    (clone / "pytest.ini").write_text("[pytest]\nmarkers =\n  ovs\n  emulation\n  kernel\n")
    for module in (room, process, python_room):
        monkeypatch.setattr(module, "ROOT", clone)
    monkeypatch.setattr(process, "_START_SECONDS", 2.0)
    counting = PythonRoom("counting", ("pkg/*.py",), ("test_*.py",))
    trials = counting.prepare(clone, 1.0, nearest_only=True)
    verdicts = {change.changed: trials.verdict(change) for change in counting.changes()}
    assert verdicts["number -= 1"] is Verdict.TIMED_OUT
    assert verdicts["while number <= end:"] is Verdict.KILLED
    assert verdicts["number = 1"] is Verdict.SURVIVED
    assert trials.verdict(no_change("pkg/counting.py")) is Verdict.SURVIVED
    assert (clone / "pkg" / "counting.py").read_bytes() == COUNTING


MODULE = """\
def doubled(x):
    return x + x
FOUR = doubled(2)
def later():
    return [doubled(each) for each in range(3)]
"""


@pytest.mark.parametrize(
    ("old", "new", "is_sure", "values"),
    [
        ("range(3)", "range(2)", True, [0, 2]),
        ("doubled(each) for", "each for", True, [0, 1, 2]),
        ("x + x", "x - x", False, [0, 0, 0]),
        ("doubled(2)", "doubled(3)", None, [0, 2, 4]),
    ],
)
def test_functions_in_use_get_the_code_of_a_change(
    *, old: str, new: str, is_sure: bool | None, values: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "doubling.py"
    file.write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, file.stem, raising=False)
    profile = cProfile.Profile()
    profile.enable()
    module = importlib.import_module(file.stem)
    profile.disable()
    run = frozenset(each.code for each in profile.getstats() if isinstance(each.code, CodeType))
    in_use = module.later
    file.write_text(MODULE.replace(old, new))
    assert replace_code(file, MODULE.encode(), run) is is_sure
    assert (module.FOUR, in_use()) == (4, values)


@pytest.mark.parametrize(("starved", "status"), [(0.0, None), (60.0, 7)])
def test_a_run_is_not_ended_for_the_time_that_it_waits_for_a_processor(
    starved: float, status: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleeping() -> int:
        time.sleep(0.5)
        return 7

    monkeypatch.setattr(process, "_starved", lambda _: starved)
    assert process._wait(process._fork(tmp_path, {}, sleeping), 0.2) == status


def test_a_change_that_no_type_allows_is_impossible(tmp_path: Path) -> None:
    source = """\
#include <vector>
int count(const std::vector<int> &all) {
    return static_cast<int>(all.end() - all.begin() - 1);
}
"""
    changes = find_changes("count.cpp", source)
    (tmp_path / "count.cpp").write_text(f'#include "switches.hpp"\n{switched(source, changes, 0)}')
    header = Path(core_room.__file__).parent
    built = tmp_path / "count.o"
    command = [COMPILER, "-std=c++20", "-c", f"-I{header}", str(tmp_path / "count.cpp"), "-o", str(built)]
    subprocess.run(command, check=True)
    impossible = impossible_changes(built)
    assert [changes[number].change.changed for number in impossible] == [
        "return static_cast<int>(all.end() + all.begin() - 1);"
    ]


def test_what_must_be_known_when_the_core_is_compiled_stays() -> None:
    source = """\
constexpr int packed(int high,
                     int low) {
    return high << 8 | low;
}
int total(int high) {
    return packed(high, 3);
}
"""
    assert {change.line for change in _compiled_changes("packed.cpp", source.encode())} == {6}


class Scripted:
    """A room of one file whose changes have these verdicts in turn; None is Ctrl-C."""

    name = "scripted"

    def __init__(self, *verdicts: Verdict | None, unchanged: Verdict = Verdict.SURVIVED) -> None:
        self._verdicts = iter(verdicts)
        self._unchanged = unchanged
        self.copies: list[Path] = []
        self.tried: list[Change] = []

    def changes(self) -> list[Change]:
        return changes_of("counting.py", COUNTING)

    def prepare(self, copy: Path, limit: float, *, nearest_only: bool) -> Scripted:
        del limit, nearest_only
        self.copies.append(copy)
        return self

    def verdict(self, change: Change) -> Verdict:
        if change == no_change("counting.py"):
            return self._unchanged
        self.tried.append(change)
        verdict = next(self._verdicts)
        if verdict is None:
            raise KeyboardInterrupt
        return verdict


@pytest.mark.parametrize(
    ("verdicts", "arguments", "status", "said"),
    [
        (
            [Verdict.KILLED, Verdict.TIMED_OUT],
            ["--sample", "2"],
            0,
            "1 killed, 1 timed out, 0 survived, 0 impossible\n100.0 % noticed",
        ),
        (
            [Verdict.KILLED, Verdict.SURVIVED, Verdict.IMPOSSIBLE],
            ["--sample", "3"],
            1,
            "1 killed, 0 timed out, 1 survived, 1 impossible\n50.0 % noticed",
        ),
        ([Verdict.KILLED, None], [], 0, "1 killed, 0 timed out, 0 survived, 0 impossible\n100.0 % noticed"),
    ],
)
def test_survivors_make_the_status_and_an_interrupted_run_says_what_it_knows(
    verdicts: list[Verdict | None],
    arguments: list[str],
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scripted = Scripted(*verdicts)
    monkeypatch.setattr(command, "ROOMS", (scripted,))
    monkeypatch.setattr(command, "copy_clone", lambda to: to.mkdir())
    assert main(["scripted", *arguments]) == status
    assert capsys.readouterr().out.endswith(f"{said}\n")
    assert not scripted.copies[0].parent.exists()


def _tried(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[Change]:
    scripted = Scripted(*[Verdict.KILLED] * len(changes_of("counting.py", COUNTING)))
    monkeypatch.setattr(command, "ROOMS", (scripted,))
    monkeypatch.setattr(command, "copy_clone", lambda to: to.mkdir())
    assert main(["scripted", *arguments]) == 0
    return scripted.tried


def test_changes_are_tried_in_an_order_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = changes_of("counting.py", COUNTING)
    orders = [_tried(monkeypatch, "--seed", str(seed)) for seed in range(5)]
    assert all(sorted(order, key=everything.index) == everything for order in orders)
    assert len({order[0] for order in orders}) > 1
    assert _tried(monkeypatch, "--seed", "4", "--sample", "3") == _tried(monkeypatch, "--seed", "4", "--sample", "3")


def test_tests_that_fail_without_a_change_say_nothing_of_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "ROOMS", (Scripted(unchanged=Verdict.KILLED),))
    monkeypatch.setattr(command, "copy_clone", lambda to: to.mkdir())
    assert main(["scripted"]) == 1
    assert capsys.readouterr().err.endswith("error: counting.py: its tests fail without a change\n")


def test_an_unknown_room_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["cellar"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("error: mutants: argument ROOM: invalid choice: 'cellar'")

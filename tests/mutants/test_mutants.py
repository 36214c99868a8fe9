from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants import __main__ as command
from tests.mutants import python_room, room
from tests.mutants.__main__ import main
from tests.mutants.change import EQUIVALENT, Change, read_equivalents
from tests.mutants.cpp_changes import find_changes
from tests.mutants.python_changes import changes_of
from tests.mutants.python_room import PythonRoom
from tests.mutants.room import ROOT, Verdict

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
    for file, old, changed in read_equivalents(EQUIVALENT.read_text()):
        source = (ROOT / file).read_bytes()
        changes = changes_of(file, source) if file.endswith(".py") else _compiled_changes(file, source)
        found = {(change.old, change.changed) for change in changes}
        assert (old, changed) in found, f"{file}: no such change: {old}"


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
    monkeypatch.setattr(room, "ROOT", clone)
    monkeypatch.setattr(python_room, "ROOT", clone)
    monkeypatch.setattr(python_room, "_START_SECONDS", 2.0)
    counting = PythonRoom("counting", ("pkg/*.py",), ("test_*.py",))
    trials = counting.prepare(clone, 1.0, nearest_only=True)
    verdicts = {change.changed: trials.verdict(change) for change in counting.changes()}
    assert verdicts["number -= 1"] is Verdict.TIMED_OUT
    assert verdicts["while number <= end:"] is Verdict.KILLED
    assert verdicts["number = 1"] is Verdict.SURVIVED
    assert (clone / "pkg" / "counting.py").read_bytes() == COUNTING


class Scripted:
    """A room of one file whose changes have these verdicts in turn; None is Ctrl-C."""

    name = "scripted"

    def __init__(self, *verdicts: Verdict | None) -> None:
        self._verdicts = iter(verdicts)
        self.copies: list[Path] = []

    def changes(self) -> list[Change]:
        return changes_of("counting.py", COUNTING)

    def prepare(self, copy: Path, limit: float, *, nearest_only: bool) -> Scripted:
        del limit, nearest_only
        self.copies.append(copy)
        return self

    def verdict(self, change: Change) -> Verdict:
        assert change.file == "counting.py"
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
            "1 killed, 1 timed out, 0 survived\n100.0 % noticed",
        ),
        ([Verdict.KILLED, Verdict.SURVIVED], ["--sample", "2"], 1, "1 killed, 0 timed out, 1 survived\n50.0 % noticed"),
        ([Verdict.KILLED, None], [], 0, "1 killed, 0 timed out, 0 survived\n100.0 % noticed"),
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


def test_an_unknown_room_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["cellar"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("error: mutants: argument ROOM: invalid choice: 'cellar'")

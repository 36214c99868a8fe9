from __future__ import annotations

import os
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from kuijia.cli import main as main_module
from kuijia.cli.main import main
from kuijia_base.commands import kuijia_command
from te_solver.formats.plan_file import save_plan
from tests.te_solver.formats.test_plan_file import PLAN

DIGITS = "9" * 5000
FULL_WIDTH = "\N{FULLWIDTH DIGIT FOUR}"
MOST_SECONDS = 4.0
"""Of processor time, with what a verb imports."""


def complaint(arguments: list[str], capsys: pytest.CaptureFixture[str], status: int = 2) -> str:
    """Return the one line that a command ends with."""
    started = time.process_time()
    try:
        found: object = main(arguments)
    except SystemExit as stop:
        found = stop.code
    assert time.process_time() - started <= MOST_SECONDS
    assert found == status
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.endswith("\n")
    assert told[:-1].isprintable()
    assert len(told) <= 520
    return told


@pytest.mark.parametrize(
    "arguments",
    [
        f"fat-tree:{DIGITS}",
        "fat-tree:1000000",
        "leaf-spine:99999x99999",
        f"leaf-spine:4,4,{DIGITS}",
        f"fat-tree:{FULL_WIDTH}",
        "fat-tree:-0",
        f"fat-tree:4 --sizes {DIGITS}",
        f"fat-tree:4 --sizes {'x' * 5000}",
        f"fat-tree:4 --pattern incast:{DIGITS}",
        f"fat-tree:4 --pattern stride:{DIGITS}",
        f"fat-tree:4 --pattern {'x' * 5000}",
        f"fat-tree:4 --classes {DIGITS}",
        f"fat-tree:4 --classes {','.join(map(str, range(1, 20_000)))}",
        f"fat-tree:4 --load {','.join(['0.5'] * 1_000_000)}",
        "fat-tree:4 --load nan",
        "fat-tree:4 --load 0_1",
        f"fat-tree:4 --load {DIGITS}",
        f"fat-tree:4 --seed {DIGITS}",
        f"fat-tree:4 --seed {FULL_WIDTH}",
        f"fat-tree:4 --flows {DIGITS}",
        f"fat-tree:4 --queue {'x' * 9000}",
        f"fat-tree:4 --mark {DIGITS}%",
        f"fat-tree:4 --arrivals log-normal:{DIGITS}",
        f"fat-tree:4 --arrivals {'x' * 5000}",
    ],
)
def test_hostile_words_of_a_packet_study_are_refused(capsys: pytest.CaptureFixture[str], arguments: str) -> None:
    complaint(["packet", *arguments.split(" ")], capsys)


@pytest.mark.parametrize("number", ["nan", "inf", "-0", "1_000", FULL_WIDTH, "1e999", "0x10", "", "\u0661"])
def test_numbers_are_plain_ones(capsys: pytest.CaptureFixture[str], number: str) -> None:
    complaint(["topology", "describe", "gscale", f"--capacity={number}"], capsys)


@pytest.mark.parametrize("number", ["-1", "0", "65", "1_0", FULL_WIDTH, "1e1", "1000000000", DIGITS])
def test_numbers_of_tunnels_are_bounded(capsys: pytest.CaptureFixture[str], number: str) -> None:
    complaint(["solve", "gscale", "gscale", f"--tunnels={number}"], capsys)


@pytest.mark.parametrize("number", ["1_6", FULL_WIDTH, DIGITS, "7"])
def test_slots_are_those_there_are(capsys: pytest.CaptureFixture[str], number: str) -> None:
    complaint(["compile", "plan.json", f"--slots={number}"], capsys)


@pytest.mark.parametrize("text", ["a\nb", "\x1b[31m", "\ud800", "x" * 100_000, "\0", "\u202e"])
@pytest.mark.parametrize("verb", ["topology describe", "report", "verify", "compile", "solve gscale"])
def test_names_that_spoil_a_line_are_quoted_and_cut(capsys: pytest.CaptureFixture[str], verb: str, text: str) -> None:
    complaint([*verb.split(), text], capsys)


@pytest.mark.parametrize(
    "key", ["topozoo/Nothing", "../../etc/passwd", "topozoo/" + "x" * 9000, "\n", "topozoo/Abilene\x08"]
)
def test_names_of_topohub_are_quoted_and_cut(capsys: pytest.CaptureFixture[str], key: str) -> None:
    complaint(["topology", "describe", f"topohub:{key}"], capsys)


@pytest.mark.parametrize(
    "packet", ["s1->s2 " + "a=1 " * 30_000, "-> " * 50_000, " " * 100_000, "s1->" + " " * 9000, "->"]
)
def test_hostile_packets_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, packet: str) -> None:
    save_plan(PLAN, tmp_path / "plan.json")
    complaint(["trace", str(tmp_path / "plan.json"), packet], capsys)


@pytest.mark.parametrize("verb", [["solve", "fig1", "fig1"], ["topology", "convert", "fig1"], ["demands", "fig1"]])
def test_outputs_that_cannot_be_written_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, verb: list[str]
) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    for output in (tmp_path / "one", tmp_path, tmp_path / "no" / "folder", tmp_path / ("x" * 300), Path("/dev/full")):
        complaint([*verb, "-o", str(output)], capsys)


def test_a_working_directory_that_has_been_removed_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "removed").mkdir()
    monkeypatch.chdir(tmp_path / "removed")
    (tmp_path / "removed").rmdir()
    told = complaint(["solve", "fig1", "fig1"], capsys)
    assert told.startswith("error: working directory: cannot be used (No such file or directory), expected ")


def test_a_backend_that_matplotlib_lacks_keeps_no_picture_from_being_drawn(tmp_path: Path) -> None:
    command = [*kuijia_command("solve"), "fig1", "fig1", "-o", "plan.json", "--plot", "plan.svg"]
    environment = {**os.environ, "MPLBACKEND": "nonsense"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert (ended.returncode, "nonsense" in ended.stderr) == (0, False)
    assert (tmp_path / "plan.svg").exists()


def test_a_fault_of_the_program_is_one_line_that_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_arguments: list[str]) -> None:
        raise LookupError("many\nlines " + "x" * 9000)

    monkeypatch.setattr(main_module, "_parse", fail)
    told = complaint([], capsys, status=1)
    assert told.startswith("error: kuijia has a fault: LookupError: many lines xxx")
    assert "test_hostile_arguments.py:" in told


@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full", "<&-", ">/dev/null 2>&- <&-"])
@pytest.mark.parametrize(
    ("arguments", "status"), [("demands fig1", 0), ("demands missing.yaml", 2), ("demands fig1 --seed x", 2)]
)
def test_streams_that_are_closed_or_full_leave_the_exit_status_alone(
    arguments: str, status: int, redirected: str
) -> None:
    command = shlex.join([*kuijia_command("demands"), *arguments.split()[1:]])
    ended = subprocess.run(["/bin/sh", "-c", f"{command} {redirected}"], capture_output=True, text=True, check=False)
    assert ended.returncode == status
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr

from __future__ import annotations

import pytest

from kuijia_base.bounded_output import OutputTooLongError
from kuijia_base.commands import find_program, run_command, search_path
from kuijia_base.errors import TestbedError


def test_the_output_of_a_command_is_returned_and_its_input_given() -> None:
    assert run_command(["cat"], stdin="one\ntwo\n") == "one\ntwo\n"


def test_a_failed_command_is_quoted_with_its_own_words() -> None:
    with pytest.raises(TestbedError, match=r"^`ls '/no such place'` failed: .*No such file or directory$"):
        run_command(["ls", "/no such place"])


def test_a_failure_without_words_tells_the_status() -> None:
    with pytest.raises(TestbedError, match=r"^`false` failed: exit status 1$"):
        run_command(["false"])


def test_a_failure_without_words_shows_how_the_output_begins() -> None:
    with pytest.raises(TestbedError, match=r"failed: exit status 2: -one; \+two; -three$"):
        run_command(["sh", "-c", "printf '%s\\n' -one +two -three +four; exit 2"])


def test_a_missing_program_is_named() -> None:
    with pytest.raises(TestbedError, match=r"^`no-such-program` cannot be run: No such file or directory$"):
        run_command(["no-such-program", "argument"])


def test_a_command_that_hangs_is_ended() -> None:
    with pytest.raises(TestbedError, match=r"^`tail -f /dev/null` did not end within 0.1 s$"):
        run_command(["tail", "-f", "/dev/null"], timeout=0.1)


def test_a_command_that_writes_without_end_is_ended() -> None:
    with pytest.raises(OutputTooLongError, match=r"^'.*yes' wrote more than 67108864 bytes$"):
        run_command(["yes"])


def test_what_a_command_does_not_read_is_no_failure() -> None:
    assert run_command(["true"], stdin="x" * 10_000_000) == ""


def test_input_and_output_longer_than_pipes_hold_pass_each_other() -> None:
    assert run_command(["cat"], stdin="x" * 10_000_000) == "x" * 10_000_000


def test_a_complaint_without_end_is_cut() -> None:
    with pytest.raises(TestbedError) as caught:
        run_command(["sh", "-c", "yes no | head -c 100000 | tr -d '\\n' >&2; false"])
    assert len(str(caught.value)) < 1200


def test_the_administrators_programs_are_found_without_their_folders_in_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    assert search_path().split(":") == ["/usr/bin", "/usr/sbin", "/sbin"]
    assert find_program("sh") == "/usr/bin/sh"
    assert find_program("no-such-program") is None

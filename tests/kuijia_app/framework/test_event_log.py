from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest

from kuijia_app.framework.event_log import LONGEST_TEXT, PORT_STATUS, SWITCH_DROPPED, EventLog
from kuijia_base.errors import InputError


def test_events_are_lines_of_json_with_their_time(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events")
    log.write(PORT_STATUS, switch="s1", port=1, live=False)
    log.write(PORT_STATUS, switch="s1", port=1, live=True)
    first, second = map(json.loads, (tmp_path / "events").read_text().splitlines())
    assert 0 < first.pop("time") <= second["time"]
    assert 0 < first.pop("monotonic") <= second["monotonic"]
    assert first == {"event": PORT_STATUS, "switch": "s1", "port": 1, "live": False}


def test_a_full_disk_silences_the_log_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    log = EventLog(Path("/dev/full"))
    with caplog.at_level(logging.ERROR):
        log.write(PORT_STATUS, switch="s1")
        log.write(PORT_STATUS, switch="s1")
    assert caplog.messages == ["/dev/full can no longer be written: no events from now on"]


def test_what_a_peer_says_is_cut_and_what_is_no_json_is_written_as_text(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events")
    log.write(SWITCH_DROPPED, reason="x" * 10 * LONGEST_TEXT, switch=b"\xff")
    event = json.loads((tmp_path / "events").read_text())
    assert event["reason"] == "x" * LONGEST_TEXT + "..."
    assert event["switch"] == repr(b"\xff")


def test_a_pipe_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "events")
    with pytest.raises(InputError, match="nobody reads"):
        EventLog(tmp_path / "events")


def test_a_pipe_whose_reader_does_not_keep_up_is_given_up_without_waiting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipe = tmp_path / "events"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        log = EventLog(pipe)
        for _ in range(1000):
            log.write(PORT_STATUS, switch="s" * LONGEST_TEXT)
        taken = os.read(reader, 1 << 20)
    finally:
        os.close(reader)
    assert caplog.messages == [f"{pipe} can no longer be written: no events from now on"]
    assert taken.endswith(b"\n")
    assert {json.loads(line)["event"] for line in taken.splitlines()} == {PORT_STATUS}


def test_a_large_file_is_renamed_and_only_so_many_are_kept(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events", largest=1000, kept=2)
    for number in range(100):
        log.write(PORT_STATUS, number=number)
    files = [tmp_path / "events.2", tmp_path / "events.1", tmp_path / "events"]
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert all(file.stat().st_size <= 1000 for file in files)
    numbers = [json.loads(line)["number"] for file in files for line in file.read_text().splitlines()]
    assert numbers == list(range(numbers[0], 100))
    assert len(numbers) > 10


def test_a_file_that_cannot_be_renamed_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "rename", refuse)
    log = EventLog(tmp_path / "events", largest=200, kept=2)
    for number in range(20):
        log.write(PORT_STATUS, number=number)
    lines = (tmp_path / "events").read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == list(range(20))
    assert caplog.messages == [f"{tmp_path}/events grows: it cannot be renamed: Operation not permitted"]

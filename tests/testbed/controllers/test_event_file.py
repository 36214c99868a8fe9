"""A file of events is followed while its writer renames it, however often, and whenever it is looked at."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path

import pytest

from kuijia_app.framework.event_log import PORT_STATUS, EventLog
from testbed.controllers.application_process import EventFile


def numbers(lines: list[bytes]) -> list[int]:
    return [json.loads(line)["number"] for line in lines]


@pytest.mark.parametrize("seed", range(5))
def test_every_event_is_read_once_however_many_files_began_meanwhile(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    file = EventFile(tmp_path / "events")
    file.clear()
    log = EventLog(tmp_path / "events", largest=500, kept=20)
    read: list[int] = []
    written = 0
    while written < 500:
        for _ in range(drawn.randint(0, 60)):  # up to fifteen new files between two looks
            log.write(PORT_STATUS, number=written)
            written += 1
        read += numbers(file.new_lines())
    assert read == list(range(written))


def test_a_reader_keeps_up_with_a_writer_of_another_thread(tmp_path: Path) -> None:
    file = EventFile(tmp_path / "events")
    file.clear()
    log = EventLog(tmp_path / "events", largest=2000, kept=500)

    def write() -> None:
        for number in range(5000):
            log.write(PORT_STATUS, number=number)

    writer = threading.Thread(target=write)
    writer.start()
    read: list[int] = []
    while writer.is_alive():
        read += numbers(file.new_lines())
    assert read + numbers(file.new_lines()) == list(range(5000))


def test_what_was_deleted_before_it_was_read_is_skipped(tmp_path: Path) -> None:
    file = EventFile(tmp_path / "events")
    file.clear()
    log = EventLog(tmp_path / "events", largest=500, kept=2)
    log.write(PORT_STATUS, number=0)
    assert numbers(file.new_lines()) == [0]
    for number in range(1, 100):
        log.write(PORT_STATUS, number=number)
    read = numbers(file.new_lines())
    later = read[read.index(read[-1] - 5) :]
    assert later == list(range(read[-1] - 5, 100))
    log.write(PORT_STATUS, number=100)
    assert numbers(file.new_lines()) == [100]


def test_a_new_start_forgets_the_files_of_the_one_before(tmp_path: Path) -> None:
    file = EventFile(tmp_path / "events")
    file.clear()
    log = EventLog(tmp_path / "events", largest=500, kept=20)
    for number in range(20):
        log.write(PORT_STATUS, number=number)
    file.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["events"]
    EventLog(tmp_path / "events").write(PORT_STATUS, number=7)
    assert numbers(file.new_lines()) == [7]

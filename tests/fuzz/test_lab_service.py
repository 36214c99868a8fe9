"""A short seeded run of requests against a live lab service."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest

from kuijia_base.progress import Progress
from tests.fuzz.lab_requests import Said, case_from_bytes, case_to_bytes
from tests.fuzz.lab_service import LabService
from tests.fuzz.report import Report

pytestmark = pytest.mark.slow


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return Report(tmp_path, Progress(io.StringIO()), most_cases=300)


def test_the_service_answers_requests_of_any_kind(report: Report) -> None:
    LabService().run(time.monotonic() + 120, 16, report)
    assert report.cases["lab-service"] > 0
    assert report.lines()[1:] == []


def test_a_failing_case_is_kept_so_that_it_can_be_repeated(report: Report) -> None:
    refused = [Said(b'{"version": 1, "do": "dance"}', "whole", valid=True), Said(b"\xff", "pieces")]
    content = case_to_bytes(refused)
    assert case_from_bytes(content) == refused
    LabService().repeat(content, report)
    (failure,) = report.failures
    assert failure.symptom.startswith("a valid request is refused: lab: unknown request 'dance'")
    assert failure.file.read_bytes() == content

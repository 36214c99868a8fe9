"""A tolerant reader of iperf3's JSON report about a flow, as pure functions.

The output is not always one whole JSON value: other text may stand before or after it, `nan` and `-nan` appear as
numbers, and an error may be one more key beside an otherwise good report.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass

from testbed.machine.bounded_output import one_line
from testbed.machine.errors import TestbedError

_NOT_A_NUMBER = re.compile(r'(":\s*)-?(?:nan|inf(?:inity)?)(?=\s*[,}\]])', re.IGNORECASE)
_EXCERPT = 120
_LARGEST = 1e18


class IperfError(TestbedError):
    """An iperf3 flow that could not be started or measured; the message names the flow."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Bytes of payload that an application read or wrote between two times in seconds."""

    start: float
    end: float
    carried: int


def parse_report(text: str, flow: str) -> tuple[Interval, ...]:
    """Return the intervals in the output of `iperf3 --server --one-off --json`, or of its client, for one flow.

    Args:
        text: standard output; text around the first JSON object is skipped.
        flow: name of the flow, for error messages.

    Returns:
        The intervals in order; their times count from the start of its clock.

    Raises:
        IperfError: no JSON or a truncated one, an `error` reported by iperf3, or no usable intervals.
    """
    report = _first_object(text, flow)
    if report.get("error"):
        raise IperfError(f"flow {flow}: iperf3 reports: {one_line(str(report['error']))}")
    entries = report.get("intervals")
    if not isinstance(entries, list) or not entries:
        raise IperfError(f"flow {flow}: the iperf3 report holds no intervals")
    return tuple(_interval(entry, flow) for entry in entries)


def reported_failure(text: str) -> str:
    """Return iperf3's reason for its failure from its output, in a few words."""
    try:
        error = _first_object(text, "").get("error")
    except IperfError:
        error = text.strip().partition("\n")[0][:_EXCERPT]
    return one_line(str(error)).removeprefix("error - ") if error else "it gives no reason"


def _first_object(text: str, flow: str) -> dict[str, object]:
    opening = text.find("{")
    if opening < 0:
        said = text.strip()
        detail = f"printed {said[:_EXCERPT]!r}" if said else "printed nothing"
        raise IperfError(f"flow {flow}: iperf3 {detail} instead of a JSON report")
    try:
        value, _ = json.JSONDecoder().raw_decode(_NOT_A_NUMBER.sub(r"\1null", text[opening:]))
    except (RecursionError, ValueError) as error:  # also of too many digits
        raise IperfError(
            f"flow {flow}: the JSON report of iperf3 is cut short or malformed ({one_line(str(error))})"
        ) from error
    assert isinstance(value, dict), "a JSON value that opens with a brace is an object"
    return value


def _interval(entry: object, flow: str) -> Interval:
    total = entry.get("sum") if isinstance(entry, dict) else None
    if not isinstance(total, dict):
        raise IperfError(f"flow {flow}: an interval of the iperf3 report has no sum")
    start, end, carried = (_number(total.get(key)) for key in ("start", "end", "bytes"))
    if start is None or end is None or carried is None:
        raise IperfError(f"flow {flow}: an interval of the iperf3 report lacks a numeric start, end or bytes")
    if end < start or carried < 0:
        raise IperfError(
            f"flow {flow}: an interval of the iperf3 report goes from {start:g} to {end:g} s with {carried:g} bytes"
        )
    return Interval(start, end, int(carried))


def _number(value: object) -> float | None:
    """Return a finite number as it stands in JSON, None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _LARGEST:
        return None
    return None if math.isnan(value) else float(value)

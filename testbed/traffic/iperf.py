"""Drives iperf3: one server and one client per flow; reads the sent and received bytes on the common clock.

All times are seconds since the epoch. iperf3 gives the start of a test in whole seconds only, so a flow's time zero is
measured from outside: the moment at which the server process owns the accepted data connection, polled every
`POLL_SECONDS`. The server starts its clock in the same turn of its event loop, so the time stamps of the intervals are
accurate to about `POLL_SECONDS` plus the scheduling delay of a process, 10 ms in total on a machine that is not
overloaded.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from kuijia_base.bounded_output import one_line
from kuijia_base.errors import TestbedError
from testbed.machine.processes import LISTENING, SocketKind
from testbed.network.lab_network import LabNetwork, SiteHost

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


POLL_SECONDS = 0.005
START_TIMEOUT = 30.0
"""Seconds for a server to listen, and for a client to connect to it."""

FINISH_GRACE = 20.0
"""Seconds a flow may end late: a starved control connection waits for a retransmission timeout."""

_END_MARGIN = 0.5
"""Seconds before its end in which a flow may already have ended."""

UDP_PAYLOAD, UDP_FRAME = 1472, 1514
"""Bytes: largest payload of a host's packet, and size of its Ethernet frame without checksum."""

_ESTABLISHED = "01"


@dataclass(frozen=True)
class IperfFlow:
    """A flow from the host of node `source` to that of node `target`.

    Attributes:
        protocol: TCP sends as much as it can, or as its `pace` allows; UDP sends payload at `rate` Mbit/s,
            `UDP_PAYLOAD` bytes at a time.
        congestion_control: of TCP; the machine's default may be one that ignores losses.
        source_address: one of the source site's; None leaves it to the host.
        code_point: the DSCP value of its packets in both directions (RFC 2474).
        pace: Mbit/s that TCP never exceeds, not even to make up for a pause.
    """

    name: str
    source: str
    target: str
    source_port: int
    server_port: int
    protocol: Literal["tcp", "udp"] = "tcp"
    rate: float | None = None
    congestion_control: str | None = None
    source_address: str | None = None
    code_point: int = 0
    pace: float | None = None

    def __post_init__(self) -> None:
        if (self.protocol == "udp") != (self.rate is not None):
            raise ValueError(f"flow {self.name}: UDP needs a rate and TCP takes none")
        if self.protocol == "udp" and self.pace is not None:
            raise ValueError(f"flow {self.name}: UDP has a rate and takes no pace")

    def server_command(self, interval: float) -> list[str]:
        return ["iperf3", "-4", "-s", "-1", "-p", str(self.server_port), "-i", f"{interval:g}", "--json"]

    def client_command(self, address: str, seconds: float, interval: float) -> list[str]:
        command = ["iperf3", "-4", "-c", address, "-p", str(self.server_port), "--cport", str(self.source_port)]
        # A TCP sender reports the bytes that its socket accepted: not used.
        reported = f"{interval:g}" if self.protocol == "udp" else "1"
        command += ["-t", str(max(1, round(seconds))), "-i", reported, "--connect-timeout", "5000", "--json"]
        if self.source_address is not None:
            command += ["-B", self.source_address]
        if self.code_point:
            command += ["-S", str(self.code_point << 2)]
        if self.rate is not None:
            command += ["-u", "-b", f"{round(self.rate * 1e6)}", "-l", str(UDP_PAYLOAD)]
        if self.pace is not None:
            command += ["--fq-rate", f"{round(self.pace * 1e6)}"]
        if self.congestion_control is not None:
            command += ["-C", self.congestion_control]
        return command


@dataclass(frozen=True)
class Goodput:
    """Bytes received by a flow's application, and sent by a UDP sender: intervals on the common clock."""

    intervals: tuple[Interval, ...]
    sent: tuple[Interval, ...] = ()

    def mean(self, start: float, end: float) -> float:
        """Return the mean in Mbit/s between two times; a partly covered interval counts by its share.

        Raises:
            ValueError: the intervals do not cover the whole time.
        """
        return _mean(self.intervals, start, end)

    def mean_sent(self, start: float, end: float) -> float:
        """Return the mean like `mean`, for the bytes sent by UDP."""
        return _mean(self.sent, start, end)


def _mean(intervals: Sequence[Interval], start: float, end: float) -> float:
    if not intervals or not intervals[0].start <= start < end <= intervals[-1].end:
        raise ValueError(f"the goodput is not known of the whole time from {start} to {end}")
    carried = 0.0
    for interval in intervals:
        overlap = min(interval.end, end) - max(interval.start, start)
        if overlap > 0:
            carried += interval.carried * overlap / (interval.end - interval.start)
    return carried * 8 / 1e6 / (end - start)


class IperfRun:
    """Flows that start together when the block is entered and are gone when it is left.

    Args:
        network: contains the hosts.
        flows: no two with the same target and server port.
        seconds: sending time of each client, in whole seconds.
        interval: length in seconds of the goodput intervals.
    """

    def __init__(self, network: LabNetwork, flows: Sequence[IperfFlow], seconds: int, interval: float = 0.1) -> None:
        self._flows = [_RunningFlow(flow, network.host(flow.source), network.host(flow.target)) for flow in flows]
        self._seconds = seconds
        self._interval = interval

    def __enter__(self) -> IperfRun:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def connected_at(self) -> float:
        """Time when the last flow was connected."""
        return max(flow.connected_at for flow in self._flows)

    def start(self) -> None:
        """Start servers and clients and return when every flow is connected.

        Raises:
            IperfError: a server or client did not come up, for instance because its port is in use.
        """
        for flow in self._flows:
            flow.start_server(self._interval)
        self._wait(_RunningFlow.is_listening, "its server does not listen")
        for flow in self._flows:
            flow.start_client(self._seconds, self._interval)
        self._wait(_RunningFlow.is_connected, "its client is not connected")

    def live_goodput(self) -> dict[str, float]:
        """Return the goodput per flow in Mbit/s since the previous call or the start, from its server's bytes read.

        Flows whose time is over are missing.

        Raises:
            IperfError: a client or server has ended before its time.
        """
        flows = [flow for flow in self._flows if time.time() < flow.connected_at + self._seconds - _END_MARGIN]
        for flow in flows:
            flow.require_running()
        return {flow.name: flow.goodput_since_last_call() for flow in flows}

    def finish(self) -> dict[str, Goodput]:
        """Wait until the flows have ended by themselves and return their goodput.

        Raises:
            IperfError: a flow failed, or has not ended `FINISH_GRACE` seconds after its time.
        """
        for flow in self._flows:
            flow.wait(flow.connected_at + self._seconds + FINISH_GRACE)
        return {flow.name: flow.goodput() for flow in self._flows}

    def stop(self) -> None:
        """End every process that was started; has no effect on those that have ended."""
        for flow in self._flows:
            flow.stop()

    def _wait(self, condition: Callable[[_RunningFlow], bool], complaint: str) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        waiting = list(self._flows)
        while waiting := [flow for flow in waiting if not condition(flow)]:
            for flow in self._flows:
                flow.require_running()
            if time.monotonic() > deadline:
                raise IperfError(f"flow {waiting[0].name}: {complaint} after {START_TIMEOUT:g} s")
            time.sleep(POLL_SECONDS)


class _RunningFlow:
    """The two programs of one flow."""

    def __init__(self, flow: IperfFlow, source: SiteHost, target: SiteHost) -> None:
        self.name = flow.name
        self.connected_at = 0.0
        self._flow = flow
        self._source = source
        self._target = target
        self._server: _Iperf | None = None
        self._client: _Iperf | None = None
        self._last_reading = (0.0, 0)

    def start_server(self, interval: float) -> None:
        self._server = _Iperf("server", self._target, self._flow.server_command(interval))

    def start_client(self, seconds: int, interval: float) -> None:
        command = self._flow.client_command(str(self._target.address), seconds, interval)
        self._client = _Iperf("client", self._source, command)

    def is_listening(self) -> bool:
        # A UDP server, too, listens for the control connection by TCP.
        return self._server is not None and self._server.program.owns_socket(LISTENING, self._flow.server_port)

    def is_connected(self) -> bool:
        assert self._server is not None, "started before its client"
        flow = self._flow
        connection = SocketKind(flow.protocol, _ESTABLISHED)
        connected = self._server.program.owns_socket(connection, flow.server_port, flow.source_port)
        if connected:
            self.connected_at = time.time()
            self._last_reading = (self.connected_at, self._server.program.bytes_read())
        return connected

    def require_running(self) -> None:
        for end in (self._client, self._server):
            if end is not None and end.program.status() is not None:
                raise self._failure(end)

    def goodput_since_last_call(self) -> float:
        assert self._server is not None, "a flow that is asked for its goodput has started"
        (then, before), now = self._last_reading, time.time()
        self._last_reading = (now, self._server.program.bytes_read())
        return (self._last_reading[1] - before) * 8 / 1e6 / (now - then)

    def wait(self, deadline: float) -> None:
        for end in (self._client, self._server):
            assert end is not None, "a flow that is waited for has started"
            try:
                status = end.program.wait(deadline - time.time())
            except TestbedError as error:
                raise IperfError(f"flow {self.name}: its {end.role}: {error}") from error
            if status != 0:
                raise self._failure(end)

    def goodput(self) -> Goodput:
        sent = self._intervals(self._client) if self._flow.protocol == "udp" else ()
        return Goodput(self._intervals(self._server), sent)

    def _intervals(self, end: _Iperf | None) -> tuple[Interval, ...]:
        assert end is not None, "a flow that is asked for its goodput has started"
        zero = self.connected_at
        intervals = parse_report(end.program.output(), self.name)
        return tuple(Interval(zero + each.start, zero + each.end, each.carried) for each in intervals)

    def stop(self) -> None:
        for end in (self._client, self._server):
            if end is not None:
                end.program.stop()

    def _failure(self, end: _Iperf) -> IperfError:
        """Return the error of an end that failed; raises TestbedError itself if a host no longer answers."""
        for either in (self._client, self._server):
            if either is not None:
                either.program.status()  # a dead host explains its peer's failure and is reported instead
        where = f"{end.role} on {end.host_name}, port {self._flow.server_port}"
        how = f"ended before its time with exit status {end.program.status()}"
        return IperfError(f"flow {self.name}: the iperf3 {where}, {how}: {reported_failure(end.program.output())}")


class _Iperf:
    """One end of a flow."""

    def __init__(self, role: str, host: SiteHost, argv: list[str]) -> None:
        self.role = role
        self.host_name = host.name
        self.program = host.launch(argv)
